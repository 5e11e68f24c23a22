"""The algorithm for noisy functions: fit → penalty QP → sample where needed → step → accept or not.

The subproblem, the weights and the merit are those of the dense method, on unit rows. What differs is where
values and derivatives come from, quadratic models over all points so far, and that nothing is believed which
could be noise. One iteration is the body of `NoisySearch.run`.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space

from ...problem.problem import Problem
from ...types import Array, Indices, Mask
from ..judgement import ROWS_WITHIN
from ..norms import largest
from ..sqp.curvature.convexify import definite
from ..sqp.merit import ALPHA, BALANCED_SHARE, Plan, choose, weigh
from ..sqp.state import FIRST, Local
from ..sqp.stopping import UNBOUNDED_FALL
from ..sqp.subproblem.steering import Step, Subproblem
from ..status import SUCCESSES, Status
from ..watch import StopError, Watch
from .approach import Begin
from .cloud import Cloud
from .fit import Basis, Models, regress
from .radii import radii, third_derivatives
from .sampling import informative_points
from .view import Linearized, View, linear_parts

__all__ = ["NoisySearch"]

FIRST_RADIUS = 1.0  # of the trust region, in units of the variables' sizes
BEGIN_WITHIN = 10.0  # ... at first, in smallest radii, where another method has come this far
REGULARIZED = 1e-5  # times the largest entry, on the diagonal of the matrix
LARGEST_MULTIPLIER = 1e3  # relative to the gradient, that second derivatives are weighted by
LIGHTEST, LIGHT, HEAVIEST = 10.0, 3.0, 1e4  # elastic weight: by gradient, by multiplier, at most by gradient
UNCERTAIN = 0.5  # an error of the predicted fall above this share of it calls for more points
ACCEPTED = 0.1  # share of the predicted fall that must come true, within the noise
GOOD, POOR = 0.7, 0.3  # shares from which the region grows, and below which it shrinks
FULL_STEP = 0.9  # of the region, for it to grow
CERTAINLY_NOISE = 2.0  # times the noise of the merit, added to both sides of the test
FLOOR, FLOOR_TIMES = 0.3, 8  # a predicted fall below this share of the noise, so many times, is the end
SURE, SURE_TIMES = 0.04, 2  # ... or so few times, where errors of the gradients hide no more than this share
SURE_ANYWAY = 0.05  # ... if another method has come to a stand here too
KNOWN = 0.3  # ... and the values at the centre are known to this share of their noise
EMPTY = 1e-3  # a step of this share of the smallest region is none
LEFT = 2.0  # ... unless it exceeds so many times the noise in between
OVERRATED, SPARE = 2.0, 6.0  # noise so many times what models leave is lowered, if so many points tell
IDLE_TIMES = 24  # rejected or empty steps in the smallest region, which end it too
LEAST_LEVEL = 1e-15  # of relative noise


class NoisySearch:
    """Where the search stands.

    Parameters
    ----------
    problem : Problem
    free : (n,) which of all variables may move
    level : (1 + k,) relative noise of the objective and of every value, 0 for linear ones
    watch : who sees every iteration
    exhaust : whether to go on at the noise floor until a limit is reached
    told : whether the user has said what the noise is
    """

    def __init__(
        self,
        problem: Problem,
        free: Indices,
        level: Array,
        cloud: Cloud,
        size: Array,
        watch: Watch,
        exhaust: bool,
        told: bool,
    ) -> None:
        self.problem, self.rows, self.free, self.watch, self.exhaust = (
            problem,
            problem.rows,
            free,
            watch,
            exhaust,
        )
        self.level, self.cloud, self.size, self.told = level, cloud, size, told
        self.n, self.m = free.size, len(problem.rows)
        self.lower, self.upper = problem.lower[free] / size, problem.upper[free] / size
        self.basis = Basis(self.n)
        self.equality: Mask = problem.rows.equality
        self.floor = problem.rows.floor
        self.violations = problem.rows.broken
        self.subproblem = Subproblem(self.equality, self.n, LIGHTEST, watch.deadline)
        self.linear_values, self.linear_jacobian = linear_parts(problem, free, size)
        self.centre = np.clip(problem.start[free] / size, self.lower, self.upper)
        functions = level.size
        self.H = np.zeros((functions, self.n, self.n))
        self.y, self.z = np.zeros(self.m), np.zeros(self.n)  # of unit rows and of the bounds
        self.weights = np.zeros(self.m)
        self.delta = FIRST_RADIUS
        self.curvature = np.maximum(
            1.0, np.abs(cloud.values[0])
        )  # size of each function's second derivatives
        self.iteration = self.quiet = self.idle = 0
        self.first, self.begun = True, False
        self.hidden = SURE  # share of the noise that errors of the gradients may hide at the end
        self.widened = False  # the region, because a small one made a fall look like nothing
        self.directed = False  # errors of the gradients hide no more than the noise floor allows
        self.f_start = float(cloud.values[0, 0])
        self.radii = self._radii(None, None)
        self.view: View | None = None

    def begin_at(self, begin: Begin) -> None:
        """Begin where another method has ended."""
        self.centre = np.clip(begin.x[self.free] / self.size, self.lower, self.upper)
        self.y = begin.y.copy()  # of unit rows once their lengths are known
        self.iteration += begin.iterations
        self.first, self.begun = False, True
        if begin.status in (Status.NOISY, *SUCCESSES):  # it found little beyond the noise
            self.quiet, self.hidden = 1, SURE_ANYWAY

    # What is known -----------------------------------------------------------------------------------

    def noise(self, F: Array) -> Array:
        """Standard deviation (functions,) of the noise at values F."""
        sigma: Array = self.level * np.maximum(1.0, np.abs(F))
        return sigma

    def _radii(self, models: Models | None, view: View | None) -> tuple[float, float]:
        """Distances at which second and third derivatives equal the noise."""
        F = self.cloud.values[0] if models is None else models.F
        sigma, curved = self.noise(F), self.curvature
        weight = np.ones(F.size)
        if view is not None:
            g = float(np.linalg.norm(view.linear.g)) or 1.0
            weight = np.zeros(F.size)
            weight[0] = 1.0 / g**2
            importance = (self.y**2 + 0.01 * g**2) / (view.linear.length**2 * g**2)
            np.add.at(weight, 1 + self.rows.source, importance)
        weight = np.where(self.level > 0.0, weight, 0.0)
        third = curved
        if models is not None:
            active = np.zeros(F.size, dtype=bool)
            active[1 + self.rows.source[self.y != 0.0]] = True
            third = third_derivatives(models.J, curved, active)
        return radii(weight, sigma, curved, third)

    def fit(self) -> View:
        """Regress the models at the centre and look at the problem through them."""
        models = regress(self.basis, self.cloud, self.centre, *self.radii, self.H)
        exact = self.level == 0.0
        if exact.any():
            models.F[exact] = (self.linear_values + self.linear_jacobian @ self.centre)[exact]
            models.J[exact], models.H[exact] = self.linear_jacobian[exact], 0.0
        sigma = self.noise(models.F)
        source, sign = 1 + self.rows.source, self.rows.sign
        r = sign * (models.F[source] - self.rows.target)
        A = sign[:, None] * models.J[source]
        doubt = float(np.sqrt(np.trace(models.gradient_covariance)))
        length = np.maximum(np.sqrt(np.vecdot(A, A)), 2.0 * sigma[source] * doubt)
        length[length == 0.0] = 1.0
        a, b = A / length[:, None], r / length
        g = models.J[0].copy()
        local = Local(a, b, self.violations(b), largest(g), max(1.0, largest(self.centre)))
        return View(models, sigma, Linearized(g, length), local)

    def refit(self) -> View:
        """Fit, and let radii and second derivatives follow."""
        view = self.fit()
        models = view.models
        self.H = models.H
        steep = np.sqrt((models.J**2).sum(axis=1))
        # Without what noise adds to them, second derivatives and shrinking radii would drive each other up.
        doubt = view.noise**2 * self.basis.square_of_matrix(models.covariance.diagonal()) / models.length**4
        bent = np.sqrt(np.maximum((models.H**2).sum(axis=(1, 2)) - doubt, 0.0))
        self.curvature = np.maximum(0.5 * self.curvature + 0.5 * bent, 0.1 * steep)
        self.radii = self._radii(models, view)
        return view

    def merit_noise(self, view: View) -> float:
        """Standard deviation of the merit at one point."""
        of_rows = self.weights * view.noise[1 + self.rows.source]
        return float(np.sqrt(view.noise[0] ** 2 + float(of_rows @ of_rows)))

    def evaluate(self, points: list[Array]) -> list[Array]:
        """Values (functions,) at points u (n,), NaN where a function fails; all of them enter the cloud."""
        values = self.problem.evaluation.many([self.full(u) for u in points])
        for u, F in zip(points, values, strict=True):
            self.cloud.add(u, F)
        return values

    # The iteration -----------------------------------------------------------------------------------

    def run(self) -> Status:
        """Iterate until the noise floor or a limit."""
        try:
            self.explore(self.n)
            view = self.fit()
            steep = np.sqrt((view.models.J**2).sum(axis=1))
            self.curvature = np.where(steep > 0.0, steep, self.curvature)
            if self.begun:
                self.y = self.y * view.linear.length
                self.delta = min(self.delta, BEGIN_WITHIN * self.radii[0])
            while True:
                self.view = view = self.refit()
                step, B, plan = self.propose(view)
                if self.uncertain(view, step, plan) and self.explore(self.n):
                    self.view = view = self.refit()
                    step, B, plan = self.propose(view)
                self.widened = self.held_back(view, step, plan)
                if self.widened:
                    self.delta = self.radii[1]
                    step, B, plan = self.propose(view)
                self.y, self.z = step.y, step.z
                status = self.stop(view, step, plan, B)
                if status is not None:
                    return status
                self.advance(view, step, plan)
                self.iteration += 1
        except StopError as stop:
            return stop.status
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def explore(self, count: int) -> int:
        """Evaluate up to ``count`` points that tell most about the gradients.

        Where those are known well enough for the noise floor, it is the values that points shall tell about,
        and no more of them than that takes.
        """
        models = self.fit().models
        values = self.quiet > 0 and self.directed and models.covariance[0, 0] > KNOWN**2
        if values:
            count = min(count, int(np.ceil(1.0 / KNOWN**2 - 1.0 / models.covariance[0, 0])))
        points = informative_points(
            self.basis,
            self.cloud,
            models,
            self.centre,
            count,
            self.radii,
            self.delta,
            (self.lower, self.upper),
            values,
        )
        self.evaluate(points)
        return len(points)

    def propose(self, view: View) -> tuple[Step, Array, Plan]:
        """A step, the matrix it was computed with, and what it promises."""
        step, B = self.solve(view)
        return step, B, self.weigh(view, step, B)

    def solve(self, view: View) -> tuple[Step, Array]:
        """The step of the penalty QP inside the trust region, and the matrix it was computed with."""
        g, local = view.linear.g, view.local
        g_size = float(np.linalg.norm(g)) or 1.0
        if self.first:
            B, self.first = g_size * np.eye(self.n), False
        else:
            limit = LARGEST_MULTIPLIER * g_size
            y = np.clip(self.y, -limit, limit) / view.linear.length * self.rows.sign
            H = view.models.H[0] + np.tensordot(y, view.models.H[1 + self.rows.source], 1)
            active = (np.abs(self.y) > 0.0) | self.equality
            B = definite(0.5 * (H + H.T), local.a[active])
            B = B + REGULARIZED * max(float(np.abs(B.diagonal()).max()), 1e-10) * np.eye(self.n)
        self.subproblem.nu = min(max(LIGHTEST * g_size, LIGHT * largest(self.y)), HEAVIEST * g_size)
        lower = np.maximum(self.lower - self.centre, -self.delta)
        upper = np.minimum(self.upper - self.centre, self.delta)
        step = self.subproblem.solve(g, B, local.a, local.b, lower, upper)
        if step is not None:  # edges of the region are no bounds
            bound = np.where(step.z > 0.0, self.upper - self.centre, self.centre - self.lower) <= self.delta
            step = Step(step.d, step.y, np.where(bound, step.z, 0.0), step.corner, step.met)
        if step is None:  # numerical trouble: down the gradient
            d = np.clip(-self.delta * g / g_size, lower, upper)
            step = Step(d, np.zeros(self.m), np.zeros(self.n), np.zeros(self.m, dtype=bool), False)
        if float(np.linalg.norm(step.d)) <= EMPTY * self.radii[0] and self.rows_hold(view):
            # None: weights that follow its rounding would run away.
            step = Step(np.zeros(self.n), step.y, step.z, step.corner, step.met)
        return step, B

    def weigh(self, view: View, step: Step, B: Array) -> Plan:
        """What the step promises; the matrix is known here, so its half counts."""
        plan = weigh(self, view.linear, B, view.local, step, self.weights, FIRST.weight)  # type: ignore[arg-type]
        self.weights = plan.weights / view.linear.length
        return plan

    def promised(self, plan: Plan) -> float:
        return plan.predicted - 0.5 * plan.curved

    def uncertain(self, view: View, step: Step, plan: Plan) -> bool:
        """Whether the gradients are known too badly to believe the promise."""
        doubt = float(np.sqrt(np.trace(view.models.gradient_covariance)))
        error = self.merit_noise(view) * doubt * float(np.linalg.norm(step.d))
        return error > UNCERTAIN * self.promised(plan)

    def held_back(self, view: View, step: Step, plan: Plan) -> bool:
        """Whether a small region makes a fall look like nothing, although the models are true farther out."""
        small = self.promised(plan) <= FLOOR * self.merit_noise(view)
        return small and self.delta < self.radii[1] and largest(step.d) >= FULL_STEP * self.delta

    def rows_hold(self, view: View) -> bool:
        """Whether the rows are met within their own noise."""
        allowed = ROWS_WITHIN * view.noise[1 + self.rows.source] + 1e-8 * np.maximum(
            1.0, np.abs(self.rows.target)
        )
        return bool((view.local.v * view.linear.length <= allowed).all())

    def stop(self, view: View, step: Step, plan: Plan, B: Array) -> Status | None:
        """The reason to stop here, if there is one."""
        noise, promised = self.merit_noise(view), self.promised(plan)
        still = promised <= FLOOR * noise and self.rows_hold(view)
        if still:
            self.quiet += 1
        elif promised > LEFT * noise:
            self.quiet = 0
        sure = self.quiet >= SURE_TIMES and view.models.covariance[0, 0] <= KNOWN**2
        self.directed = self.at_stake(view, B) <= self.hidden * noise
        enough = self.quiet >= FLOOR_TIMES or (sure and self.directed)
        if enough and still and not self.exhaust and not self.overrated(view):
            self.settle(step)
            return Status.NOISE_FLOOR
        if self.idle >= IDLE_TIMES and not self.exhaust and not self.overrated(view):
            self.settle(step)
            return Status.NOISE_FLOOR if self.rows_hold(self.fit()) else Status.NO_PROGRESS
        if view.models.F[0] < -UNBOUNDED_FALL * max(1.0, abs(self.f_start)) and self.rows_hold(view):
            return Status.UNBOUNDED
        residual = view.linear.g + step.y @ view.local.a + step.z
        violations = view.local.v * view.linear.length
        row = {
            "nit": self.iteration,
            "fun": float(view.models.F[0]),
            "maxcv": float(violations.max(initial=0.0)),
            "violation": float((violations / np.maximum(1.0, np.abs(self.rows.target))).max(initial=0.0)),
            "stationarity": largest(residual) / (view.local.g_size or 1.0),
            "step": largest(step.d),
            "trials": 1,
            "multipliers": step.y / view.linear.length * self.rows.sign,
        }
        return self.watch.see(self.x, row)

    def settle(self, step: Step) -> None:
        """Take what the models of all points say; no single value would tell whether it is better."""
        self.centre = np.clip(self.centre + step.d, self.lower, self.upper)

    def at_stake(self, view: View, B: Array) -> float:
        """The fall that errors of the gradients hide, on the average, where rows and bounds leave freedom.

        A gradient of the Lagrangian that is wrong by e misplaces the minimizer of the model by B⁻¹e, which
        costs ½ eᵀB⁻¹e.
        """
        loose = self.z == 0.0
        active = (np.abs(self.y) > 0.0) | self.equality
        Z = null_space(view.local.a[active][:, loose])
        if not Z.size:
            return 0.0
        y = self.y / view.linear.length
        variance = view.noise[0] ** 2 + float(((y * view.noise[1 + self.rows.source]) ** 2).sum())
        errors = Z.T @ view.models.gradient_covariance[np.ix_(loose, loose)] @ Z
        spread = np.linalg.solve(Z.T @ B[np.ix_(loose, loose)] @ Z, errors)
        return 0.5 * float(variance) * float(np.trace(spread))

    def overrated(self, view: View) -> bool:
        """Whether the models leave much less unexplained than the noise measured, which is then lowered.

        What bends strongly along the line on which noise is measured looks like noise there.
        """
        models = view.models
        if self.told or models.spare < SPARE:
            return False
        left = np.sqrt(models.residual)
        too_much = (self.level > LEAST_LEVEL) & (left < view.noise / OVERRATED)
        if not too_much.any():
            return False
        lower = left / np.maximum(1.0, np.abs(models.F))
        self.level = np.where(too_much, np.maximum(lower, LEAST_LEVEL), self.level)
        self.quiet = self.idle = 0
        self.radii = self._radii(models, view)
        self.delta = max(self.delta, self.radii[0])
        return True

    def advance(self, view: View, step: Step, plan: Plan) -> None:
        """Evaluate the step; move the centre if the merit falls as far as the noise lets one see."""
        near = self.radii[0]
        length = float(np.linalg.norm(step.d))
        target = np.clip(self.centre + step.d, self.lower, self.upper)
        smallest = self.delta <= 1.01 * near or self.widened
        if (target == self.centre).all():
            self.idle += 1
            if not self.explore(self.n):
                self.idle = IDLE_TIMES
            return
        (F,) = self.evaluate([target])
        if not np.isfinite(F).all():
            self.delta = 0.25 * length
            self.idle += smallest
            return
        merit, fall = choose(self.equality, view.local, step, plan, ALPHA, BALANCED_SHARE)
        source, sign = 1 + self.rows.source, self.rows.sign
        there = sign * (F[source] - self.rows.target) / view.linear.length
        actual = view.models.F[0] + merit.penalty(view.local.b) - F[0] - merit.penalty(there)
        slack = CERTAINLY_NOISE * self.merit_noise(view)
        ratio = (actual + slack) / (max(fall - 0.5 * plan.curved, 0.0) + slack or 1.0)
        if ratio >= ACCEPTED:
            self.centre = target
            seen = self.promised(plan) > slack
            if seen and ratio >= GOOD and length >= FULL_STEP * self.delta:
                self.delta *= 2.0
            elif ratio < POOR:
                self.delta = max(0.5 * self.delta, near)
            elif not seen:  # no farther than the models are true within the noise
                self.delta = min(self.delta, max(0.5 * self.delta, self.radii[1]))
            self.idle = self.idle + 1 if smallest and self.promised(plan) <= slack else 0
        else:
            self.delta = max((0.25 if ratio < -1.0 else 0.5) * length, 0.5 * near)
            self.idle += smallest

    @property
    def x(self) -> Array:
        """The centre in all variables (n_all,)."""
        return self.full(self.centre)

    def full(self, u: Array) -> Array:
        """All variables (n_all,) at u (n,), inside the bounds to the last digit."""
        x, free = self.problem.start.copy(), self.free
        x[free] = np.clip(u * self.size, self.problem.lower[free], self.problem.upper[free])
        return x
