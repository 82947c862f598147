"""The pictures of docs/idea.md and docs/tables.md, from real runs.

``python docs/pictures/make.py`` makes them, where ``bemi-lab data mnist`` finds MNIST.

Work is limited by nodes, so that the same networks come out every time.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bemi_lab import datasets
from matplotlib import pyplot
from matplotlib.colors import ListedColormap
from matplotlib.patches import Rectangle
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from bemi import BeMiClassifier, ConstantInput, Network, ScorecardClassifier

FOLDER = Path(__file__).parent
# Okabe and Ito's, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
PALE_BLUE, PALE_ORANGE = "#cfe3f0", "#f9dfcc"
WEIGHTS = ListedColormap([ORANGE, "white", BLUE])

pyplot.rcParams.update(
    {
        "font.size": 10,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": "bemi",
        "savefig.facecolor": "white",
    }
)


def save(figure, name: str) -> None:
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def image(axis, pixels, **style) -> None:
    side = int(np.sqrt(np.size(pixels)))
    axis.imshow(np.reshape(pixels, (side, side)), interpolation="nearest", **style)
    axis.set(xticks=[], yticks=[])
    for spine in axis.spines.values():
        spine.set(visible=True, color="#bbbbbb")


def weight_image(axis, weights) -> None:
    image(axis, weights, cmap=WEIGHTS, vmin=-1, vmax=1)


def one_network(network: Network, X, y) -> None:
    """First-layer weights as images, and what the neurons give on the training rows."""
    sums = network.pre_activations(X)[0]
    splitting = network.splitting_neurons(X)
    order = np.argsort(~splitting, kind="stable")
    figure, axes = pyplot.subplots(2, 4, figsize=(8.6, 4.4), height_ratios=(3, 2), layout="constrained")
    rng = np.random.default_rng(0)
    for number, (neuron, (above, below)) in enumerate(zip(order, axes.T, strict=True)):
        weight_image(above, network.weights[0][:, neuron])
        kind = "splitting: both signs" if splitting[neuron] else "constant: one sign"
        above.set_title(f"neuron {number + 1}\n{kind}", color=GREEN if splitting[neuron] else "black")
        below.axvline(0, color="black", lw=1)
        for label, colour, marker, height in ((4, BLUE, "o", 1), (9, ORANGE, "^", 0)):
            values = sums[y == label, neuron] / 1000
            jitter = height + rng.uniform(-0.15, 0.15, len(values))
            below.plot(values, jitter, marker, color=colour, ms=4.5, alpha=0.8, mew=0)
        below.set(yticks=[0, 1], yticklabels=["9", "4"] if number == 0 else [], ylim=(-0.5, 1.5))
        widest = 1.1 * np.abs(sums).max() / 1000
        below.set(xlim=(-widest, widest), xlabel="sum, in thousands")
    save(figure, "network")


def plane(axis, network: Network, X, y, level: int, title: str) -> None:
    """A network on two features: classes, the neurons' lines, their margins, and which rows are confidently right."""
    ticks = np.arange(0, 101)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    inputs = np.column_stack([grid, np.full(len(grid), level)])
    shape = (len(ticks), len(ticks))
    axis.contourf(
        ticks, ticks, network.forward(inputs)[:, 0].reshape(shape), levels=[-2, 0, 2], colors=[PALE_ORANGE, PALE_BLUE]
    )
    rows = np.column_stack([X, np.full(len(X), level)])
    codes = np.where(y == "a", 1, -1)[:, None]
    confident = network.confident(rows, codes)[:, 0]
    reached = network.margins(rows[confident], codes[confident])
    margins = reached[0]
    for neuron in np.flatnonzero(network.splitting_neurons(rows)):
        sums = (inputs @ network.weights[0][:, neuron]).reshape(shape)
        axis.contour(ticks, ticks, sums, levels=[0], colors="black", linewidths=1.5)
        edges = [-margins[neuron], margins[neuron]]
        axis.contour(ticks, ticks, sums, levels=edges, colors=GREY, linewidths=0.9, linestyles="--")
    for label, colour, marker in (("a", BLUE, "o"), ("b", ORANGE, "^")):
        axis.plot(*X[(y == label) & confident].T, marker, color=colour, ms=6.5, mec="white", mew=0.7)
        axis.plot(*X[(y == label) & ~confident].T, marker, color="white", ms=7.5, mec=colour, mew=1.8)
    axis.set(xticks=[], yticks=[], aspect="equal", xlim=(0, 100), ylim=(0, 100))
    axis.spines[:].set_visible(False)
    counts = f"{confident.sum()} of {len(X)} rows confidently right"
    axis.set_title(f"{title}: {counts},\nmargins on them add up to {sum(m.sum() for m in reached)}", loc="left")


