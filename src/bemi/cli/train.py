"""``bemi train``: train an ensemble and write it to a model file."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.cli.options import (
    IMAGE,
    add_column_rules,
    add_json,
    add_many_machines,
    add_quiet,
    add_recordings,
    class_weights,
    directions,
    image_shape,
    integers,
    names,
    seconds,
)
from bemi.cli.output import Notes, check_writable, is_quiet, on_cluster, progress_wanted, show
from bemi.cli.recordings import ABOUT_RECORDINGS, reading_of, refuse
from bemi.engines import ENGINES
from bemi.ensemble.ties import TIES
from bemi.inputs import INPUT_SCALINGS, registry
from bemi.solvers import SOLVERS

if TYPE_CHECKING:
    from bemi.classifier import BeMiClassifier
    from bemi.presets import Preset


_EXAMPLE = """\
bemi train data.csv --target label -o model.bemi
bemi train photos/ -o model.bemi               # photos/cat/1.png, photos/dog/2.png, ...
bemi train wrist.csv --window 128 --id person --target activity -o wrist.bemi"""


def add_command(commands: Any) -> None:
    command = commands.add_parser("train", help="train an ensemble and write it to a model file")
    command.set_defaults(run=run, details=_stages, example=_EXAMPLE)
    add = command.add_argument
    add(
        "data",
        type=Path,
        help="CSV with a header row, NPZ with arrays X and y, or a folder: of images, with one sub-folder per class, "
        "or of recordings",
    )
    add("--target", help="column (CSV, default: label) or array (NPZ, default: y) with the labels")
    add("-o", "--output", type=Path, required=True, help="model file to write")
    add_column_rules(command)
    add("--window", type=int, metavar="N", help="cut recordings into windows of N samples; rows are samples in time")
    add_recordings(command)
    _add_model_options(command)
    _add_running_options(command)
    add_quiet(command)
    add_json(command)


def _stages() -> str:
    """What each stage asks for, and which lists of them there are."""
    from bemi.stages.registry import STAGES, stage_lists

    asked = "; ".join(f"{stage.name}, {stage.asks_for}" for stage in STAGES.values())
    return f"Stages: {asked}. They can be run as {' or '.join(','.join(names) for names in stage_lists())}."


def _add_model_options(command: argparse.ArgumentParser) -> None:
    """What to train.  An option without a default leaves the choice to the preset or the classifier."""
    add = command.add_argument
    paper = "the paper's settings: hidden layers 4,4, weights -1..1, and its three stages"
    add("--paper", action="store_true", help=paper)
    add(
        "--image-shape",
        type=image_shape,
        metavar=IMAGE,
        help="rows are images of this size (default: look at the data)",
    )
    add(
        "--transform",
        choices=registry.short_names(),
        help="gradient histograms, an additional constant input, bits, counts of a signal, or none",
    )
    add("--hidden-layers", type=integers, metavar="N,N", help="hidden layer sizes, '' for none")
    add("--weight-bound", type=int, metavar="P", help="weights are integers in -P..P")
    add("--stages", type=names, metavar="LIST", help="stages to run, separated by commas; see below")
    add("--C", type=float, help="price of a missing soft margin (default: 10)")
    loss = "share of the soft-margin objective to trade for fewer links (default: 0.01)"
    add("--mw-loss", type=float, metavar="SHARE", help=loss)
    add("--hinges", type=int, metavar="N", help="1 or 2 soft margins per row; 2 suit probabilities (default: 1)")
    add("--max-links", type=int, metavar="K", help="at most K links per network, its constant not counted")
    add(
        "--monotone",
        type=directions,
        metavar="A=+1,B=-1",
        help="columns whose larger values may only favour later classes (+1) or earlier ones (-1)",
    )
    weights = "balanced, or a weight per label as in ill=5,well=1 (default: every row counts 1)"
    add("--class-weight", type=class_weights, metavar="W", help=weights)
    chances = "learn probabilities of the classes, or do not"
    add("--probabilities", action=argparse.BooleanOptionalAction, help=chances)
    estimate = "do not choose settings by cross-validation, which also estimates the accuracy on new rows"
    add("--no-estimate", action="store_true", help=estimate)
    add("--subset-size", type=int, metavar="M", help="classes per network (default: 2)")
    add("--subsets", type=int, metavar="N", help="train only N networks, chosen from the data (default: all)")
    add("--max-per-class", type=int, metavar="N", help="train on at most N rows of each class: its medoids")
    add(
        "--scenarios",
        action="store_true",
        help="also train on rotated and resized images, on signals of another gain, or on noisy rows of a table",
    )
    add("--ties", help=f"rule for rows without a clear winner: {' or '.join(TIES)} (default: margin)")
    add("--input-scaling", help=f"how features become integers: {', '.join(str(s).lower() for s in INPUT_SCALINGS)}")


def _add_running_options(command: argparse.ArgumentParser) -> None:
    """How to train: engine, limits, processes, machines."""
    add = command.add_argument
    add("--engine", help=f"how stages are solved: {' or '.join(ENGINES)}")
    add("--solver", help=f"MILP solver: {' or '.join(SOLVERS)}")
    limit = "seconds per network, or one number per stage as in 5,5,1, or none (default: 10)"
    add("--time-limit", type=seconds, metavar="S", help=limit)
    add("--total-time-limit", type=float, metavar="S", help="seconds for all networks together")
    add("--node-limit", type=int, metavar="N", help="branch-and-bound nodes per stage")
    add("--gap", type=float, help="stop a stage once proven within this gap (default: 0.01)")
    add("--jobs", type=int, default=-1, metavar="N", help="networks trained at the same time (default: one per core)")
    add("--seed", type=int, default=0, help="seed of the solver's random choices (default: 0)")
    add(
        "--run",
        type=Path,
        dest="run_dir",
        metavar="DIR",
        help="keep every finished network in this folder; repeating the command trains only what is missing",
    )
    add_many_machines(command)


PARAMETERS = (
    *("hidden_layers", "weight_bound", "stages", "C", "mw_loss", "engine", "solver", "time_limit", "node_limit", "gap"),
    *("subset_size", "subsets", "max_per_class", "ties", "total_time_limit", "input_scaling"),
    *("hinges", "max_links", "monotone", "probabilities"),
)
"""Options passed on as the classifier's parameter of the same name; the word none becomes None."""


