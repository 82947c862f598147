"""Commands on models: train, predict, evaluate, verify, and the list of solvers."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rich.table import Table

from bemi import presets, solvers
from bemi.certificate import CertificateError, verify
from bemi.classifier import BeMiClassifier
from bemi.cli.output import add_json, add_many_machines, feature_names, on_cluster, progress_wanted, show
from bemi.cli.tables import evaluation_table, training_table
from bemi.engines import ENGINES
from bemi.ensemble.summary import evaluation, training_summary
from bemi.inputs.scaling import INPUT_SCALINGS, are_integers
from bemi.inputs.transforms import ConstantInput, IntegerHog
from bemi.modelfile.saving import load, save
from bemi.rows.files import read_features, read_labelled, read_test, row_shape
from bemi.rows.scenarios import ImageScenarios, NoiseScenarios
from bemi.solvers import selftest
from bemi.training.parameters import TIES
from bemi.training.pipeline import TIME_SHARES


def add_commands(commands: Any) -> None:
    """Add this module's commands to the parser."""
    train = commands.add_parser("train", help="train an ensemble and write it to a model file")
    train.set_defaults(run=_train)
    train.add_argument("data", type=Path, help="CSV with a header row, or NPZ with arrays X and y")
    train.add_argument("--target", help="column (CSV, default: label) or array (NPZ, default: y) with the labels")
    train.add_argument("-o", "--output", type=Path, required=True, help="model file to write")
    _add_training_options(train)

    predict = commands.add_parser("predict", help="label the rows of a file")
    predict.set_defaults(run=_predict)
    predict.add_argument("model", type=Path)
    predict.add_argument("data", type=Path, help="CSV or NPZ with the model's features")
    predict.add_argument("-o", "--output", type=Path, help="CSV file to write (default: standard output)")

    evaluate = commands.add_parser("evaluate", help="accuracy and label statuses on labelled data")
    evaluate.set_defaults(run=_evaluate)
    evaluate.add_argument("model", type=Path)
    evaluate.add_argument("data", type=Path, help="CSV or NPZ with features and labels")
    evaluate.add_argument("--target", help="column or array with the labels")

    known = commands.add_parser("solvers", help="list the solvers, their versions, and whether they solve correctly")
    known.set_defaults(run=_solvers)

    check = commands.add_parser("verify", help="check a model's certificate in exact integers, without any solver")
    check.set_defaults(run=_verify)
    check.add_argument("model", type=Path)

    for command in (train, predict, evaluate, check, known):
        add_json(command)


def _add_training_options(train: argparse.ArgumentParser) -> None:
    """Options that are not given have no value: then the settings chosen for the data, or the classifier's, hold."""
    add = train.add_argument
    add("--paper", action="store_true", help="the paper's settings: hidden layers 4,4, weights -1..1, stages sm,mm,mw")
    add("--image-shape", type=_shape, metavar="H,W[,C]", help="rows are such images (default: look at the data)")
    add("--transform", choices=TRANSFORMS, help="gradient histograms, one constant input more, or neither")
    add("--hidden-layers", type=_sizes, metavar="N,N", help="hidden layer sizes, '' for none")
    add("--weight-bound", type=int, metavar="P", help="weights are integers in -P..P")
    add("--stages", type=_names, metavar="LIST", help="some of sm,mm,mw, or ml2, or ml2,mw")
    add("--C", type=float, help="price of a missing margin in ml2 (default: 10)")
    add("--mw-loss", type=float, metavar="SHARE", help="by which share mw may raise ml2's objective (default: 0.01)")
    add("--engine", help=f"one of {', '.join(ENGINES)}")
    add("--solver", help=f"one of {', '.join(solvers.SOLVERS)}")
    seconds = "seconds per network, or one number per stage: 5,5,1, or none (default: 10)"
    add("--time-limit", type=_seconds, metavar="S", help=seconds)
    add("--total-time-limit", type=float, metavar="S", help="seconds for all networks together")
    add("--node-limit", type=int, metavar="N", help="branch-and-bound nodes per stage")
    add("--gap", type=float, help="stop once proven within this gap (default: 0.01)")
    add("--subset-size", type=int, metavar="M", help="classes per network (default: 2)")
    add(
        "--subsets",
        type=int,
        metavar="N",
        help="train only so many networks, chosen from the data (default: all)",
    )
    add("--max-per-class", type=int, metavar="N", help="train on at most so many rows of each class, its medoids")
    add("--scenarios", action="store_true", help="turned and resized images, or noisy rows of a table, as further rows")
    add("--ties", help=f"one of {', '.join(TIES)} (default: margin)")
    add("--input-scaling", help=f"one of {', '.join(str(m).lower() for m in INPUT_SCALINGS)}")
    add("--jobs", type=int, default=-1, metavar="N", help="networks trained at the same time (default: one per core)")
    add("--seed", type=int, default=0, help="seed of the solver's random choices (default: 0)")
    add(
        "--run",
        type=Path,
        dest="run_dir",
        metavar="DIR",
        help="keep every finished network in this folder; the same command again trains only what is missing",
    )
    add_many_machines(train)


