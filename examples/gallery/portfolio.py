"""
A portfolio with limits, and the price of return
================================================

How should savings be spread over six kinds of assets, so that an expected return is
reached with the least risk? Shares add up to one, none is negative, at most 25 %
goes into one kind, and at least half into bonds and cash. The figures are invented,
but of a usual size.
"""

import matplotlib.pyplot as plt
import numpy as np

from softpenalty import Constraint, minimize

plt.style.use("softpenalty.figures")
ASSETS = ["cash", "state bonds", "corporate bonds", "property", "shares", "new markets"]
RETURN = np.array([1.5, 2.5, 3.8, 5.0, 6.5, 8.0])  # per cent a year
RISK = np.array([0.5, 4.0, 6.0, 11.0, 16.0, 22.0])  # standard deviation, the same
CORRELATION = np.array(
    [
        [1.0, 0.1, 0.0, 0.0, 0.0, 0.0],
        [0.1, 1.0, 0.6, 0.1, -0.2, -0.1],
        [0.0, 0.6, 1.0, 0.3, 0.4, 0.4],
        [0.0, 0.1, 0.3, 1.0, 0.5, 0.4],
        [0.0, -0.2, 0.4, 0.5, 1.0, 0.7],
        [0.0, -0.1, 0.4, 0.4, 0.7, 1.0],
    ]
)
SAFE = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
COVARIANCE = RISK[:, None] * CORRELATION * RISK

# %%
# The objective is half the variance; the limits of single shares are bounds.
# Derivatives are given, since a linear function has its row for one.


def linear(row, operator, target, name):
    return Constraint(lambda w: row @ w, operator, target, lambda w: row, name)


def invest(least_return, largest=0.25, bonds=0.5):
    constraints = [
        linear(np.ones(6), "=", 1.0, name="all of it"),
        linear(RETURN, ">", least_return, name="return"),
        linear(SAFE, ">", bonds, name="bonds and cash"),
    ]
    result = minimize(
        lambda w: w @ COVARIANCE @ w / 2,
        np.full(6, 1 / 6),
        jac=lambda w: COVARIANCE @ w,
        bounds=[(0.0, largest)] * 6,
        constraints=constraints,
        names=ASSETS,
    )
    assert result.success, result.message
    return result


print(invest(4.5).report())

# %%
# The multiplier of the return says what another per cent of it costs in variance: it
# is the slope of the frontier, and comes with every solution. Limits bend the
# frontier to the right, and end it earlier.

returns, wide = np.linspace(2.9, 5.1, 45), np.linspace(1.6, 7.8, 40)
limited = [invest(r) for r in returns]
free = [invest(r, largest=1.0, bonds=0.0) for r in wide]
variance, price = np.array([(r.fun, -r.multipliers["return"][0]) for r in limited]).T
slope = np.diff(variance) / np.diff(returns)
assert np.all(price[:-1] <= slope + 1e-9)  # tangents of a convex curve
assert np.all(slope <= price[1:] + 1e-9)

figure, axes = plt.subplots(figsize=(7, 4.4))
for results, at, color in (free, wide, "C1"), (limited, returns, "C0"):
    axes.plot([np.sqrt(2 * r.fun) for r in results], at, color=color)
axes.text(9.0, 5.6, "no limits", color="C1", ha="right")
axes.text(9.2, 4.6, "with limits", color="C0", va="top")
axes.plot(RISK, RETURN, "o", color="0.5")
for name, risk, gain in zip(ASSETS, RISK, RETURN, strict=True):
    axes.text(risk + 0.4, gain - 0.1, name, color="0.4", fontsize=9, va="top")
axes.set(xlabel="risk, % a year", ylabel="expected return, % a year", xlim=(0, 26))
axes.set_title("The least risk for every return")
plt.show()

# %%
# What the portfolio with limits is made of, from the least risk to the largest
# return.

figure, axes = plt.subplots(figsize=(7, 4))
shares = 100 * np.array([r.x for r in limited]).T
shades = plt.get_cmap("cividis")(np.linspace(0, 1, 6))
axes.stackplot(returns, shares, colors=shades, edgecolor="w", lw=0.5)
middle = np.cumsum(shares, axis=0) - shares / 2
for i, (name, at) in enumerate(zip(ASSETS, (8, 8, 8, 8, 22, 36), strict=True)):
    color = "w" if i < 3 else "k"
    axes.text(returns[at], middle[i, at], name, color=color, va="center")
axes.set(xlim=returns[[0, -1]], ylim=(0, 100), title="The portfolio with limits")
axes.set(xlabel="expected return asked for, % a year", ylabel="share, %")
plt.show()
