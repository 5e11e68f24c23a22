"""The problems of the CEC 2006 competition (Liang et al., technical report), g20 among them but apart.

Published values of those with equalities allow |h| ≤ 1e-4.
"""

from __future__ import annotations

import numpy as np
from numpy import cos, exp, log, pi, sin, sqrt

from .problem import SearchProblem, box


def g01(x):
    a, b, c = x[9:12]
    g = [
        2 * x[0] + 2 * x[1] + a + b - 10,
        2 * x[0] + 2 * x[2] + a + c - 10,
        2 * x[1] + 2 * x[2] + b + c - 10,
        a - 8 * x[0],
        b - 8 * x[1],
        c - 8 * x[2],
        a - 2 * x[3] - x[4],
        b - 2 * x[5] - x[6],
        c - 2 * x[7] - x[8],
    ]
    return 5 * np.sum(x[:4] - x[:4] ** 2) - np.sum(x[4:]), g, ()


def keane(x):
    """g02 for 20 variables: a bump surrounded by many others."""
    squares = cos(x) ** 2
    length = sqrt(np.arange(1, x.size + 1) @ x**2)
    f = -abs(np.sum(squares**2) - 2 * np.prod(squares)) / (length or 1e-100)
    return f, [0.75 - np.prod(x), np.sum(x) - 7.5 * x.size], ()


def g03(x):
    n = x.size
    return -(sqrt(n) ** n) * np.prod(x), (), [x @ x - 1]


def g04(x):
    a, b, c, d, e = x
    u = 85.334407 + 0.0056858 * b * e + 0.0006262 * a * d - 0.0022053 * c * e
    v = 80.51249 + 0.0071317 * b * e + 0.0029955 * a * b + 0.0021813 * c**2
    w = 9.300961 + 0.0047026 * c * e + 0.0012547 * a * c + 0.0019085 * c * d
    f = 5.3578547 * c**2 + 0.8356891 * a * e + 37.293239 * a - 40792.141
    return f, [-u, u - 92, 90 - v, v - 110, 20 - w, w - 25], ()


def g05(x):
    a, b, c, d = x
    f = 3 * a + 1e-6 * a**3 + 2 * b + 2e-6 / 3 * b**3
    h = [
        1000 * (sin(-c - 0.25) + sin(-d - 0.25)) + 894.8 - a,
        1000 * (sin(c - 0.25) + sin(c - d - 0.25)) + 894.8 - b,
        1000 * (sin(d - 0.25) + sin(d - c - 0.25)) + 1294.8,
    ]
    return f, [c - d - 0.55, d - c - 0.55], h


def g06(x):
    a, b = x
    g = [100 - (a - 5) ** 2 - (b - 5) ** 2, (a - 6) ** 2 + (b - 5) ** 2 - 82.81]
    return (a - 10) ** 3 + (b - 20) ** 3, g, ()


def g07(x):
    a, b, c, d, e, p, q, r, s, t = x
    f = a * a + b * b + a * b - 14 * a - 16 * b + (c - 10) ** 2 + 4 * (d - 5) ** 2 + (e - 3) ** 2
    f += 2 * (p - 1) ** 2 + 5 * q * q + 7 * (r - 11) ** 2 + 2 * (s - 10) ** 2 + (t - 7) ** 2 + 45
    g = [
        4 * a + 5 * b - 3 * q + 9 * r - 105,
        10 * a - 8 * b - 17 * q + 2 * r,
        -8 * a + 2 * b + 5 * s - 2 * t - 12,
        3 * (a - 2) ** 2 + 4 * (b - 3) ** 2 + 2 * c * c - 7 * d - 120,
        5 * a * a + 8 * b + (c - 6) ** 2 - 2 * d - 40,
        a * a + 2 * (b - 2) ** 2 - 2 * a * b + 14 * e - 6 * p,
        0.5 * (a - 8) ** 2 + 2 * (b - 4) ** 2 + 3 * e * e - p - 30,
        -3 * a + 6 * b + 12 * (s - 8) ** 2 - 7 * t,
    ]
    return f, g, ()