TRANSFORMS = ("hog", "constant", "none")

GIVEN = (
    *("hidden_layers", "weight_bound", "stages", "C", "mw_loss", "engine", "solver", "time_limit", "node_limit", "gap"),
    *("subset_size", "subsets", "max_per_class", "ties", "total_time_limit", "input_scaling"),
)
"""Options that become a parameter of the classifier as they are, the word none being None."""


def _preset(options: argparse.Namespace, X: Any) -> presets.Preset:
    """Settings to start from.  Soft margins have no hidden layer, so who asks for one asks for the paper's networks."""
    if options.paper:
        return presets.paper("--paper")
    if options.hidden_layers:
        return presets.paper("--hidden-layers, which soft margins do not have")
    if options.stages is not None and "ml2" not in options.stages:
        return presets.paper(f"--stages {','.join(options.stages)}")
    shape = options.image_shape or row_shape(options.data)
    if options.transform == "hog":
        return presets.images(shape, integers=are_integers(X), why="--transform hog")
    return presets.choose(X, shape)


def _settings(options: argparse.Namespace, preset: presets.Preset) -> dict[str, Any]:
    """Parameters of the classifier: what was asked for, and the preset for all else."""
    asked = {name: getattr(options, name) for name in GIVEN if getattr(options, name) is not None}
    given = {name: None if value == "none" else value for name, value in asked.items()}
    if options.transform is not None:
        shape = options.image_shape or row_shape(options.data)
        named = {"hog": IntegerHog(shape=shape), "constant": ConstantInput(), "none": None}
        given["transform"] = named[options.transform]
    settings = preset.settings | given
    if options.scenarios:
        shape = options.image_shape or row_shape(options.data)
        are_images = shape is not None or isinstance(settings["transform"], IntegerHog)
        settings["scenarios"] = ImageScenarios(shape=shape) if are_images else NoiseScenarios()
    return settings


def _shape(text: str) -> tuple[int, ...]:
    shape = _sizes(text)
    if len(shape) not in (2, 3):
        raise argparse.ArgumentTypeError(f"give height,width or height,width,channels, not {text!r}")
    return shape


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"give integers with commas between them, not {text!r}") from None


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _seconds(text: str) -> float | tuple[float, ...] | str:
    if text == "none":
        return text
    try:
        parts = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"give seconds as 10, as 5,5,1 or none, not {text!r}") from None
    return parts[0] if len(parts) == 1 else parts


