"""Checks the claims of a trained ensemble in exact integers, with only the standard library.

:func:`verify` shares no code with the engines that train.  From the training rows and the weights of every stage it
recomputes how many outputs are confidently right, which rows that leaves for later stages, all margins and all links,
and it replays the proofs of the bounds.  docs/certificates.md describes the file and why it suffices.
"""

from __future__ import annotations

import os
import struct
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

from bemi.certificate.arithmetic import Matrix, Part, Rows, pre_activations
from bemi.certificate.combinations import combined_links_bound, combined_margins_bound
from bemi.certificate.confidence import confident_bound, last_layer_bound
from bemi.certificate.limits import (
    DEFAULT_BUDGET,
    LARGEST_MARGIN,
    CertificateError,
    Work,
    fits,
    kind_of,
    only,
    require,
    whole,
    whole_row,
)
from bemi.certificate.links import links_bound
from bemi.certificate.margins import MarginProof
from bemi.certificate.neurons import listed_links_bound, splits_bound
from bemi.certificate.reading import (
    FORMAT,
    OLD_FORMAT,
    added_rows,
    as_matrices,
    certificate_path,
    check_seconds,
    final_weights,
    limits_on_weights,
    output_code,
    read_claims,
    renewed,
    sets_of_classes,
    training_rows,
)
from bemi.certificate.separators import separation_bound
from bemi.certificate.softmargins import (
    Restrictions,
    SoftMargins,
    rational,
)
from bemi.certificate.widest import widest_bound
from bemi.files import read_at_most
from bemi.modelfile import container
from bemi.modelfile.container import ModelFileError

_MOST_CLASSES = 1 << 12
_MOST_WEIGHTS = 1 << 24
_LARGEST_NUMBER = 1e300
_STAGES = (("sm", "mm", "mw"), ("soft", "mw"))
_REPORTED = ("stage", "objective", "bound", "proof", "links", "rows", "message", "outcome")
"""What the model's report repeats about a stage."""


@dataclass
class Verification:
    """What a certificate proves.

    Attributes
    ----------
    networks
        Number of networks checked.
    digest
        SHA-256 of the model file, which the certificate belongs to.
    rows
        By stage, the smallest and largest number of rows that its bounds are about.
    certified, computed, claimed
        By stage, the number of bounds that the certificate proves, of those that our search computed without leaving a
        proof, and of those that are only solver-reported.
    not_run
        By stage, the number of networks that it could not run on.
    bytes, seconds, steps
        Size of the certificate file, the time that checking took, and its steps in millions.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import bemi
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> path = mkdtemp() + "/pets.bemi"
    >>> bemi.save(clf, path)
    >>> verification = bemi.verify(path)
    >>> verification.networks, verification.rows["mm"], verification.nothing_ran
    (1, (4, 4), False)
    """

    networks: int = 0
    digest: str = ""
    rows: dict[str, tuple[int, int]] = field(default_factory=dict)
    certified: Counter[str] = field(default_factory=Counter)
    computed: Counter[str] = field(default_factory=Counter)
    claimed: Counter[str] = field(default_factory=Counter)
    not_run: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    seconds: float = 0.0
    steps: float = 0.0

    @property
    def nothing_ran(self) -> bool:
        """Whether no stage of any network ran, so that the file claims nothing at all."""
        return not self.certified.total() + self.computed.total() + self.claimed.total()


def verify(
    model: str | os.PathLike,
    certificate: str | os.PathLike | None = None,
    *,
    digest: str | None = None,
    budget: float = DEFAULT_BUDGET,
) -> Verification:
    """Check a model file (R1) against the certificate next to it (R2).

    Recomputes everything that the certificate claims; raises :class:`CertificateError` if something does not hold.

    Parameters
    ----------
    model, certificate
        The files; by default the certificate is ``model`` with ``.cert`` added.
    digest
        The SHA-256 that the model file must have.  Anyone can write a file, with rows of their own and a certificate
        that holds: without a digest from someone you trust, the bounds are about whatever rows the file has.
    budget
        Millions of steps that the check may take.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import bemi
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> path = mkdtemp() + "/pets.bemi"
    >>> bemi.save(clf, path)
    >>> sorted(bemi.verify(path).certified.items())
    [('mm', 1), ('mw', 1), ('sm', 1)]
    """
    began = time.perf_counter()
    path = certificate_path(model) if certificate is None else os.fspath(certificate)
    result, work = Verification(), Work(budget)
    try:
        content = read_at_most(model, container.LARGEST_FILE, ModelFileError)
        header, final = container.unpack(content, os.fspath(model))
    except ModelFileError as error:
        raise CertificateError(str(error)) from error
    result.digest = container.digest(content)
    require(
        digest is None or digest.lower() == result.digest, f"the model's digest is {result.digest}, not the given one"
    )
    claims, result.bytes = read_claims(path, header["inputs"], work)
    try:
        _check(header, final, claims, result, work)
    except CertificateError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, struct.error) as error:
        raise CertificateError(f"the certificate is malformed: {type(error).__name__} {error}") from error
    result.seconds = time.perf_counter() - began
    result.steps = work.spent / 1e6
    return result