@dataclass(frozen=True, eq=False)
class Given:
    """What there is to train on.

    Attributes
    ----------
    X, y
        Rows and labels.
    groups
        Recording of each window of a signal; None if unknown, and for other rows.
    shape
        Height and width of images, perhaps with channels; None if the file does not tell.
    channels
        Channels of a signal; None for other rows.
    names
        Their names, if they have any.
    why
        What the rows are, if the file or the options tell.
    """

    X: Any
    y: Any
    groups: Any = None
    shape: tuple[int, ...] | None = None
    channels: int | None = None
    names: Sequence[str] = ()
    why: str = ""


def run(options: argparse.Namespace) -> int:
    from bemi import presets, save
    from bemi.classifier import BeMiClassifier

    check_writable(options.output)
    notes = Notes()
    given = _signal(options, notes) if _is_signal(options) else _rows(options, notes)
    preset = _preset(options, given)
    settings = presets.overridden(preset.settings, _asked_for(options, preset, given))
    classifier = BeMiClassifier(
        **settings,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=int(progress_wanted(options)),
        run_dir=options.run_dir,
    )
    announcement = f"settings of {preset.name} ({preset.why}): {presets.in_words(settings)}\n"
    announcement += "to choose otherwise: --paper, --image-shape, --transform, --weight-bound, --stages, ..."
    if progress_wanted(options):
        # Before training, so that the user can still stop it and choose otherwise.
        notes.print()
        print(announcement, file=sys.stderr)
        print(_duration(classifier, given.y), file=sys.stderr)
    with on_cluster(options.cluster):
        if options.shard is not None:
            return _train_shard(options, classifier, given, notes)
        classifier.fit(given.X, given.y, groups=given.groups)
    save(classifier, options.output)
    _tell_units(classifier, given, notes)
    if not progress_wanted(options) and not is_quiet(options):
        notes.print()
    _report(options, classifier, preset, given, announcement, notes.lines)
    return 0


def _duration(classifier: BeMiClassifier, y: Any) -> str:
    """How long training may take; most networks are done long before their limit."""
    import numpy as np
    from joblib import effective_n_jobs

    from bemi.ensemble.subsets import class_subsets

    given = classifier.subsets
    networks = len(class_subsets(len(np.unique(y)), int(classifier.subset_size)))
    if given is not None:
        networks = given if isinstance(given, int) else len(given)
    cores, limit = min(effective_n_jobs(classifier.n_jobs), networks), classifier.time_limit
    each = limit if limit is None or isinstance(limit, int | float) else sum(limit)
    most = [] if each is None else [each * math.ceil(networks / cores)]
    most += [] if classifier.total_time_limit is None else [classifier.total_time_limit]
    words = f"{networks} network{'s' * (networks > 1)} on {cores} core{'s' * (cores > 1)}"
    if not most:
        return f"{words}; no time limit, so there is no telling how long it takes"
    return f"{words}, at most {_minutes(min(most))}; usually much less"


