"""Better minima with few evaluations: `search` around `minimize`, one choice a file.

The folder is not called search, which is the function's name in the package.
"""