def _check(header: dict[str, Any], packed: bytes, claims: dict[str, Any], result: Verification, work: Work) -> None:
    """Check all networks: rules R1 to R15."""
    known = type(claims["format"]) is int and claims["format"] in (OLD_FORMAT, FORMAT)
    require(known, f"it has certificate format {claims['format']!r:.20}, not {FORMAT}")
    if claims["format"] == OLD_FORMAT:
        claims = renewed(claims)
    require(claims["model"] == result.digest, "it belongs to another model")
    only(claims, {"format", "model", "rows", "labels", "networks"}, {"weights", "seconds"})
    only(header, container.MEMBERS, container.PARTS)
    require(isinstance(header["classes"], list), "classes are not a list")
    settings, features = header["settings"], header["inputs"]
    bound = whole(settings["weight_bound"], 1, 1 << 31, "weight bound")
    classes = whole(len(header["classes"]), 2, _MOST_CLASSES + 1, "number of classes")
    for name in ("C", "mw_loss"):
        value = settings[name]
        require(type(value) in (int, float) and 0 <= value <= _LARGEST_NUMBER, f"{name} is not a number")
    size = whole(settings["subset_size"], 2, classes + 1, "subset size")
    outputs = max(1, (size - 1).bit_length())
    layers = [whole(n, 1, 1 << 31, "layer size") for n in (features, *settings["hidden_layers"], outputs)]
    networks = whole(len(header["networks"]), 1, _MOST_WEIGHTS, "number of networks")
    count = sum(a * b for a, b in pairwise(layers))
    require(networks * count <= _MOST_WEIGHTS, "there are too many weights")
    # The weights of three stages are known at a time: that of the model, the last one and the one before.
    fits(3 * sum(a * (64 + 8 * b) for a, b in pairwise(layers)))
    rows, labels, weights, given = training_rows(header, claims, features, classes)
    signs, uncounted = limits_on_weights(header, features, outputs)
    require(len(claims["networks"]) == len(header["networks"]), "there is not one entry per network")
    if "seconds" in claims:
        check_seconds(claims["seconds"], claims["networks"])
    subsets = sets_of_classes(header, classes, size)
    final = final_weights(packed, layers, bound, len(subsets))
    for subset, entry, model_entry, last in zip(subsets, claims["networks"], header["networks"], final, strict=True):
        chosen = [k for k, label in enumerate(labels[:given]) if label in subset]
        chosen += added_rows(model_entry.get("added", []), given, labels, subset)
        codes = [output_code(subset.index(labels[k]), outputs) for k in chosen]
        own = None if weights is None else [weights[k] for k in chosen]
        restrictions = Restrictions(own, signs, uncounted)
        own_rows = Rows(Part(rows, chosen), codes, layers, bound, work)
        network = _Network(own_rows, settings, restrictions, result)
        if "soft" not in settings["stages"]:
            work.spend(4 * len(own_rows) * count * (len(entry) + 1))
        try:
            require([s["stage"] for s in entry] == list(settings["stages"]), "stages are not those of the settings")
            reached = network.check(entry, model_entry["reports"])
            require(reached == last, "the model's weights are not those of the last stage")
            splitting = whole_row(model_entry["splitting"], 0, 2, "mark of a splitting neuron")
            require(network.splitting(reached) == list(splitting), "the splitting neurons are different")
        except CertificateError as error:
            raise CertificateError(f"network on classes {subset}: {error}") from error
        result.networks += 1


def _integer(value: Any, what: str) -> int:
    return whole(value, 0, LARGEST_MARGIN, what)


