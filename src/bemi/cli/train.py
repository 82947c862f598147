"""``bemi train``: train an ensemble and write it to a model file.

Without a flag it trains a :class:`bemi.FewBitClassifier`, with ``--paper`` a :class:`bemi.BeMiClassifier`, with
``--scorecard`` a :class:`bemi.ScorecardClassifier`.  Options for their parameters are made from :mod:`bemi.settings`.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.checks import counted
from bemi.cli import options as cli_options
from bemi.cli import program
from bemi.cli.data import TrainingData, training_data
from bemi.cli.options import (
    IMAGE,
    add_column_rules,
    add_json,
    add_many_machines,
    add_quiet,
    add_recordings,
    image_shape,
)
from bemi.cli.output import (
    Notes,
    check_writable,
    estimate,
    is_quiet,
    on_cluster,
    progress_wanted,
    rejection_in_words,
    result_table,
    show,
)
from bemi.inputs import registry
from bemi.settings import AUTO, EXPLAINABLE, SETTINGS

if TYPE_CHECKING:
    from bemi.ensemble.ensemble import Ensemble

OPTIONS = tuple(name for name, setting in SETTINGS.items() if setting.option is not None)
"""Settings that are options of the same name; the word none becomes None."""

ONLY_PAPER = ("hidden_layers", "stages", "input_scaling", "subset_size", "max_per_class", "ties", "engine", "solver")
"""Those that only the paper's networks have, apart in the help; a test compares them with the estimators."""

LIMITS = ("time_limit", "total_time_limit", "node_limit", "gap")
"""Those that say when training stops, apart in the help."""

_EXAMPLE = """\
bemi train data.csv --target label -o model.bemi
bemi train photos/ -o model.bemi               # photos/cat/1.png, photos/dog/2.png, ...
bemi train wrist.csv --window 128 --id person --target activity -o wrist.bemi"""


def add_command(commands: Any) -> None:
    command = program.add(commands, "train", "train an ensemble and write it to a model file")
    command.set_defaults(run=run, example=_EXAMPLE)
    add = command.add_argument
    add(
        "data",
        type=Path,
        help="CSV with a header row, perhaps in gzip (.csv.gz), or - for standard input; Parquet or Excel; NPZ with "
        "arrays X and y; or a folder: of images, with one sub-folder per class, or of recordings",
    )
    add("--target", help="column (CSV, default: label) or array (NPZ, default: y) with the labels")
    add("-o", "--output", type=Path, required=True, help="model file to write")
    add_quiet(command)
    add_json(command)
    _add_model_options(command)
    _add_running_options(command)
    add_column_rules(command)
    add_recordings(command, train=True)


def _add_model_options(command: argparse.ArgumentParser) -> None:
    """What to train.  An option that is not given leaves the choice to the estimator."""
    model = command.add_argument_group("the model")
    limits = command.add_argument_group("limits")
    paper = command.add_argument_group("the paper's networks, which need --paper")
    add = model.add_argument
    add("--paper", action="store_true", help="train the paper's networks: hidden layers 4,4, weights -1..1")
    add("--scorecard", type=int, metavar="N", help="train a scorecard of at most N lines, for tables")
    shape = "rows are images of this size (default: inferred from the data)"
    add("--image-shape", type=image_shape, metavar=IMAGE, help=shape)
    without = "do not choose settings by cross-validation, which also estimates the accuracy on new rows"
    add("--no-estimate", action="store_true", help=without)
    for name, unit, what in (
        ("flash", "BYTES", "bytes of flash"),
        ("instructions", "N", "instructions of a prediction"),
    ):
        add(f"--budget-{name}", type=int, metavar=unit, help=f"use fewer kernels for a signal, to save {what} in C")
    for name in OPTIONS:
        _add_setting(paper if name in ONLY_PAPER else limits if name in LIMITS else model, name)


