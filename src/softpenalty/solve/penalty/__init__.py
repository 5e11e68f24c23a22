"""The paper's own way: one smooth penalty minimized by BFGS, and its repetition with balanced sigma."""
