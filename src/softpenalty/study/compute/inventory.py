"""What is on file, how much of it is missing, and how long that takes."""

import math
from dataclasses import dataclass
from pathlib import Path

from .. import StudyError
from ..design.experiments import choose
from ..design.settings import Settings
from ..records import RECORDS_NAME, Records
from .chunks import plan

__all__ = ["Inventory", "Part", "find_studies", "take"]


@dataclass(frozen=True)
class Part:
    """One experiment: trials on file and trials in all."""

    experiment: str
    done: int
    total: int


@dataclass(frozen=True)
class Inventory:
    """A study on file.

    Attributes
    ----------
    folder : where it is
    meta : what was run, when and on what
    parts : its experiments, those without a trial too
    seconds_left : wall time of the rest on the same machine, NaN where nothing is known of it
    """

    folder: Path
    meta: dict[str, str]
    parts: tuple[Part, ...]
    seconds_left: float

    @property
    def done(self) -> int:
        """Trials on file."""
        return sum(part.done for part in self.parts)

    @property
    def total(self) -> int:
        """Trials of the whole study with as many samples."""
        return sum(part.total for part in self.parts)


def find_studies(folder: Path) -> list[Path]:
    """The folder itself and those in it that hold records; at least one."""
    places = [folder, *sorted(path for path in folder.glob("*") if path.is_dir())]
    found = [place for place in places if (place / RECORDS_NAME).is_file()]
    if not found:
        raise StudyError(
            f"No records at {folder} nor in its folders; run `softpenalty study --out {folder}`."
        )
    return found


def take(folder: Path) -> Inventory:
    """What a folder has on file, beside the whole study with as many samples."""
    with Records(folder / RECORDS_NAME) as records:
        meta, existing = records.meta, records.existing()
    settings = Settings(int(meta["seed"]), meta["problems"], meta["engine"])
    samples = int(meta["samples"])
    parts, spent, left = [], 0.0, 0.0
    for experiment in choose():
        whole = plan([experiment], settings, samples, {})
        missing = plan([experiment], settings, samples, existing)
        total, rest = (sum(chunk.trials for chunk in chunks) for chunks in (whole, missing))
        work, rest_of_it = (sum(chunk.cost for chunk in chunks) for chunks in (whole, missing))
        parts.append(Part(experiment.name, total - rest, total))
        spent, left = spent + work - rest_of_it, left + rest_of_it
    seconds = float(meta["wall_seconds"]) * left / spent if spent else math.nan
    return Inventory(folder, meta, tuple(parts), seconds)
