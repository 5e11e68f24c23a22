"""Functions that return the same array at every point, filled anew: what they return is copied at once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import NonlinearConstraint, rosen, rosen_der, rosen_hess

from softpenalty import Constraint, minimize, penalize, shared
from softpenalty.problem.evaluation import Evaluation
from softpenalty.problem.scipy_forms import read_constraints

POINTS = (np.array([1.0, 2.0]), np.array([3.0, -1.0]))


def reusing(fun):
    """Return `fun` with one array for all its results."""
    buffer = None

    def filled(*args):
        nonlocal buffer
        result = np.asarray(fun(*args), dtype=float)
        buffer = result.copy() if buffer is None else buffer
        buffer[...] = result
        return buffer

    return filled


def reusing_sparse(fun):
    """Return `fun` with one sparse matrix for all its results, as long as its pattern stays."""
    matrix = None

    def filled(x):
        nonlocal matrix
        matrix = sparse.csr_array(fun(x)) if matrix is None else matrix
        matrix.data[...] = sparse.csr_array(fun(x)).data
        return matrix

    return filled


def pair(x):
    return np.array([x[0] * x[1], x[0] + x[1]])


def pair_jac(x):
    return np.array([[x[1], x[0]], [1.0, 1.0]])


def both_points(evaluation):
    """Return everything known about two points, asked for in turn, and then about the first again."""
    first = [*evaluation.values(POINTS[0]), *evaluation.derivatives(POINTS[0])]
    evaluation.values(POINTS[1]), evaluation.derivatives(POINTS[1])
    return first, [*evaluation.values(POINTS[0]), *evaluation.derivatives(POINTS[0])]


@pytest.mark.parametrize(
    "jac", [reusing(pair_jac), reusing_sparse(pair_jac), "cs"], ids=["dense", "sparse", "cs"]
)
@pytest.mark.parametrize("with_objective", [True, False], ids=["jac=True", "jac"])
def test_what_was_returned_does_not_change_afterwards(jac, with_objective):
    gradient = reusing(rosen_der)
    fun, objective_jac = ((lambda x: (rosen(x), gradient(x))), True) if with_objective else (rosen, gradient)
    blocks = read_constraints("minimize", Constraint(pair if jac == "cs" else reusing(pair), "<", jac=jac))
    evaluation = Evaluation("minimize", fun, blocks, jac=objective_jac)
    for objective, values, gradient_, jacobian in both_points(evaluation):
        assert objective == rosen(POINTS[0])
        np.testing.assert_array_equal(values, pair(POINTS[0]))
        np.testing.assert_array_equal(gradient_, rosen_der(POINTS[0]))
        dense = jacobian.toarray() if sparse.issparse(jacobian) else jacobian
        np.testing.assert_array_equal(dense, pair_jac(POINTS[0]))


@pytest.mark.parametrize("kind", ["jac", "cs"])
def test_two_constraints_that_share_one_array(kind):
    buffer = np.zeros(2)
    buffer_complex = np.zeros(1, dtype=complex)

    def scaled(factor):
        def jac(x):
            buffer[:] = factor
            return buffer

        def fun(x):
            target = buffer_complex if x.dtype.kind == "c" else np.zeros(1)
            target[0] = factor * x.sum()
            return target

        return Constraint(fun, "<", jac=jac if kind == "jac" else "cs", name=f"times {factor}")

    evaluation = Evaluation("minimize", rosen, read_constraints("minimize", [scaled(2.0), scaled(3.0)]))
    _, jacobian = evaluation.derivatives(POINTS[0])
    np.testing.assert_allclose(jacobian, [[2.0, 2.0], [3.0, 3.0]], rtol=1e-15)


def test_populations():
    buffer = np.zeros(3)

    def fun(x):
        buffer[:] = x.sum(axis=0)
        x[:] = 0.0
        return buffer

    p = penalize(fun, Constraint(fun, "<", 1.0), sigma=1.0, alpha=0.1, vectorized=True)
    x = np.arange(6.0).reshape(2, 3)
    first = p.objective(x)
    p.objective(x + 1.0)
    np.testing.assert_array_equal(first, [3.0, 5.0, 7.0])
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3))


def test_a_shared_simulation():
    mass, stress = np.zeros(1), np.zeros(2)

    def simulate(x):
        mass[0], stress[:] = x[0], x
        return {"mass": mass, "other": (stress, [mass])}

    beam = shared(simulate)
    first = beam(POINTS[0])
    beam(POINTS[1])
    assert beam(POINTS[0]) is first and beam.calls == 2
    assert first["mass"][0] == first["other"][1][0] == 1.0
    np.testing.assert_array_equal(first["other"][0], POINTS[0])


@pytest.mark.parametrize("derivatives", ["first", "second", "sparse", "jac=True"])
def test_the_solver_does_the_same_with_one_array(derivatives):
    def disc_hess(x, v):
        return 2.0 * v[0] * np.eye(2)

    def solve(kept, kept_matrix):
        hess = derivatives == "second"
        gradient = kept(rosen_der)
        disc = NonlinearConstraint(
            kept(lambda x: [x @ x]), -np.inf, 1.5, jac=kept_matrix(lambda x: 2.0 * x[None]),
            **({"hess": kept(disc_hess)} if hess else {}),
        )  # fmt: skip
        fun, jac = (
            (lambda x: (rosen(x), gradient(x)), True) if derivatives == "jac=True" else (rosen, gradient)
        )
        return minimize(
            fun, [-1.2, 1.0], jac=jac, hess=kept(rosen_hess) if hess else None, constraints=disc,
        )  # fmt: skip

    plain = solve(lambda f: f, lambda f: f)
    one_array = solve(reusing, reusing_sparse if derivatives == "sparse" else reusing)
    assert plain.success and one_array.success
    np.testing.assert_array_equal(one_array.x, plain.x)
    assert (one_array.nfev, one_array.njev) == (plain.nfev, plain.njev)


def test_functions_that_share_one_array_among_themselves():
    """Two constraints, and two Jacobians, fill the same array one after the other."""
    values, slopes = np.empty(2), np.empty((2, 2))

    def sharing(fun, buffer):
        def filled(x):
            buffer[...] = fun(x)
            return buffer

        return filled

    def doubled(x):
        return 2.0 * pair(x)

    def doubled_jac(x):
        return 2.0 * pair_jac(x)

    blocks = [
        NonlinearConstraint(sharing(fun, values), 0.0, 9.0, jac=sharing(jac, slopes))
        for fun, jac in ((pair, pair_jac), (doubled, doubled_jac))
    ]
    evaluation = Evaluation("minimize", rosen, read_constraints("minimize", blocks), jac=rosen_der)
    x = POINTS[0]
    np.testing.assert_array_equal(evaluation.values(x)[1], np.concatenate([pair(x), doubled(x)]))
    np.testing.assert_array_equal(evaluation.derivatives(x)[1], np.concatenate([pair_jac(x), doubled_jac(x)]))
