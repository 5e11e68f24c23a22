"""`AdaptivePenalty` and the stateless penalties in PyTorch."""

from __future__ import annotations

import copy
import math
import subprocess
import sys

import numpy as np
import pytest

from softpenalty import COMBINATIONS, KERNELS, OPERATORS
from softpenalty.formulas.penalty import penalty_and_multipliers

torch = pytest.importorskip("torch")

from softpenalty.training import torch as sp  # noqa: E402

float_types = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
ALPHA = 0.1
WIDTH = ALPHA / math.log(2.0)


def step(con, *batches, **options):
    """One update from one or more micro-batches; returns the last contribution."""
    for batch in batches:
        contribution = con(torch.as_tensor(batch, dtype=con.mean.dtype), **options)
    con.update()
    return contribution


def state_of(con):
    return {name: value.clone() for name, value in con.state_dict().items()}


def assert_same_state(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


# --- stateless -------------------------------------------------------------------------------------------


@float_types
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("combination", COMBINATIONS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_stateless_penalty_is_the_formula(kernel, combination, operator, dtype):
    errors = torch.tensor([-0.3, -0.05, 0.02, 0.4], dtype=dtype, requires_grad=True)
    settings = (2.0, ALPHA, operator, kernel, combination)
    found = sp.penalty(errors, *settings)
    found.backward()
    sign = -1.0 if operator == ">" else 1.0
    expected, multipliers = penalty_and_multipliers(
        errors.detach().numpy(), sign, operator == "=", 2.0, ALPHA, None, kernel, combination
    )
    tolerance = 100 * torch.finfo(dtype).eps  # the backward pass takes as many steps as the formula
    np.testing.assert_allclose(found.item(), expected, rtol=tolerance)
    for same in (errors.grad, sp.multiplier(errors.detach(), *settings)):
        np.testing.assert_allclose(same.numpy(), multipliers, rtol=tolerance, atol=tolerance)


@float_types
@pytest.mark.parametrize("combination", COMBINATIONS)
@pytest.mark.parametrize("kernel", ["softplus", "algebraic"])
def test_gradients_are_finite_far_out_and_right(kernel, combination, dtype):
    for ratio in (-1e4, 1e4):
        errors = torch.full((3,), ratio * ALPHA, dtype=dtype, requires_grad=True)
        sp.penalty(errors, 2.0, ALPHA, "<", kernel, combination).backward()
        assert torch.isfinite(errors.grad).all()
        limit = (2.0 if combination == "sum" else 2.0 / math.sqrt(3.0)) * (ratio > 0)
        assert errors.grad.numpy() == pytest.approx(limit, abs=1e-6)  # the algebraic slope's distance from it


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_norm_of_nothing_has_a_finite_gradient(kernel):
    errors = torch.full((3,), -1e9, requires_grad=True)
    sp.penalty(errors, 1.0, ALPHA, "<", kernel, "norm").backward()
    assert torch.isfinite(errors.grad).all()


def test_one_error_may_be_a_scalar():
    error = torch.tensor(0.3)
    assert sp.penalty(error).shape == sp.multiplier(error).shape == ()


def test_unknown_names_are_refused_by_name():
    with pytest.raises(ValueError, match=r"`multiplier\(operator=...\)` must be one of"):
        sp.multiplier(torch.zeros(1), operator="!")


# --- the rule --------------------------------------------------------------------------------------------


def descend(con, gradient_at, target, steps):
    """Return x after gradient descent on an objective with this gradient, x compared to target."""
    x = torch.zeros(con.n, requires_grad=True)
    for _ in range(steps):
        x.grad = None
        con(x - target).backward()
        with torch.no_grad():
            x -= 0.05 * (x.grad + gradient_at(x))
        con.update()
    return x.detach()


@pytest.mark.parametrize("rule", ["bounded", "log"])
@pytest.mark.parametrize("operator", ["<", ">"])
def test_it_finds_the_multiplier(operator, rule):
    """½(x ∓ 5)² with x ≷ ±2: the multiplier is ±3, and whatever alpha, the error goes to 0."""
    sign = 1.0 if operator == "<" else -1.0
    con = sp.AdaptivePenalty(1, operator=operator, alpha=0.2, eta=0.1, decay=0.0, rule=rule)
    x = descend(con, lambda x: x - 5.0 * sign, 2.0 * sign, 500)
    assert x.item() == pytest.approx(2.0 * sign, abs=1e-3)
    assert con.multiplier.item() == pytest.approx(3.0 * sign, rel=1e-2)
    assert con.sigma.item() == pytest.approx(6.0, rel=1e-2)
    assert con.violation.item() < 1e-3


def test_a_constraint_that_does_not_bind_loses_its_weight():
    con = sp.AdaptivePenalty(1, alpha=0.2, sigma=1.0, eta=0.1, decay=0.0)
    x = descend(con, lambda x: x - 1.0, 2.0, 200)
    assert x.item() == pytest.approx(1.0, abs=1e-3)
    assert con.sigma.item() == pytest.approx(1e-3)


def test_it_finds_an_equalitys_multiplier_of_either_sign():
    target, wanted = torch.tensor([1.0, -2.0]), torch.tensor([1.4, -2.7])
    con = sp.AdaptivePenalty(2, operator="=", alpha=0.2, sigma=1.0, eta=0.1, decay=0.0)
    x = descend(con, lambda x: x - wanted, target, 500)
    assert con.multiplier.numpy() == pytest.approx([0.4, -0.7], abs=1e-3)
    assert x.numpy() == pytest.approx([1.0, -2.0], abs=1e-3)
    assert torch.equal(con.sigma, torch.ones(2))


@pytest.mark.parametrize("rule", ["bounded", "log"])
def test_near_the_solution_it_is_an_augmented_lagrangian(rule):
    """weight ≈ λ + ρ·error with ρ = λ/(2·width), and λ grows by eta·ρ·error an update."""
    multiplier, eta, error = 1.7, 0.05, 1e-4
    con = sp.AdaptivePenalty(1, alpha=ALPHA, sigma=2.0 * multiplier, eta=eta, decay=0.0, rule=rule).double()
    con.log_sigma.fill_(math.log(2.0 * multiplier))  # the start was rounded to float32
    rho = multiplier / (2.0 * WIDTH)
    errors = torch.tensor([error], dtype=torch.float64, requires_grad=True)
    con(errors).backward()
    second_order = (error / WIDTH) ** 2
    assert errors.grad.item() - multiplier == pytest.approx(rho * error, rel=1e-3, abs=second_order)
    con.update()
    assert con.sigma.item() / 2.0 - multiplier == pytest.approx(eta * rho * error, rel=1e-3, abs=second_order)


def test_objective_times_c_with_sigma_times_c_gives_the_same_path():
    def path(c):
        x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.Adam([x], lr=0.02, eps=0.0)  # Adam itself does not care about c then
        con = sp.AdaptivePenalty(1, sigma=0.1 * c, sigma_min=1e-3 * c, alpha=0.1, eta=0.05).double()
        points = []
        for _ in range(300):
            optimizer.zero_grad()
            (c * (x - 3.0).square().sum() + con(x - 2.0)).backward()
            optimizer.step()
            con.update()
            points.append(x.item())
        return np.array(points)

    np.testing.assert_allclose(path(100.0), path(1.0), rtol=1e-4)  # log sigma starts as a float32
    np.testing.assert_allclose(path(0.01), path(1.0), rtol=1e-4)


def test_a_wild_batch_cannot_blow_up_a_step():
    con = sp.AdaptivePenalty(1, sigma=0.5, decay=0.0)
    errors = torch.tensor([1e30], requires_grad=True)
    con(errors).backward()
    assert errors.grad.item() == pytest.approx(0.5)
    con.update()
    assert con.sigma.item() == pytest.approx(0.5 * math.exp(0.01))


@pytest.mark.parametrize("rule", ["bounded", "log"])
@pytest.mark.parametrize("ratio", [-1e4, 1e4])
def test_float32_is_finite_far_out(rule, ratio):
    con = sp.AdaptivePenalty(1, alpha=ALPHA, rule=rule)
    errors = torch.tensor([ratio * ALPHA], requires_grad=True)
    con(errors).backward()
    con.update()
    assert torch.isfinite(errors.grad).all()
    assert all(torch.isfinite(value).all() for value in state_of(con).values())
    if rule == "log" and ratio < 0:  # not cut short where the sigmoid underflows
        assert con.log_sigma.item() == pytest.approx(con.rule.log_min)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_batch_without_a_finite_error_leaves_the_state_alone(bad):
    con = sp.AdaptivePenalty(2)
    step(con, [0.1, 0.2])
    before = state_of(con)
    con(torch.tensor([bad, bad]))
    con.update()
    assert_same_state(state_of(con), before)


# --- masks, exact values, micro-batches, modes --------------------------------------------------------------


def test_absent_constraints_keep_weight_and_state_bit_for_bit():
    con = sp.AdaptivePenalty(3, eta=0.1)
    for _ in range(3):
        step(con, [0.1, -0.2, 0.3])
    before, multipliers = state_of(con), con.multiplier.clone()
    errors = torch.tensor([0.7, math.nan, 0.5], requires_grad=True)
    con(errors, mask=torch.tensor([True, False, False])).backward()
    con.update()
    assert errors.grad[0] > 0
    assert errors.grad[1] == errors.grad[2] == 0.0
    after = state_of(con)
    for name in before:
        assert torch.equal(after[name][1:], before[name][1:]), name
    assert torch.equal(con.multiplier[1:], multipliers[1:])
    assert after["mean"][0] != before["mean"][0]


def test_a_constraint_seen_late_starts_with_its_first_error():
    con = sp.AdaptivePenalty(2)
    for _ in range(4):
        step(con, [0.1, 99.0], mask=torch.tensor([True, False]))
    step(con, [0.1, 0.25])
    assert con.mean[1].item() == 0.25
    assert con.times.tolist() == [5, 1]


def test_exact_values_move_the_weights_and_errors_the_gradient():
    con, same = sp.AdaptivePenalty(1), sp.AdaptivePenalty(1)
    parameter = torch.tensor([0.5], requires_grad=True)
    con(3.0 * parameter, exact=torch.tensor([0.2])).backward()
    con.update()
    step(same, [0.2])
    assert_same_state(state_of(con), state_of(same))
    assert parameter.grad.item() == pytest.approx(3.0 * 0.1 / (1.0 + 2.0 ** (-0.2 / 0.02)), rel=1e-5)


@pytest.mark.parametrize("operator", OPERATORS)
def test_micro_batches_are_one_step(operator):
    whole, parts = (sp.AdaptivePenalty(2, operator=operator, eta=0.1) for _ in range(2))
    for _ in range(3):
        step(whole, [0.375, -0.5])
        step(parts, [0.25, -0.75], [0.5, -0.25])
    assert_same_state(state_of(whole), state_of(parts))
    assert whole.times.tolist() == [3, 3]


def test_micro_batches_with_masks_count_what_was_there():
    con, same = sp.AdaptivePenalty(2), sp.AdaptivePenalty(2)
    con(torch.tensor([0.25, 9.0]), mask=torch.tensor([True, False]))
    con(torch.tensor([0.75, 0.125]))
    con.update()
    step(same, [0.5, 0.125])
    assert_same_state(state_of(con), state_of(same))


def test_an_update_without_a_batch_does_nothing():
    con = sp.AdaptivePenalty(1)
    step(con, [0.1])
    before = state_of(con)
    con.update()
    assert_same_state(state_of(con), before)


def test_evaluation_has_no_side_effects():
    con = sp.AdaptivePenalty(1, eta=0.1)
    step(con, [0.1])
    before = state_of(con)
    con.eval()
    found = con(torch.tensor([7.0]))
    assert found.item() == pytest.approx(7.0 * con.multiplier.item())
    con.update()
    assert_same_state(state_of(con), before)


@float_types
def test_resume_is_bit_for_bit(tmp_path, dtype):
    random = np.random.default_rng(0).normal(size=(40, 2)) * 0.1
    settings = {"operator": ">", "alpha": "auto", "tolerance": 0.01, "eta": 0.05}
    straight = sp.AdaptivePenalty(2, **settings).to(dtype)
    for errors in random[:20]:
        step(straight, errors)
    torch.save(straight.state_dict(), tmp_path / "checkpoint.pt")
    resumed = sp.AdaptivePenalty(2, **settings).to(dtype)
    resumed.load_state_dict(torch.load(tmp_path / "checkpoint.pt"))
    for errors in random[20:]:
        assert step(straight, errors) == step(resumed, errors)
    assert_same_state(state_of(straight), state_of(resumed))


def test_it_holds_buffers_only_and_copies():
    con = sp.AdaptivePenalty(2, alpha=torch.tensor([0.1, 0.2]))
    assert list(con.parameters()) == []
    assert set(con.state_dict()) == {"log_sigma", "shift", "mean", "spread", "times"}
    step(copy.deepcopy(con), [0.1, 0.1])
    assert con.times.tolist() == [0, 0]
    assert "operator='<'" in repr(con)


@float_types
def test_each_constraint_may_have_its_alpha_and_sigma(dtype):
    both = sp.AdaptivePenalty(2, alpha=torch.tensor([0.1, 0.4]), sigma=torch.tensor([1.0, 3.0])).to(dtype)
    single = [sp.AdaptivePenalty(1, alpha=a, sigma=s).to(dtype) for a, s in ((0.1, 1.0), (0.4, 3.0))]
    for errors in ([0.2, -0.1], [0.1, 0.3]):
        step(both, errors)
        for con, error in zip(single, errors, strict=True):
            step(con, [error])
    expected = torch.cat([con.multiplier for con in single])
    torch.testing.assert_close(both.multiplier, expected)
    assert both.multiplier.dtype == dtype


# --- noise -----------------------------------------------------------------------------------------------


def at_rest(con, noise):
    """Return the mean error where errors fall with the weight, 1 − weight/2 + noise: the multiplier is 2.

    What log sigma has gained in the steps counted, which goes to 0 with their number only, is taken off.
    """
    means = []
    for index, sample in enumerate(noise):
        if index == 1000:
            start = con.log_sigma.item()
        con(1.0 - 0.25 * con.sigma + float(sample))
        con.update()
        means.append(con.mean.item())
    growth = (con.log_sigma.item() - start) / (con.rule.eta * (len(noise) - 1000))
    return float(np.mean(means[1000:])) - 2.0 * float(con.alpha) / math.log(2.0) * growth


GAUSS = np.random.default_rng(1).normal(size=3000) * 0.1
SKEWED = (np.random.default_rng(2).exponential(size=3000) - 1.0) * 0.1
EXPECTED = 0.01 * math.log(2.0) / (4.0 * 0.2)  # of raw batches at alpha = 0.2


@pytest.mark.slow
@pytest.mark.parametrize("noise", [GAUSS, SKEWED], ids=["gaussian", "skewed"])
@pytest.mark.parametrize("decay", [0.0, 0.8])
def test_bias_law_of_the_log_rule(noise, decay):
    """Var·(1 − decay)/(1 + decay)/(4·width)."""
    con = sp.AdaptivePenalty(1, alpha=0.2, sigma=4.0, eta=0.02, decay=decay, rule="log")
    expected = EXPECTED * (1.0 - decay) / (1.0 + decay)
    # second order in 0.1/width = 0.35; the variance of 2000 samples (400 independent averages) is uncertain
    assert at_rest(con, noise) == pytest.approx(expected, rel=0.15)
    assert con.variance.item() == pytest.approx(0.01, rel=0.4)  # an average over a hundred batches
    assert con.bias.item() == pytest.approx(expected, rel=0.4)


@pytest.mark.slow
def test_bias_of_the_bounded_rule_is_of_third_order():
    for noise, third_moment in ((GAUSS, 0.0), (SKEWED, 2e-3)):
        con = sp.AdaptivePenalty(1, alpha=0.2, sigma=4.0, eta=0.02, decay=0.0)
        expected = third_moment / 12.0 * (math.log(2.0) / 0.2) ** 2
        assert at_rest(con, noise) == pytest.approx(expected, abs=0.1 * EXPECTED)  # higher orders
        assert con.bias.item() == 0.0


@pytest.mark.slow
def test_automatic_alpha_keeps_the_bias_within_the_tolerance():
    tolerance = 0.004
    con = sp.AdaptivePenalty(1, alpha="auto", tolerance=tolerance, sigma=4.0, eta=0.02, decay=0.5, rule="log")
    found = at_rest(con, GAUSS)
    expected = math.log(2.0) * (0.5 / 1.5) * 0.01 / (4.0 * tolerance)
    assert con.alpha.item() == pytest.approx(expected, rel=0.4)  # as the variance above
    assert con.bias.item() <= tolerance * (1.0 + 1e-6)
    assert 0.0 < found <= 1.2 * tolerance  # alpha moves with the measured variance


def test_automatic_alpha_without_noise_is_the_tolerance():
    con = sp.AdaptivePenalty(1, alpha="auto", tolerance=0.01)
    step(con, [0.5])
    assert con.variance.item() == 0.0
    step(con, [0.5])
    assert con.alpha.item() == pytest.approx(0.01)


def test_it_warns_once_of_a_bias():
    con = sp.AdaptivePenalty(1, alpha=1e-3, rule="log", decay=0.0)
    with pytest.warns(UserWarning, match="noise in the errors") as caught:
        for index in range(1100):
            step(con, [(-1.0) ** index])
    assert sum("noise" in str(w.message) for w in caught) == 1


@pytest.mark.parametrize("limit", ["sigma_min", "sigma_max"])
def test_it_warns_once_where_a_limit_holds_it_back(limit):
    settings = {"sigma_max": 0.2} if limit == "sigma_max" else {"sigma": 1e-3, "eta": 1e-9}
    con = sp.AdaptivePenalty(1, **settings)
    with pytest.warns(UserWarning, match=limit) as caught:
        for _ in range(1100):
            step(con, [1.0])
    assert len(caught) == 1


# --- NumPy and PyTorch ------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("rule", ["bounded", "log"])
@pytest.mark.parametrize("alpha", [0.1, torch.tensor([0.1, 0.2, 0.3]), "auto"], ids=["one", "each", "auto"])
def test_without_numpy_it_gives_the_same(monkeypatch, operator, rule, alpha):
    """As on other devices than the CPU; with a constraint that comes late, and errors that are not finite."""
    settings = {"operator": operator, "rule": rule, "alpha": alpha, "eta": 0.1, "tolerance": 0.01}
    batches = torch.randn(30, 3, generator=torch.Generator().manual_seed(0)) * 0.1
    batches[:5, 2], batches[7, 0], batches[9, 1] = math.nan, math.inf, -math.inf
    quick, plain = (sp.AdaptivePenalty(3, **settings) for _ in range(2))
    for errors in batches:
        weights = []
        for con in (quick, plain):
            with monkeypatch.context() as patch:
                if con is plain:
                    patch.setattr(sp, "numpy_views", lambda given: None)
                variable = errors.clone().requires_grad_()
                loss = con(variable)
                loss.backward()
                con.update()
            assert loss.dtype == torch.float32
            weights.append(variable.grad)
        torch.testing.assert_close(*weights, rtol=1e-6, atol=1e-6)
    for name, value in state_of(plain).items():
        torch.testing.assert_close(getattr(quick, name), value, rtol=1e-6, atol=1e-6)
        assert getattr(quick, name).dtype == torch.float32


def test_within_transforms_of_functions():
    con = sp.AdaptivePenalty(1, sigma=0.5)
    gradient = torch.func.grad(lambda x: con(x).sum())(torch.tensor([1.0]))
    assert gradient.item() == pytest.approx(0.5)


def test_a_step_keeps_nothing_of_the_steps_before():
    """A buffer that stays is not wrapped again and again, and the errors given are not held on to."""
    con = sp.AdaptivePenalty(1, decay=0.0)
    shift, errors = con.shift, torch.tensor([0.1])
    for _ in range(2):
        con(errors)
        con.update()
    assert con.shift is shift
    errors.fill_(9.0)
    assert con.mean.item() == pytest.approx(0.1)


def test_a_copy_made_before_the_update_takes_the_step():
    con = sp.AdaptivePenalty(1)
    con(torch.tensor([0.1]))
    later = copy.deepcopy(con)
    later.update()
    assert con.times.item() == 0
    assert later.times.item() == 1


# --- compiled, mixed precision, several processes -----------------------------------------------------------


def test_compiled_it_gives_the_same():
    def run(wrap):
        torch.manual_seed(0)
        con = sp.AdaptivePenalty(2, eta=0.1)
        model = torch.nn.Linear(3, 2)

        @wrap
        def loss(inputs):
            outputs = model(inputs).mean(dim=0)
            return (outputs - 1.0).square().sum() + con(outputs - 0.5) + sp.penalty(outputs, 0.1)

        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            loss(torch.ones(4, 3)).backward()
            optimizer.step()
            con.update()
        return con, model

    plain, plain_model = run(lambda function: function)
    compiled, compiled_model = run(
        lambda function: torch.compile(function, backend="aot_eager", fullgraph=True)
    )
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(compiled.state_dict()[name], value)
    torch.testing.assert_close(compiled_model.weight, plain_model.weight)


def test_autocast_keeps_the_state_in_float32():
    con = sp.AdaptivePenalty(2)
    model = torch.nn.Linear(3, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        errors = model(torch.ones(4, 3)).mean(dim=0) - 0.5
        loss = con(errors)
    assert errors.dtype == torch.bfloat16
    assert loss.dtype == con.mean.dtype == torch.float32
    loss.backward()
    con.update()
    assert con.mean.dtype == con.log_sigma.dtype == torch.float32
    torch.testing.assert_close(con.mean, errors.detach().float())


ONE_RANK = """
import sys
import torch
from softpenalty.training import torch as sp

rank, folder = int(sys.argv[1]), sys.argv[2]
torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
con = sp.AdaptivePenalty(3, alpha=0.05, eta=0.1)
for index, errors in enumerate(torch.load(f"{folder}/errors.pt")[rank]):
    if rank == 0 or index < 19:  # rank 1 sees nothing in the end
        con(errors)
    con.update(group=torch.distributed.group.WORLD)
torch.save(con.state_dict(), f"{folder}/{rank}.pt")
torch.distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_two_gloo_ranks_bit_for_bit(tmp_path):
    """Both ranks hold what one process with two micro-batches holds."""
    errors = torch.randn(2, 20, 3, generator=torch.Generator().manual_seed(0)) * 0.1
    torch.save(errors, tmp_path / "errors.pt")
    ranks = [subprocess.Popen([sys.executable, "-c", ONE_RANK, str(rank), str(tmp_path)]) for rank in (0, 1)]
    assert [process.wait(timeout=300) for process in ranks] == [0, 0]
    one, two = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    assert_same_state(one, two)
    alone = sp.AdaptivePenalty(3, alpha=0.05, eta=0.1)
    for index, pair in enumerate(zip(*errors, strict=True)):
        step(alone, *(pair if index < 19 else pair[:1]))
    assert_same_state(one, state_of(alone))


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, r"`AdaptivePenalty\(n\)`"),
        ({"alpha": -1.0}, r"`AdaptivePenalty\(alpha=...\)` must be positive"),
        ({"alpha": "automatic"}, r"\"auto\"; got 'automatic'"),
        ({"alpha": "auto"}, "needs `tolerance"),
        ({"alpha": torch.tensor([0.1, -0.1])}, "alpha"),
        ({"sigma": 0.0}, "sigma"),
        ({"eta": 0.0}, "eta"),
        ({"decay": 1.0}, "decay"),
        ({"rule": "linear"}, "'bounded', 'log'"),
        ({"operator": "<>"}, "operator"),
        ({"sigma_min": 2.0, "sigma_max": 1.0}, "in that order"),
        ({"tolerance": -1.0}, "tolerance"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        sp.AdaptivePenalty(**{"n": 2, **settings})


@pytest.mark.parametrize("argument", ["errors", "mask", "exact"])
def test_bad_shapes_are_named(argument):
    con = sp.AdaptivePenalty(2)
    arguments = {"errors": torch.zeros(2)}
    arguments[argument] = torch.zeros(3, dtype=torch.bool if argument == "mask" else torch.float32)
    with pytest.raises(ValueError, match=rf"\({argument}\)` must have shape \(2,\); got \(3,\)"):
        con(**arguments)
