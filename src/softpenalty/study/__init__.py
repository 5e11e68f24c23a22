"""The paper's study: four rooms with one SQLite file (:mod:`.records`) between computing and judging.

:mod:`.design` says what is studied and what the paper reports, :mod:`.compute` makes trials, :mod:`.judge`
makes numbers and verdicts of them, and :mod:`.show` makes tables, figures and the report of those.
"""


class StudyError(Exception):
    """A study that cannot be run or read as asked; the message is one line that says what to do."""
