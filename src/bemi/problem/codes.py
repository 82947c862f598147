"""Output codes: how the outputs of a network stand for classes."""

from __future__ import annotations

import numpy as np

from bemi.exact import Integers

ABSTAIN = -1
"""Vote of a network that gives a code beyond its last class, and label of an unclassified row."""


def outputs_for(n_classes: int) -> int:
    """Number of outputs needed to tell this many classes apart."""
    return max(1, (n_classes - 1).bit_length())


def class_codes(n_classes: int) -> Integers:
    """Output codes, shape (classes, outputs): binary digits of 0, 1, ..., most significant first, 0 -> +1, 1 -> -1."""
    digits = (np.arange(n_classes)[:, None] >> np.arange(outputs_for(n_classes))[::-1]) & 1
    return 1 - 2 * digits


def decode_outputs(outputs: Integers, n_classes: int) -> Integers:
    """Class that each row of ±1 outputs encodes, or :data:`ABSTAIN` for a code beyond the last class."""
    powers = 1 << np.arange(outputs.shape[1])[::-1]
    number = ((1 - outputs) // 2) @ powers
    return np.where(number < n_classes, number, ABSTAIN)


def signs_towards_later_classes(directions: Integers) -> Integers:
    """The sign of each weight, by input, if larger inputs favour later classes (+1), earlier ones (-1) or either (0).

    Of two classes the earlier one has the code +1.
    """
    return -directions


def one_hot(targets: Integers, classes: int) -> Integers:
    """Codes with one output per class: +1 for a row's own class, -1 for all others."""
    return np.where(targets[:, None] == np.arange(classes), 1, -1)