def _add_setting(group: argparse._ActionsContainer, name: str) -> None:
    """Add the option of a declared setting; None if it is not given."""
    option = SETTINGS[name].option
    assert option is not None
    details: dict[str, Any] = {"help": option.about, "default": None}
    if option.switch:
        details["action"] = argparse.BooleanOptionalAction
    if option.parse:
        details["type"] = {"int": int, "float": float}.get(option.parse) or getattr(cli_options, option.parse)
    if option.metavar is not None:
        details["metavar"] = option.metavar
    if option.choices is not None:
        details["choices"] = tuple(option.choices())
    group.add_argument(_flag(name), **details)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _add_running_options(command: argparse.ArgumentParser) -> None:
    """How to train: processes, machines."""
    group = command.add_argument_group("processes and machines")
    add = group.add_argument
    add("--jobs", type=int, default=-1, metavar="N", help="networks trained at the same time (default: one per core)")
    add("--seed", type=int, default=0, help="seed of the solver's random choices (default: 0)")
    add(
        "--run",
        type=Path,
        dest="run_dir",
        metavar="DIR",
        help="keep every finished network in this folder; repeating the command trains only what is missing",
    )
    add_many_machines(group)


def run(options: argparse.Namespace) -> int:
    check_writable(options.output)
    if options.shard is not None and options.run_dir is None:
        raise ValueError("--shard needs --run DIR, the folder that all parts share")
    if progress_wanted(options):
        print(f"reading {options.data}", file=sys.stderr)  # before what is slow to import
    estimator, notes = _estimator(options), Notes()
    data = training_data(options, notes)
    classifier = estimator(
        **_parameters(options, data),
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=int(progress_wanted(options)),
        run_dir=options.run_dir,
    )
    if options.budget_flash is not None or options.budget_instructions is not None:
        if options.paper or options.scorecard is not None:
            raise ValueError("budgets are for signals; give --budget-... without --paper and --scorecard")
        limits = {"flash": options.budget_flash, "instructions": options.budget_instructions}
        classifier = classifier.within_budget(data.X, data.y, **limits)
    if progress_wanted(options):
        # Before training, so that the user can still stop it and choose otherwise.
        notes.print()
        print(_duration(classifier, data.y), file=sys.stderr)
    # The paper's networks are trained without folds, so nothing keeps the windows of a recording together.
    groups = {} if data.groups is None or options.paper else {"groups": data.groups}
    with on_cluster(options.cluster):
        if options.shard is None:
            _train(options, classifier, data, groups, notes)
        else:
            _train_shard(options, classifier, data, groups, notes)
    return 0


def _estimator(options: argparse.Namespace) -> Any:
    """The estimator that the options name; ValueError for an option that it does not have."""
    from bemi import BeMiClassifier, FewBitClassifier, ScorecardClassifier

    estimator: Any = FewBitClassifier
    why = "needs --paper"
    if options.paper and options.scorecard is not None:
        raise ValueError("--paper and --scorecard are two estimators; give one of them")
    if options.paper:
        estimator, why = BeMiClassifier, "does not go with --paper"
    elif options.scorecard is not None:
        estimator, why = ScorecardClassifier, "does not go with --scorecard"
    known = estimator().get_params(deep=False)
    for name in OPTIONS:
        if getattr(options, name) is not None and name not in known:
            raise ValueError(f"{_flag(name)} {why}")
    return estimator


def _parameters(options: argparse.Namespace, data: TrainingData) -> dict[str, Any]:
    """What the options and the data say about the estimator's parameters."""
    from bemi.estimators.kinds import cards
    from bemi.inputs.signal import SignalCounts
    from bemi.inputs.transform import Takes

    given = {name: getattr(options, name) for name in OPTIONS if getattr(options, name) is not None}
    given = {name: None if value == "none" else value for name, value in given.items()}
    if options.inputs is not None:
        given["inputs"] = _named_inputs(options.inputs, data)
    elif data.channels is not None:
        given["inputs"] = SignalCounts(data.channels)
    if options.class_weight is not None:
        given["class_weight"] = labels_weighed(options.class_weight, data.y)
    if options.copies is not None:
        given |= _copies(options, data, given) if options.copies else {"copies": None}
    elif data.channels is not None and Takes.by(given["inputs"]) is not Takes.WINDOWS:
        given["copies"] = None  # those of signals are made of windows
    if options.paper:
        return given
    if options.scorecard is not None:
        if data.channels is not None or data.shape is not None:
            raise ValueError("--scorecard is for tables")
        usual = cards().usual if options.no_estimate else {}
        return dict(usual) | given | {"max_lines": options.scorecard}
    usual = _usual(options, data, given) if options.no_estimate else {}
    return usual | given | {"kind": _kind(options, data)}


