"""Runs the tasks of a training on processes or a cluster, keeps finished ones on disk and shows progress."""

from bemi.running.calls import results
from bemi.running.pools import ATTEMPTS, ClusterLost, Lost, Pool, Processes
from bemi.running.schedule import Journal, NetworksFailed, check_shard, progress, run, save_finished, train_all

__all__ = [
    "ATTEMPTS",
    "ClusterLost",
    "Journal",
    "Lost",
    "NetworksFailed",
    "Pool",
    "Processes",
    "check_shard",
    "progress",
    "results",
    "run",
    "save_finished",
    "train_all",
]