def two_stages() -> None:
    rng = np.random.default_rng(2)
    first = np.vstack([rng.normal((70, 70), 9, (12, 2)), [[78, 18]]])
    second = np.vstack([rng.normal((25, 75), 9, (8, 2)), rng.normal((75, 25), 9, (8, 2))])
    X = np.rint(np.vstack([first, second])).astype(int)
    y = np.repeat(["a", "b"], [len(first), len(second)])
    clf = BeMiClassifier((3,), 7, inputs=ConstantInput(), input_scaling=None, node_limit=200, time_limit=None, gap=0)
    reports = clf.fit(X, y).reports_[("a", "b")]
    figure, axes = pyplot.subplots(1, 2, figsize=(8.6, 4.9), layout="constrained")
    for axis, stage, title in zip(axes, ("sm", "mm"), ("Sat-Margin", "Max-Margin"), strict=True):
        plane(axis, reports[stage].network, X, y, clf.transform_.level_, title)
    print("2-D:", {s: (r.objective, r.bound, r.links, r.message) for s, r in reports.items()})
    save(figure, "stages")


def fewer_links(before: Network, after: Network, X) -> None:
    splitting = after.splitting_neurons(X)
    order = np.argsort(~splitting, kind="stable")
    figure, axes = pyplot.subplots(2, 4, figsize=(8.6, 4.5), layout="constrained")
    for network, line, name in ((before, axes[0], "Max-Margin"), (after, axes[1], "Min-Weight")):
        for neuron, axis in zip(order, line, strict=True):
            weight_image(axis, network.weights[0][:, neuron])
            axis.set_xlabel(f"{np.count_nonzero(network.weights[0][:, neuron])} links", fontsize=9)
        line[0].set_ylabel(f"after {name}:\n{network.links} links in all")
    save(figure, "links")


def tournament(clf: BeMiClassifier, pixels, truth: int) -> None:
    """Who wins against whom, for one image."""
    wins = np.zeros((10, 10), dtype=int)
    for (a, b), network in clf.networks_.items():
        winner, loser = (a, b) if network.forward([pixels])[0, 0] == 1 else (b, a)
        wins[winner, loser] = 1
    votes = wins.sum(axis=1)
    assert (votes == clf.vote([pixels]).counts[0]).all()
    best = votes.argmax()
    figure, (left, middle, right) = pyplot.subplots(
        1, 3, figsize=(8.6, 3.9), width_ratios=(2.2, 4, 2), layout="constrained"
    )
    image(left, pixels, cmap="gray_r")
    left.set_title(f"a test image of {truth}")
    for i in range(10):
        for j in range(10):
            if i == j:
                continue
            colour = (GREEN if i == best else BLUE) if wins[i, j] else "#eeeeee"
            middle.add_patch(Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, color=colour, lw=0))
            if wins[i, j]:
                middle.text(j, i, str(i), color="white", ha="center", va="center", fontsize=9)
    middle.set(xlim=(-0.5, 9.5), ylim=(9.5, -0.5), xticks=range(10), yticks=range(10), aspect="equal")
    middle.set(xlabel="against", ylabel="class", title="who wins each of the 45 networks")
    middle.tick_params(length=0)
    middle.spines[["left", "bottom"]].set_visible(False)
    right.barh(range(10), votes, color=[GREEN if c == best else BLUE for c in range(10)], height=0.75)
    for c, count in enumerate(votes):
        right.text(count + 0.15, c, str(count), va="center", fontsize=9)
    right.set(ylim=(9.5, -0.5), yticks=range(10), xlim=(0, 10), xticks=[], title="votes")
    right.spines["bottom"].set_visible(False)
    right.tick_params(length=0)
    save(figure, "vote")


