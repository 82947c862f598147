"""The live page of the site: a classifier of MNIST, its training images and some test images.

``python docs/live/make.py`` makes them, where ``bemi-lab data mnist`` finds MNIST.
The build exports them as ``live.html``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bemi_lab import datasets

import bemi

FOLDER = Path(__file__).parent
PER_CLASS = 100
TESTED = 500


def main() -> None:
    rows = datasets.sample(datasets.load("mnist"), per_class=PER_CLASS, index=0)
    clf = bemi.FewBitClassifier(time_limit=20, n_jobs=-1).fit(rows.train_X, rows.train_y)
    print(clf.choice_.in_words())
    print(f"{100 * clf.score(rows.test_X, rows.test_y):.2f} % of {len(rows.test_y)} test images")
    bemi.save(clf, FOLDER / "mnist.bemi")
    (FOLDER / "mnist.bemi.cert").unlink()  # larger than all else, and not needed by the page
    chosen = np.random.default_rng(0).choice(len(rows.test_y), TESTED, replace=False)
    np.savez_compressed(
        FOLDER / "mnist.npz",
        train_X=rows.train_X.astype(np.uint8),
        train_y=rows.train_y.astype(np.uint8),
        test_X=rows.test_X[chosen].astype(np.uint8),
        test_y=rows.test_y[chosen].astype(np.uint8),
    )


if __name__ == "__main__":
    main()
