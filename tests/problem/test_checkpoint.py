"""A journal of answers: read again it repeats nothing; another problem's, or a broken one, is refused."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import NonlinearConstraint

from softpenalty import Constraint, minimize
from softpenalty.problem.checkpoint import Checkpoint, RecordedError, fingerprint
from softpenalty.problem.functions import Failure
from softpenalty.solve.methods import METHODS

START = [2.0, -1.0, 0.5]


class Simulation:
    """Counts, may fail at some points, and may die after so many calls."""

    def __init__(self, budget=np.inf):
        self.calls, self.budget = 0, budget

    def __call__(self, x):
        if self.calls >= self.budget:
            raise SystemExit  # nothing forgives it
        self.calls += 1
        if x[0] + x[1] > 40.0:
            raise RuntimeError("flooded")
        return float(((x - 1.0) ** 4).sum() + x[0] * x[1])


def solve(fun, path=None, **more):
    row = Constraint(lambda x: [x.sum(), x[0] * x[2]], ">", [1.0, 0.2], name="mass")
    arguments = {"constraints": row, **more}
    if path is not None:
        arguments |= {"checkpoint": path, "resume": True}
    return minimize(fun, START, **arguments)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_died_goes_on_without_repeating_anything(tmp_path, method):
    whole = Simulation()
    expected = solve(whole, method=method)
    path, done = tmp_path / "run.json", 0
    for budget in (1, 7, 20, 21):
        fun = Simulation(budget)
        with pytest.raises(SystemExit):
            solve(fun, path, method=method)
        done += fun.calls
    rest = Simulation()
    result = solve(rest, path, method=method)
    np.testing.assert_array_equal(result.x, expected.x)
    assert result.nfev == expected.nfev and result.message == expected.message
    assert done + rest.calls == whole.calls
    again = Simulation()
    assert solve(again, path, method=method).fun == expected.fun
    assert again.calls == 0


def test_derivatives_and_second_derivatives_are_kept_too(tmp_path):
    asked = []

    def told(name, function):
        def counted(*arguments):
            asked.append(name)
            return function(*arguments)

        return counted

    def run():
        form = NonlinearConstraint(
            told("con", lambda x: [x @ x, x[0]]),
            [-np.inf, 0.1],
            [2.0, np.inf],
            jac=told("jac", lambda x: sparse.csr_array(np.vstack([2.0 * x, [1.0, 0.0, 0.0]]))),
            hess=told("hess", lambda x, v: 2.0 * v[0] * sparse.eye_array(3)),
        )
        return minimize(
            told("fun", lambda x: ((x**4).sum() - x.sum(), 4.0 * x**3 - 1.0)),
            START,
            jac=True,
            hess=told("hessian", lambda x: np.diag(12.0 * x**2)),
            constraints=form,
            checkpoint=tmp_path,
            resume=True,
        )

    first = run()
    assert first.success and {"con", "jac", "hess", "fun", "hessian"} == set(asked)
    asked.clear()
    second = run()
    assert asked == []
    np.testing.assert_array_equal(first.x, second.x)
    assert (tmp_path / "checkpoint.jsonl").exists()


def test_every_kind_of_answer_comes_back_as_it_was(tmp_path):
    answers = {
        "plain": [np.array([1.0 / 3.0, -0.0, 5e-324, 1e308])],
        "odd": [np.array([np.nan, np.inf, -np.inf])],
        "complex": [np.array([1.0 + 2.0j])],
        "shaped": [np.arange(6.0).reshape(2, 3), np.zeros((0, 3)), np.array(4.0)],
    }
    x = np.array([0.1, np.pi])
    with_them = Checkpoint(tmp_path / "c", {}, resume=False)
    for question, answer in answers.items():
        with_them.add(question, x, answer)
    with_them.add("failed", x, Failure(RuntimeError("flooded")))
    with_them.add("sparse", x, [sparse.csr_array(np.diag([1.0, 0.0, 3.0]))])
    with_them.close()
    back = Checkpoint(tmp_path / "c", {}, resume=True)
    assert back.known == 6
    for question, answer in answers.items():
        for one, other in zip(back.find(question, x), answer, strict=True):
            assert one.shape == other.shape
            assert one.tobytes() == other.tobytes()
    failure = back.find("failed", x)
    assert isinstance(failure.error, RecordedError) and failure.error.kind == "RuntimeError"
    np.testing.assert_array_equal(back.find("sparse", x)[0].toarray(), np.diag([1.0, 0.0, 3.0]))
    assert back.find("plain", np.array([0.1, np.nextafter(np.pi, 4.0)])) is None
    back.close()


def test_a_line_that_was_cut_off_is_dropped_wherever_it_was_cut(tmp_path):
    path = tmp_path / "run"
    solve(Simulation(), path)
    content = path.read_bytes()
    header = content.index(b"\n") + 1
    expected = solve(Simulation())
    for length in [0, 1, header - 1, header, header + 1, header + 70, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        np.testing.assert_array_equal(solve(Simulation(), path).x, expected.x)
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (b"hello\n", "is not a checkpoint"),
        (b"[1, 2]\n", "is not a checkpoint"),
        (b"\x80\x04K\x01.", "is not a checkpoint"),
        (b'{"format": "softpenalty checkpoint", "version": 99}\n', "is of version 99"),
    ],
)
def test_a_file_of_others_is_refused_and_stays_as_it_is(tmp_path, change, words):
    path = tmp_path / "precious"
    path.write_bytes(change)
    with pytest.raises(ValueError, match=words):
        solve(Simulation(), path)
    assert path.read_bytes() == change


def test_a_damaged_file_is_refused_and_stays_as_it_is(tmp_path):
    path = tmp_path / "run"
    solve(Simulation(), path)
    lines = path.read_bytes().splitlines(keepends=True)
    for damage in (b"{}\n", b'{"ask": "values", "x": 3}\n', b"\xff\xfe\n"):
        broken = b"".join([lines[0], damage, *lines[2:]])
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="is damaged"):
            solve(Simulation(), path)
        assert path.read_bytes() == broken


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"method": "penalty"}, "its method is 'sqp', here it is 'penalty'"),
        ({"bounds": [(0.0, 9.0)] * 3}, "its bounds"),
        ({"constraints": Constraint(sum, ">", 1.0, name="other")}, r"its constraints is \['mass'\]"),
        ({"constraints": Constraint(sum, ">", 2.0, name="mass")}, "its targets"),
        ({"jac": "3-point"}, "its derivatives"),
    ],
)
def test_the_checkpoint_of_another_problem_is_refused(tmp_path, more, words):
    path = tmp_path / "run"
    solve(Simulation(), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"belongs to another problem: {words}"):
        solve(Simulation(), path, **more)
    assert path.read_bytes() == before


def test_nothing_is_overwritten_without_being_asked(tmp_path):
    path = tmp_path / "run"
    solve(Simulation(), path)
    with pytest.raises(ValueError, match=r"exists\. Pass resume=True"):
        minimize(Simulation(), START, checkpoint=path)
    with pytest.raises(ValueError, match=r"`minimize\(resume=True\)` needs `checkpoint"):
        minimize(Simulation(), START, resume=True)
    with pytest.raises(TypeError, match=r"`minimize\(checkpoint=\.\.\.\)` must be a path; got 3"):
        minimize(Simulation(), START, checkpoint=3)


def test_lines_are_data(tmp_path):
    path = tmp_path / "run"
    solve(Simulation(), os.fspath(path))
    first, *rest = [json.loads(line) for line in path.read_text().splitlines()]
    assert first["format"] == "softpenalty checkpoint" and first["version"] == 1
    assert all(set(line) <= {"ask", "x", "answer", "failed"} for line in rest)


def test_a_fingerprint_sees_every_bit():
    assert fingerprint(np.array([1.0])) != fingerprint(np.array([np.nextafter(1.0, 2.0)]))