def _train(options: argparse.Namespace) -> int:
    # A file that cannot be written should be known before the hours of training, not after.
    if not options.output.parent.is_dir():
        raise ValueError(f"the folder of {options.output} does not exist")
    if options.output.is_dir():
        raise ValueError(f"{options.output} is a folder; give the name of a model file")
    X, y = read_labelled(options.data, options.target)
    preset = _preset(options, X)
    settings = _settings(options, preset)
    classifier = BeMiClassifier(
        **settings,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=int(progress_wanted(options)),
        run_dir=options.run_dir,
    )
    # Who watches a terminal can still choose otherwise before anything is trained.
    announcement = f"settings of {preset.name} ({preset.why}): {presets.in_words(settings)}\n"
    announcement += "to choose otherwise: --paper, --image-shape, --transform, --weight-bound, --stages, ..."
    if progress_wanted(options):
        print(announcement, file=sys.stderr)
    with on_cluster(options.cluster):
        if options.shard is not None:
            return _train_shard(options, classifier, X, y)
        classifier.fit(X, y)
    save(classifier, options.output)
    summary = training_summary(classifier)
    summary |= {"settings": {"chosen": preset.name, "why": preset.why}}
    summary |= {"reused_networks": classifier.reused_networks_}
    summary |= {"model": str(options.output), "training": evaluation(classifier, X, y)}
    show(options, summary, training_table(summary), evaluation_table(summary["training"]))
    if not options.json:
        if not progress_wanted(options):
            print(announcement)
        if classifier.reused_networks_:
            count = f"{classifier.reused_networks_} of {summary['networks']} networks"
            print(f"{count} were in {options.run_dir} and not trained again")
        print(f"model written to {options.output}")
    return 0


def _train_shard(options: argparse.Namespace, classifier: BeMiClassifier, X: Any, y: Any) -> int:
    shard, shards = options.shard
    trained = classifier.fit_shard(X, y, shard, shards)
    show(options, {"shard": [shard, shards], "trained": trained, "run": str(options.run_dir)})
    if not options.json:
        print(f"part {shard} of {shards}: {trained} networks trained into {options.run_dir}")
        print("when all parts are done, the same command without --shard writes the model")
    return 0


def _predict(options: argparse.Namespace) -> int:
    classifier = load(options.model)
    labels = classifier.predict(read_features(options.data, feature_names(classifier))).tolist()
    if options.json:
        print(json.dumps({"labels": labels}))
        return 0
    with open(options.output, "w", newline="") if options.output else nullcontext(sys.stdout) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["prediction"])
        writer.writerows([label] for label in labels)
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    classifier = load(options.model)
    X, y = read_test(options.data, options.target, feature_names(classifier), classifier.classes_)
    result = evaluation(classifier, X, y)
    show(options, result, evaluation_table(result))
    return 0


def _verify(options: argparse.Namespace) -> int:
    try:
        checked = verify(options.model)
    except CertificateError as error:
        print(f"bemi: certificate refused: {error}", file=sys.stderr)
        return 1
    stages = [s for s in TIME_SHARES if checked.certified[s] + checked.claimed[s] + checked.not_run[s]]
    counts = {
        stage: {
            "certified": checked.certified[stage],
            "solver": checked.claimed[stage],
            "not_run": checked.not_run[stage],
        }
        for stage in stages
    }
    table = Table(title=f"{checked.networks} networks verified")
    for heading in ("stage", "bounds certified", "on a solver's word", "could not run"):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for stage, numbers in counts.items():
        table.add_row(stage, *map(str, numbers.values()))
    table.caption = f"certificate of {checked.bytes} bytes checked in {checked.seconds:.1f} s"
    result = {"networks": checked.networks, "stages": counts, "bytes": checked.bytes, "seconds": checked.seconds}
    show(options, result, table)
    return 0


def _solvers(options: argparse.Namespace) -> int:
    rows: list[dict[str, Any]] = []
    for name, extra in solvers.SOLVERS.items():
        try:
            backend = solvers.get(name)
        except solvers.SolverNotInstalled:
            rows.append({"solver": name, "installed": False, "install": f"pip install 'bemi[{extra}]'"})
            continue
        failures = list(selftest.failures(backend.solve, integers_only=solvers.integers_only(name)))
        rows.append({"solver": name, "installed": True, "version": backend.version(), "failures": failures})
    table = Table(title="Solvers")
    for heading in ("solver", "version", "self-test"):
        table.add_column(heading)
    for row in rows:
        if row["installed"]:
            table.add_row(row["solver"], row["version"], "; ".join(row["failures"]) or "passed")
        else:
            table.add_row(row["solver"], "not installed", row["install"].replace("[", r"\["))
    show(options, {"solvers": rows}, table)
    return 1 if any(row.get("failures") for row in rows) else 0
