"""
A process plant, from its simulation
====================================

Two reactors, a separator and a recycle, run for the highest profit. A → B → C in a
cooled and an adiabatic stirred tank; B is sold, C is waste. The separator sends
unreacted A back, less a purge. The simulation solves the mass and energy balances,
and raises an exception where it has no solution, or none within its property data,
as simulators do.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import Bounds, root

from softpenalty import Constraint, minimize, shared

plt.style.use("softpenalty.figures")
FEED, DENSITY, HEAT_CAPACITY = 100.0, 10.0, 200.0  # kmol/h of A, kmol/m³, kJ/(kmol K)
HEAT = 20e3, 30e3  # kJ/kmol released by A → B and by B → C
RATE, AT = np.array([6.0, 0.08]), 380.0  # 1/h at so many K, of A → B and of B → C
ACTIVATION = np.array([70e3, 100e3])  # kJ/kmol
FEED_AT, EVAPORATION = 330.0, 30e3  # K, kJ/kmol
HOTTEST = 450.0  # K, the end of the property data
VARIABLES = {  # name: start, lower and upper bound
    "reactor 1, K": (370.0, 340.0, 420.0),
    "reactor 1, m³": (6.0, 1.0, 30.0),
    "intercooler, K": (345.0, 320.0, 400.0),
    "reactor 2, m³": (4.0, 1.0, 30.0),
    "reflux": (2.0, 0.2, 8.0),
    "purge": (0.1, 0.01, 0.5),
}


class NotConvergedError(Exception):
    """The balances have no solution here."""


def tank(inflow, flow, volume, T):
    """Return A and B that leave a tank, kmol/h, and the heat it releases, kJ/h."""
    k1, k2 = RATE * np.exp(ACTIVATION / 8.314 * (1.0 / AT - 1.0 / T))
    hours = DENSITY * volume / flow
    a = inflow[0] / (1.0 + k1 * hours)
    b = (inflow[1] + k1 * hours * a) / (1.0 + k2 * hours)
    return np.array([a, b]), hours * (HEAT[0] * k1 * a + HEAT[1] * k2 * b)


def simulate(x):
    """Solve the balances at the set points x; return what is worth knowing."""
    T1, V1, inlet, V2, reflux, purge = x
    # Shares of A and B that leave the separator at its top, back to the reactors.
    overhead = np.array([reflux / (reflux + 0.2), 0.3 / (1.0 + reflux) ** 2])

    def pass_through(z):
        """z: A and B in the recycle, 100 kmol/h; temperature of reactor 2, 100 K."""
        back = 100.0 * z[:2]
        flow = FEED + back.sum()  # no reaction changes the number of moles
        first, released = tank(np.add(back, [FEED, 0.0]), flow, V1, T1)
        second, warming = tank(first, flow, V2, 100.0 * z[2])
        hot = inlet + warming / (flow * HEAT_CAPACITY)
        after = np.array([*(1.0 - purge) * overhead * second, hot]) / 100.0
        return flow, second, released, after

    z = np.array([0.4, 0.02, inlet / 100.0])
    for _ in range(50):  # comes near; Newton's method does the rest
        z = pass_through(z)[3]
        if z[2] > HOTTEST / 100.0:
            raise NotConvergedError(f"reactor 2 runs away beyond {HOTTEST:g} K")
    found = root(lambda z: pass_through(z)[3] - z, z, tol=1e-14)
    flow, (a, b), released, _ = pass_through(found.x)
    residual = np.abs(found.fun).max()
    if not residual <= 1e-12 or min(found.x) < 0.0:  # differences see what is left
        raise NotConvergedError(f"the recycle is not solved: residual {residual:.1e}")
    up, down = overhead * [a, b], (1.0 - overhead) * [a, b]
    lost = down[0] + purge * up[0]  # A that leaves the plant
    cooling = (released + HEAT_CAPACITY * flow * (FEED_AT - inlet)) / 3600.0
    boiling = EVAPORATION * (1.0 + reflux) * up.sum() / 3600.0
    sales, material = 0.060 * down[1], 0.020 * FEED
    energy = 0.00008 * cooling + 0.0003 * boiling
    equipment = 0.10 * (V1**0.6 + V2**0.6) + 0.002 * flow
    return {
        "profit": sales - material - energy - equipment,  # k$/h
        "purity": down[1] / (flow - up.sum()),
        "conversion": 1.0 - lost / FEED,
        "temperature": 100.0 * found.x[2],
        "recycle": (1.0 - purge) * up.sum() / FEED,
        "cooling": cooling,  # kW
        "boiling": boiling,  # kW
        "product": down[1],
    }


# %%
# One simulation gives the profit and all that is limited: :func:`softpenalty.shared`
# runs it once a point, whoever asks. A long run would also take
# ``checkpoint="run.jsonl"``, ``workers=4`` and ``progress=True``.

plant = shared(simulate)
constraints = [
    Constraint(plant["purity"], ">", 0.95, name="purity"),
    Constraint(plant["conversion"], ">", 0.92, name="conversion"),
    Constraint(plant["temperature"], "<", 385.0, name="temperature of reactor 2"),
    Constraint(plant["recycle"], "<", 0.30, name="recycle rate"),
    Constraint(plant["cooling"], "<", 350.0, name="cooling duty"),
    Constraint(plant["boiling"], "<", 700.0, name="boiling duty"),
]
start, lower, upper = map(np.array, zip(*VARIABLES.values(), strict=True))
path = [start]
result = minimize(
    lambda x: -plant["profit"](x),
    start,
    bounds=Bounds(lower, upper),
    constraints=constraints,
    names=list(VARIABLES),
    callback=lambda x: path.append(x.copy()),
)
print(result.report())
assert result.success and result.failures > 0  # it stepped back from failures

# %%
# What the simulation says at the start and at the end. The start is not feasible: its
# recycle is too large.

first, best = simulate(start), simulate(result.x)
print(f"{'':26}{'start':>10}{'best':>10}")
for name, old, new in zip(VARIABLES, start, result.x, strict=True):
    print(f"{name:26}{old:10.3f}{new:10.3f}")
for name in first:
    print(f"{name:26}{first[name]:10.3f}{best[name]:10.3f}")

# %%
# The profit around the best point, and the way there (on which the other set points
# change, too). Close beside it a runaway begins, and the simulation has no answer.

T1, inlet = np.meshgrid(*(np.linspace(lower[i], upper[i], 41) for i in (0, 2)))
profit = np.full(T1.shape, np.nan)
for at in np.ndindex(*T1.shape):
    x = result.x.copy()
    x[0], x[2] = T1[at], inlet[at]
    try:
        profit[at] = simulate(x)["profit"]
    except NotConvergedError:
        continue

figure, axes = plt.subplots(figsize=(7, 4.6))
axes.set_facecolor("0.87")
levels = np.linspace(0.0, 3.2, 17)
shown = axes.contourf(T1, inlet, profit, levels=levels, extend="both")
figure.colorbar(shown, ax=axes, label="profit, k$/h")
axes.plot(*np.array(path).T[[0, 2]], ".-", color="C1", lw=1.2)
axes.plot(*result.x[[0, 2]], "w*", ms=14, mec="k")
axes.text(start[0], start[2] - 3, "start", color="w", ha="center", va="top")
axes.text(410, 392, "no answer", color="0.3", ha="center")
axes.set(xlabel="reactor 1, K", ylabel="intercooler, K")
axes.set_title("Profit around the best point (star)")
plt.show()

# %%
# What is limited, relative to its limit, on the way.

figure, axes = plt.subplots(figsize=(7, 4))
heights = [0.95, 1.08, 1.035, 0.71, 0.60, 0.99]  # of the labels, apart from each other
for i, (c, height) in enumerate(zip(constraints, heights, strict=True)):
    axes.plot([simulate(x)[c.fun.part] / c.target for x in path], color=f"C{i}")
    label = f"{c.name} {c.operator} {c.target:g}"
    axes.text(len(path) - 0.5, height, label, color=f"C{i}", va="center", fontsize=9)
axes.axhline(1.0, color="0.3", lw=0.8)
axes.set(xlabel="iteration", ylabel="value / limit")
axes.set(xlim=(0, len(path) - 1), ylim=(0.4, 1.35))
axes.set_title("The limited quantities")
plt.show()
