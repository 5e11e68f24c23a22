"""Models regressed over points: exact where the functions are quadratic, as uncertain as they say."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty.solve.noisy.cloud import Cloud
from softpenalty.solve.noisy.fit import Basis, regress
from softpenalty.solve.noisy.sampling import informative_points

RADII = (1e-2, 0.2)


def quadratic(n, seed):
    random = np.random.default_rng(seed)
    c, g, H = random.normal(), random.normal(size=n), random.normal(size=(n, n))
    H = H + H.T
    return lambda u: c + g @ u + 0.5 * u @ H @ u, g, H


@pytest.mark.parametrize("n", [1, 3, 6, 14])
def test_quadratics_are_reproduced(n):
    random = np.random.default_rng(n)
    (one, g, H), (other, _, _) = quadratic(n, 1), quadratic(n, 2)
    basis = Basis(n)
    cloud = Cloud(n, 2)
    for _ in range(2 * basis.columns):
        u = 0.05 * random.normal(size=n)
        cloud.add(u, np.array([one(u), other(u)]))
    models = regress(basis, cloud, np.zeros(n), 1e-6, 1.0, np.zeros((2, n, n)))
    assert models.F[0] == pytest.approx(one(np.zeros(n)), abs=1e-8)
    np.testing.assert_allclose(models.J[0], g, atol=1e-6)
    np.testing.assert_allclose(models.H[0], H, atol=1e-4)


def test_second_derivatives_fall_back_upon_the_last_ones_where_points_do_not_tell():
    n, H = 3, np.stack([np.diag([1.0, 2.0, 3.0])])
    cloud = Cloud(n, 1)
    for u in [np.zeros(n), *0.1 * np.eye(n)]:
        cloud.add(u, np.array([0.5 * u @ H[0] @ u]))
    models = regress(Basis(n), cloud, np.zeros(n), *RADII, H)
    np.testing.assert_allclose(models.H, H, atol=1e-6)
    np.testing.assert_allclose(models.J, 0.0, atol=1e-6)


def test_the_covariance_is_what_repeated_noise_shows():
    n, sigma = 2, 1e-3
    random = np.random.default_rng(5)
    points = 0.05 * random.normal(size=(30, n))
    gradients, expected = [], None
    for _ in range(400):
        cloud = Cloud(n, 1)
        for u in points:
            cloud.add(u, np.array([u @ [1.0, -2.0] + sigma * random.standard_normal()]))
        models = regress(Basis(n), cloud, np.zeros(n), 1e-4, 10.0, np.zeros((1, n, n)))
        gradients.append(models.J[0])
        expected = sigma * np.sqrt(models.gradient_covariance.diagonal())
    np.testing.assert_allclose(np.mean(gradients, axis=0), [1.0, -2.0], atol=5.0 * expected.max() / 20.0)
    np.testing.assert_allclose(
        np.std(gradients, axis=0), expected, rtol=0.15
    )  # 400 samples: ± 3.5 %, four times


def test_a_cloud_remembers_what_failed_and_grows():
    cloud = Cloud(2, 1)
    assert not cloud.add(np.ones(2), np.array([np.nan]))
    assert cloud.failed(np.ones(2)) and not cloud.failed(np.zeros(2))
    for i in range(200):
        assert cloud.add(np.full(2, float(i)), np.array([float(i)]))
    assert cloud.size == 200
    np.testing.assert_array_equal(cloud.values[:, 0], np.arange(200.0))
    order, distance = cloud.nearest(np.full(2, 50.2), 3, 0.0)
    assert order.tolist() == [50, 51, 49]
    assert (np.diff(distance) > 0.0).all()
    assert len(cloud.nearest(np.full(2, 50.0), 3, 10.0)[0]) == 15  # 7.07 to either side


def test_points_are_chosen_where_the_gradient_is_known_least():
    n = 4
    cloud = Cloud(n, 1)
    cloud.add(np.zeros(n), np.zeros(1))
    for i in range(n - 1):  # nothing is known about the last variable
        cloud.add(0.1 * np.eye(n)[i], np.zeros(1))
        cloud.add(-0.1 * np.eye(n)[i], np.zeros(1))
    models = regress(Basis(n), cloud, np.zeros(n), *RADII, np.zeros((1, n, n)))
    bounds = np.full(n, -np.inf), np.full(n, np.inf)
    points = informative_points(Basis(n), cloud, models, np.zeros(n), n, RADII, 1.0, bounds)
    assert len(points) == n
    assert abs(points[0][-1]) == pytest.approx(np.linalg.norm(points[0]), rel=1e-3)
    assert len({p.tobytes() for p in points}) == n


def test_points_stay_inside_the_bounds_and_avoid_failures():
    n = 2
    cloud = Cloud(n, 1)
    cloud.add(np.zeros(n), np.zeros(1))
    models = regress(Basis(n), cloud, np.zeros(n), *RADII, np.zeros((1, n, n)))
    bounds = np.zeros(n), np.ones(n)
    first = informative_points(Basis(n), cloud, models, np.zeros(n), n, RADII, 1.0, bounds)
    assert all((p >= 0.0).all() for p in first)
    for p in first:
        cloud.add(p, np.array([np.nan]))
    second = informative_points(Basis(n), cloud, models, np.zeros(n), n, RADII, 1.0, bounds)
    assert not {p.tobytes() for p in first} & {p.tobytes() for p in second}


def test_points_for_the_values_lower_their_variance_most():
    n = 3
    random = np.random.default_rng(2)
    cloud = Cloud(n, 1)
    for u in [np.zeros(n), *0.1 * random.normal(size=(12, n))]:
        cloud.add(u, np.zeros(1))
    bounds = np.full(n, -np.inf), np.full(n, np.inf)
    variances = []
    for values in (True, False):
        models = regress(Basis(n), cloud, np.zeros(n), *RADII, np.zeros((1, n, n)))
        points = informative_points(Basis(n), cloud, models, np.zeros(n), n, RADII, 1.0, bounds, values)
        more = Cloud(n, 1)
        for u in [*cloud.u, *points]:
            more.add(u, np.zeros(1))
        known = regress(Basis(n), more, np.zeros(n), *RADII, np.zeros((1, n, n)))
        variances.append((known.covariance[0, 0], np.trace(known.gradient_covariance)))
        assert known.covariance[0, 0] < models.covariance[0, 0]
    assert variances[0][0] < variances[1][0] and variances[0][1] > variances[1][1]
