"""Functions with noise: penalty QPs on quadratic models regressed over all points evaluated so far."""
