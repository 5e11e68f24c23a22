"""The solver: `minimize` and its ingredients, one choice a file."""
