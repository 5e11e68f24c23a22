"""PPO that swings a pendulum up on a torque budget: mean |torque|/2 of at most 0.30 a step.

Everything is in this file: networks, advantages, the clipped objective. The constraint enters as one number,
the weight of the cost's advantage: `AdaptivePenalty` finds it, or gradient ascent does (PPO-Lagrangian).

    python ppo_pendulum.py [picture.png]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import gymnasium
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from softpenalty.training import torch as sp

BUDGET = 0.30
ENVIRONMENTS, HORIZON = 16, 200  # one episode each per iteration
GAMMA, LAMBDA, CLIP, EPOCHS, BATCH = 0.95, 0.95, 0.2, 8, 400


class Agent(nn.Module):
    """A Gaussian policy, and the values of reward and cost."""

    def __init__(self):
        super().__init__()
        self.policy, self.value = (
            nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))
            for outputs in (1, 2)
        )
        self.log_deviation = nn.Parameter(torch.zeros(1))

    def distribution(self, seen):
        return torch.distributions.Normal(self.policy(seen), self.log_deviation.exp())


def scaled(observation):
    return torch.as_tensor(observation, dtype=torch.float32) / torch.tensor([1.0, 1.0, 8.0])


@torch.no_grad()
def collect(agent, environments, seed):
    """Return a rollout: observations, actions, log probabilities (T, E, ·), rewards and costs (T, E, 2)."""
    observation, _ = environments.reset(seed=seed)
    rows = []
    for _ in range(HORIZON):
        seen = scaled(observation)
        distribution = agent.distribution(seen)
        action = distribution.sample()
        torque = 2.0 * action.clamp(-1.0, 1.0)
        observation, reward, _, _, _ = environments.step(torque.numpy())
        reward = torch.as_tensor(reward, dtype=torch.float32)
        gains = torch.stack([reward, torque.abs().squeeze(1) / 2.0], dim=1)
        rows.append((seen, action, distribution.log_prob(action), gains, agent.value(seen)))
    seen, action, probability, gains, values = (torch.stack(column) for column in zip(*rows, strict=True))
    return seen, action, probability, gains, torch.cat([values, agent.value(scaled(observation))[None]])


def advantages(gains, values):
    """Return generalized advantages of reward and cost (T, E, 2); the time limit is not an end."""
    found, running = torch.zeros_like(gains), torch.zeros_like(gains[0])
    for t in reversed(range(len(gains))):
        change = gains[t] + GAMMA * values[t + 1] - values[t]
        running = change + GAMMA * LAMBDA * running
        found[t] = running
    return found


def improve(agent, optimizer, rollout, weight):
    """Some epochs of PPO on the advantage of reward − weight·cost."""
    seen, action, probability, gains, values = rollout
    gained = advantages(gains, values)
    targets = (gained + values[:-1]).reshape(-1, 2)
    both = (gained[..., 0] - weight * gained[..., 1]).reshape(-1, 1)
    both = (both - both.mean()) / (both.std() + 1e-8)
    seen, action, probability = (part.reshape(-1, part.shape[-1]) for part in (seen, action, probability))
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(seen)).split(BATCH):
            ratio = (agent.distribution(seen[batch]).log_prob(action[batch]) - probability[batch]).exp()
            better = torch.minimum(ratio * both[batch], ratio.clamp(1.0 - CLIP, 1.0 + CLIP) * both[batch])
            miss = (agent.value(seen[batch]) - targets[batch]).square().mean()
            optimizer.zero_grad()
            (0.5 * miss - better.mean()).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def train(kind, seed=0, iterations=80):
    """Train with the weight found by `kind` ("adaptive", "lagrangian" or "free"); return the history."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    environments = gymnasium.make_vec("Pendulum-v1", num_envs=ENVIRONMENTS, vectorization_mode="sync")
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    con = sp.AdaptivePenalty(1, alpha=0.05, sigma=0.1, sigma_min=0.01, eta=0.1, decay=0.5)
    weight, history = 0.0, []
    for iteration in range(iterations):
        rollout = collect(agent, environments, seed=1000 * seed + iteration)
        rewards = rollout[3][..., 0] * 0.1  # of a size that a network can learn
        rollout[3][..., 0] = rewards
        cost = rollout[3][..., 1].mean()
        if kind == "adaptive":
            con(cost - BUDGET)
            con.update()
            weight = con.multiplier.item()
        elif kind == "lagrangian":
            weight = max(0.0, weight + 1.0 * (cost.item() - BUDGET))
        improve(agent, optimizer, rollout, weight)
        history.append((10.0 * rewards.sum(dim=0).mean().item(), cost.item(), weight))
    environments.close()
    tail = np.array(history[-max(1, iterations // 10) :])
    return {"history": history, "end": tail[:, :2].mean(axis=0).tolist()}


def main(picture, iterations=80):
    """Train with the adaptive weight and without a budget, draw, and return both ends."""
    runs = {kind: train(kind, iterations=iterations) for kind in ("free", "adaptive")}
    figure, panels = plt.subplots(1, 3, figsize=(10.0, 3.2), layout="constrained")
    thousands = np.arange(iterations) * ENVIRONMENTS * HORIZON / 1e3
    titles = "Return of an episode", "Mean |torque|/2", "Weight of the cost"
    labels = {"free": "no budget", "adaptive": "budget, adaptive weight"}
    for (kind, run), colour in zip(runs.items(), ("0.6", "C0"), strict=True):
        print(f"{labels[kind]:<24} return {run['end'][0]:.0f}, torque {run['end'][1]:.3f}")
        for axes, column in zip(panels, zip(*run["history"], strict=True), strict=True):
            axes.plot(thousands, column, color=colour, label=labels[kind])
    panels[1].axhline(BUDGET, color="C3", linestyle="--", linewidth=1, label="budget")
    for axes, title in zip(panels, titles, strict=True):
        axes.set(title=title, xlabel="thousand steps")
        axes.spines[["top", "right"]].set_visible(False)
    panels[1].legend(frameon=False, fontsize="small")
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"picture: {picture}")
    return {kind: run["end"] for kind, run in runs.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else f"{tempfile.gettempdir()}/ppo_pendulum.png"))