def bounds(X, y, clf: BeMiClassifier) -> None:
    """Objective and bound of one network while the search goes on, and the gaps of a whole ensemble."""
    nodes = [1, 2, 5, 10, 20, 50, 100, 200, 300, 400, 500, 600, 700, 800, 1000]
    found = []
    for limit in nodes:
        one = BeMiClassifier(stages=("sm", "mm"), gap=0, node_limit=limit, time_limit=None).fit(X, y)
        report = one.reports_[(4, 9)]["mm"]
        found.append((report.objective, report.bound))
        print("nodes", limit, report.objective, report.bound)
    objective, bound = np.array(found).T / 1000
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8.6, 3.8), width_ratios=(3, 2), layout="constrained")
    top = 42
    left.fill_between(nodes, bound, top, color=PALE_ORANGE, lw=0)
    left.fill_between(nodes, 34, objective, color=PALE_BLUE, lw=0)
    left.plot(nodes, bound, "-^", color=ORANGE, ms=4)
    left.plot(nodes, objective, "-o", color=BLUE, ms=4)
    left.text(30, 41.1, "proved: no network is up here", color="#8a3d00")
    left.text(30, 34.35, "reached: this network exists", color="#004f7c")
    left.text(30, 37.6, "not known", color=GREY)
    left.set(ylim=(34, top), xlim=(0, 1000), xlabel="nodes of the search", ylabel="sum of margins, in thousands")
    left.set_title("the network of 4 and 9", loc="left")
    gaps = np.sort([100 * reports["mm"].gap for reports in clf.reports_.values()])[::-1]
    print("gaps in %:", gaps.round(2), "mean", gaps.mean(), {r["mm"].proof for r in clf.reports_.values()})
    right.bar(range(1, len(gaps) + 1), gaps, color=BLUE, width=0.8)
    right.set(xlabel="networks, largest gap first", ylabel="gap in %", xlim=(0, len(gaps) + 1))
    right.set_title(f"all {len(gaps)} networks, 1000 nodes each", loc="left")
    save(figure, "bounds")


def scorecard() -> None:
    """The card of docs/tables.md."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.map({0: "malignant", 1: "benign"})
    X, _, y, _ = train_test_split(X, y, train_size=100, stratify=y, random_state=0)
    card = ScorecardClassifier(max_lines=5, time_limit=None, node_limit=1000)
    save(card.fit(X, y).scorecard().figure(), "card")


def main() -> None:
    scorecard()
    mnist = datasets.load("mnist")
    rows = datasets.sample(mnist, per_class=10, index=0)
    clf = BeMiClassifier(node_limit=1000, time_limit=None, n_jobs=-1).fit(rows.train_X, rows.train_y)
    both = np.isin(rows.train_y, (4, 9))
    X, y = rows.train_X[both], rows.train_y[both]
    reports = clf.reports_[(4, 9)]
    print("4/9:", {s: (r.objective, r.bound, r.links, round(r.seconds, 2), r.message) for s, r in reports.items()})
    print("accuracy", clf.score(rows.test_X, rows.test_y))
    one_network(reports["mm"].network, X, y)
    fewer_links(reports["mm"].network, reports["mw"].network, X)
    two_stages()
    votes = clf.vote(rows.test_X, rows.test_y)
    # An image with a winner, but a contested one: right, with one vote more than the next.
    ranked = np.sort(votes.counts, axis=1)
    contested = np.flatnonzero((votes.status == "1C") & (ranked[:, -1] == 9) & (ranked[:, -2] == 8))
    chosen = contested[rows.test_y[contested] == 4][0]
    tournament(clf, rows.test_X[chosen], int(rows.test_y[chosen]))
    bounds(X, y, clf)


if __name__ == "__main__":
    main()
