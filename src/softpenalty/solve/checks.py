"""Looks at a problem before it is solved: derivatives that do not fit, constraints that seem mistaken."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import OptimizeWarning

from ..problem.canonical import Rows
from ..problem.evaluation import Evaluation
from ..problem.problem import Problem
from ..types import Array

__all__ = ["odd_constraints", "warn_before"]

WRONG = 1e-4  # relative deviation of a derivative from central differences that is no truncation any more
APART = 1e8  # ratio of the lengths of two constraints' gradients that no one means
SAME = 1e-6  # difference of two unit rows that are the same, as differences know them


def warn_before(problem: Problem) -> None:
    """Warn of derivatives that differences at the start contradict, and of odd constraints."""
    for message in [*_wrong_derivatives(problem), *odd_constraints(problem)]:
        warnings.warn(f"`minimize(check_gradients=True)`: {message}", OptimizeWarning, stacklevel=3)


def _wrong_derivatives(problem: Problem) -> list[str]:
    """One message a function whose worst derivative is off; the points of differences are evaluated."""
    evaluation, x = problem.evaluation, problem.start
    gradient, jacobian = evaluation.derivatives(x)
    given = [gradient[None], *_by_block(jacobian, evaluation)]
    functions = [i for i in range(-1, len(evaluation.blocks)) if not evaluation.differenced(i)]
    functions = [i for i in functions if i < 0 or evaluation.blocks[i].matrix is None]
    messages = []
    for i, differenced in zip(functions, evaluation.central(x, functions), strict=True):
        off = np.abs(given[i + 1] - differenced)
        size = np.maximum(np.abs(differenced).max(axis=1, keepdims=True), np.abs(given[i + 1]))
        relative = off / np.where(size > 0.0, size, 1.0)
        row, column = np.unravel_index(int(np.nanargmax(relative)), relative.shape)
        if relative[row, column] > WRONG:
            component = f"[{row}]" if differenced.shape[0] > 1 else ""
            name = "the objective" if i < 0 else f"'{evaluation.blocks[i].name}{component}'"
            stated, found = given[i + 1][row, column], differenced[row, column]
            messages.append(
                f"the derivative of {name} with respect to x[{column}] is {stated:.6g} "
                f"at the start; differences give {found:.6g}."
            )
    return messages


def odd_constraints(problem: Problem) -> list[str]:
    """Constraints that are constant, the same, or scaled very differently at the start."""
    evaluation, rows, x = problem.evaluation, problem.rows, problem.start
    _, jacobian = evaluation.derivatives(x)
    if jacobian.shape[0] == 0:
        return []
    dense = np.asarray(jacobian.toarray() if hasattr(jacobian, "toarray") else jacobian)
    names = _value_names(problem)
    lengths = np.sqrt(np.vecdot(dense, dense))
    messages = [
        f"{names[i]} does not change with any variable at the start." for i in np.flatnonzero(lengths == 0.0)
    ]
    moving = np.flatnonzero(lengths > 0.0)
    if moving.size:
        least, most = moving[np.argmin(lengths[moving])], moving[np.argmax(lengths[moving])]
        if lengths[most] > APART * lengths[least]:
            messages.append(
                f"{names[most]} changes {lengths[most] / lengths[least]:.0e} times as much as {names[least]} "
                "at the start: use units in which they are alike."
            )
    return messages + _twice(rows, dense, evaluation.values(x)[1])


def _twice(rows: Rows, dense: Array, values: Array) -> list[str]:
    """Rows that say the same."""
    residuals = rows.residuals(rows.errors(values))
    signed = dense[rows.source] * rows.sign[:, None]
    length = np.sqrt(np.vecdot(signed, signed))
    usable = np.flatnonzero(length > 0.0)
    described = np.column_stack([signed[usable], residuals[usable]]) / length[usable, None]
    messages = []
    for i, row in enumerate(usable.tolist()):
        others = np.abs(described[:i] - described[i]).max(axis=1) <= SAME
        alike = usable[:i][others & (rows.equality[usable[:i]] == rows.equality[row])]
        if alike.size:
            messages.append(f"{rows.labels[row]!r} and {rows.labels[alike[0]]!r} are the same at the start.")
    return messages


def _by_block(jacobian: Any, evaluation: Evaluation) -> list[Array]:
    dense = np.asarray(jacobian.toarray() if hasattr(jacobian, "toarray") else jacobian)
    return np.split(dense, np.cumsum(evaluation.sizes or [0])[:-1]) if evaluation.blocks else []


def _value_names(problem: Problem) -> list[str]:
    return [
        f"{name!r}" if size == 1 else f"'{name}[{i}]'"
        for name, size in zip(problem.names, problem.sizes, strict=True)
        for i in range(size)
    ]