def g08(x):
    a, b = x
    f = -(sin(2 * pi * a) ** 3) * sin(2 * pi * b) / (a**3 * (a + b))
    return f, [a * a - b + 1, 1 - a + (b - 4) ** 2], ()


def g09(x):
    a, b, c, d, e, p, q = x
    f = (a - 10) ** 2 + 5 * (b - 12) ** 2 + c**4 + 3 * (d - 11) ** 2 + 10 * e**6
    f += 7 * p * p + q**4 - 4 * p * q - 10 * p - 8 * q
    g = [
        2 * a * a + 3 * b**4 + c + 4 * d * d + 5 * e - 127,
        7 * a + 3 * b + 10 * c * c + d - e - 282,
        23 * a + b * b + 6 * p * p - 8 * q - 196,
        4 * a * a + b * b - 3 * a * b + 2 * c * c + 5 * p - 11 * q,
    ]
    return f, g, ()


def g10(x):
    """Heat exchangers in a row."""
    a, b, c, d, e, p, q, r = x
    g = [
        0.0025 * (d + p) - 1,
        0.0025 * (e + q - d) - 1,
        0.01 * (r - e) - 1,
        -a * p + 833.33252 * d + 100 * a - 83333.333,
        -b * q + 1250 * e + b * d - 1250 * d,
        -c * r + 1250000 + c * e - 2500 * e,
    ]
    return a + b + c, g, ()


def g11(x):
    return x[0] ** 2 + (x[1] - 1) ** 2, (), [x[1] - x[0] ** 2]


def g12(x):
    """Feasible in any of 729 balls: the nearest counts, whose centre is the nearest grid point."""
    nearest = np.clip(np.round(x), 1, 9)
    return -(100 - np.sum((x - 5) ** 2)) / 100, [np.sum((x - nearest) ** 2) - 0.0625], ()


def g13(x):
    a, b, c, d, e = x
    return exp(a * b * c * d * e), (), [x @ x - 10, b * c - 5 * d * e, a**3 + b**3 + 1]


MIXTURE = np.array(
    [-6.089, -17.164, -34.054, -5.914, -24.721, -14.986, -24.1, -10.708, -26.662, -22.179]
)  # free energies of the ten gases


def g14(x):
    """Chemical equilibrium."""
    h = [
        x[0] + 2 * x[1] + 2 * x[2] + x[5] + x[9] - 2,
        x[3] + 2 * x[4] + x[5] + x[6] - 1,
        x[2] + x[6] + x[7] + 2 * x[8] + x[9] - 1,
    ]
    return x @ (MIXTURE + log(x / np.sum(x))), (), h


def g15(x):
    a, b, c = x
    f = 1000 - a * a - 2 * b * b - c * c - a * b - a * c
    return f, (), [x @ x - 25, 8 * a + 14 * b + 7 * c - 56]


# Limits of the 17 outputs of g16's process.
OUTPUT_LOW = np.array(
    [213.1, 17.505, 11.275, 214.228, 7.458, 0.961, 1.612, 0.146, 107.99, 922.693, 926.832, 18.766, 1072.163,
     8961.448, 0.063, 71084.33, 2802713]
)  # fmt: skip
OUTPUT_HIGH = np.array(
    [405.23, 1053.6667, 35.03, 665.585, 584.463, 265.916, 7.046, 0.222, 273.366, 1286.105, 1444.046, 537.141,
     3247.039, 26844.086, 0.386, 140000, 12146108]
)  # fmt: skip


