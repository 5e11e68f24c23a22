"""Names, options and forms of `minimize`: what is not understood is said, nothing is ignored in silence."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeWarning

import softpenalty
from softpenalty import Constraint, minimize, penalize
from softpenalty.solve.minimize import METHODS
from softpenalty.solve.options import ARGUMENTS, Options
from softpenalty.solve.status import Status

START = [3.0, -1.0]


def distance(x):
    return (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2


# Keywords and options -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("constraint", "constraints"), ("bound", "bounds"), ("Jac", "jac"), ("max_iter", "maxiter")],
)
def test_a_misspelt_keyword_is_an_error_with_the_right_name(name, nearest):
    with pytest.raises(TypeError, match=f"`minimize` has no argument '{name}': did you mean '{nearest}'"):
        minimize(distance, START, **{name: None})


def test_a_keyword_like_no_other_is_an_error_with_all_names():
    with pytest.raises(TypeError, match=r"no argument 'zzz': it takes fun, x0, .*constraints.*, sigma"):
        minimize(distance, START, zzz=1)


def test_the_arguments_that_are_suggested_exist():
    assert set(ARGUMENTS) == set(inspect.signature(minimize).parameters) - {"more_options"}


@pytest.mark.parametrize("how", ["options", "keyword", "scipy"])
@pytest.mark.parametrize("name", ["ftol", "gtol", "rhobeg", "maxfun", "iprint"])
def test_options_of_scipys_methods_warn(name, how):
    with pytest.warns(OptimizeWarning, match=f"does not know the option.*'{name}'"):
        if how == "scipy":
            result = scipy.optimize.minimize(
                distance, START, method=minimize, options={name: 1, "maxiter": 9}
            )
        elif how == "options":
            result = minimize(distance, START, options={name: 1})
        else:
            result = minimize(distance, START, **{name: 1})
    assert result.success


def test_unknown_entries_of_options_warn_and_point_at_the_caller():
    with pytest.warns(OptimizeWarning, match="'maxitre'") as caught:
        minimize(distance, START, options={"maxitre": 3})
    assert caught[0].filename == __file__


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxiter": 0}, r"'maxiter'.*must be positive; got 0"),
        ({"maxiter": "many"}, r"'maxiter'.*must be positive; got 'many'"),
        ({"maxfev": np.nan}, r"'maxfev'.*must be positive; got nan"),
        ({"max_time": -1.0}, r"'max_time'.*must be positive; got -1.0"),
        ({"constraint_tol": -1.0}, r"'constraint_tol'.*must be positive and finite; got -1.0"),
        ({"constraint_tol": np.nan}, r"'constraint_tol'.*must be positive and finite; got nan"),
        ({"constraint_tol": np.inf}, r"'constraint_tol'.*must be positive and finite; got inf"),
        ({"kernel": "soft"}, r"`minimize\(kernel=...\)` must be one of 'softplus'.*got 'soft'"),
        ({"combination": "max"}, r"`minimize\(combination=...\)` must be one of 'sum', 'norm'; got 'max'"),
        ({"sigma": -5.0}, r"`minimize\(sigma=...\)` must be finite and not negative; got -5.0"),
        ({"sigma": [1.0, np.inf]}, r"`minimize\(sigma=...\)` must be finite and not negative"),
        ({"alpha": 0.0}, r"`minimize\(alpha=...\)` must be positive and finite; got 0.0"),
    ],
    ids=str,
)
def test_options_are_checked_whatever_the_method(options, message, method):
    for arguments in ({"options": options}, options):
        with pytest.raises(ValueError, match=message):
            minimize(distance, START, method=method, **arguments)


@pytest.mark.parametrize("tol", [0.0, -1.0, np.nan, np.inf, "tight"])
def test_tol_is_checked(tol):
    with pytest.raises(ValueError, match=r"`minimize\(tol=...\)` must be positive and finite"):
        minimize(distance, START, tol=tol)


def test_complex_numbers_are_refused_where_they_mean_nothing():
    with pytest.raises(TypeError, match=r"`minimize\(x0=...\)` must be real numbers"):
        minimize(distance, np.array([1.0 + 2.0j, 1.0]))
    with pytest.raises(TypeError, match=r"`Constraint\(target=...\)` must be a number"):
        Constraint(distance, "<", np.array([1.0j]))
    with pytest.raises(TypeError, match=r"`Penalty\(x\)` takes real numbers"):
        penalize(distance, sigma=1.0, alpha=1.0)(np.array([1.0j, 0.0]))
    with pytest.raises(TypeError, match=r"`minimize\(bounds=...\)` must be a number"):
        minimize(distance, START, bounds=[(0.0, 1.0j), (0.0, 1.0)])


def test_options_and_result_can_be_imported():
    assert softpenalty.Options is Options and {"Options", "Result"} <= set(softpenalty.__all__)
    assert isinstance(minimize(distance, START), softpenalty.Result)


# Constraints --------------------------------------------------------------------------------------------


def test_the_name_of_the_bounds_is_taken():
    with pytest.raises(ValueError, match=r"`Constraint\(name=...\)` must not be 'bounds'"):
        Constraint(distance, "<", name="bounds")


def test_constraints_compare_and_hash():
    one, other = Constraint(distance, "<", [1.0, 2.0]), Constraint(distance, "<", [1.0, 2.0])
    assert one == one and one != other
    assert len({one, other, one}) == 2
    assert one in [other, one]


@pytest.mark.parametrize("call", ["minimize", "penalize"])
@pytest.mark.parametrize(
    "form",
    [
        LinearConstraint([[1.0, 1.0]], -np.inf, 2.0, keep_feasible=True),
        NonlinearConstraint(sum, -np.inf, 2.0, keep_feasible=[True]),
        Bounds(0.0, 2.0, keep_feasible=[False, True]),
    ],
    ids=["linear", "nonlinear", "bounds"],
)
def test_constraints_are_not_kept_feasible_and_that_is_said(form, call):
    with pytest.warns(
        OptimizeWarning, match=f"`{call}.*keep_feasible=True of 'constraint 0'.*not hon"
    ) as caught:
        if call == "minimize":
            minimize(distance, START, constraints=form)
        else:
            penalize(distance, form, sigma=1.0, alpha=1.0)
    assert caught[0].filename == __file__


def test_bounds_are_kept_feasible_by_minimize_only():
    kept = Bounds([0.0, 0.0], [1.0, 1.0], keep_feasible=True)

    def inside(x):
        assert (x >= 0.0).all() and (x <= 1.0).all()
        return distance(x)

    result = minimize(inside, START, bounds=kept)
    assert result.success and result.failures == 0
    with pytest.warns(
        OptimizeWarning, match=r"`penalize\(bounds=...\)`: keep_feasible=True is not"
    ) as caught:
        penalize(distance, bounds=kept, sigma=1.0, alpha=1.0)
    assert caught[0].filename == __file__


def test_multipliers_against_slsqps():
    """What the docstring of `minimize` says about signs and order."""
    forms = [{"type": "ineq", "fun": lambda x: 1.0 - x[0]}, {"type": "eq", "fun": lambda x: x[1] - 3.0}]
    ours, theirs = (
        scipy.optimize.minimize(distance, START, constraints=forms, method=method)
        for method in (minimize, "SLSQP")
    )
    np.testing.assert_allclose(ours.multipliers["constraint 0"], [-2.0], atol=1e-5)
    np.testing.assert_allclose(ours.multipliers["constraint 1"], [-4.0], atol=1e-5)
    if "multipliers" in theirs:  # SciPy has them since 1.16
        np.testing.assert_allclose(theirs.multipliers, [4.0, 2.0], atol=1e-5)


# Bounds -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", [[(0.0, 1.0)], [(0.0, 1.0)] * 3, [], np.zeros((1, 2))], ids=str)
def test_pairs_for_another_number_of_variables(bounds):
    message = (
        rf"\(bounds=...\)` must have a pair \(low, high\) for each of the 2 variables; got {len(bounds)}"
    )
    with pytest.raises(ValueError, match="`minimize" + message):
        minimize(distance, START, bounds=bounds)
    with pytest.raises(ValueError, match="`penalize" + message):
        penalize(distance, bounds=bounds, sigma=1.0, alpha=1.0)(START)


def test_scipys_bounds_of_one_number_hold_for_all():
    np.testing.assert_allclose(minimize(distance, START, bounds=Bounds(0.0, 0.5)).x, 0.5)
    p = penalize(distance, bounds=Bounds(0.0, 0.5), sigma=1.0, alpha=1.0)
    assert p.errors(START).shape == (4,)


@pytest.mark.parametrize(
    "number", [np.array, lambda x: np.array([x]), np.float64], ids=["()", "(1,)", "scalar"]
)
def test_limits_as_arrays_of_size_one(number):
    bounds = [(number(0.0), number(0.5)), (None, number(0.25))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(minimize(distance, START, bounds=bounds).x, [0.5, 0.25])


def test_limits_that_are_whole_arrays():
    with pytest.raises(
        TypeError, match=r"`minimize\(bounds=...\)` must be scipy.optimize.Bounds or a sequence"
    ):
        minimize(distance, START, bounds=[(np.zeros(2), 1.0), (0.0, 1.0)])


# Callbacks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_the_callback_of_trust_constr(method):
    seen = []

    def callback(xk, state):
        seen.append((xk, state))
        return len(seen) == 3

    result = minimize(
        scipy.optimize.rosen, START, jac=scipy.optimize.rosen_der, callback=callback, method=method
    )
    assert result.status == Status.CALLBACK.number and len(seen) == 3
    for x, state in seen:
        np.testing.assert_array_equal(x, state.x)
        assert state.fun == scipy.optimize.rosen(x) and state.nit >= 0


def test_a_second_argument_with_a_default_is_the_users_own():
    seen = []

    def callback(xk, label="mine"):
        seen.append(label)
        return True  # of no consequence in this form

    assert minimize(distance, START, callback=callback).success
    assert set(seen) == {"mine"}
    assert minimize(distance, START, callback=lambda *args: seen.append(args)).success
    assert len(seen[-1]) == 1


@pytest.mark.parametrize("argument", ["x0", "tol", "maxiter", "max_time", "constraint_tol"])
def test_a_whole_number_beyond_the_largest_float_is_refused(argument):
    with pytest.raises((TypeError, ValueError), match=argument):
        minimize(lambda x: x @ x, **({"x0": [1.0]} | {argument: 10**400}))
