"""Every setting of training, declared once: what it means, which values it takes, and whether models record it.

Estimators check their parameters by these declarations and show them in their help, model files are checked by them,
and the command line makes its options from them.  To add a setting, declare it here, add it to the signature of the
estimators that have it, and read it where it matters.

Imports nothing slow: the command line reads it for its help.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import Any

from bemi.checks import (
    LARGEST_INTEGER,
    brief,
    check_choice,
    check_integer,
    check_number,
    check_seconds,
    is_integer,
    is_list,
    is_number,
    listed,
    number,
    pairs,
    text,
    whole,
)

AUTO = "auto"
"""Value of a parameter that an estimator chooses from the rows."""

EXPLAINABLE = "explainable"
"""The same for inputs, of which only those are taken that do not keep training rows in the model."""

LARGEST_SEED = 2**256

Check = Callable[[str, Any], None]
"""Raises ValueError, naming the setting, if a value is not one of its values."""


@dataclass(frozen=True)
class Values:
    """Which values a setting takes: what a user may give, and what a model file may say."""

    check: Check
    check_stored: Check


@dataclass(frozen=True)
class Option:
    """How a setting is given on the command line.

    Attributes
    ----------
    about
        One line of help.
    parse
        Name of a function of :mod:`bemi.cli.options` that reads the text, or of ``int`` or ``float``; empty for text.
    metavar
        Stands for the value in the help.
    choices
        Words that the option takes; None for any.
    switch
        Whether the option has no value: ``--name`` or ``--no-name``.
    """

    about: str
    parse: str = ""
    metavar: str | None = None
    choices: Callable[[], Iterable[str]] | None = None
    switch: bool = False


@dataclass(frozen=True)
class Setting:
    """A declared setting.

    Attributes
    ----------
    name
        Name of the parameter, of the option (with hyphens) and in model files.
    default
        What training assumes if the estimator has no such parameter.
    values
        Which values it takes.
    about
        Human-readable description.
    automatic
        What ``"auto"`` means, for estimators that choose it; empty if it is never chosen.
    recorded
        Whether a fitted model remembers it; the number of jobs, for one, is not part of a model.
    of_networks
        Whether it must be the same for all networks of an ensemble, also for those that are added later.
    option
        How it is given on the command line; None if it has no option of its own.
    """

    name: str
    default: Any
    values: Values
    about: str
    automatic: str = ""
    recorded: bool = False
    of_networks: bool = False
    option: Option | None = None


def _whole(low: int, high: int = LARGEST_INTEGER, *, optional: bool = False) -> Values:
    """Integers of at least ``low``."""

    def check(name: str, value: Any) -> None:
        check_integer(name, value, low, optional=optional)

    def check_stored(name: str, value: Any) -> None:
        if not (optional and value is None):
            whole(value, name, low, high)

    return Values(check, check_stored)


def _number(*, positive: bool = False, optional: bool = False) -> Values:
    """Numbers of at least 0, or positive ones."""

    def check(name: str, value: Any) -> None:
        check_number(name, value, positive=positive, optional=optional)

    def check_stored(name: str, value: Any) -> None:
        if optional and value is None:
            return
        number(value, name)
        if positive and not value:
            raise ValueError(f"{name} must be positive")

    return Values(check, check_stored)


def _choice(known: Callable[[], Iterable[Any]]) -> Values:
    """One of several values."""

    def check(name: str, value: Any) -> None:
        # A NumPy integer is the integer that it equals.
        check_choice(name, int(value) if is_integer(value) else value, known())

    def check_stored(name: str, value: Any) -> None:
        if value not in tuple(known()) or isinstance(value, (bool, float)):
            raise ValueError(f"{name} must be one of {', '.join(map(str, known()))}, got {brief(value)}")

    return Values(check, check_stored)


def _unchecked(name: str, value: Any) -> None:
    """Anything; another check is responsible."""


def _check_text(name: str, value: Any) -> None:
    text(value, name)


def _listed_in(module: str, name: str) -> Callable[[], Iterable[Any]]:
    """What a module lists under a name; it is imported only when that is needed."""
    return lambda: getattr(import_module(module), name)


def _transforms() -> Iterable[str]:
    from bemi.inputs.registry import short_names

    return short_names()


def _check_layers(name: str, value: Any) -> None:
    if not is_list(value) or not all(is_integer(size, 1) for size in list(value)):
        raise ValueError(f"{name} must be a tuple of integers of at least 1 (or empty), got {value!r}")


def _check_stages(name: str, value: Any) -> None:
    from bemi.stages import check_stages

    check_stages(value)


def _check_paper_stages(name: str, value: Any) -> None:
    from bemi.stages import PAPER_STAGES

    _check_stages(name, value)
    for stage in value:
        check_choice("a stage", stage, PAPER_STAGES)


def _check_stored_stages(name: str, value: Any) -> None:
    for stage in listed(value, name, 16):
        text(stage, "a stage")
    _check_stages(name, value)


def _check_engine(name: str, value: Any) -> None:
    from bemi import engines

    engines.get(value)


def _check_solver(name: str, value: Any) -> None:
    from bemi import solvers

    solvers.integers_only(value)


def _check_time_limit(name: str, value: Any) -> None:
    given = list(value) if is_list(value) else [] if value is None else [value]
    if not all(is_number(seconds) and seconds > 0 for seconds in given):
        raise ValueError(f"{name} must be positive seconds, one number or one per stage, got {value!r}")


def _check_stored_time_limit(name: str, value: Any) -> None:
    for seconds in value if isinstance(value, list) else [] if value is None else [value]:
        number(seconds, name)
        if not seconds:
            raise ValueError(f"{name} must be positive")


def _check_seed(name: str, value: Any) -> None:
    if value is not None:
        whole(value, name, -LARGEST_SEED, LARGEST_SEED)


def _check_jobs(name: str, value: Any) -> None:
    if value is not None and (not is_integer(value) or value == 0):
        raise ValueError(f"{name} must be None or an integer other than 0, got {value!r}")


def _check_folder(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name} must be None or a folder, got {value!r}")


def _check_switch(name: str, value: Any) -> None:
    if not isinstance(value, bool) and type(value).__name__ != "bool":  # NumPy's bool is no bool
        raise ValueError(f"{name} must be True or False, got {value!r}")


def _check_reject(name: str, value: Any) -> None:
    if value is not None and not (is_number(value) and 0 < value <= 0.5):
        raise ValueError(f"{name} must be None or a share above 0 and at most 0.5, got {value!r}")


def _check_subsets(name: str, value: Any) -> None:
    if value is not None and not is_list(value) and not is_integer(value, 1):
        raise ValueError(f"{name} must be None, a number or a list of tuples of labels, got {value!r}")


def _check_stored_subsets(name: str, value: Any) -> None:
    if isinstance(value, list):
        for labels in value:
            for label in listed(labels, "a set of labels"):
                check_scalar(label, f"a label in {name}")
    elif value is not None:
        whole(value, name, 1)


def _check_inputs(name: str, value: Any) -> None:
    if value is not None and not hasattr(value, "transform"):
        raise ValueError(f"{name} must be None or a transformer such as IntegerHog(), got {value!r}")


def _check_copies(name: str, value: Any) -> None:
    if value is not None and not hasattr(value, "variants"):
        raise ValueError(f"{name} must be None or an object such as ImageScenarios(), got {value!r}")


KINDS = ("image", "table", "signal")
"""Kinds of rows."""


def _check_kind(name: str, value: Any) -> None:
    is_shape = is_list(value) and len(value) in (2, 3) and all(is_integer(size, 1) for size in value)
    if not is_shape and value not in KINDS:
        shape = "the shape of images, such as (28, 28) or (32, 32, 3)"
        raise ValueError(f"{name} must be one of {AUTO}, {', '.join(KINDS)}, or {shape}; got {value!r}")


def _check_monotone(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be None or directions by feature, such as {{'age': 1}}, got {value!r}")
    for feature, direction in value.items():
        if not isinstance(feature, str) and not is_integer(feature, 0):
            raise ValueError(f"{name} must have names or positions of features, got {feature!r}")
        if not is_integer(direction, -1, 1) or direction == 0:
            raise ValueError(f"{name} must be 1 or -1 for feature {feature!r}, got {direction!r}")


def _check_stored_monotone(name: str, value: Any) -> None:
    for feature, direction in pairs(value, name, 2**20) if value is not None else ():
        check_scalar(feature, f"a feature in {name}")
        if whole(direction, f"a direction in {name}", -1, 1) == 0:
            raise ValueError(f"a direction in {name} must be -1 or 1")


BALANCED = "balanced"
"""Class weights for which all classes weigh the same in total."""


def _check_class_weight(name: str, value: Any) -> None:
    if value is None or (isinstance(value, str) and value == BALANCED):
        return
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be None, {BALANCED!r} or weights by label, got {value!r}")
    for label, weight in value.items():
        if not is_number(weight, 0) or weight == 0:
            raise ValueError(f"{name} must have positive numbers, got {weight!r} for class {label!r}")


def _check_stored_class_weight(name: str, value: Any) -> None:
    if value is None or (isinstance(value, str) and value == BALANCED):
        return
    for label, weight in pairs(value, name, 2**12):
        check_scalar(label, f"a label in {name}")
        number(weight, f"a weight in {name}")


def check_scalar(value: Any, what: str, levels: int = 0) -> None:
    """Raise ValueError unless a value of a file is a number, a text, None, or a list of such of so many levels."""
    if isinstance(value, list) and levels:
        for item in value:
            check_scalar(item, what, levels - 1)
    elif type(value) is int:
        whole(value, what, -LARGEST_SEED, LARGEST_SEED)
    elif type(value) is str:
        text(value, what)
    elif value is not None and not isinstance(value, (bool, float)):
        raise ValueError(f"{what} is nested too deeply")


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(
            "kind",
            AUTO,
            Values(_check_kind, _unchecked),
            'What rows are: ``"image"``, ``"table"`` or ``"signal"``, or the shape of images, ``(height, width)`` or '
            "``(height, width, channels)``, needed if they are not square and grey.",
            automatic="looks at the rows",
            option=Option("what rows are (default: inferred from the data)", choices=lambda: KINDS),
        ),
        Setting(
            "hidden_layers",
            (),
            Values(_check_layers, _unchecked),
            "Neurons of each hidden layer; empty for none.",
            recorded=True,
            of_networks=True,
            option=Option("hidden layer sizes, '' for none (default: 4,4)", "integers", "N,N"),
        ),
        Setting(
            "weight_bound",
            1,
            _whole(1, 2**31 - 1),
            "Weights are integers from ``-weight_bound`` to ``weight_bound``: 1, 3 and 7 take 2, 3 and 4 bits.",
            automatic="is 7, or 15 for tables, where it tightens the proofs",
            recorded=True,
            of_networks=True,
            option=Option("weights are integers in -P..P", "int", "P"),
        ),
        Setting(
            "max_lines",
            10,
            _whole(1, optional=True),
            "Maximum lines of a card, not counting its start; None for no limit.",
        ),
        Setting(
            "stages",
            (),
            Values(_check_paper_stages, _check_stored_stages),
            'Which programs to solve, in order: ``"sm"`` (most training rows confidently right), ``"mm"`` (largest '
            'margins), ``"mw"`` (fewest links).',
            recorded=True,
            of_networks=True,
            option=Option(
                "stages to run: sm, most training rows confidently right; mm, largest margins; mw, fewest links "
                "(default: sm,mm,mw)",
                "names",
                "LIST",
            ),
        ),
        Setting(
            "inputs",
            None,
            Values(_check_inputs, _unchecked),
            "What turns features into the inputs of the networks: :class:`bemi.IntegerHog` for images, "
            ":class:`bemi.TableBits` for tables, :class:`bemi.SignalCounts` for windows of a signal, of shape "
            "(windows, time, channels), :class:`bemi.ConstantInput`, or None for the features as they are.",
            automatic='suits the rows; ``"explainable"`` does too, without similarities, which keep training rows in '
            "the model",
            option=Option(
                "what networks see: gradient histograms, an additional constant input, bits of a table, counts of a "
                "signal, or the features as they are",
                choices=lambda: (*_transforms(), EXPLAINABLE),
            ),
        ),
        Setting(
            "input_scaling",
            AUTO,
            _choice(_listed_in("bemi.inputs", "INPUT_SCALINGS")),
            'How features become integers: ``"auto"`` leaves integer-valued data alone and scales other data per '
            'feature, ``"per-feature"`` and ``"common"`` always scale, ``"centred"`` moves medians to zero, which '
            "needs a constant input, None requires integers.  Zero stays zero otherwise.",
            recorded=True,
            option=Option(
                "how features become integers: auto, centred, common, per-feature, none (default: auto)", metavar="NAME"
            ),
        ),
        Setting(
            "copies",
            None,
            Values(_check_copies, _unchecked),
            "Plausible copies of the rows: :class:`bemi.ImageScenarios`, :class:`bemi.ImageDeformations`, "
            ":class:`bemi.NoiseScenarios`, :class:`bemi.SignalScenarios`, or None.  Training adds the copies that a "
            "network violates.",
            automatic="tries those that suit the rows",
            recorded=True,
            option=Option(
                "also train on rotated and resized images, on signals of another gain, or on noisy rows of a table",
                switch=True,
            ),
        ),
        Setting(
            "C",
            10.0,
            _number(positive=True),
            "Penalty on margin violations, as in support vector machines.",
            automatic="tries several",
            recorded=True,
            of_networks=True,
            option=Option("penalty on margin violations", "float"),
        ),
        Setting(
            "hinges",
            1,
            _choice(_listed_in("bemi.problem.soft_margin", "HINGE_TARGETS")),
            "Hinges per row: 1 as in support vector machines, or 2, closer to the logistic loss.",
            recorded=True,
            of_networks=True,
        ),
        Setting(
            "max_links",
            None,
            _whole(1, optional=True),
            "Maximum links of each output, not counting that of a constant input; None for no limit.  The certificate "
            "covers it.",
            recorded=True,
            of_networks=True,
            option=Option("at most K links per network, not counting its constant", "int", "K"),
        ),
        Setting(
            "mw_loss",
            0.01,
            _number(optional=True),
            "Fraction by which a further stage, Min-Weight, may raise the objective to save links; None to keep them.",
            recorded=True,
            of_networks=True,
            option=Option("fraction of the soft-margin objective to trade for fewer links", "float", "SHARE"),
        ),
        Setting(
            "monotone",
            None,
            Values(_check_monotone, _check_stored_monotone),
            "Features that may only push the decision one way: ``{name or position: 1}`` if larger values favour later "
            "classes, -1 if they favour earlier ones.",
            recorded=True,
            of_networks=True,
            option=Option(
                "columns whose larger values may only favour later classes (+1) or earlier ones (-1)",
                "directions",
                "A=+1,B=-1",
            ),
        ),
        Setting(
            "class_weight",
            None,
            Values(_check_class_weight, _check_stored_class_weight),
            'Weights of the classes, which multiply those of their rows: None, ``"balanced"`` for equal totals, or '
            "``{label: weight}``, 1 for a label that is left out.",
            recorded=True,
            of_networks=True,
            option=Option(
                "balanced, or a weight per label as in ill=5,well=1 (default: every row counts 1)", "class_weights", "W"
            ),
        ),
        Setting(
            "probabilities",
            False,
            Values(_check_switch, _unchecked),
            "Whether to fit probabilities of the classes, for :meth:`predict_proba` and the exports.",
            automatic="fits them wherever that costs little",
            recorded=True,
            of_networks=True,
            option=Option("fit probabilities of the classes, or do not", switch=True),
        ),
        Setting(
            "reject",
            None,
            Values(_check_reject, _unchecked),
            "Share of rows like the training rows that may be rejected, such as 0.05, so that rows like none of them "
            'are: they get the label of unclassified rows, -1, or ``"unclassified"`` if the classes are strings.  None '
            "gives every row a class.",
            recorded=True,
            option=Option("reject unknown rows, and about this share of known ones, as in 0.05", "float", "SHARE"),
        ),
        Setting(
            "subset_size",
            2,
            _whole(2),
            "Classes per network (the paper's m).",
            recorded=True,
            of_networks=True,
            option=Option("classes per network (default: 2)", "int", "M"),
        ),
        Setting(
            "subsets",
            None,
            Values(_check_subsets, _check_stored_subsets),
            "Which sets of classes get a network: None for all, a list of tuples of labels, or the number of sets, "
            "chosen so that classes that are hard to tell apart share one.  Classes are then compared by their share "
            "of votes among their own networks.",
            recorded=True,
            option=Option("train only N networks, chosen from the data (default: all)", "int", "N"),
        ),
        Setting(
            "max_per_class",
            None,
            _whole(1, optional=True),
            "Maximum number of training rows per class, or None for all.  A class with more is represented by its "
            "medoids, in the distances of network inputs.",
            recorded=True,
            option=Option("train on at most N rows of each class: its medoids", "int", "N"),
        ),
        Setting(
            "ties",
            "margin",
            _choice(_listed_in("bemi.ensemble.ties", "TIES")),
            '``"margin"`` gives every row a label; ``"abstain"`` is the paper\'s rule: a row without a clear winner is '
            'labelled -1, or ``"unclassified"`` if the classes are strings.',
            option=Option("rule for rows without a clear winner: margin or abstain (default: margin)", metavar="NAME"),
        ),
        Setting(
            "engine",
            "decomposition",
            Values(_check_engine, _check_text),
            'How a stage is run: ``"decomposition"`` searches neuron by neuron and certifies its bounds, '
            '``"monolithic"`` hands the whole stage to the solver as one program, as the paper does.',
            recorded=True,
            option=Option(
                "how stages are solved: decomposition or monolithic (default: decomposition)", metavar="NAME"
            ),
        ),
        Setting(
            "solver",
            "highs",
            Values(_check_solver, _check_text),
            '``"highs"``, ``"gurobi"``, ``"scip"`` or ``"cpsat"``; the name of an entry point in the group '
            '``"bemi.solvers"``, or of a module such as ``"my_package.my_solver"``.',
            recorded=True,
            option=Option("MILP solver: highs, gurobi, scip or cpsat (default: highs)", metavar="NAME"),
        ),
        Setting(
            "time_limit",
            10.0,
            Values(_check_time_limit, _check_stored_time_limit),
            "Seconds per network: one number divided among the stages, one number per stage, or None for no limit.  "
            "Time that a stage does not use is added to the next stage's.",
            recorded=True,
            option=Option(
                "seconds per network, or one number per stage as in 5,5,1, or none (default: 10)", "seconds", "S"
            ),
        ),
        Setting(
            "total_time_limit",
            None,
            Values(check_seconds, _unchecked),
            "Seconds for all networks together, or None.  Each network gets an equal part of the time left when it "
            "starts, at most ``time_limit``.",
            option=Option("seconds for all networks together", "float", "S"),
        ),
        Setting(
            "node_limit",
            None,
            _whole(1, optional=True),
            "Branch-and-bound nodes per stage, or None.  A deterministic alternative to the time limit: if no time "
            "limit is reached, the same rows give the same networks.",
            recorded=True,
            option=Option("branch-and-bound nodes per stage", "int", "N"),
        ),
        Setting(
            "gap",
            None,
            _number(optional=True),
            "Every stage stops once its relative gap is proved to be at most this, or earlier with a message that says "
            "why.  None is 0 for Sat-Margin, since every row counts, 0.1 for Min-Weight, since the next percent takes "
            "several times as long as all before it, and 0.01 for the others.",
            recorded=True,
            option=Option("stop a stage once proven within this gap (default: 0.01; sm 0, mw 0.1)", "float"),
        ),
        Setting(
            "n_jobs",
            None,
            Values(_check_jobs, _unchecked),
            "Number of networks trained at the same time, as in scikit-learn.",
        ),
        Setting(
            "random_state",
            None,
            Values(_unchecked, _check_seed),
            "Seed of all random choices; None also means a fixed seed.",
            recorded=True,
        ),
        Setting("verbose", 0, Values(_unchecked, _unchecked), "1 shows a progress bar on standard error."),
        Setting(
            "run_dir",
            None,
            Values(_check_folder, _unchecked),
            "Folder that stores every finished network, or None.  A fit that was interrupted, or is repeated, trains "
            "only the missing networks.",
        ),
    )
}
"""All settings by name, in the order in which they are listed."""

RECORDED = tuple(setting.name for setting in SETTINGS.values() if setting.recorded)
"""Settings that a fitted model remembers."""

OF_NETWORKS = tuple(setting.name for setting in SETTINGS.values() if setting.of_networks)
"""Settings that are the same for all networks of an ensemble."""


def check(given: Mapping[str, Any], automatic: Iterable[str] = ()) -> None:
    """Raise ValueError for the first invalid value; settings in ``automatic`` may also be ``"auto"``."""
    chosen = tuple(automatic)
    for name, value in given.items():
        left = name in chosen and is_auto(value) and (value == AUTO or name == "inputs")
        if name in SETTINGS and not left:
            SETTINGS[name].values.check(name, value)


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the estimator."""
    return isinstance(value, str) and value in (AUTO, EXPLAINABLE)


def docstring(estimator: type) -> str:
    """The section of an estimator's docstring that describes its parameters."""
    lines = ["Parameters", "----------"]
    for name, parameter in signature(estimator).parameters.items():
        setting = SETTINGS[name]
        chosen = f'  ``"auto"`` {setting.automatic}.' if parameter.default == AUTO and setting.automatic else ""
        lines += [name, *textwrap.wrap(setting.about + chosen, 112, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join(lines)
