"""Ten handwritten digits of each class, forty-five networks, one vote.

Trains on scikit-learn's bundled 8x8 digits, prints what was reached and saves the model.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from sklearn.datasets import load_digits

import bemi
from bemi.cli.output import evaluation_table, training_table
from bemi.report.summary import evaluation, training_summary

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

    began = time.perf_counter()
    classifier = bemi.BeMiClassifier(n_jobs=-1, verbose=1)
    classifier.fit(X[chosen], y[chosen])
    seconds = time.perf_counter() - began

    console = Console()
    console.print(f"{len(chosen)} training digits, {len(rest)} test digits")
    console.print(training_table(training_summary(classifier.ensemble_)))
    console.print(evaluation_table(evaluation(classifier.ensemble_, X[rest], y[rest])))
    bemi.save(classifier, options.output)
    console.print(f"trained in {seconds:.1f} s; model saved to {options.output}")


if __name__ == "__main__":
    main()
