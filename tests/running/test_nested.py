"""Fits inside other people's workers, threads and forks: each ends, within a time that fails the test otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

LIMIT = 240
"""Seconds, most of them for the start of processes; every script needs a few on a free core."""

START = """
import joblib, numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score

import bemi

X, y = load_iris(return_X_y=True)

def quick(n_jobs=None):
    fixed = {"inputs": None, "copies": None, "C": 10.0, "weight_bound": 3, "probabilities": False}
    return bemi.FewBitClassifier("table", **fixed, time_limit=0.1, n_jobs=n_jobs)

def score(n_jobs):
    return quick(n_jobs).fit(X, y).score(X, y)

if __name__ == "__main__":
"""

# Processes take seconds to start, so scripts that use the same ones are put together.
SCRIPTS = {
    "dask": """
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        with joblib.parallel_config("dask", client=client):
            print("cross_val_score", min(cross_val_score(quick(), X, y, cv=3)))
            rows = np.r_[0:12, 50:62, 100:112]
            model = bemi.FewBitClassifier(time_limit=0.1)
            print("recommended", min(cross_val_score(model, X[rows], y[rows], cv=2)))
            print("grid search", GridSearchCV(quick(), {"C": [1, 10]}, cv=2).fit(X, y).best_score_)
    """,
    "joblib": """
    for backend in ("loky", "threading", "multiprocessing"):
        print(backend, min(joblib.Parallel(2, backend=backend)(joblib.delayed(score)(n) for n in (1, 2, None))))
    print("grid search", GridSearchCV(quick(2), {"C": [1, 10]}, cv=2, n_jobs=2).fit(X, y).best_score_)
    """,
    "threads and forks": """
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(2) as pool:
        print("threads", min(pool.map(score, (1, 2))))
    import os
    score(2)
    child = os.fork()
    if not child:
        os._exit(0 if score(2) > 0.9 and score(1) > 0.9 else 1)
    assert os.waitpid(child, 0)[1] == 0
    print("forked", score(2))
    """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_fit_inside_a_worker_ends(name, tmp_path):
    if "dask" in name:
        pytest.importorskip("distributed", reason="distributed is not installed")
    if "fork" in name and not hasattr(os, "fork"):
        pytest.skip("no forks on this system")
    script = tmp_path / "nested.py"  # joblib's processes import it
    script.write_text(START + SCRIPTS[name])
    command = [sys.executable, "-u", script]  # what was printed before the limit says which part does not end
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == SCRIPTS[name].count("print(") + 2 * SCRIPTS[name].count("print(backend")
    assert all(float(line.split()[-1]) > 0.8 for line in lines), done.stdout
