"""What workers are given in test_calls.py: a module of its own that imports little, so that they start quickly."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def double(number):
    return 2 * number


def die(number, folder):
    """Some calls kill their own process, the first time or every time."""
    marks = Path(folder) / str(number)
    marks.mkdir(exist_ok=True)
    (marks / str(len(list(marks.iterdir())))).touch()
    if number == 3 or (number == 5 and len(list(marks.iterdir())) == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def fail_or_wait(number):
    if number == 0:
        raise ValueError("no")
    time.sleep(60)


def thread_limit(_):
    return os.environ["OMP_NUM_THREADS"]
