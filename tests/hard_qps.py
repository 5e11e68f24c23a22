"""QPs with hard rows, drawn and from lists."""

from __future__ import annotations

import numpy as np

from softpenalty.solve.sqp.subproblem.qp import QP


def hard(g, B, a, b, equality, lower, upper) -> QP:
    """A QP with hard rows from plain lists."""
    g, b, equality = np.asarray(g, float), np.asarray(b, float), np.asarray(equality, bool)
    low = np.concatenate([np.where(equality, -np.inf, 0.0), lower])
    high = np.concatenate([np.full(b.size, np.inf), upper])
    return QP(g, np.asarray(B, float), np.reshape(np.asarray(a, float), (b.size, g.size)), b, low, high)


def draw(seed: int, most_variables: int = 8) -> QP:
    """A QP with what makes active sets hard, with a solution or, in some cases, without.

    Rows through one point, copies of rows with either sign, sums of rows, rows parallel to a bound, rows of
    zeros, bounds that fix a variable, bounds at infinity; conditions to 1e8, gradients and lengths of any
    size.
    """
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, most_variables + 1)), int(rng.integers(0, 13))
    a = rng.normal(size=(m, n))
    if rng.random() < 0.5:
        a = np.round(a)
    if rng.random() < 0.3:
        a *= rng.random((m, n)) < 0.4
    x = np.round(4.0 * rng.uniform(-1.0, 1.0, n)) / 4.0
    equality = rng.random(m) < rng.choice([0.0, 0.2, 0.6])
    b = -a @ x - np.where(equality | (rng.random(m) < 0.5), 0.0, rng.uniform(0.0, 1.0, m))
    for i in range(1, m):
        if rng.random() < 0.25:
            j, factor = rng.integers(i), rng.choice([1.0, -1.0, 3.0])
            a[i] = factor * a[j]
            b[i] = factor * b[j] if factor > 0.0 else -a[i] @ x
        elif rng.random() < 0.15:
            a[i] = (rng.normal(size=i) * (rng.random(i) < 0.5)) @ a[:i]
            b[i] = -a[i] @ x
    if rng.random() < 0.35:
        b += rng.normal(size=m) * rng.choice([1e-3, 0.3, 2.0]) * (rng.random(m) < 0.3)
    lengths = np.linalg.norm(a, axis=1)
    lengths[lengths == 0.0] = 1.0
    lower = np.where(rng.random(n) < 0.5, -np.inf, x - rng.choice([0.0, 0.3, 1.0], n))
    upper = np.where(rng.random(n) < 0.5, np.inf, x + rng.choice([0.0, 0.3, 1.0], n))
    turned, _ = np.linalg.qr(rng.normal(size=(n, n)))
    spread = rng.choice([0.0, 1.0, 4.0])
    B = (turned * 10.0 ** rng.uniform(-spread, spread, n)) @ turned.T
    g = rng.normal(size=n) * 10.0 ** rng.uniform(-3.0, 3.0) * (rng.random() < 0.9)
    unit = 10.0 ** rng.uniform(-3.0, 3.0) if rng.random() < 0.2 else 1.0  # of all lengths
    return hard(
        g, 0.5 * (B + B.T), a / lengths[:, None], unit * b / lengths, equality, unit * lower, unit * upper
    )