class _Network:
    """One network's stages, each checked against the results of earlier ones (R8)."""

    def __init__(self, rows: Rows, settings: dict[str, Any], restrictions: Restrictions, result: Verification) -> None:
        self.all, self.seen, self.settings, self.result = rows, rows, settings, result
        self.restrictions = restrictions
        self.margins: list[list[int]] | None = None
        self.soft: SoftMargins | None = None
        self.ceiling = Fraction(0)

    def check(self, stages: Any, reports: Any) -> list[Matrix]:
        """Check all stages; returns the weights after the last one."""
        require(isinstance(stages, list) and stages, "there are no stages")
        names = [s["stage"] for s in stages]
        require(names == [r["stage"] for r in reports], "stages are not those of the model")
        require(any(names == [s for s in order if s in names] for order in _STAGES), "stages are not in order")
        weights: list[Matrix] | None = None
        for stage, report in zip(stages, reports, strict=True):
            try:
                only(stage, {*_REPORTED, "weights", "certificate"}, {"soft"})
                for name in (*_REPORTED, "soft"):
                    require(stage.get(name) == report.get(name), f"its {name} is not the model's")
                weights = self._stage(stage, weights)
            except CertificateError as error:
                raise CertificateError(f"stage {stage['stage']}: {error}") from error
        assert weights is not None
        return weights

    def _stage(self, claim: dict[str, Any], before: list[Matrix] | None) -> list[Matrix]:
        """Check one stage (R8); returns its weights."""
        layers, bound = self.all.layers, self.all.weight_bound
        flat = claim["weights"]
        require(isinstance(flat, list) and len(flat) == sum(a * b for a, b in pairwise(layers)), "weights do not fit")
        weights = as_matrices([whole(w, -bound, bound + 1, "weight") for w in flat], layers)
        name = claim["stage"]
        rows = len(self.seen)
        claimed = _integer(claim["rows"], "number of rows")
        require(claimed == rows, f"it claims {claimed} rows, but {rows} are right")
        links = _integer(claim["links"], "number of links")
        require(links == sum(w != 0 for w in flat), "its number of links is wrong")
        fewest, most = self.result.rows.get(name, (rows, rows))
        self.result.rows[name] = min(fewest, rows), max(most, rows)
        if claim["objective"] is None:
            require(before is None or weights == before, "it could not run, but changed the network")
            require((claim["bound"], claim["proof"]) == (None, "none"), "it could not run, but claims a bound")
            self.result.not_run[name] += 1
            return weights
        checks: dict[str, Callable[..., tuple[Any, Any]]]
        checks = {"sm": self._confident, "mm": self._margins, "soft": self._soft, "mw": self._links}
        objective, proved = checks[name](weights, claim)
        number = rational if name == "soft" else _integer
        value, limit = number(claim["objective"], "objective"), number(claim["bound"], "bound")
        require(value == objective, f"it claims {value}, but its weights give {objective}")
        lower = name in ("soft", "mw")  # these are minimised
        require(limit <= value if lower else limit >= value, "its bound is on the wrong side of its objective")
        if claim["proof"] == "certified":
            weaker = limit <= proved if lower else limit >= proved
            require(weaker, f"it claims the bound {limit}, but only {proved} is proved")
            self.result.certified[name] += 1
        else:
            require(claim["proof"] in ("computed", "solver"), f"unknown kind of proof {claim['proof']!r}")
            unproved = self.result.computed if claim["proof"] == "computed" else self.result.claimed
            unproved[name] += 1
        return weights

    def splitting(self, weights: list[Matrix]) -> list[int]:
        """1 for each first-layer neuron that gives both signs on the network's training rows (R15)."""
        columns = zip(*weights[0], strict=True)
        return [int(len({s >= 0 for s in self.all.sums(column)}) == 2) for column in columns]

    def _confident(self, weights: list[Matrix], claim: dict[str, Any]) -> tuple[int, int]:
        """Confidently right outputs; the rows that have only such outputs are what later stages see (R9, R20)."""
        layers, bound = self.all.layers, self.all.weight_bound
        self.all.work.spend(2 * len(self.all) * layers[-1])
        threshold = 1 if len(layers) == 2 else -(-bound * (layers[-2] + 1) // 4)
        right = []
        for row, code in zip(self.all.rows, self.all.codes, strict=True):
            sums = pre_activations(weights, row)[-1]
            right.append([s * y >= threshold for s, y in zip(sums, code, strict=True)])
        kept = [k for k, marks in enumerate(right) if all(marks)]
        self.seen = self.all.some(kept)
        # Equal rows give equal outputs, so of each output on them only the more frequent sign can be right.
        signs = Counter(
            (row, j, y) for row, c in zip(self.all.rows, self.all.codes, strict=True) for j, y in enumerate(c)
        )
        most = sum(max(n, signs[row, j, -y]) for (row, j, y), n in signs.items() if y > 0 or not signs[row, j, -y])
        if claim["certificate"] is not None:
            most = min(most, self._proved_confident(claim["certificate"]))
        return sum(map(sum, right)), most

    def _proved_confident(self, proof: Any) -> int:
        """The bound that a proof gives: by prices of rows for one output, by last layers for several (R20)."""
        layers = self.all.layers
        if kind_of(proof, "row-prices" if layers[-1] == 1 else "last-layer") == "row-prices":
            return confident_bound(self.all, proof)
        require(len(layers) > 2, "a proof about the last layer is given for a network without hidden layers")
        return last_layer_bound(self.all.codes, layers[-2], self.all.weight_bound, proof)

    def _reached(self, weights: list[Matrix]) -> list[list[int]]:
        """Margin of every neuron over the rows seen: smallest absolute sum, or sum times code for outputs."""
        sums = [pre_activations(weights, row) for row in self.seen.rows]
        margins = [
            [min(abs(s[layer][j]) for s in sums) for j in range(size)]
            for layer, size in enumerate(self.all.layers[1:-1])
        ]
        codes = self.seen.codes
        outputs = range(self.all.layers[-1])
        margins.append([min(s[-1][j] * c[j] for s, c in zip(sums, codes, strict=True)) for j in outputs])
        return margins

    def _margins(self, weights: list[Matrix], claim: dict[str, Any]) -> tuple[int, int]:
        """Max-Margin's objective and bound (R10, R23)."""
        require(len(self.seen), "it ran without a row to run on")
        self.margins = self._reached(weights)
        require(all(m >= 1 for layer in self.margins for m in layer), "a margin is below 1")
        objective = sum(map(sum, self.margins))
        if claim["certificate"] is None:
            layers, bound = self.all.layers, self.all.weight_bound
            trivial = layers[1] * bound * min(self.seen.norms)
            trivial += bound * sum(a * b for a, b in pairwise(layers[1:]))
            return objective, trivial
        # The proof refers to distinct rows, sorted by their values and then their codes.
        places = {pair: k for k, pair in enumerate(zip(self.seen.rows, self.seen.codes, strict=True))}
        distinct = self.seen.some([places[pair] for pair in sorted(places)])
        match kind_of(claim["certificate"], "dichotomies", "splitting-neurons", "single-neurons", "combinations"):
            case "splitting-neurons":
                return objective, splits_bound(distinct, claim["certificate"])
            case "single-neurons":
                return objective, widest_bound(distinct, claim["certificate"])
            case "combinations":
                return objective, combined_margins_bound(distinct, claim["certificate"])
        return objective, MarginProof(distinct, claim["certificate"]).bound()

    def _soft(self, weights: list[Matrix], claim: dict[str, Any]) -> tuple[Fraction, Fraction]:
        """The objective of soft margins and its bound (R13)."""
        self.soft = SoftMargins(self.seen, claim["soft"], self.restrictions)
        require(self.soft.price == Fraction(self.settings["C"]), "its price is not the model's")
        for name in ("hinges", "max_links"):
            require(claim["soft"][name] == self.settings[name], f"its {name} are not the model's")
        objective = self.soft.objective(weights)
        self.ceiling = (1 + Fraction(self.settings["mw_loss"])) * objective
        if claim["certificate"] is None:
            return objective, Fraction(0)
        kind_of(claim["certificate"], "multipliers")
        return objective, self.soft.bound(claim["certificate"])

    def _links(self, weights: list[Matrix], claim: dict[str, Any]) -> tuple[int, int]:
        """Min-Weight's links and their bound, by what the networks must keep (R11, R12, R14)."""
        links = sum(w != 0 for matrix in weights for line in matrix for w in line)
        if self.soft is not None:
            require(self.soft.objective(weights) <= self.ceiling, "its soft-margin objective is above the ceiling")
            if claim["certificate"] is None:
                return links, 0
            kind_of(claim["certificate"], "links-under-ceiling")
            return links, self.soft.links_bound(self.ceiling, claim["certificate"])
        if self.margins is None:
            for row, code in zip(self.seen.rows, self.seen.codes, strict=True):
                outputs = tuple(1 if s >= 0 else -1 for s in pre_activations(weights, row)[-1])
                require(outputs == code, "a row is misclassified")
            if claim["certificate"] is None:
                return links, 0
            require(len(self.seen), "it ran without a row to run on")
            kind_of(claim["certificate"], "small-supports")
            return links, separation_bound(self.seen, claim["certificate"])
        reached = self._reached(weights)
        pairs = zip(reached, self.margins, strict=True)
        kept = all(a >= b for have, need in pairs for a, b in zip(have, need, strict=True))
        require(kept, "a margin is smaller than Max-Margin's")
        if claim["certificate"] is None:
            return links, 0
        match kind_of(claim["certificate"], "sign-patterns", "smallest-neurons", "combinations"):
            case "smallest-neurons":
                return links, listed_links_bound(self.seen, self.margins, claim["certificate"])
            case "combinations":
                return links, combined_links_bound(self.seen, self.margins, claim["certificate"])
        return links, links_bound(self.seen, self.margins, claim["certificate"])