def _named_inputs(name: str, data: TrainingData) -> Any:
    """The transform of a short name, told the shape of images or the channels of a signal."""
    from bemi.inputs.transform import Takes

    if name == EXPLAINABLE:
        return name
    named = registry.by_short_name(name)
    if data.channels is not None and named is not None and Takes.by(named) is Takes.WINDOWS:
        return named(data.channels)  # type: ignore[call-arg]
    return registry.make(name, data.shape)


def _kind(options: argparse.Namespace, data: TrainingData) -> Any:
    """What the rows are, as far as the options and the file tell: a value of the parameter ``kind``."""
    from bemi.inputs.transform import Takes

    if data.channels is not None:
        return "signal"
    named = None if options.inputs in (None, EXPLAINABLE) else registry.by_short_name(options.inputs)
    takes = Takes.by(named)
    if data.shape is None or options.kind == "table" or (options.kind is None and takes is Takes.RAW_COLUMNS):
        return options.kind or AUTO
    return data.shape


def _usual(options: argparse.Namespace, data: TrainingData, given: dict[str, Any]) -> dict[str, Any]:
    """Settings for rows of this kind, in place of those that cross-validation would choose."""
    from bemi.estimators.kinds import COMPARED, kind_of

    usual = kind_of(data.X, _kind(options, data), given.get("inputs", AUTO)).usual
    return {name: usual[name] for name in COMPARED}


def _copies(options: argparse.Namespace, data: TrainingData, given: dict[str, Any]) -> dict[str, Any]:
    """Copies that suit the rows, and inputs that go with them."""
    from bemi.augment.scenarios import ImageScenarios, NoiseScenarios, SignalScenarios
    from bemi.estimators.kinds import kind_of
    from bemi.inputs.constant import ConstantInput
    from bemi.inputs.transform import Takes

    inputs = given.get("inputs", AUTO)
    if Takes.by(inputs) is Takes.WINDOWS:
        return {"copies": SignalScenarios()}
    if kind_of(data.X, _kind(options, data), inputs).name == "image":
        return {"copies": ImageScenarios(shape=data.shape)}
    # Noisy rows are made of scaled numbers, which bits have not.
    return {"copies": NoiseScenarios()} | ({"inputs": ConstantInput()} if inputs == AUTO and not options.paper else {})


def labels_weighed(given: str | dict[str, float], y: Any) -> str | dict[Any, float]:
    """Class weights by label, each label in the type that the file gave it."""
    import numpy as np

    from bemi.io.cells import Known

    if isinstance(given, str):
        return given
    classes = np.unique(y).tolist()
    known = Known(classes)
    weights = {}
    for label, weight in given.items():
        if known.find(label) is None:
            labels = ", ".join(map(str, classes))
            raise ValueError(f"--class-weight names {label!r}, which is not a label; labels are {labels}")
        weights[known.find(label)] = weight
    return weights


def _duration(classifier: Any, y: Any) -> str:
    """How long training may take; most networks are done long before their limit."""
    import numpy as np
    from joblib import effective_n_jobs

    from bemi.ensemble.subsets import class_subsets

    subsets = getattr(classifier, "subsets", None)  # on the command line a number
    networks = subsets or len(class_subsets(len(np.unique(y)), int(getattr(classifier, "subset_size", 2))))
    cores, limit = min(effective_n_jobs(classifier.n_jobs), networks), classifier.time_limit
    each = sum(limit) if isinstance(limit, tuple) else limit
    most = [] if each is None else [each * math.ceil(networks / cores)]
    most += [] if classifier.total_time_limit is None else [classifier.total_time_limit]
    words = f"{counted(networks, 'network')} on {counted(cores, 'core')}"
    if not most:
        return f"{words}, without a time limit"
    return f"{words}, at most {_minutes(min(most))}; usually much less"