def g16(x):
    a, b, c, d, e = x
    y1 = b + c + 41.6
    y2 = 12.5 / (0.024 * d - 4.62) + 12
    y3 = (0.0003535 * a**2 + 0.5311 * a + 0.08705 * y2 * a) / (0.052 * a + 78 + 0.002377 * y2 * a)
    y4 = 19 * y3
    c4 = 0.04782 * (a - y3) + 0.1956 * (a - y3) ** 2 / b + 0.6376 * y4 + 1.594 * y3
    y5 = (a - y3 - y4) * (0.95 - c4 / (100 * b))
    y6 = a - y5 - y4 - y3
    c8 = 0.995 * (y5 + y4)
    y7, y8 = c8 / y1, c8 / 3798
    y9 = 96.82 / (y7 - 0.0663 * y7 / y8 - 0.3153) + 0.321 * y1
    y10 = 1.29 * y5 + 1.258 * y4 + 2.29 * y3 + 1.71 * y6
    y11 = 1.71 * a - 0.452 * y4 + 0.58 * y3
    c12 = 0.995 * y10 + 1998
    y12 = 12.3 / 752.3 * a + 1.75 * y2 * 0.995 * a / c12
    y13 = c12 - 1.75 * y2
    y14 = 3623 + 64.4 * b + 58.4 * c + 146312 / (y9 + e)
    y15 = y13 / (0.995 * y10 + 60.8 * b + 48 * d - 0.1121 * y14 - 5095)
    y16 = 148000 - 331000 * y15 + 40 * y13 - 61 * y15 * y13
    y17 = 14130000 - 1328 * y10 - 531 * y11 + (2324 * y10 - 28740000 * y2) / c12
    f = 0.000117 * y14 + 0.1365 + 0.00002358 * y13 + 0.000001502 * y16 + 0.0321 * y12 + 0.004324 * y5
    f += 0.0001 * (y13 / y15 - y13 / 0.52) / (1.104 - 0.72 * y15) + 37.48 * y2 / c12 - 0.0000005843 * y17
    y = np.array([y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17])
    first = [0.28 / 0.72 * y5 - y4, c - 1.5 * b, 3496 * y2 / c12 - 21, 110.6 + y1 - 62212 / (y9 + e)]
    return f, [*first, *(OUTPUT_LOW - y), *(y - OUTPUT_HIGH)], ()


def g17(x):
    """Electrical circuit with costs that jump."""
    a, b, c, d, e, t = x
    f = (30 if a < 300 else 31) * a + (28 if b < 100 else 29 if b < 200 else 30) * b
    r, s, k = c * d / 131.078, 0.90798 / 131.078, 1.47588
    h = [
        300 - a - r * cos(1.48477 - t) + s * c * c * cos(k),
        -b - r * cos(1.48477 + t) + s * d * d * cos(k),
        -e - r * sin(1.48477 + t) + s * d * d * sin(k),
        200 - r * sin(1.48477 - t) + s * c * c * sin(k),
    ]
    return f, (), h


def g18(x):
    """Largest hexagon of diameter 1."""
    a, b, c, d, e, p, q, r, s = x
    f = -0.5 * (a * d - b * c + c * s - e * s + e * r - p * q)
    g = [
        c * c + d * d - 1,
        s * s - 1,
        e * e + p * p - 1,
        a * a + (b - s) ** 2 - 1,
        (a - e) ** 2 + (b - p) ** 2 - 1,
        (a - q) ** 2 + (b - r) ** 2 - 1,
        (c - e) ** 2 + (d - p) ** 2 - 1,
        (c - q) ** 2 + (d - r) ** 2 - 1,
        q * q + (r - s) ** 2 - 1,
        b * c - a * d,
        -c * s,
        e * s,
        p * q - e * r,
    ]
    return f, g, ()


COLVILLE_A = np.array(
    [[-16, 2, 0, 1, 0], [0, -2, 0, 0.4, 2], [-3.5, 0, 2, 0, 0], [0, -2, 0, -4, -1], [0, -9, -2, 1, -2.8],
     [2, 0, -4, 0, 0], [-1, -1, -1, -1, -1], [-1, -2, -3, -2, -1], [1, 2, 3, 4, 5], [1, 1, 1, 1, 1]]
)  # fmt: skip
COLVILLE_B = np.array([-40, -2, -0.25, -4, -4, -1, -40, -60, 5, 1])
COLVILLE_C = np.array(
    [[30, -20, -10, 32, -10], [-20, 39, -6, -31, 32], [-10, -6, 10, -6, -10], [32, -31, -6, 39, -20],
     [-10, 32, -10, -20, 30]]
)  # fmt: skip
COLVILLE_D = np.array([4, 8, 10, 6, 2])
COLVILLE_E = np.array([-15, -27, -36, -18, -12])


