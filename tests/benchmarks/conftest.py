"""The benchmarks live outside the package: put the repository's root on the path for these tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
