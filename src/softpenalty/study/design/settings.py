"""What a study may be asked for, and what it is unless asked; without NumPy, for the command line too."""

from dataclasses import dataclass

from . import published

ENGINES = ("numba", "scipy")
MODES = ("published", "corrected")  # infeasible problems are kept, or drawn again
DEFAULT_SEED = 2021
DEFAULT_SAMPLES = published.SAMPLES


@dataclass(frozen=True)
class Settings:
    """What a trial depends on besides its problem and configuration."""

    seed: int = DEFAULT_SEED
    problems: str = MODES[0]
    engine: str = ENGINES[0]