def g19(x):
    y, z = x[:10], x[10:]
    f = z @ COLVILLE_C @ z + 2 * COLVILLE_D @ z**3 - COLVILLE_B @ y
    g = -2 * COLVILLE_C @ z - 3 * COLVILLE_D * z**2 - COLVILLE_E + y @ COLVILLE_A
    return f, g, ()


BLEND_A = np.array([0.0693, 0.0577, 0.05, 0.2, 0.26, 0.55, 0.06, 0.1, 0.12, 0.18, 0.1, 0.09] * 2)
BLEND_B = np.array(
    [44.094, 58.12, 58.12, 137.4, 120.9, 170.9, 62.501, 84.94, 133.425, 82.507, 46.07, 60.097]
)  # fmt: skip
BLEND_C = np.array([123.7, 31.7, 45.7, 14.7, 84.7, 27.7, 49.7, 7.1, 2.1, 17.7, 0.85, 0.64])
BLEND_D = np.array([31.244, 36.12, 34.784, 92.7, 82.7, 91.6, 56.708, 82.7, 80.8, 64.517, 49.4, 49.1])
BLEND_E = np.array([0.1, 0.3, 0.4, 0.3, 0.6, 0.3])


def g20(x):
    """No feasible point of it is known."""
    total, low, high = np.sum(x), x[:12] / BLEND_B, x[12:] / BLEND_B
    pairs = np.array([x[i] + x[i + 12] for i in (0, 1, 2, 6, 7, 8)])
    shares = high / (np.sum(high) or 1e-100) - BLEND_C * low / (40 * (np.sum(low) or 1e-100))
    volume = np.sum(x[:12] / BLEND_D) + 0.7302 * 530 * 14.7 / 40 * np.sum(high) - 1.671
    return BLEND_A @ x, pairs / (total + BLEND_E), [*shares, total - 1, volume]


def g21(x):
    a, b, c, d, e, p, q = x
    h = [
        -300 * c + 7500 * e - 7500 * p - 25 * d * e + 25 * d * p + c * d,
        100 * b + 155.365 * d + 2500 * q - b * d - 25 * d * q - 15536.5,
        log(900 - d) - e,
        log(300 + d) - p,
        log(700 - 2 * d) - q,
    ]
    return a, [35 * b**0.6 + 35 * c**0.6 - a], h


def g22(x):
    a, b, c = x[4:7]
    d, e, p, q, r = x[7:12]
    s, t, u, v, w = x[12:17]
    z = x[17:]
    h = [
        a - 1e5 * d + 1e7,
        b + 1e5 * d - 1e5 * e,
        c + 1e5 * e - 5e7,
        a + 1e5 * p - 3.3e7,
        b + 1e5 * q - 4.4e7,
        c + 1e5 * r - 6.6e7,
        a - 120 * x[1] * s,
        b - 80 * x[2] * t,
        c - 40 * x[3] * u,
        d - q + v,
        e - r + w,
        log(p - 100) - z[0],
        log(300 - d) - z[1],
        log(v) - z[2],
        log(400 - e) - z[3],
        log(w) - z[4],
        -d - p + s * z[0] - s * z[1] + 400,
        d - e - q + t * z[2] - t * z[3] + 400,
        e - r - 4.60517 * u + u * z[4] + 100,
    ]
    return x[0], [np.sum(x[1:4] ** 0.6) - x[0]], h


