"""
A portfolio with limits, and the price of return
================================================

How should savings be spread over six kinds of assets, so that an expected return is reached with the
least risk? Shares add up to one, none is negative, at most 25 % goes into one kind, and at least half
into bonds and cash. The figures are invented, but of a usual size.
"""

import matplotlib.pyplot as plt
import numpy as np

from softpenalty import Constraint, minimize

plt.style.use("softpenalty.figures")
ASSETS = ["cash", "state bonds", "corporate bonds", "property", "shares", "new markets"]
RETURN = np.array([1.5, 2.5, 3.8, 5.0, 6.5, 8.0])  # per cent a year
RISK = np.array([0.5, 4.0, 6.0, 11.0, 16.0, 22.0])  # standard deviation, per cent a year
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
COVARIANCE = RISK[:, None] * CORRELATION * RISK

# %%
# The objective is half the variance. Constraints of several kinds are mixed freely; the limits of single
# shares are bounds. Derivatives are one line each here, so they are given.


def invest(least_return, largest=0.25, bonds=0.5):
    ones, safe = np.ones(6), np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    constraints = [
        Constraint(lambda w: w.sum(), "=", 1.0, jac=lambda w: ones, name="all of it"),
        Constraint(lambda w: RETURN @ w, ">", least_return, jac=lambda w: RETURN, name="return"),
        Constraint(lambda w: safe @ w, ">", bonds, jac=lambda w: safe, name="bonds and cash"),
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
# The multiplier of the return says what another per cent of it costs in variance: it is the slope of the
# frontier, and comes with every solution. Limits bend the frontier to the right, and end it earlier.

returns, wide = np.linspace(2.9, 5.1, 45), np.linspace(1.6, 7.8, 40)
limited = [invest(r) for r in returns]
free = [invest(r, largest=1.0, bonds=0.0) for r in wide]
variance, price = np.array([(r.fun, -r.multipliers["return"][0]) for r in limited]).T
slope = np.diff(variance) / np.diff(returns)
assert np.all((price[:-1] <= slope + 1e-9) & (slope <= price[1:] + 1e-9))  # a convex curve and its tangents

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
for results, at, color in (free, wide, "C1"), (limited, returns, "C0"):
    left.plot([np.sqrt(2 * r.fun) for r in results], at, color=color)
left.text(9.0, 5.6, "no limits", color="C1", ha="right")
left.text(9.2, 4.6, "with limits", color="C0", va="top")
left.plot(RISK, RETURN, "o", color="0.5")
for name, risk, gain in zip(ASSETS, RISK, RETURN, strict=True):
    left.annotate(name, (risk, gain), (5, -3), textcoords="offset points", color="0.4", fontsize=8, va="top")
left.set(xlim=(0, 26), xlabel="risk, % a year", ylabel="expected return, % a year", title="Risk and return")
shares = 100 * np.array([r.x for r in limited]).T
cividis = plt.get_cmap("cividis")(np.linspace(0, 1, 6))
right.stackplot(returns, shares, colors=cividis, edgecolor="w", lw=0.5)
middle = np.cumsum(shares, axis=0) - shares / 2
for i, name in enumerate(ASSETS):
    at = (8, 8, 8, 8, 22, 36)[i]
    right.text(returns[at], middle[i, at], name, color="w" if i < 3 else "k", va="center", fontsize=8)
right.set(xlabel="expected return asked for, % a year", ylabel="share, %", title="The portfolio with limits")
right.set(xlim=returns[[0, -1]], ylim=(0, 100))
plt.show()
