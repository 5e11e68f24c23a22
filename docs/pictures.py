"""Draw the pictures of README and docs, with the library itself: `make pictures`.

Pages are photographed with chromium where it is installed. The study's page needs a finished study, by
default in ``study-output``: ``python docs/pictures.py [FOLDER]``; its verdicts go into docs/study.md.
"""

from __future__ import annotations

import io
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from scipy.optimize import minimize

import softpenalty
from softpenalty import KERNELS, Constraint, penalize, predicted_error, search
from softpenalty.study.judge.check import check
from softpenalty.study.judge.claims import Claim, contradictions, headline_claims, result_claims
from softpenalty.study.judge.facts import Facts
from softpenalty.study.judge.findings import findings
from softpenalty.study.records import RECORDS_NAME, Records
from softpenalty.study.show.figures import FIGURES, STYLE

IMAGES = Path(__file__).parent / "images"
STUDY_PAGE = IMAGES.parent / "study.md"
COLOURS = {"quadratic": "#D55E00", "algebraic": "#0072B2", "softplus": "#009E73", "linear": "#555555"}


def draw_corner(axes: plt.Axes) -> None:
    """Paths of BFGS into an acute corner: the paper's Fig. 4."""
    constraints = [
        Constraint(lambda x: -x[0], "<", jac=lambda x: np.array([-1.0, 0.0])),
        Constraint(
            lambda x: (x[0] - x[1]) / np.sqrt(2), "<", jac=lambda x: np.array([1.0, -1.0]) / np.sqrt(2)
        ),
    ]
    grid = np.linspace(-10, 4, 200), np.linspace(-10, 6, 200)
    u, v = np.meshgrid(*grid)
    axes.fill_between([0, 4], [0, 4], 6, color="#009E73", alpha=0.12, lw=0)
    axes.contour(u, v, u + v, levels=12, colors="#bbbbbb", linewidths=0.6)
    axes.text(0.45, 5.2, "feasible", color="#00664b", fontsize=9)
    for kernel, combination in (("quadratic", "sum"), ("algebraic", "sum"), ("algebraic", "norm")):
        p = penalize(
            lambda x: 0.2 * x.sum(), constraints, jac=lambda x: np.full(2, 0.2),
            kernel=kernel, combination=combination, sigma=1.0, alpha=0.1,
        )  # fmt: skip
        path = [np.array([-9.0, -8.0])]
        minimize(
            p, path[0], jac=p.gradient, method="BFGS", callback=lambda x, path=path: path.append(x.copy())
        )
        points = np.array(path)
        axes.plot(
            *points.T,
            marker="o",
            color=COLOURS[kernel],
            ls="--" if combination == "norm" else "-",
            ms=3,
            lw=1.4,
            label=f"{KERNELS[kernel].label}{'' if kernel == 'quadratic' else ' ' + combination}",
        )
    axes.plot(0, 0, "k*", ms=11, label="solution", zorder=5)
    axes.set(xlim=(-10, 4), ylim=(-10, 6), xlabel="x[0]", ylabel="x[1]", title="BFGS into an acute corner")
    axes.legend(fontsize=8, loc="lower right")


def bird(x: np.ndarray) -> np.ndarray:
    """Mishra's function, of docs/search.md."""
    a, b = x
    return np.sin(b) * np.exp((1 - np.cos(a)) ** 2) + np.cos(a) * np.exp((1 - np.sin(b)) ** 2) + (a - b) ** 2


def draw_search() -> None:
    """The minima of docs/search.md: where they are, and the first two panels of their plot."""
    disk = Constraint(lambda x: (x[0] + 5) ** 2 + (x[1] + 5) ** 2, "<", 25.0, name="disk")
    result = search(bird, [(-10, 0), (-6.5, 0)], disk, rng=0)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    unused, hidden = plt.subplots()
    result.plot([middle, right, hidden])
    plt.close(unused)
    grid = np.meshgrid(np.linspace(-10, 0, 300), np.linspace(-6.5, 0, 300))
    left.contourf(*grid, bird(np.array(grid)), levels=20, cmap="Greys_r", alpha=0.6)
    angle = np.linspace(0, 2 * np.pi, 300)
    left.plot(5 * np.cos(angle) - 5, 5 * np.sin(angle) - 5, color=COLOURS["softplus"], lw=2, label="disk")
    points = np.array([minimum.x for minimum in result.minima])
    left.plot(*points.T, "o", color=COLOURS["algebraic"], label="minima")
    left.plot(*points[0], "*", ms=16, color=COLOURS["quadratic"], label="best")
    left.set(xlim=(-10, 0), ylim=(-6.5, 0), xlabel="x[0]", ylabel="x[1]", title="Minima of a bird in a disk")
    left.legend(fontsize=8, loc="upper left")
    figure.savefig(IMAGES / "search.png", dpi=110)


