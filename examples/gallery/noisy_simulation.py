"""
A noisy simulation
==================

How many spare parts of two kinds should be in stock? What is left over at the end
of a day costs money, and on 95 % of all days everything that is asked for must be
there. Both are simulated: 1000 random days, newly drawn at every call, so that no
two calls give the same answer.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import optimize
from scipy.stats import norm

from softpenalty import Constraint, minimize, shared

plt.style.use("softpenalty.figures")
MEAN, SPREAD = np.array([50.0, 30.0]), np.array([12.0, 9.0])  # of the demand, parts
PRICE = np.array([1.0, 2.5])  # € for a part that is left over
random = np.random.default_rng(1)


def simulate(stock):
    demand = MEAN + SPREAD * random.standard_normal((1000, 2))
    left = np.maximum(stock - demand, 0.0)
    return {
        "cost": np.mean(left @ PRICE),
        "service": np.mean(np.all(demand <= stock, axis=1)),
    }


# %%
# :func:`softpenalty.shared` runs one simulation for the objective and the constraint.
# Differences over 1e-8 see nothing but noise; ``noise="auto"`` measures it with a few
# simulations and then takes its steps by models regressed over all points so far. It
# ends where nothing beyond the noise is left to gain.

warehouse = shared(simulate)
bounds, start = [(40, 120), (20, 90)], [60.0, 60.0]
service = Constraint(warehouse["service"], ">", 0.95, name="service")
result = minimize(
    warehouse["cost"],
    start,
    bounds=bounds,
    constraints=service,
    noise="auto",
    names=["part 1", "part 2"],
)
print(result.report())
assert result.success

# %%
# Demand is normally distributed here, so the exact answer is known: the result is a
# part or two away from it, at most a few of its own standard deviations
# (``result.uncertainty``). ``exhaust=True`` goes on at the noise floor and averages.
# A method that trusts its differences hardly leaves the start: SciPy's SLSQP.


def exact_cost(stock):
    z = (stock - MEAN) / SPREAD
    return PRICE @ (SPREAD * (z * norm.cdf(z) + norm.pdf(z)))


def exact_service(stock):
    return np.prod(norm.cdf((stock - MEAN) / SPREAD))


served = Constraint(exact_service, ">", 0.95)
exact = minimize(exact_cost, start, bounds=bounds, constraints=served)
longer = minimize(
    warehouse["cost"],
    start,
    bounds=bounds,
    constraints=service,
    noise="auto",
    exhaust=True,
    maxfev=150,
)
slsqp = optimize.minimize(
    warehouse["cost"],
    start,
    method="SLSQP",
    bounds=bounds,
    constraints={"type": "ineq", "fun": lambda x: warehouse["service"](x) - 0.95},
)
found = {"exact": exact, "noise='auto'": result, "exhaust=True": longer, "SLSQP": slsqp}
for label, r in found.items():
    print(f"{label:<13} stock {r.x.round(1)}, calls {r.nfev}", end=", ")
    print(f"service {exact_service(r.x):.3f}, cost {exact_cost(r.x):.1f}")
assert np.abs(result.x - exact.x).max() < 2.5  # parts
assert np.abs(longer.x - exact.x).max() < 1.0

figure, axes = plt.subplots(figsize=(7, 4.6))
grid = np.array(np.meshgrid(np.linspace(50, 90, 80), np.linspace(35, 65, 80)))
cost = np.apply_along_axis(exact_cost, 0, grid)
share = np.apply_along_axis(exact_service, 0, grid)
axes.contour(*grid, cost, levels=12, colors="0.8", linewidths=0.8)
axes.contourf(*grid, share, levels=[0.95, 1.0], colors=["C0"], alpha=0.12)
axes.plot(*longer.evaluations.x.T, ".", color="0.65", ms=5)
axes.plot(*result.evaluations.x.T, ".", color="C1", ms=8)
axes.errorbar(*result.x, *result.uncertainty["x"][::-1], color="C1", capsize=3)
axes.plot(*exact.x, "k+", ms=16)
axes.plot(*slsqp.x, "s", color="C3")
axes.text(60.8, 60, "SLSQP stops at the start", color="C3", va="center")
axes.text(77, 63, "95 % served", color="C0")
axes.set(xlabel="stock of part 1", ylabel="stock of part 2")
axes.set(xlim=(50, 90), ylim=(35, 65))
axes.set_title(f"{result.nfev} simulations (orange), {longer.nfev} (grey), exact (+)")
plt.show()

# %%
# What makes it hard: the service that one call of the simulation sees, along a line
# through the solution.

figure, axes = plt.subplots(figsize=(7, 3.6))
along = np.linspace(60, 100, 120)
line = [np.array([one, exact.x[1]]) for one in along]
axes.plot(along, [warehouse["service"](stock) for stock in line], ".", color="0.5")
axes.plot(along, [exact_service(stock) for stock in line], color="C0")
axes.axhline(0.95, color="0.3", lw=0.8)
axes.text(60, 0.953, "95 %", color="0.3", va="bottom")
axes.set(xlabel="stock of part 1", ylabel="share of days served")
axes.set_title("Dots: one simulation each; line: exact")
plt.show()
