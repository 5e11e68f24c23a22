"""The 41 problems with known best values of benchmarks/search.py."""

from .cec2006 import CEC2006, G20
from .designs import DESIGNS
from .many import MANY, turned
from .problem import SearchProblem

__all__ = ["G20", "PROBLEMS", "SearchProblem", "turned"]

PROBLEMS: dict[str, SearchProblem] = {problem.name: problem for problem in [*CEC2006, *DESIGNS, *MANY]}
