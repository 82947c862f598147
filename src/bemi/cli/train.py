"""``bemi train``: train an ensemble and write it to a model file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.cli.options import (
    IMAGE,
    add_column_rules,
    add_json,
    add_many_machines,
    class_weights,
    directions,
    image_shape,
    integers,
    names,
    seconds,
)
from bemi.cli.output import Notes, check_writable, on_cluster, progress_wanted, show
from bemi.engines import ENGINES
from bemi.ensemble.ties import TIES
from bemi.inputs import INPUT_SCALINGS, registry
from bemi.solvers import SOLVERS

if TYPE_CHECKING:
    from bemi.classifier import BeMiClassifier
    from bemi.presets import Preset


def add_command(commands: Any) -> None:
    command = commands.add_parser("train", help="train an ensemble and write it to a model file")
    command.set_defaults(run=run, details=_stages)
    add = command.add_argument
    add("data", type=Path, help="CSV with a header row, or NPZ with arrays X and y")
    add("--target", help="column (CSV, default: label) or array (NPZ, default: y) with the labels")
    add("-o", "--output", type=Path, required=True, help="model file to write")
    add_column_rules(command)
    _add_model_options(command)
    _add_running_options(command)
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
        help="gradient histograms, an additional constant input, or neither",
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
        "--scenarios", action="store_true", help="also train on rotated and resized images, or on noisy rows of a table"
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


def run(options: argparse.Namespace) -> int:
    from bemi import presets, save
    from bemi.classifier import BeMiClassifier
    from bemi.rows.columns import ColumnRules
    from bemi.rows.files import read_labelled, row_shape

    check_writable(options.output)
    rules = ColumnRules(options.categorical, options.numeric, options.drop, options.missing, options.keep)
    notes = Notes()
    X, y = read_labelled(options.data, options.target, rules, notes)
    shape = options.image_shape or row_shape(options.data)
    preset = _preset(options, X, shape)
    settings = presets.overridden(preset.settings, _asked_for(options, preset, shape, y))
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
    with on_cluster(options.cluster):
        if options.shard is not None:
            return _train_shard(options, classifier, X, y, notes)
        classifier.fit(X, y)
    save(classifier, options.output)
    if not progress_wanted(options):
        notes.print()
    _report(options, classifier, preset, X, y, announcement, notes.lines)
    return 0


def _preset(options: argparse.Namespace, X: Any, shape: tuple[int, ...] | None) -> Preset:
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
    if options.transform is not None and registry.takes_images(registry.by_short_name(options.transform)):
        return presets.images(shape, integers=are_integers(X), why=f"--transform {options.transform}")
    compare = not options.no_estimate
    if options.transform is not None and Takes.by(registry.by_short_name(options.transform)) is Takes.RAW_COLUMNS:
        return presets.tables(f"--transform {options.transform}", compare=compare)
    return presets.choose(X, shape, compare=compare)


def _asked_for(options: argparse.Namespace, preset: Preset, shape: tuple[int, ...] | None, y: Any) -> dict[str, Any]:
    """Parameters of the classifier that the user chose."""
    from bemi.inputs.constant.transform import ConstantInput
    from bemi.inputs.transform import Takes
    from bemi.rows.scenarios import ImageScenarios, NoiseScenarios

    given = {name: getattr(options, name) for name in PARAMETERS if getattr(options, name) is not None}
    asked = {name: None if value == "none" else value for name, value in given.items()}
    if options.transform is not None:
        asked["transform"] = registry.make(options.transform, shape)
    if options.class_weight is not None:
        asked["class_weight"] = labels_weighed(options.class_weight, y)
    if options.scenarios:
        transform = asked.get("transform", preset.settings.get("transform"))
        are_images = shape is not None or registry.takes_images(transform)
        asked["scenarios"] = ImageScenarios(shape=shape) if are_images else NoiseScenarios()
        if "candidates" in preset.settings or Takes.by(transform) is Takes.RAW_COLUMNS:
            # Noisy rows are made of scaled numbers, which bits have not.
            asked.setdefault("transform", ConstantInput())
    return asked


def labels_weighed(given: str | dict[str, float], y: Any) -> str | dict[Any, float]:
    """Class weights by label, each label in the type that the file gave it."""
    import numpy as np

    from bemi.rows.known import Known

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


def _train_shard(options: argparse.Namespace, classifier: BeMiClassifier, X: Any, y: Any, notes: Notes) -> int:
    shard, shards = options.shard
    if options.run_dir is None:
        raise ValueError("--shard needs --run DIR, the folder that all parts share")
    trained = classifier.fit_shard(X, y, shard, shards)
    if not progress_wanted(options):
        notes.print()
    result = {"shard": [shard, shards], "trained": trained, "run": str(options.run_dir), "notes": notes.lines}
    show(options, result)
    if not options.json:
        print(f"part {shard} of {shards}: {trained} networks trained into {options.run_dir}")
        print("when all parts are done, the same command without --shard writes the model")
    return 0


def _report(
    options: argparse.Namespace,
    classifier: BeMiClassifier,
    preset: Preset,
    X: Any,
    y: Any,
    announcement: str,
    notes: list[str],
) -> None:
    from bemi.cli.tables import estimate, estimate_table, evaluation_table, training_table
    from bemi.ensemble.summary import evaluation, training_summary

    summary = training_summary(classifier.ensemble_)
    summary |= {"settings": {"chosen": preset.name, "why": preset.why}, "notes": notes}
    summary |= {"reused_networks": classifier.reused_networks_}
    summary |= {"model": str(options.output), "training": evaluation(classifier.ensemble_, X, y)}
    summary |= {"estimate": estimate(classifier.choice_)}
    expected = summary["estimate"]
    unknown = expected is None or expected["accuracy"] is None
    accuracy = evaluation_table(summary["training"]) if unknown else estimate_table(expected)
    show(options, summary, training_table(summary), accuracy)
    if options.json:
        return
    if not progress_wanted(options):
        print(announcement)
    if expected is not None:
        print(f"chosen: {expected['words']}")
    if classifier.reused_networks_:
        count = f"{classifier.reused_networks_} of {summary['networks']} networks"
        print(f"{count} were in {options.run_dir} and not trained again")
    print(f"model written to {options.output}")
