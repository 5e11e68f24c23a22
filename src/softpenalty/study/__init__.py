"""The paper's study: problems → experiments → run → records → tables, figures, report.

Compute, record, show: three steps with one SQLite file (:mod:`softpenalty.study.records`) between them.
"""


class StudyError(Exception):
    """A study that cannot be run or read as asked; the message is one line that says what to do."""
