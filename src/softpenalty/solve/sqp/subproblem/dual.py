"""The QP with hard rows from nowhere: a dual active set, which also proves that there is no solution.

The method of Goldfarb & Idnani (1983). It begins at the minimum without rows and bounds and takes in what is
broken there, equalities first, then the worst of the rest. Every point on the way is the minimum for the
constraints taken in so far, all multipliers at least 0; what would get a negative one leaves again. So the
minimum rises with every constraint and no set of them comes back. A constraint whose normal depends on those
taken in moves nothing but multipliers; where none of them may leave, the dependence itself is the proof that
the constraints contradict each other. The set stays independent, so its linear system has one solution.

With B = LLᵀ and the normals N (n, q) of what is taken in, J = L⁻ᵀQ and R are such that JᵀBJ = 1 and
JᵀN = [R; 0]. For the next normal p and w = Jᵀp the point moves along −Σ wᵢJᵢ over i ≥ q, and the multipliers
by −R⁻¹w over i < q.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
from scipy.linalg import lapack

from ....core import compiled
from ....types import Array
from ...norms import all_finite, largest
from .active_set import RESIDUAL, SIGN_TOLERANCE, SMALLEST_STEP
from .qp import ABOVE, BELOW, CORNER, QP, QPSolution, States

__all__ = ["solve_dual"]

CHANGES = 5  # of the set, for each row and variable, before giving up: one or two are usual
SUSPECT = 1e-4  # part of a normal that is new, measured by B, below which dependence is looked at closely
DEPENDENT = 1e-10  # part of a unit normal that counts as none
FALLING = 1e-12  # a multiplier falls if it does so by this share of the fastest change, else it is rounding
ROUNDING = 1e-14  # errors below this share of the step's largest entry, or of its curvature, are none
FAR = 1e4  # a contradiction holds for steps this many times as long as those seen, as far as bounds let them
ACCURATE = 2e-16  # residuals relative to gradient and step that need no refinement: it costs 4 % of the time
REFINEMENTS = 2  # each gains as many digits as the factors have
SETTINGS = (
    CHANGES, SUSPECT, DEPENDENT, FALLING, ROUNDING, FAR, ACCURATE, REFINEMENTS,
    SIGN_TOLERANCE, SMALLEST_STEP, RESIDUAL,
)  # fmt: skip

UNKNOWN, TAKEN, NO_SOLUTION = range(3)


def solve_dual(qp: QP) -> tuple[QPSolution | None, bool]:
    """The solution of ``qp``, all of whose rows are hard, or None, and whether the answer is certain."""
    found = dual_solved(qp, SETTINGS)
    if found is None:
        return None, False
    solvable, d, y, z, states = found
    return (QPSolution(d, y, z, states) if solvable else None), True


@compiled
def dual_solved(qp: QP, settings: tuple[float, ...]) -> tuple[bool, Array, Array, Array, States] | None:
    """Whether there is a solution; step (n,), multipliers of rows (m,) and bounds (n,), states (m + n,).

    Where there is none, the multipliers are the proof: with them the sum of rows and bounds is no function of
    the step but a positive number. None where rounding leaves the answer open.
    """
    if not (all_finite(qp.g) and all_finite(qp.a) and (qp.low <= qp.high).all()):
        return None
    factor, info = lapack.dpotrf(qp.B, lower=1)
    if info or not all_finite(factor):
        return None
    found = _Dual(qp, factor)
    verdict = found.run()
    return None if verdict == UNKNOWN else (verdict == TAKEN, *found.answer())


class _Dual:
    """The minimum over the constraints taken in.

    Constraints have the numbers 0, ..., m + n − 1 of rows and variables, and a sign: sign·(a·d + b) ≤ 0 of a
    row, d ≤ high (sign 1) or −d ≤ −low (sign −1) of a variable. The q taken in are listed in ``numbers``,
    ``signs`` and ``u``, their multipliers; the first ``fixed`` are equalities, which stay.
    """

    def __init__(self, qp: QP, factor: Array) -> None:
        self.qp, self.n, self.m = qp, qp.g.size, qp.b.size
        self.J = np.tril(lapack.dtrtri(factor, lower=1)[0])  # transposed: a row for each column of J
        self.R = np.zeros((self.n, self.n))
        self.numbers: list[int] = []
        self.signs: list[float] = []
        self.u = np.zeros(0)
        self.fixed = 0
        self.d = -(self.J @ qp.g) @ self.J
        self.allowed = np.zeros(self.m + self.n)  # errors of what depends on the rest and is as good as met
        self.left = CHANGES * (self.m + self.n)

    def run(self) -> int:
        """TAKEN: solved; NO_SOLUTION: and the multipliers say why."""
        low, high, m = self.qp.low, self.qp.high, self.m
        equalities = chain((low[:m] < 0.0).nonzero()[0], m + (low[m:] == high[m:]).nonzero()[0])
        for number in equalities:
            sign = 1.0 if self._error(number, 1.0) > 0.0 else -1.0
            verdict = self._take(number, sign)
            if verdict != TAKEN:
                return verdict
            self.fixed = len(self.numbers)
            self.allowed[number] = np.inf
        exact = False
        while True:
            number, sign = self._worst(ROUNDING if exact else SIGN_TOLERANCE)
            if number >= 0:
                exact = False
                verdict = self._take(number, sign)
                if verdict != TAKEN:
                    return verdict
            elif exact:
                return TAKEN if self._all_hold() else UNKNOWN
            elif self._refine():
                exact = True
            else:
                return UNKNOWN

    def _worst(self, rounding: float) -> tuple[int, float]:
        """The constraint that is broken most, and its sign; −1 where all hold.

        Errors below the share ``rounding`` of the step are none.
        """
        low, high, m, d = self.qp.low, self.qp.high, self.m, self.d
        over, under = d - high[m:], low[m:] - d
        broken = np.concatenate([self.qp.a @ d + self.qp.b, np.maximum(over, under)])
        sizes = np.concatenate([np.abs(self.qp.a) @ np.abs(d), np.abs(d)])
        broken -= self.allowed + SIGN_TOLERANCE * sizes + rounding * max(SMALLEST_STEP, largest(d))
        broken[self.numbers] = -np.inf
        number = int(broken.argmax())
        if not broken[number] > 0.0:
            return -1, 1.0
        return number, 1.0 if number < m or over[number - m] >= under[number - m] else -1.0

    def _normal(self, number: int, sign: float) -> Array:
        normal = np.zeros(self.n)
        if number < self.m:
            normal += sign * self.qp.a[number]
        else:
            normal[number - self.m] = sign
        return normal

    def _offset(self, number: int, sign: float) -> float:
        """The constraint's error at the step 0."""
        if number < self.m:
            return sign * float(self.qp.b[number])
        return -float((self.qp.high if sign > 0.0 else self.qp.low)[number]) * sign

    def _error(self, number: int, sign: float) -> float:
        return float(self._normal(number, sign) @ self.d) + self._offset(number, sign)

    def _combined(self, shares: Array) -> Array:
        """Sum (n,) of the normals taken in, times ``shares`` (q,)."""
        total = np.zeros(self.n)
        for number, sign, share in zip(self.numbers, self.signs, shares, strict=True):
            total += share * self._normal(number, sign)
        return total

    def _take(self, number: int, sign: float) -> int:
        """Go to the minimum with this constraint too. TAKEN also where it is met as well as it can be."""
        p = self._normal(number, sign)
        while self.left > 0:
            self.left -= 1
            q = len(self.numbers)
            w = self.J @ p
            r = _upper(self.R[:q, :q], w[:q])
            dependent = self._close_look(p, w, r)
            length = float(w[q:] @ w[q:])
            if not (dependent or length > 0.0):
                break
            reach, leaving = self._first_to_leave(r)
            if dependent and leaving < 0:
                return self._contradiction(number, sign, p, r)
            full = np.inf if dependent else self._error(number, sign) / length
            t = min(reach, full)
            if not np.isfinite(t):
                return UNKNOWN
            if full <= reach:
                self._add(number, sign, w)
                self._settle()
                return TAKEN
            if not dependent:
                self.d -= t * (w[q:] @ self.J[q:])
            self.u -= t * r
            self._drop(leaving)
        return UNKNOWN

    def _close_look(self, p: Array, w: Array, r: Array) -> bool:
        """Whether p is a sum of the normals, with shares r; where that is near, w and r become more exact."""
        q = r.size
        if np.linalg.norm(w[q:]) > SUSPECT * np.linalg.norm(w):
            return False
        new = p - self._combined(r)
        r += _upper(self.R[:q, :q], self.J[:q] @ new)
        new = p - self._combined(r)
        w[q:] = self.J[q:] @ new
        return q == self.n or largest(new) <= DEPENDENT * (1.0 + float(np.abs(r).sum()))

    def _first_to_leave(self, r: Array) -> tuple[float, int]:
        """How far multipliers can go against r (q,) until one is 0, and which; −1 where none falls."""
        reach, leaving, falling = np.inf, -1, FALLING * largest(r)
        for i in range(self.fixed, r.size):
            if r[i] > falling and self.u[i] < reach * r[i]:
                reach, leaving = max(float(self.u[i]), 0.0) / float(r[i]), i
        return reach, leaving

    def _contradiction(self, number: int, sign: float, p: Array, r: Array) -> int:
        """A broken constraint whose normal is a sum of the others with no share that may fall: no solution.

        Unless it is broken by rounding only; then it counts as met.
        """
        shares = r.copy()
        shares[self.fixed :] = np.minimum(shares[self.fixed :], 0.0)
        offsets = np.array([self._offset(*c) for c in zip(self.numbers, self.signs, strict=True)])
        offset = self._offset(number, sign)
        size = max(1.0, abs(offset), largest(offsets))
        if self._error(number, sign) <= RESIDUAL * size:
            self.allowed[number] = RESIDUAL * size
            return TAKEN
        # For steps that meet all of them, rest·d + gap ≤ 0; where each gives way by a little, ≤ slack.
        low, high, m = self.qp.low, self.qp.high, self.m
        rest, gap = np.abs(p - self._combined(shares)), offset - float(shares @ offsets)
        farthest = np.minimum(np.maximum(np.abs(low[m:]), np.abs(high[m:])), FAR * max(size, largest(self.d)))
        slack = RESIDUAL * size * (1.0 + float(np.abs(shares).sum()))
        if not gap > float(rest @ farthest) + slack:
            return UNKNOWN
        self.numbers.append(number)
        self.signs.append(sign)
        self.u = np.append(-shares, 1.0)
        return NO_SOLUTION

    def _add(self, number: int, sign: float, w: Array) -> None:
        """A constraint more: a reflection makes w = Jᵀp zero beyond q."""
        q = len(self.numbers)
        length, first = float(np.linalg.norm(w[q:])), float(w[q])
        corner = -np.copysign(length, first)
        mirror = w[q:].copy()
        mirror[0] -= corner
        self.J[q:] -= np.outer(mirror / (length * (length + abs(first))), mirror @ self.J[q:])
        self.R[:q, q], self.R[q, q] = w[:q], corner
        self.numbers.append(number)
        self.signs.append(sign)

    def _settle(self) -> None:
        """The minimum and its multipliers from the factors alone, free of what rounding did on the way."""
        q = len(self.numbers)
        offsets = np.array([self._offset(*c) for c in zip(self.numbers, self.signs, strict=True)])
        shares = -(self.J @ self.qp.g)
        along = -_upper(self.R[:q, :q], offsets, transposed=True)
        self.u = _upper(self.R[:q, :q], shares[:q] - along)
        shares[:q] = along
        self.d = shares @ self.J

    def _drop(self, k: int) -> None:
        """Without constraint k: its column goes, and rotations make R triangular again."""
        del self.numbers[k], self.signs[k]
        self.u = np.delete(self.u, k)
        q, R, J = len(self.numbers), self.R, self.J
        R[:, k:q] = R[:, k + 1 : q + 1].copy()
        for i in range(k, q):
            length = np.hypot(R[i, i], R[i + 1, i])
            c, s = R[i, i] / length, R[i + 1, i] / length
            for M in (R, J):
                M[i], M[i + 1] = c * M[i] + s * M[i + 1], c * M[i + 1] - s * M[i]
            R[i + 1, i] = 0.0

    def _refine(self) -> bool:
        """Remove what rounding left of the residuals; whether the point is then the minimum it should be."""
        q, qp = len(self.numbers), self.qp
        constraints = list(zip(self.numbers, self.signs, strict=True))
        for refinement in range(REFINEMENTS + 1):
            gradient = qp.B @ self.d + qp.g + self._combined(self.u)
            errors = np.array([self._error(*c) for c in constraints])
            size_y = max(largest(qp.g), largest(self.u))
            size_d = max(SMALLEST_STEP, largest(self.d))
            off, broken = largest(gradient), largest(errors)
            if off <= ACCURATE * size_y and broken <= ACCURATE * size_d:
                break
            if refinement < REFINEMENTS:
                change = -(self.J @ gradient)
                along = -_upper(self.R[:q, :q], errors, transposed=True)
                self.u = self.u + _upper(self.R[:q, :q], change[:q] - along)
                change[:q] = along
                self.d = self.d + change @ self.J
        inequalities = self.u[self.fixed :]
        right = bool((inequalities >= -SIGN_TOLERANCE * size_y).all())
        return right and off <= RESIDUAL * size_y + ROUNDING * largest(qp.B.diagonal()) * size_d

    def _all_hold(self) -> bool:
        """Whether nothing is broken but by rounding, in lengths of a step too: a long step hides much."""
        low, high, m, d = self.qp.low, self.qp.high, self.m, self.d
        errors = self.qp.a @ d + self.qp.b
        broken = np.where(low[:m] < 0.0, np.abs(errors), errors)
        bounds = np.maximum(d - high[m:], low[m:] - d)
        return bool(
            (broken <= RESIDUAL * np.maximum(1.0, np.abs(self.qp.b))).all()
            and (bounds <= RESIDUAL * np.maximum(1.0, np.abs(d))).all()
        )

    def answer(self) -> tuple[Array, Array, Array, States]:
        """Step, multipliers and states. What is taken in holds exactly, no multiplier has a wrong sign."""
        qp, m = self.qp, self.m
        y, z, states = np.zeros(m), np.zeros(self.n), np.zeros(m + self.n, dtype=np.int8)
        states[:m][qp.low[:m] == 0.0] = BELOW
        for i, (number, sign) in enumerate(zip(self.numbers, self.signs, strict=True)):
            multiplier = sign * (self.u[i] if i < self.fixed else max(self.u[i], 0.0))
            if number < m:
                states[number], y[number] = CORNER, multiplier
            else:
                j = number - m
                side = sign if multiplier == 0.0 else multiplier
                states[number], z[j] = (ABOVE if side > 0.0 else BELOW), multiplier
                self.d[j] = qp.high[number] if side > 0.0 else qp.low[number]
        return np.minimum(np.maximum(self.d, qp.low[m:]), qp.high[m:]), y, z, states


def _upper(R: Array, right: Array, transposed: bool = False) -> Array:
    """The solution of Rx = right, or Rᵀx = right, for an upper triangle R."""
    if not right.size:
        return np.zeros(0)
    return np.asarray(lapack.dtrtrs(R, right, lower=0, trans=int(transposed))[0])
