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


_received = []


class Counted:
    """Items that count how often they are sent, by the process, and how often a process gets them.

    With a folder, the first process that takes number 5 dies.
    """

    def __init__(self, folder=None):
        self.folder, self.sent = folder, []

    def __reduce__(self):
        self.sent.append(os.getpid())
        return _arrived, (self.folder,)

    def __getitem__(self, number):
        if self.folder is not None and number == 5 and not (self.folder / "died").exists():
            (self.folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.05)
        return 10 * number


def _arrived(folder):
    _received.append(folder)
    return Counted(folder)


def received(item):
    """The item, and how often the latest items arrived in this process."""
    return item, _received.count(_received[-1])