def draw_paper() -> None:
    """The paper's Figs. 1 to 3, which need no records."""
    for figure in FIGURES[:3]:
        pixels = io.BytesIO()
        with matplotlib.rc_context(STYLE):
            figure.draw(None).savefig(pixels, dpi=110)  # type: ignore[arg-type]
        shrink(Image.open(pixels), IMAGES / f"{figure.name}.png")


def draw_choosing() -> None:
    """What sigma and alpha do to the boat of docs/choosing.md: minima that are off, and evaluations."""
    reach = Constraint(lambda x: np.hypot(x[0], x[1]), "<", 2.0)
    p = penalize(lambda x: (x[0] - 3.0) ** 2 + (x[1] - 2.0) ** 2, reach, sigma=6.42, alpha=0.1)
    p([0.0, 1.0])
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    distance = np.linspace(0.8, 3.6, 400)
    direction = np.array([3.0, 2.0]) / np.sqrt(13.0)
    settings = {
        "too small: 2": (2.0, COLOURS["quadratic"]),
        "twice the gradient: 6.4": (6.42, COLOURS["softplus"]),
        "far too large: 1000": (1000.0, COLOURS["algebraic"]),
    }
    for label, (sigma, colour) in settings.items():
        weighed = p.replace(sigma=sigma)
        values = np.array([weighed(d * direction) for d in distance])
        lowest = np.argmin(values)
        left.plot(distance, values, color=colour, lw=2, label=label)
        left.plot(distance[lowest], values[lowest], "o", color=colour)
    left.axvline(2.0, color="#999999", lw=0.8, ls=":")
    left.set(xlabel="distance from the harbour", ylabel="objective + penalty", ylim=(0, 9),
             title="Minima for three values of sigma (alpha = 0.1)")  # fmt: skip
    left.legend(fontsize=8, title="sigma", title_fontsize=8)

    sigmas = np.geomspace(1.2, 1e4, 60)
    for kernel in ("quadratic", "algebraic", "softplus"):
        errors = []
        for sigma in sigmas:
            q = penalize(p.evaluation.functions.fun, reach, kernel=kernel, sigma=sigma, alpha=0.1)
            x = minimize(q, 1.9 * direction, jac=q.gradient).x
            errors.append(float(q.errors(x)[0]))
        middle.plot(sigmas, errors, color=COLOURS[kernel], lw=2, label=KERNELS[kernel].label)
    middle.axhline(0.0, color="#999999", lw=0.8, ls=":")
    middle.set(xscale="log", xlabel="sigma", ylabel="error (> 0: violated)", ylim=(-1.6, 1.6),
               title="Error left, found by BFGS")  # fmt: skip
    middle.legend(fontsize=8)

    alphas = np.geomspace(1e-11, 1e-1, 21)
    counts, reached = [], []
    for alpha in alphas:
        found = minimize(q := p.replace(sigma=8.0, alpha=alpha), [1.0, -3.0], jac=q.gradient)
        counts.append(found.nfev)
        reached.append(found.success)
    good = np.array(reached)
    right.plot(alphas, counts, color="#bbbbbb", lw=1)
    right.plot(
        alphas[good], np.array(counts)[good], "o", color=COLOURS["softplus"], label="tolerance reached"
    )
    right.plot(
        alphas[~good], np.array(counts)[~good], "X", color=COLOURS["quadratic"], label="given up before"
    )
    right.set(xscale="log", xlabel="alpha", ylabel="evaluations of BFGS", title="A harder corner costs more")
    right.legend(fontsize=8)
    figure.savefig(IMAGES / "choosing.png", dpi=110)


def many_loads() -> softpenalty.solve.result.Result:
    """A problem with thirty constraints, nine of which are active."""
    generator = np.random.default_rng(3)
    A, c = generator.normal(size=(30, 12)), generator.normal(size=12)
    limits = generator.uniform(1, 4, 30) * np.exp(generator.normal(size=30))
    loads = [
        Constraint(lambda x, i=i: A[i] @ x + 0.1 * np.sin(x[i % 12]), "<", limits[i], name=f"load {i}")
        for i in range(30)
    ]
    return softpenalty.minimize(
        lambda x: c @ x + 0.02 * x @ x + 0.001 * (x**4).sum(), np.full(12, 3.0), constraints=loads
    )


