"""
A cluster with Dask
===================

Networks are trained independently, so they can be trained on many machines.  With Dask, one line changes.

This page starts a small cluster on one machine: a scheduler and two workers, as processes of their own.  On a real
cluster, ``Client("tcp://10.0.0.5:8786")`` takes the place of the first two lines, and :doc:`/scaling` says how to start
the workers and who may connect.
"""

import tempfile

from dask.distributed import Client, SubprocessCluster, get_task_stream
from joblib import parallel_config
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bemi import BeMiClassifier

only_here = "127.0.0.1:0"  # status pages that nobody outside can reach
cluster = SubprocessCluster(
    n_workers=2, threads_per_worker=1, dashboard_address=only_here, worker_kwargs={"dashboard_address": only_here}
)
client = Client(cluster)
client.wait_for_workers(2)

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=100, stratify=y, random_state=0)
folder = tempfile.TemporaryDirectory()
clf = BeMiClassifier(node_limit=20, time_limit=None, run_dir=folder.name)  # the paper's networks
with parallel_config("dask", client=client), get_task_stream(client) as stream:
    clf.fit(X_train, y_train)
print(f"{len(clf.networks_)} networks, {100 * clf.score(X_test, y_test):.1f} % of the test images right")

# %%
# The folder makes the run safe: whatever happens to the cluster, finished networks are there, and the next ``fit``
# trains only the rest, with a cluster or without.

clf.fit(X_train, y_train)
print(f"the second time, {clf.reused_networks_} of {len(clf.networks_)} networks were already in the folder")

# %%
# Which worker trained when: each box is one network.  The first one of a worker includes loading bemi.  A worker that
# is done gets the next network.

import matplotlib.pyplot as plt

workers = sorted({task["worker"] for task in stream.data})
spans = [
    (workers.index(task["worker"]), step["start"], step["stop"])
    for task in stream.data
    for step in task["startstops"]
    if step["action"] == "compute"
]
began = min(start for _, start, _ in spans)
fig, ax = plt.subplots(figsize=(9, 2.4), layout="constrained")
for worker, start, stop in spans:
    ax.barh(worker, stop - start, left=start - began, height=0.7, color="#0072B2", edgecolor="white")
ax.set_yticks(range(len(workers)), [f"worker {number + 1}" for number in range(len(workers))])
ax.set(xlabel="seconds", title=f"{len(spans)} networks on {len(workers)} workers")
ax.spines[["top", "right", "left"]].set_visible(False)
ax.tick_params(axis="y", length=0)
plt.show()

client.close()
cluster.close()
folder.cleanup()
