"""Speed of our own code against what it replaces: ``python benchmarks/speed/kernels.py`` and ``study.py``."""
