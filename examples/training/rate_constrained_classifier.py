"""A classifier that may miss at most 5 % of the malignant tumours, with as few false alarms as possible.

The rate of misses has no derivative. Its smooth stand-in gives the gradient, the rate itself (`exact`)
decides on the constraint's weight. Breast cancer data of scikit-learn, mini-batches.

    python rate_constrained_classifier.py [picture.png]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from softpenalty.training import torch as sp

MISSES = 0.05


def load():
    """Return training and test data as (features, malignant)."""
    features, kind = load_breast_cancer(return_X_y=True)
    parts = train_test_split(features, kind == 0, test_size=0.4, random_state=0, stratify=kind)
    mean, deviation = parts[0].mean(axis=0), parts[0].std(axis=0)
    x, x_test = (torch.tensor((part - mean) / deviation, dtype=torch.float32) for part in parts[:2])
    malignant, malignant_test = (torch.tensor(part) for part in parts[2:])
    return (x, malignant), (x_test, malignant_test)


def rates(model, x, malignant):
    """Return the shares of malignant cases missed and of benign ones that raise an alarm."""
    with torch.no_grad():
        alarm = model(x).squeeze(1) > 0
    return (~alarm[malignant]).float().mean().item(), alarm[~malignant].float().mean().item()


def train(constrained, steps=1500, seed=0):
    """Return the rates on test data and the history of a training run."""
    torch.manual_seed(seed)
    (x, malignant), test = load()
    model = torch.nn.Sequential(torch.nn.Linear(30, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-3)
    con = sp.AdaptivePenalty(1, alpha=0.05, eta=0.02, decay=0.95)
    loss = torch.nn.functional.softplus
    history = []
    for step in range(steps):
        batch = torch.randint(len(x), (64,))
        score, sick = model(x[batch]).squeeze(1), malignant[batch]
        objective = loss(score[~sick]).mean()  # false alarms
        missed = loss(-score[sick]).mean()  # misses, with a gradient
        rate = (score[sick].detach() < 0).float().mean()  # misses, counted
        if constrained:
            objective = objective + con(missed - MISSES, exact=rate - MISSES)
        else:
            objective = objective + missed
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()
        con.update()
        if step % 10 == 0:
            history.append((step, *rates(model, x, malignant), con.multiplier.item()))
    return rates(model, *test), history


def main(picture, steps=1500):
    """Train with the constraint and with equal weights, draw, and return the test rates of both."""
    (misses, alarms), history = train(True, steps)
    plain, _ = train(False, steps)
    print(f"constrained:   misses {misses:.1%}, false alarms {alarms:.1%} of the test data")
    print(f"equal weights: misses {plain[0]:.1%}, false alarms {plain[1]:.1%}")

    step, missed, alarm, multiplier = zip(*history, strict=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
    left.plot(step, [100 * value for value in missed], color="C3", label="misses")
    left.plot(step, [100 * value for value in alarm], color="C0", label="false alarms")
    left.axhline(100 * MISSES, color="C3", linestyle="--", linewidth=1, label="misses allowed")
    left.set(xlabel="step", ylabel="share of the training data, %", ylim=(-0.4, 15), title="Rates")
    left.legend(frameon=False)
    right.plot(step, multiplier, color="C2")
    right.set(xlabel="step", title="Multiplier: a miss, in false alarms", ylim=(0, None))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"picture: {picture}")
    return (misses, alarms), plain, missed


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else f"{tempfile.gettempdir()}/rate_constrained_classifier.png"))
