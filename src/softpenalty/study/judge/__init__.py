"""From trials to numbers and verdicts: medians, sweeps, their agreement with the paper, claims, findings."""