def draw_histories(design: softpenalty.solve.result.Result) -> None:
    """`result.plot()` of a design on light paper and of thirty constraints on dark paper."""
    for name, style, result in (
        ("plot", "default", design),
        ("plot-dark", "dark_background", many_loads()),
    ):
        with plt.style.context(style):
            pixels = io.BytesIO()
            result.plot().savefig(pixels, dpi=80)
            plt.close("all")
        shrink(Image.open(pixels), IMAGES / f"{name}.png")


def photograph(page: Path, name: str, width: int, height: int) -> None:
    """A page as a picture, if there is a browser."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.stderr.write(f"chromium is not installed: {name}.png stays as it is\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "page.png"
        subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
             "--no-first-run", "--hide-scrollbars", f"--user-data-dir={folder}/profile",
             f"--screenshot={picture}", f"--window-size={width},{height}", page.absolute().as_uri()],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip
        shrink(Image.open(picture), IMAGES / f"{name}.png")


def shrink(picture: Image.Image, path: Path) -> None:
    """Save with a palette: a third of the size, no difference to be seen."""
    picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def write_verdicts(study: Path) -> None:
    """Put what the records of a study say between the marks of its page."""
    with Records(study / RECORDS_NAME) as records:
        facts = Facts(records)
    made = (
        ("claims", _table([*headline_claims(facts), *result_claims(facts), *contradictions(facts)])),
        ("findings", "\n\n".join(f"**{each.title}.** {each.text}" for each in findings(facts))),
        ("check", "\n".join(f"- {line}" for line in check(facts).lines)),
    )
    page = STUDY_PAGE.read_text(encoding="utf-8")
    for mark, text in made:
        page, count = re.subn(
            rf"(<!-- {mark} -->\n).*?(<!-- end -->)",
            lambda found, text=text: f"{found[1]}\n{text}\n\n{found[2]}",
            page,
            flags=re.DOTALL,
        )
        if count != 1:
            raise ValueError(f"docs/study.md must have one mark <!-- {mark} -->; it has {count}.")
    STUDY_PAGE.write_text(page, encoding="utf-8")


def _table(claims: list[Claim]) -> str:
    rows = ["| the paper says | where | here | measured |", "|---|---|---|---|"]
    for c in claims:
        cells = c.statement, c.source, f"**{c.verdict.value}**", c.measured
        rows.append(f"| {' | '.join(cell.replace('|', '∣') for cell in cells)} |")
    return "\n".join(rows)


def main(study: Path) -> None:
    IMAGES.mkdir(exist_ok=True)
    draw_overview()
    draw_paper()
    draw_choosing()
    draw_search()
    beam = IMAGES.parents[1] / "examples" / "gallery" / "welded_beam.py"
    design = runpy.run_path(str(beam))["result"]
    plt.close("all")
    plt.rcdefaults()
    draw_histories(design)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        look = "margin: 0; padding: 4px 14px; font: 14px system-ui, DejaVu Sans, sans-serif"
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><body style="{look}">{design._repr_html_()}',
            encoding="utf-8",
        )
        photograph(page, "notebook", 880, 345)
    report = study / "report.html"
    if report.is_file():
        photograph(report, "study", 1280, 980)
        write_verdicts(study)


def draw_overview() -> None:
    """Penalty functions, the error they leave, and their paths into a corner."""
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")

    error = np.linspace(-3, 3, 601)
    for name in ("linear", "quadratic", "algebraic", "softplus"):
        style = {"color": COLOURS[name], "label": KERNELS[name].label, "lw": 2 if name != "linear" else 1.2}
        left.plot(error, KERNELS[name].value(error, 0.5), ls=":" if name == "linear" else "-", **style)
    left.set(
        xlabel="error = value − target",
        ylabel="penalty",
        ylim=(-0.1, 3),
        title="Penalty functions (alpha = 0.5)",
    )
    left.legend(fontsize=8)

    fraction = np.linspace(1e-3, 0.999, 500)
    for name in ("quadratic", "algebraic", "softplus"):
        middle.plot(fraction, predicted_error(fraction, 1.0, 0.1, "<", name), color=COLOURS[name], lw=2,
                    label=KERNELS[name].label)  # fmt: skip
    middle.axvline(0.5, color="#999999", lw=0.8, ls=":")
    middle.text(0.51, 0.565, "sigma = 2 · gradient:\nno error left", fontsize=9, color="#333333", va="top")
    middle.set(xlabel="gradient / sigma", ylabel="error that is left", ylim=(0, 0.6),
               title="The error, known in advance (alpha = 0.1)")  # fmt: skip
    middle.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.3, 1.0))

    draw_corner(right)
    figure.savefig(IMAGES / "overview.png", dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "study-output"))