def _minutes(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _is_signal(options: argparse.Namespace) -> bool:
    """Whether the user says that the data are recordings or windows of a signal."""
    from bemi.inputs.transform import Takes

    named = options.transform is not None and Takes.by(registry.by_short_name(options.transform)) is Takes.WINDOWS
    if options.window is not None or named:
        return True
    from bemi.io.pictures import has_pictures

    return options.data.is_dir() and not has_pictures(options.data)


def _rows(options: argparse.Namespace, notes: Notes) -> Given:
    """Rows of a table or images."""
    from bemi.io.columns import ColumnRules
    from bemi.io.files import read_labelled, row_shape

    refuse(options, ABOUT_RECORDINGS, "is for signals; give --window too, or --transform signal")
    if options.data.is_dir():
        return _pictures(options)
    rules = ColumnRules(options.categorical, options.numeric, options.drop, options.missing, options.keep)
    X, y = read_labelled(options.data, options.target, rules, notes)
    own = row_shape(options.data)
    if own is not None and len(own) == 2 and own[0] > 2 * own[1] and options.image_shape is None:
        notes(
            f"rows of {own[0]} x {own[1]} are treated as images; add --window {own[0]} if they are windows of a signal"
        )
    return Given(X, y, shape=options.image_shape or own)


def _pictures(options: argparse.Namespace) -> Given:
    """Images in the sub-folders of a folder."""
    from bemi.io.pictures import check_labelled, read_pictures

    refuse(options, ("categorical", "numeric", "drop", "keep", "target"), "is for CSV files, not for images")
    found = read_pictures(options.data, options.image_shape)
    check_labelled(options.data, found)
    return Given(found.X, found.labels, shape=found.shape if found.shape[2] > 1 else found.shape[:2])


def _signal(options: argparse.Namespace, notes: Notes) -> Given:
    """Windows of a signal."""
    import pandas as pd

    from bemi.io.recordings.reading import read_training, training_rows

    refuse(options, ("categorical", "numeric", "keep", "image_shape"), "is not for signals")
    found = read_training(options.data, reading_of(options), notes)
    windows, time, channels = found.X.shape
    why = f"{windows} windows of {time} samples of {_listed(found.channels)}"
    if found.groups is None:
        notes(
            "nothing tells which windows are of one recording (--id): the estimate may be too high if windows overlap"
        )
    else:
        why += f" from {len(pd.unique(found.groups))} recordings"
    X = training_rows(found)
    names = found.channels if isinstance(X, pd.DataFrame) else ()
    return Given(X, found.y, found.groups, channels=channels, names=names, why=why)


def _tell_units(classifier: BeMiClassifier, given: Given, notes: Notes) -> None:
    """Tell how values of a signal that are not integers become integers."""
    from bemi.inputs.fixed_point import in_units
    from bemi.inputs.transform import reader_of

    inputs = classifier.ensemble_.inputs
    if inputs.window_shape is None:
        return
    names = given.names or [f"channel {place}" for place in range(inputs.window_shape[1])]
    units = zip(names, reader_of(inputs.transform).reading_units(), strict=False)
    told = [f"{name} in units of {in_units(1, unit['decimals'])}" for name, unit in units if unit["decimals"] > 0]
    if told:
        notes(f"values are not integers: the model, and a device, reads {', '.join(told)}, rounded")


def _listed(channels: Sequence[Any]) -> str:
    count = f"{len(channels)} channel{'s' * (len(channels) > 1)}"
    return f"{count} ({', '.join(channels)})" if all(isinstance(name, str) for name in channels) else count


def _preset(options: argparse.Namespace, given: Given) -> Preset:
    """The base settings: the paper's if the user asks for hidden layers, which soft margins do not have."""
    from bemi import presets
    from bemi.inputs.scaling import are_integers
    from bemi.inputs.transform import Takes
    from bemi.stages import SOFT_STAGES

    if options.paper:
        return presets.paper("--paper")
    if options.hidden_layers:
        return presets.paper("--hidden-layers, which soft margins do not have")
    if options.stages is not None and not set(SOFT_STAGES) & set(options.stages):
        return presets.paper(f"--stages {','.join(options.stages)}")
    compare = not options.no_estimate
    if given.channels is not None:
        return presets.signals(given.channels, compare=compare, why=given.why)
    if options.transform is not None and registry.takes_images(registry.by_short_name(options.transform)):
        return presets.images(given.shape, integers=are_integers(given.X), why=f"--transform {options.transform}")
    if options.transform is not None and Takes.by(registry.by_short_name(options.transform)) is Takes.RAW_COLUMNS:
        return presets.tables(f"--transform {options.transform}", compare=compare)
    return presets.choose(given.X, given.shape, compare=compare)


def _asked_for(options: argparse.Namespace, preset: Preset, given: Given) -> dict[str, Any]:
    """Parameters of the classifier that the user chose."""
    asked = {name: getattr(options, name) for name in PARAMETERS if getattr(options, name) is not None}
    asked = {name: None if value == "none" else value for name, value in asked.items()}
    if given.channels is not None:
        asked |= _transform_of_signals(options, preset, given.channels)
    elif options.transform is not None:
        asked["transform"] = registry.make(options.transform, given.shape)
    if options.class_weight is not None:
        asked["class_weight"] = labels_weighed(options.class_weight, given.y)
    if options.scenarios:
        asked |= _scenarios(preset, given, asked)
    return asked


def _transform_of_signals(options: argparse.Namespace, preset: Preset, channels: int) -> dict[str, Any]:
    """The transform that the user named, or counts where the preset has none."""
    from bemi.inputs.signal.transform import SignalCounts
    from bemi.inputs.transform import Takes

    named = None if options.transform is None else registry.by_short_name(options.transform)
    if options.transform is not None and Takes.by(named) is not Takes.WINDOWS:
        return {"transform": registry.make(options.transform), "candidates": None}
    return {} if preset.settings.get("transform") is not None else {"transform": SignalCounts(channels)}


def _scenarios(preset: Preset, given: Given, asked: dict[str, Any]) -> dict[str, Any]:
    """Scenarios that suit the rows, and a transform that goes with them."""
    from bemi.augment.scenarios import ImageScenarios, NoiseScenarios, SignalScenarios
    from bemi.inputs.constant import ConstantInput
    from bemi.inputs.transform import Takes

    transform = asked.get("transform", preset.settings.get("transform"))
    if Takes.by(transform) is Takes.WINDOWS:
        return {"scenarios": SignalScenarios()}
    if given.shape is not None or registry.takes_images(transform):
        return {"scenarios": ImageScenarios(shape=given.shape)}
    found: dict[str, Any] = {"scenarios": NoiseScenarios()}
    if "transform" not in asked and ("candidates" in preset.settings or Takes.by(transform) is Takes.RAW_COLUMNS):
        # Noisy rows are made of scaled numbers, which bits have not.
        found["transform"] = ConstantInput()
    return found


def labels_weighed(given: str | dict[str, float], y: Any) -> str | dict[Any, float]:
    """Class weights by label, each label in the type that the file gave it."""
    import numpy as np

    from bemi.io.known import Known

    if isinstance(given, str):
        return given
    classes = np.unique(y).tolist()
    known = Known(classes)
    found = {known.find(label): weight for label, weight in given.items()}
    if None in found:
        unknown = next(label for label in given if known.find(label) is None)
        raise ValueError(
            f"--class-weight names {unknown!r}, which is no label; labels are {', '.join(map(str, classes))}"
        )
    return found


def _train_shard(options: argparse.Namespace, classifier: BeMiClassifier, given: Given, notes: Notes) -> int:
    shard, shards = options.shard
    if options.run_dir is None:
        raise ValueError("--shard needs --run DIR, the folder that all parts share")
    trained = classifier.fit_shard(given.X, given.y, shard, shards, groups=given.groups)
    if not progress_wanted(options) and not is_quiet(options):
        notes.print()
    result = {"shard": [shard, shards], "trained": trained, "run": str(options.run_dir), "notes": notes.lines}
    show(options, result)
    if not options.json and not is_quiet(options):
        print(f"part {shard} of {shards}: {trained} networks trained into {options.run_dir}")
        print("when all parts are done, the same command without --shard writes the model")
    return 0


def _report(
    options: argparse.Namespace,
    classifier: BeMiClassifier,
    preset: Preset,
    given: Given,
    announcement: str,
    notes: list[str],
) -> None:
    from bemi.cli.tables import estimate, result_table
    from bemi.report.summary import evaluation, training_summary

    summary = training_summary(classifier.ensemble_)
    summary |= {"settings": {"chosen": preset.name, "why": preset.why}, "notes": notes}
    summary |= {"reused_networks": classifier.reused_networks_}
    summary |= {"model": str(options.output), "training": evaluation(classifier.ensemble_, given.X, given.y)}
    summary |= {"estimate": estimate(classifier.choice_)}
    show(options, summary, result_table(summary))
    if options.json or is_quiet(options):
        return
    if not progress_wanted(options):
        print(announcement)
    if summary["estimate"] is not None:
        print(f"chosen: {summary['estimate']['words']}")
    if classifier.reused_networks_:
        count = f"{classifier.reused_networks_} of {summary['networks']} networks"
        print(f"{count} were in {options.run_dir} and not trained again")
    print(f"model written to {options.output}")
