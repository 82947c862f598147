"""Smoothing over time: the labels of consecutive windows vote."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.checks import check_integer

LONGEST = 255
"""Labels that are remembered, at most: C counts them in a byte."""

NO_VOTE = -1


class Smoothing:
    """Steadies labels over time: a label is given once it has enough votes among the last ones.

    Each label is a vote.  Of the last ``length`` votes, the most frequent label counts, among equals the one that was
    pushed last.  If it has at least ``votes`` of them, it becomes the stable label.  The result is always the stable
    label, so it stays as it is while no label has enough votes.  Before any had, the result is ``unsure``.  None and
    ``unsure`` are votes for no label: they push out old votes, and that is all.

    With ``votes`` above half of ``length`` at most one label can have enough.  A change of the label shows after at
    least ``votes`` windows.

    Parameters
    ----------
    length
        Number of last votes, 1 to 255.
    votes
        Votes that a label needs, 1 to ``length``.
    unsure
        Result before any label had enough votes.

    Examples
    --------
    >>> from bemi import Smoothing
    >>> smoothing = Smoothing(length=5, votes=3)
    >>> [smoothing.push(label) for label in ["walk", "walk", "run", "walk", "run", "run", "run"]]
    [None, None, None, 'walk', 'walk', 'run', 'run']
    """

    def __init__(self, length: int = 5, votes: int = 3, unsure: Any = None) -> None:
        check_integer("length", length, 1, LONGEST)
        check_integer("votes", votes, 1, int(length))
        self.length, self.votes, self.unsure = int(length), int(votes), unsure
        self.reset()

    def __repr__(self) -> str:
        return f"Smoothing(length={self.length}, votes={self.votes}, unsure={self.unsure!r})"

    def reset(self) -> None:
        """Forget all votes and the stable label, for example between two recordings.

        Examples
        --------
        >>> smoothing.reset()
        >>> smoothing.push("run") is None
        True
        """
        self._last: deque[Any] = deque(maxlen=self.length)
        self._stable = self.unsure

    def push(self, label: Any) -> Any:
        """Add the label of the next window and return the stable label.

        Examples
        --------
        >>> Smoothing(length=1, votes=1).push("run")
        'run'
        """
        self._last.appendleft(label)
        best, most = None, 0
        # The newest first, so that it wins among equals.
        for other in self._last:
            count = 0 if self._is_no_vote(other) else sum(other == known for known in self._last)
            if count > most:
                best, most = other, count
        if most >= self.votes:
            self._stable = best
        return self._stable

    def __call__(self, labels: ArrayLike, groups: ArrayLike | None = None) -> NDArray:
        """Stable labels for a sequence of labels, as pushed one by one; what was pushed before plays no part.

        Parameters
        ----------
        labels
            Labels of windows in the order of time.
        groups
            The recording of each window: every recording starts afresh.  None for one recording.

        Returns
        -------
        NDArray
            A label for each window; of type object if ``unsure`` is None.

        Examples
        --------
        >>> smoothing(["walk", "walk", "walk", "run"]).tolist()
        [None, None, 'walk', 'walk']
        """
        given = np.asarray(labels)
        if given.ndim != 1:
            raise ValueError(f"labels must be a sequence, got an array of shape {given.shape}")
        own = np.zeros(len(given), dtype=np.int64)
        if groups is not None:
            _, own = np.unique(np.asarray(groups), return_inverse=True)
            if own.shape != given.shape:
                raise ValueError(f"{len(given)} labels need as many groups, got {own.size}")
        silent = np.array([self._is_no_vote(label) for label in given.tolist()], dtype=bool)
        codes = np.full(len(given), NO_VOTE)
        known, codes[~silent] = np.unique(given[~silent], return_inverse=True)
        for group in np.unique(own):
            place = np.flatnonzero(own == group)
            codes[place] = self._stable_codes(codes[place], len(known))
        if self.unsure is None:
            found = np.full(len(given), None, dtype=object)
        else:
            found = np.full(len(given), self.unsure, dtype=np.result_type(known, np.asarray(self.unsure)))
        found[codes != NO_VOTE] = known[codes[codes != NO_VOTE]]
        return found

    def _is_no_vote(self, label: Any) -> bool:
        return label is None or label == self.unsure

    def _stable_codes(self, codes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """The same for numbers 0, ..., count - 1 of labels in one recording."""
        if not count:
            return codes
        times = np.arange(len(codes))[:, None]
        voted = codes[:, None] == np.arange(count)
        total = np.cumsum(voted, axis=0)
        found = total.copy()
        found[self.length :] -= total[: -self.length]
        newest = np.maximum.accumulate(np.where(voted, times, -1), axis=0)
        best = np.argmax(found * (len(codes) + 1) + newest, axis=1)
        enough = found.max(axis=1) >= self.votes
        since = np.maximum.accumulate(np.where(enough, times[:, 0], -1))
        return np.where(since < 0, NO_VOTE, best[since])
