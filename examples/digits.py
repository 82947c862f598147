"""Ten handwritten digits of each class, forty-five networks, one vote.

Trains on scikit-learn's bundled 8x8 digits: first the classifier that chooses its own settings, then the paper's
networks.  Prints what both reach on all other digits, and saves the first.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import bemi

PER_CLASS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="digits.bemi", help="model file to write")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw of training digits (default: 0)")
    options = parser.parse_args()

    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(options.seed)
    chosen = np.concatenate([rng.choice(np.flatnonzero(y == c), PER_CLASS, replace=False) for c in range(10)])
    rest = np.setdiff1d(np.arange(len(y)), chosen)

    console = Console()
    console.print(f"{len(chosen)} training digits, {len(rest)} test digits")
    few_bit = bemi.FewBitClassifier(n_jobs=-1, verbose=1)
    paper = bemi.BeMiClassifier(n_jobs=-1, verbose=1)
    for classifier, title in ((few_bit, "FewBitClassifier"), (paper, "BeMiClassifier, the paper's networks")):
        began = time.perf_counter()
        classifier.fit(X[chosen], y[chosen])
        seconds = time.perf_counter() - began
        console.print(results(classifier, title, classifier.score(X[rest], y[rest]), seconds))
    bemi.save(few_bit, options.output)
    console.print(f"the first model is saved to {options.output}")


def results(
    classifier: bemi.FewBitClassifier | bemi.BeMiClassifier, title: str, accuracy: float, seconds: float
) -> Table:
    """What a classifier reached, and what it proved."""
    networks = list(classifier.networks_.values())
    table = Table("test accuracy", f"{100 * accuracy:.1f} %", title=title, title_justify="left")
    table.add_row("networks", f"{len(networks)}, weights in -{networks[0].weight_bound}..{networks[0].weight_bound}")
    table.add_row("links per network", f"{np.mean([network.links for network in networks]):.0f}")
    for stage in next(iter(classifier.reports_.values())):
        gaps = [reports[stage].gap for reports in classifier.reports_.values() if reports[stage].ran]
        table.add_row(f"stage {stage}", f"on average proved within {100 * np.mean(gaps):.2f} % of optimal")
    table.add_row("trained in", f"{seconds:.1f} s")
    return table


if __name__ == "__main__":
    main()