def _minutes(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _train(
    options: argparse.Namespace, classifier: Any, data: TrainingData, groups: dict[str, Any], notes: Notes
) -> None:
    """Train all networks, write the model, and tell what it is."""
    from bemi import save
    from bemi.inputs.table.text import ColumnWarning

    with warnings.catch_warnings():
        # The report says it, and what reads files has told about their columns.
        warnings.filterwarnings("ignore", "the proof of stage")
        warnings.simplefilter("ignore", ColumnWarning)
        classifier.fit(data.X, data.y, **groups)
    _tell_source(options, classifier, data)
    save(classifier, options.output)
    _note_units(classifier, data, notes)
    if not progress_wanted(options) and not is_quiet(options):
        notes.print()
    _report(options, classifier, data, notes)


def _tell_source(options: argparse.Namespace, classifier: Any, data: TrainingData) -> None:
    """Tell the model what its rows are, so that it takes other files alike, and exports say it."""
    from bemi.inputs.images import check_shape

    ensemble, shape = classifier.ensemble_, _kind(options, data)
    inputs = replace(ensemble.inputs, rate=data.rate)
    if isinstance(shape, tuple) and inputs.image_shape is None:
        inputs = replace(inputs, image=check_shape(shape))
    classifier.ensemble_ = replace(ensemble, inputs=inputs)


def _train_shard(
    options: argparse.Namespace, classifier: Any, data: TrainingData, groups: dict[str, Any], notes: Notes
) -> None:
    """Train a part of the networks into the run folder."""
    shard, shards = options.shard
    from bemi.inputs.table.text import ColumnWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        trained = classifier.fit_shard(data.X, data.y, shard, shards, **groups)
    if not progress_wanted(options) and not is_quiet(options):
        notes.print()
    show(options, {"shard": [shard, shards], "trained": trained, "run": str(options.run_dir), "notes": notes.lines})
    if not options.json and not is_quiet(options):
        print(f"part {shard} of {shards}: {counted(trained, 'network')} trained into {options.run_dir}")
        print("when all parts are done, the same command without --shard writes the model")


def _note_units(classifier: Any, data: TrainingData, notes: Notes) -> None:
    """Note how values of a signal that are not integers become integers."""
    from bemi.inputs.fixed_point import in_units
    from bemi.inputs.transform import reader_of

    inputs = classifier.ensemble_.inputs
    if inputs.window_shape is None:
        return
    names = data.names or [f"channel {channel}" for channel in range(inputs.window_shape[1])]
    units = zip(names, reader_of(inputs.transform).reading_units(), strict=False)
    told = [f"{name} in units of {in_units(1, unit['decimals'])}" for name, unit in units if unit["decimals"] > 0]
    if told:
        notes(f"values are not integers: the model, and a device, reads {', '.join(told)}, rounded")


def _report(options: argparse.Namespace, classifier: Any, data: TrainingData, notes: Notes) -> None:
    from bemi.report.summary import evaluation, large_gaps, rejection, rows_inside, training_summary

    choice, ensemble = classifier.choice_, classifier.ensemble_
    remarks = [line for line in (large_gaps(ensemble), rows_inside(ensemble)) if line]
    about = {"estimator": classifier.NAME, "networks": _in_words(ensemble)}
    if choice is not None:
        asked = "" if options.kind is None else f"--kind {options.kind}"
        about |= {"kind": choice.kind, "why": data.why or asked or choice.why}
    summary = training_summary(ensemble) | {
        "settings": about,
        "notes": [*notes.lines, *remarks],
        "reused_networks": classifier.reused_networks_,
        "model": str(options.output),
        "training": evaluation(ensemble, data.X, data.y),
        "estimate": None if options.no_estimate else estimate(choice),
    }
    show(options, summary, result_table(summary))
    if options.json or is_quiet(options):
        return
    if choice is not None:
        print(f"{about['kind']}: {about['why']}")
    print(about["networks"])
    if summary["estimate"] is not None:
        print(f"chosen: {summary['estimate']['words']}")
    if ensemble.known_ranges is not None:
        print(f"unknown rows {rejection_in_words(rejection(ensemble))}")
    if choice is not None and choice.why == about["why"]:
        print("to choose otherwise: --kind, --inputs, --paper, --scorecard, ...")
    if classifier.reused_networks_:
        count = f"{classifier.reused_networks_} of {counted(summary['networks'], 'network')}"
        print(f"found in {options.run_dir} and not trained again: {count}")
    for line in remarks:
        print(line)
    print(f"model written to {options.output}")


def _in_words(ensemble: Ensemble) -> str:
    """A one-line description of what was trained."""
    trained = ensemble.training.settings
    seen = registry.describe(ensemble.inputs.transform)
    if trained["input_scaling"] == "per-feature":
        seen += ", each scaled to -127..127"
    sizes = ", ".join(map(str, trained["hidden_layers"]))
    hidden = f"hidden layers {sizes}" if sizes else "no hidden layer"
    bound = trained["weight_bound"]
    return f"{seen}; {hidden}, weights in -{bound}..{bound}, stages {', '.join(trained['stages'])}"
