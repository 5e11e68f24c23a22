"""
A noisy simulation
==================

How many spare parts of two kinds should be in stock? What is left over at the end of a day costs money,
and on 95 % of all days everything that is asked for must be there. Both are simulated: 1000 random days,
newly drawn at every call, so that no two calls give the same answer.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import optimize
from scipy.stats import norm

from softpenalty import Constraint, minimize, shared

plt.style.use("softpenalty.figures")
MEAN, SPREAD, PRICE = np.array([50.0, 30.0]), np.array([12.0, 9.0]), np.array([1.0, 2.5])  # parts, parts, €
random = np.random.default_rng(1)


def simulate(stock):
    demand = MEAN + SPREAD * random.standard_normal((1000, 2))
    left = np.maximum(stock - demand, 0.0)
    return {"cost": np.mean(left @ PRICE), "service": np.mean(np.all(demand <= stock, axis=1))}


# %%
# :func:`softpenalty.shared` runs one simulation for the objective and the constraint. Differences over
# 1e-8 see nothing but noise; ``noise="auto"`` measures it with a few simulations and then takes its steps
# by models regressed over all points so far. It ends where nothing beyond the noise is left to gain.

warehouse = shared(simulate)
bounds, start = [(40, 120), (20, 90)], [60.0, 60.0]
service = Constraint(warehouse["service"], ">", 0.95, name="service")
result = minimize(
    warehouse["cost"], start, bounds=bounds, constraints=service, noise="auto", names=["part 1", "part 2"]
)
print(result.report())
assert result.success

# %%
# Demand is normally distributed here, so the exact answer is known: the result is a part or two away from
# it, at most a few of its own standard deviations (``result.uncertainty``). ``exhaust=True`` goes on at
# the noise floor and averages. A method that trusts its differences hardly leaves the start: SciPy's
# SLSQP.


def exact_cost(stock):
    z = (stock - MEAN) / SPREAD
    return PRICE @ (SPREAD * (z * norm.cdf(z) + norm.pdf(z)))


exact_service = Constraint(lambda stock: np.prod(norm.cdf((stock - MEAN) / SPREAD)), ">", 0.95)
exact = minimize(exact_cost, start, bounds=bounds, constraints=exact_service)
longer = minimize(
    warehouse["cost"], start, bounds=bounds, constraints=service, noise="auto", exhaust=True, maxfev=150
)
slsqp = optimize.minimize(
    warehouse["cost"], start, bounds=bounds, method="SLSQP",
    constraints={"type": "ineq", "fun": lambda x: warehouse["service"](x) - 0.95},
)  # fmt: skip
found = {"exact": exact, "noise='auto'": result, "exhaust=True": longer, "SLSQP": slsqp}
for label, r in found.items():
    service_there, cost_there = exact_service.fun(r.x), exact_cost(r.x)
    print(
        f"{label:<13} stock {r.x.round(1)} service {service_there:.3f} cost {cost_there:.1f} calls {r.nfev}"
    )
assert np.abs(result.x - exact.x).max() < 2.5 and np.abs(longer.x - exact.x).max() < 1.0  # parts

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
along = np.linspace(60, 100, 120)
line = [np.array([one, exact.x[1]]) for one in along]
left.plot(along, [warehouse["service"](stock) for stock in line], ".", color="0.5")
left.plot(along, [exact_service.fun(stock) for stock in line], color="C0")
left.axhline(0.95, color="0.3", lw=0.8)
left.text(60, 0.952, "95 %", color="0.3", va="bottom")
left.set(xlabel="stock of part 1", ylabel="share of days served", title="Dots: what the optimizer sees")
grid = np.meshgrid(np.linspace(50, 90, 80), np.linspace(35, 65, 80))
cost, there = (np.apply_along_axis(f, 0, np.array(grid)) for f in (exact_cost, exact_service.fun))
right.contour(*grid, cost, levels=12, colors="0.8", linewidths=0.8)
right.contourf(*grid, there, levels=[0.95, 1.0], colors=["C0"], alpha=0.12)
right.plot(*longer.evaluations.x.T, ".", color="0.7", ms=4)
right.plot(*result.evaluations.x.T, ".", color="C1", ms=6)
right.plot(*exact.x, "k+", ms=14)
right.errorbar(*result.x, *result.uncertainty["x"][::-1], color="C1", capsize=3)
right.plot(*slsqp.x, "s", color="C3")
right.annotate("SLSQP stops at the start", slsqp.x, (6, 4), textcoords="offset points", color="C3")
right.text(76, 62, "95 % served", color="C0")
right.set(xlim=(50, 90), ylim=(35, 65), xlabel="stock of part 1", ylabel="stock of part 2")
right.set_title(f"{result.nfev} simulations (orange), {longer.nfev} (grey), exact (+)")
plt.show()
