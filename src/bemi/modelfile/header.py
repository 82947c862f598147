"""Validation of a model file's header: every member is checked before anything is built from it.

A digest shows that a file is unchanged, not who wrote it, so a header is untrusted input.  :func:`checked` raises
ValueError unless it describes a model that training could have produced and that fits into memory.
docs/model-file.md lists the members.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from bemi import stages
from bemi.checks import LARGEST_INTEGER, brief, listed, members, text, whole
from bemi.ensemble.probabilities import LARGEST_INTERCEPT, LARGEST_SLOPE, UNIT
from bemi.ensemble.probabilities import MOST_CLASSES as MOST_CLASSES_WITH_CHANCES
from bemi.ensemble.unknown import check_record
from bemi.exact import PRE_ACTIVATION_LIMIT
from bemi.inputs.fixed_point import LARGEST_READING, LARGEST_SHIFT, MOST_BITS, MOST_DECIMALS
from bemi.modelfile.container import MEMBERS, PARTS
from bemi.problem.problem import outputs_for
from bemi.settings import RECORDED, SETTINGS, check_scalar
from bemi.stages.result import Outcome

MOST_CLASSES = 2**12
MOST_INPUTS = 2**20
MOST_LAYERS = 32
MOST_WEIGHTS = 2**24
LONGEST_LABEL = 2**10
LONGEST_RATIONAL = 2**17
LARGEST_RATIONAL = 2**1000
"""Within the range of a double, with room for a sum."""
LEVELS = 4
"""Maximum nesting of lists in the parameters of a transform or of copies."""

SELECTION = ("subsets", "max_per_class", "copies")
"""Settings about which networks and rows there are, in a part of their own if one of them is not None."""

OF_PARTS = ("probabilities", "reject")
"""Settings that follow from parts of their own."""

RECORDED_SETTINGS = ("estimator", *(name for name in RECORDED if name not in (*SELECTION, *OF_PARTS)), "ties")
"""Settings that every model file has."""

ESTIMATORS = {"bemi": stages.PAPER_STAGES, "few-bit": stages.SPARSE_STAGES, "scorecard": stages.SOFT_STAGES}
"""Names of the estimators, and the stages that their networks may have.  A few-bit model may have further settings that
its estimator has no parameter for, such as the engine: models of release 0.2.0 have them."""

NEED_SOFT_MARGINS = ("hinges", "max_links", "monotone", "class_weight")
"""Settings that no network without soft margins satisfies, unless they ask for nothing."""

_LABELS = {
    "|b1": bool,
    **dict.fromkeys(("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8"), int),
    **dict.fromkeys(("<f2", "<f4", "<f8"), float),
    "|O": str,
}
"""Types of the labels by NumPy dtype; text has ``<U`` and a length."""
_FIXED_LENGTH = re.compile("<U([1-9][0-9]{0,3})")
_SCALE = {
    "decimals": (-MOST_DECIMALS, MOST_DECIMALS),
    "centres": (-LARGEST_READING, LARGEST_READING),
    "multipliers": (0, 2**MOST_BITS - 1),
    "shifts": (1, LARGEST_SHIFT),
}
"""Ranges of the parts of a fixed-point scale."""
_DIGEST = re.compile("[0-9a-f]{64}")
_RATIONAL = re.compile("(?:0|-?[1-9a-f][0-9a-f]*)/[1-9a-f][0-9a-f]*")


def checked(header: Any) -> dict[str, Any]:
    """The header, if it describes a model; otherwise ValueError with the reason."""
    members(header, "the header", MEMBERS, PARTS)
    if any(header[part] is None for part in PARTS & header.keys()):
        raise ValueError("a member without a value must be left out")
    members(header["settings"], "settings", set(RECORDED_SETTINGS))
    text(header["bemi"], "bemi")
    text(header["solver"], "solver")
    if type(header["training_digest"]) is not str or not _DIGEST.fullmatch(header["training_digest"]):
        raise ValueError("training_digest must be 64 hexadecimal digits")
    settings = header["settings"]
    _check_settings(settings)
    _check_classes(header["classes"], header["classes_dtype"])
    _check_inputs(header)
    _check_limits(header)
    outputs = outputs_for(whole(settings["subset_size"], "subset_size", 2, len(header["classes"])))
    layers = [header["inputs"], *settings["hidden_layers"], outputs]
    networks = listed(header["networks"], "networks")
    _check_subsets(header, len(networks))
    if len(networks) * sum(a * b for a, b in pairwise(layers)) > MOST_WEIGHTS:
        raise ValueError(f"there are more than {MOST_WEIGHTS} weights")
    given = header.get("given_rows")
    if given is not None:
        whole(given, "given_rows", 1, LARGEST_INTEGER)
    for entry in networks:
        _check_network(entry, layers, settings, given)
    if "selection" in header:
        _check_selection(header["selection"])
    if "probabilities" in header:
        _check_probabilities(header)
    if "known_ranges" in header:
        check_record(header["known_ranges"], len(header["classes"]), max(header["features"], header["inputs"]))
    if "expected" in header:
        _check_expected(header["expected"])
    if "score_counts" in header:
        _check_score_counts(header)
    return header


def _check_settings(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if name in SETTINGS and name != "hidden_layers":
            SETTINGS[name].values.check_stored(name, value)
    for size in listed(given["hidden_layers"], "hidden_layers", MOST_LAYERS):
        # A sum over a layer must stay within the exact range for all sign patterns.
        whole(size, "a hidden layer", 1, (PRE_ACTIVATION_LIMIT - 1) // given["weight_bound"])
    stages.check_stages(given["stages"], hidden_layers=given["hidden_layers"])
    if isinstance(given["time_limit"], list):
        listed(given["time_limit"], "time_limit", len(given["stages"]), len(given["stages"]))
    _check_estimator(given)


def _check_estimator(given: Mapping[str, Any]) -> None:
    """The estimator exists, and could have trained networks with these stages and limits."""
    estimator = text(given["estimator"], "estimator")
    if estimator not in ESTIMATORS:
        raise ValueError(f"estimator must be one of {', '.join(ESTIMATORS)}, got {brief(estimator)}")
    known, trained = set(ESTIMATORS[estimator]), set(given["stages"])
    soft = set(stages.SOFT_STAGES)
    if not trained <= known or soft & known != soft & trained:
        raise ValueError(f"a model of estimator {estimator} cannot have stages {', '.join(given['stages'])}")
    for name in NEED_SOFT_MARGINS:
        if not soft & trained and given[name] != SETTINGS[name].default:
            raise ValueError(f"{name} needs soft margins, which models of estimator {estimator} do not have")
    if given["monotone"] is not None and given["subset_size"] != 2:
        raise ValueError("monotone needs networks on two classes each")


def _check_limits(header: Mapping[str, Any]) -> None:
    """Limits on weights that follow from settings; whoever has the transform compares them with it."""
    settings, inputs = header["settings"], header["inputs"]
    if ("signs" in header) != (settings["monotone"] is not None):
        raise ValueError("signs belong to monotone features, and only to them")
    if ("uncounted" in header) != (settings["max_links"] is not None):
        raise ValueError("uncounted belongs to max_links, and only to it")
    for sign in listed(header.get("signs", []), "signs", inputs, inputs if "signs" in header else 0):
        whole(sign, "a sign", -1, 1)
    for position in listed(header.get("uncounted", []), "uncounted", inputs):
        whole(position, "an uncounted input", 0, inputs - 1)
    _increasing(header.get("uncounted", []), "uncounted inputs")


def _check_classes(classes: Any, dtype: Any) -> None:
    """Labels have one type, fit into the array that will hold them, are sorted, and are unique."""
    labels = listed(classes, "classes", MOST_CLASSES)
    if len(labels) < 2:
        raise ValueError("there must be at least two classes")
    text(dtype, "classes_dtype")
    fixed = _FIXED_LENGTH.fullmatch(dtype)
    kind = str if fixed else _LABELS.get(dtype)
    if kind is None or any(type(label) is not kind for label in labels):
        raise ValueError(f"labels must be numbers or text of the type that classes_dtype names, {brief(dtype)}")
    if kind is str:
        longest = min(LONGEST_LABEL, int(fixed[1])) if fixed else LONGEST_LABEL
        for label in labels:
            text(label, "a label", longest)
    elif kind is int:
        limits = np.iinfo(dtype)
        for label in labels:
            whole(label, "a label", int(limits.min), int(limits.max))
    elif kind is float and max(map(abs, labels)) > float(np.finfo(dtype).max):
        raise ValueError(f"a label is beyond the range of {dtype}")
    if any(a >= b for a, b in pairwise(labels)):
        raise ValueError("labels must be sorted and unique")


def _check_inputs(header: Mapping[str, Any]) -> None:
    features = whole(header["features"], "features", 1, MOST_INPUTS)
    inputs = whole(header["inputs"], "inputs", 1, MOST_INPUTS)
    if header["transform"] is None and inputs != features:
        raise ValueError("without a transform the networks must have an input per feature")
    if header["transform"] is not None:
        _check_parameters(header["transform"], "transform")
    if "image" in header:
        sizes = [whole(size, "a size of images", 1, features) for size in listed(header["image"], "image", 3, 3)]
        if math.prod(sizes) != features:
            raise ValueError("image must be height, width and channels of as many values as there are features")
    rate = header.get("rate", 1.0)
    if type(rate) is not float or not 0 < rate < math.inf:
        raise ValueError(f"rate must be a positive number of samples per second, got {brief(rate)}")
    if header["feature_names"] is not None:
        for name in listed(header["feature_names"], "feature_names", features, features):
            text(name, "a feature's name")
        # scikit-learn would reject a data frame with duplicate names.
        if len(set(header["feature_names"])) < features:
            raise ValueError("feature_names must be unique")
    scaling = members(header["input_scaling"], "input_scaling", {"scale", "low", "high", "limit"})
    # A network has no bias, so zero always counts as seen.
    whole(scaling["low"], "low", 1 - PRE_ACTIVATION_LIMIT, 0)
    whole(scaling["high"], "high", 0, PRE_ACTIVATION_LIMIT - 1)
    if scaling["limit"] is not None:
        whole(scaling["limit"], "limit", 1, LARGEST_READING)
    if scaling["scale"] is not None:
        scale = members(scaling["scale"], "scale", set(_SCALE))
        for part, (low, high) in _SCALE.items():
            for number in listed(scale[part], part, features, features):
                whole(number, f"one of the {part}", low, high)


def _check_subsets(header: Mapping[str, Any], networks: int) -> None:
    """There are as many networks as sets of classes, and the sets are sorted."""
    classes, size = len(header["classes"]), header["settings"]["subset_size"]
    every = math.comb(classes, size)
    if "subsets" not in header:
        if networks != every:
            raise ValueError(f"there must be a network for each of {brief(every)} sets of classes, got {networks}")
        return
    subsets = listed(header["subsets"], "subsets", networks, networks)
    for subset in subsets:
        for index in listed(subset, "a set of classes", size, size):
            whole(index, "a class in subsets", 0, classes - 1)
        _increasing(subset, "the classes of a set")
    _increasing(subsets, "subsets")
    if networks == every:
        raise ValueError("subsets must be left out if every set of classes has a network")


def _check_network(entry: Any, layers: list[int], settings: Mapping[str, Any], given: int | None) -> None:
    members(entry, "a network", {"splitting", "reports"} | ({"added"} if given is not None else set()))
    for mark in listed(entry["splitting"], "splitting", layers[1], layers[1]):
        whole(mark, "a mark of a splitting neuron", 0, 1)
    if given is not None:
        for row in listed(entry["added"], "added"):
            whole(row, "an added row", given, LARGEST_INTEGER)
        _increasing(entry["added"], "added rows")
    links = sum(a * b for a, b in pairwise(layers))
    names = settings["stages"]
    reports = listed(entry["reports"], "reports", len(names), len(names))
    for position, (report, name) in enumerate(zip(reports, names, strict=True)):
        _check_report(report, name, links, layers[-1], first=position == 0)
        soft = report.get("soft", settings)
        if any(soft[limit] != settings[limit] for limit in ("hinges", "max_links")):
            raise ValueError(f"the hinges or max_links of stage {name} are not those of the settings")


_REPORT = {"stage", "objective", "bound", "proof", "outcome", "links", "rows", "message"}
_OUTCOMES = {outcome.label for outcome in Outcome}


def _check_report(report: Any, name: str, links: int, outputs: int, *, first: bool) -> None:
    members(report, "a report", _REPORT, {"soft"})
    if report["stage"] != name:
        raise ValueError(f"the report of stage {name} is missing")
    stage = stages.get(name)
    if type(report["outcome"]) is not str or report["outcome"] not in _OUTCOMES:
        raise ValueError(f"stage {name} has an unknown outcome, {brief(report['outcome'])}")
    ran = report["objective"] is not None
    if (
        report["proof"] not in (("certified", "computed", "solver") if ran else ("none",))
        or (report["bound"] is not None) != ran
    ):
        raise ValueError(f"stage {name} must have an objective, a bound and a proof, or none of them")
    if ("soft" in report) != (not stage.whole_numbers and ran):
        raise ValueError("soft belongs to stages of soft margins, and only to them")
    if ran:
        read = _quotient if not stage.whole_numbers else _natural
        objective, bound = (read(report[number], number) for number in ("objective", "bound"))
        if bound < objective if stage.maximised else bound > objective:
            raise ValueError(f"stage {name} has a bound on the wrong side of its objective")
    if "soft" in report:
        soft = members(report["soft"], "soft", {"price", "resolutions", "hinges", "max_links"})
        for quotient in (soft["price"], *listed(soft["resolutions"], "resolutions", outputs, outputs)):
            if _quotient(quotient, "a price or resolution") <= 0:
                raise ValueError("a price or resolution must be positive")
    whole(report["links"], "links", 0, links)
    # The first stage sees all rows; it may leave none for later stages, which are then skipped.
    whole(report["rows"], "rows", 1 if ran or first else 0, LARGEST_INTEGER)
    text(report["message"], "message")


def _check_selection(selection: Any) -> None:
    members(selection, "selection", set(SELECTION))
    if all(value is None for value in selection.values()):
        raise ValueError("an empty selection must be left out")
    for name in SELECTION:
        SETTINGS[name].values.check_stored(name, selection[name])
    if selection["copies"] is not None:
        _check_parameters(selection["copies"], "copies")


def _check_probabilities(header: Mapping[str, Any]) -> None:
    """A sigmoid for every network, a share for every class, and a network for every pair of classes."""
    settings, classes = header["settings"], len(header["classes"])
    able = settings["stages"][0] in stages.SOFT_STAGES
    if not able or settings["subset_size"] != 2 or "subsets" in header or classes > MOST_CLASSES_WITH_CHANCES:
        raise ValueError("networks of this kind have no probabilities")
    found = members(header["probabilities"], "probabilities", {"sigmoids", "prior"})
    networks = len(header["networks"])
    for sigmoid in listed(found["sigmoids"], "sigmoids", networks, networks):
        # The third number is younger.
        slope, *others = listed(sigmoid, "a sigmoid", 3, 2)
        whole(slope, "a slope", 0, LARGEST_SLOPE)
        for number in others:
            whole(number, "an intercept", -LARGEST_INTERCEPT, LARGEST_INTERCEPT)
    for share in listed(found["prior"], "prior", classes, classes):
        whole(share, "a share of a class", 1, UNIT)


def _check_expected(expected: Any) -> None:
    """An accuracy and its range."""
    shares = listed(expected, "expected", 3, 3)
    if any(type(share) is not float or not 0 <= share <= 1 for share in shares):
        raise ValueError("expected must be three shares")
    if shares[1] > shares[2]:
        raise ValueError("the range of the expected accuracy is upside down")


def _check_score_counts(header: Mapping[str, Any]) -> None:
    """For every network, scores in order, each with a number of training rows."""
    networks = len(header["networks"])
    if header["settings"]["hidden_layers"] or header["settings"]["subset_size"] != 2:
        raise ValueError("score_counts belong to networks of two classes without a hidden layer")
    for counts in listed(header["score_counts"], "score_counts", networks, networks):
        for pair in listed(counts, "counts of scores"):
            score, rows = listed(pair, "a count of a score", 2, 2)
            whole(score, "a score", 1 - PRE_ACTIVATION_LIMIT, PRE_ACTIVATION_LIMIT - 1)
            whole(rows, "a number of rows", 1, LARGEST_INTEGER)
        _increasing([score for score, _ in counts], "scores")


def _check_parameters(value: Any, what: str) -> None:
    """Check the form of a transform's or copies' parameters; the objects themselves check the values."""
    if not isinstance(value, dict) or type(value.get("name")) is not str:
        raise ValueError(f"{what} must have a name")
    for name, parameter in value.items():
        check_scalar(parameter, f"{what}: {brief(name)}", LEVELS)


def _natural(value: Any, what: str) -> int:
    return whole(value, what, 0, LARGEST_INTEGER)


def _quotient(value: Any, what: str) -> Fraction:
    """Text such as ``-1f/a``: a quotient in hexadecimal, in lowest terms, that a double can hold."""
    if type(value) is not str or len(value) > LONGEST_RATIONAL or not _RATIONAL.fullmatch(value):
        raise ValueError(f"{what} must be a quotient in hexadecimal, got {brief(value)}")
    numerator, denominator = (int(part, 16) for part in value.split("/"))
    if math.gcd(numerator, denominator) != 1 or abs(numerator) > LARGEST_RATIONAL * denominator:
        raise ValueError(f"{what} must be in lowest terms and not too large, got {brief(value)}")
    return Fraction(numerator, denominator)


def _increasing(values: list[Any], what: str) -> None:
    if any(a >= b for a, b in pairwise(values)):
        raise ValueError(f"{what} must be sorted and unique")