def g23(x):
    """Pooling."""
    a, b, c, d, e, p, q, r, s = x
    h = [a + b - c - d, 0.03 * a + 0.01 * b - s * (c + d), c + p - e, d + q - r]
    return (
        -9 * e - 15 * r + 6 * a + 16 * b + 10 * (p + q),
        [s * c + 0.02 * p - 0.025 * e, s * d + 0.02 * q - 0.015 * r],
        h,
    )


def g24(x):
    a, b = x
    g = [
        -2 * a**4 + 8 * a**3 - 8 * a**2 + b - 2,
        -4 * a**4 + 32 * a**3 - 88 * a**2 + 96 * a + b - 36,
    ]
    return -a - b, g, ()


G22_LOW = [*[0.0] * 7, 100, 100, 100.01, 100, 100, 0, 0, 0, 0.01, 0.01, *[-4.7] * 5]
G22_HIGH = [2e4, *[1e6] * 3, *[4e7] * 3, 299.99, 399.99, 300, 400, 600, 500, 500, 500, 300, 400, *[6.25] * 5]


CEC2006 = [
    SearchProblem("g01", g01, box([0] * 13, [*[1] * 9, 100, 100, 100, 1]), -15.0),
    SearchProblem("g02", keane, box(0, 10, 20), -0.80361910412559),
    SearchProblem("g03", g03, box(0, 1, 10), -1.00050010001000),
    SearchProblem("g04", g04, box([78, 33, 27, 27, 27], [102, 45, 45, 45, 45]), -30665.5386717834),
    SearchProblem("g05", g05, box([0, 0, -0.55, -0.55], [1200, 1200, 0.55, 0.55]), 5126.4967140071),
    SearchProblem("g06", g06, box([13, 0], [100, 100]), -6961.81387558015),
    SearchProblem("g07", g07, box(-10, 10, 10), 24.30620906818),
    SearchProblem("g08", g08, box(1e-5, 10, 2), -0.0958250414180359),
    SearchProblem("g09", g09, box(-10, 10, 7), 680.630057374402),
    SearchProblem(
        "g10", g10, box([100, 1000, 1000, *[10] * 5], [*[10000] * 3, *[1000] * 5]), 7049.24802052867
    ),
    SearchProblem("g11", g11, box(-1, 1, 2), 0.7499),
    SearchProblem("g12", g12, box(0, 10, 3), -1.0),
    SearchProblem("g13", g13, box([-2.3, -2.3, *[-3.2] * 3], [2.3, 2.3, *[3.2] * 3]), 0.053941514041898),
    SearchProblem("g14", g14, box(1e-6, 10, 10), -47.7648884594915),
    SearchProblem("g15", g15, box(0, 10, 3), 961.715022289961),
    SearchProblem(
        "g16",
        g16,
        box([704.4148, 68.6, 0, 193, 25], [906.3855, 288.88, 134.75, 287.0966, 84.1988]),
        -1.90515525853479,
    ),
    SearchProblem(
        "g17", g17, box([0, 0, 340, 340, -1000, 0], [400, 1000, 420, 420, 1000, 0.5236]), 8853.53967480648
    ),
    SearchProblem("g18", g18, box([*[-10] * 8, 0], [*[10] * 8, 20]), -0.866025403784439),
    SearchProblem("g19", g19, box(0, 10, 15), 32.6555929502463),
    SearchProblem(
        "g21", g21, box([0, 0, 0, 100, 6.3, 5.9, 4.5], [1000, 40, 40, 300, 6.7, 6.4, 6.25]), 193.724510070035
    ),
    SearchProblem("g22", g22, box(G22_LOW, G22_HIGH), 236.430975504001),
    SearchProblem(
        "g23",
        g23,
        box([*[0] * 8, 0.01], [300, 300, 100, 200, 100, 300, 100, 200, 0.03]),
        -400.055099999999584,
    ),
    SearchProblem("g24", g24, box([0, 0], [3, 4]), -5.50801327159536),
]
G20 = SearchProblem("g20", g20, box(0, 10, 24), np.nan)
