"""
An infeasible problem, explained
================================

A workshop makes tables and chairs. It wants to earn 1000 € a week, has 300 kg of
wood and 90 hours of work, and must deliver two tables and four chairs at least.
That cannot be done. Which of the wishes conflict, and which of them has to give way
by how much?
"""

import matplotlib.pyplot as plt
import numpy as np

from softpenalty import Constraint, minimize

plt.style.use("softpenalty.figures")


def storage(x):
    return 1.5 * x[0] + 0.3 * x[1]  # m³, to be small


def solve(profit=1000.0, wood=300.0, work=90.0):
    constraints = [
        Constraint(lambda x: 80 * x[0] + 40 * x[1], ">", profit, name="profit"),
        Constraint(lambda x: 30 * x[0] + 10 * x[1], "<", wood, name="wood"),
        Constraint(lambda x: 6 * x[0] + 5 * x[1], "<", work, name="work"),
        Constraint(lambda x: x, ">", [2.0, 4.0], name="orders"),
    ]
    names = ["tables", "chairs"]
    return minimize(storage, [5.0, 5.0], constraints=constraints, names=names)


# %%
# The result does not pass a point off as an answer. ``conflict`` names the few
# constraints that cannot hold together (the orders are not among them),
# ``relaxation`` how far each of these, alone, would have to give way.

result = solve()
print(result.report())
assert not result.success
assert set(result.conflict) == {"profit > 1000", "wood < 300", "work < 90"}

# %%
# So there are three ways out. By hand: two of the lines below (shaded on the
# forbidden side) meet at a point, and the third has to move there, by 66.67 €, 37.5
# kg or 15 h. The numbers agree, and solving again shows that each is enough.

give = result.relaxation
by_hand = {"profit > 1000": 200 / 3, "wood < 300": 37.5, "work < 90": 15.0}
for label, change in by_hand.items():
    print(f"{label:<15} gives way by {give[label]:8.4f}, by hand {change:8.4f}")
    assert np.isclose(give[label], change, rtol=1e-5)
ways = {
    "profit": solve(profit=1000 - give["profit > 1000"]),
    "wood": solve(wood=300 + give["wood < 300"]),
    "work": solve(work=90 + give["work < 90"]),
}
assert all(way.success for way in ways.values())

figure, axes = plt.subplots(figsize=(7, 4.6))
tables = np.array([3.0, 11.0])
lines = [  # name, chairs along the line, where it forbids, where the label stands
    ("at least 1000 €", (1000 - 80 * tables) / 40, -1, (3.1, 15.6)),
    ("at most 300 kg of wood", (300 - 30 * tables) / 10, 1, (3.75, 20.0)),
    ("at most 90 h of work", (90 - 6 * tables) / 5, 1, (9.1, 7.8)),
]
for i, (label, chairs, side, place) in enumerate(lines):
    axes.plot(tables, chairs, color=f"C{i}")
    forbidden = chairs + 0.8 * side
    axes.fill_between(tables, chairs, forbidden, color=f"C{i}", alpha=0.2, lw=0)
    axes.text(*place, label, color=f"C{i}")
ways_out = [
    ("67 € less", (6.0, 7.6)),
    ("37.5 kg more", (9.2, 10.2)),
    ("15 h more", (5.5, 16.5)),
]
for i, (way, (label, place)) in enumerate(zip(ways.values(), ways_out, strict=True)):
    axes.plot(*way.x, "o", color=f"C{i}", ms=8)
    arrow = {"arrowstyle": "->", "color": f"C{i}"}
    axes.annotate(label, way.x, place, color=f"C{i}", arrowprops=arrow)
axes.set(xlim=tables, ylim=(3, 22), xlabel="tables a week", ylabel="chairs a week")
axes.set_title("Three limits without a common point, and three ways out")
plt.show()
