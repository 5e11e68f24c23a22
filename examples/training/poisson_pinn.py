"""A network that solves −Δu = f on the unit square, with u = 0 on the boundary as 64 equalities.

A solution satisfies both equation and boundary, so the multipliers are small and a penalty of fixed weight
may do, where the usual quadratic one leaves a visible boundary error. The adaptive one does better still.

    python poisson_pinn.py [picture.png]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from torch import nn

from softpenalty.training import torch as sp

PI = torch.pi


def solution(at):
    return torch.sin(PI * at[:, 0]) * torch.sin(PI * at[:, 1])


def boundary(n=16):
    """Return 4·n points on the edges."""
    side = (torch.arange(n) + 0.5) / n
    zero, one = torch.zeros(n), torch.ones(n)
    edges = [(side, zero), (one, side), (side, one), (zero, side)]
    return torch.cat([torch.stack(edge, dim=1) for edge in edges])


def equation(model, at):
    """Return −Δu − f at points (n, 2)."""
    at = at.requires_grad_()
    slope = torch.autograd.grad(model(at).sum(), at, create_graph=True)[0]
    bend = sum(torch.autograd.grad(slope[:, i].sum(), at, create_graph=True)[0][:, i] for i in range(2))
    return -bend - 2.0 * PI**2 * solution(at.detach())


def train(kind, steps=1500, seed=0):
    """Return the model, trained with boundary errors treated as `kind` says."""
    torch.set_num_threads(1)  # the matrices are small: threads would mostly wait for each other
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    edge = boundary()
    con = sp.AdaptivePenalty(len(edge), operator="=", alpha=0.01, sigma=0.2, eta=0.02, decay=0.0)
    penalties = {
        "quadratic": lambda error: sp.penalty(error, 1.0, operator="=", kernel="quadratic"),
        "softplus, fixed": lambda error: sp.penalty(error, 1.0, alpha=0.01, operator="="),
        "adaptive": con,
    }
    for _ in range(steps):
        inside = torch.rand(200, 2)
        objective = equation(model, inside).square().mean()
        optimizer.zero_grad()
        (objective + penalties[kind](model(edge).squeeze(1))).backward()
        optimizer.step()
        schedule.step()
        con.update()
    return model


def errors(model):
    """Return the largest boundary error and a map (81, 81) of the error everywhere."""
    line = torch.linspace(0.0, 1.0, 81)
    grid = torch.cartesian_prod(line, line)
    with torch.no_grad():
        difference = (model(grid).squeeze(1) - solution(grid)).reshape(81, 81)
        return model(boundary(100)).abs().max().item(), difference


def main(picture, steps=1500):
    """Train three networks, draw their errors, and return them."""
    found = {kind: errors(train(kind, steps)) for kind in ("quadratic", "softplus, fixed", "adaptive")}
    figure, panels = plt.subplots(1, 3, figsize=(10.0, 3.6), layout="constrained")
    top = max(difference.abs().max().item() for _, difference in found.values())
    scale = matplotlib.colors.SymLogNorm(linthresh=1e-3, vmin=-top, vmax=top)
    for axes, (kind, (edge, difference)) in zip(panels, found.items(), strict=True):
        print(f"{kind:<16} largest error: boundary {edge:.1e}, anywhere {difference.abs().max():.1e}")
        image = axes.imshow(
            difference.T.numpy(), extent=(0, 1, 0, 1), origin="lower", norm=scale, cmap="RdBu"
        )
        axes.set(title=f"{kind}\nboundary error ≤ {edge:.4f}", xlabel="x", xticks=(0, 1), yticks=(0, 1))
    panels[0].set_ylabel("y")
    figure.colorbar(image, ax=panels, label="u − solution")
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"picture: {picture}")
    return {kind: edge for kind, (edge, _) in found.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else f"{tempfile.gettempdir()}/poisson_pinn.png"))
