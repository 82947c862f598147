"""Commands on models: train, predict, evaluate, verify, and the list of solvers."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from bemi import solvers
from bemi.certificate import CertificateError, verify
from bemi.classifier import TIES, BeMiClassifier
from bemi.cli.output import add_json, progress_wanted, show
from bemi.engines import ENGINES
from bemi.modelfile import load, save
from bemi.problem import INPUT_SCALINGS
from bemi.report import evaluation, evaluation_table, training_summary, training_table
from bemi.solvers import selftest
from bemi.tables import read_features, read_labelled
from bemi.training import TIME_SHARES


def add_commands(commands: Any) -> None:
    """Add this module's commands to the parser."""
    train = commands.add_parser("train", help="train an ensemble and write it to a model file")
    train.set_defaults(run=_train)
    train.add_argument("data", type=Path, help="CSV with a header row, or NPZ with arrays X and y")
    train.add_argument("--target", help="column (CSV, default: label) or array (NPZ, default: y) with the labels")
    train.add_argument("-o", "--output", type=Path, required=True, help="model file to write")
    defaults = BeMiClassifier().get_params()
    train.add_argument(
        "--hidden-layers",
        type=_sizes,
        default=(4, 4),
        metavar="N,N",
        help="hidden layer sizes, '' for none (default: 4,4)",
    )
    train.add_argument(
        "--weight-bound",
        type=int,
        default=defaults["weight_bound"],
        metavar="P",
        help="weights are integers in -P..P (default: 1)",
    )
    train.add_argument(
        "--stages",
        type=_names,
        default=defaults["stages"],
        metavar="LIST",
        help="some of sm,mm,mw (default), or ml2, or ml2,mw",
    )
    train.add_argument("--engine", default=defaults["engine"], help=f"one of {', '.join(ENGINES)}")
    train.add_argument("--solver", default=defaults["solver"], help=f"one of {', '.join(solvers.SOLVERS)}")
    train.add_argument(
        "--time-limit",
        type=_seconds,
        default=defaults["time_limit"],
        metavar="S",
        help="seconds per network, or one number per stage: 5,5,1 (default: 10)",
    )
    train.add_argument("--node-limit", type=int, metavar="N", help="branch-and-bound nodes per stage")
    train.add_argument(
        "--gap", type=float, default=defaults["gap"], help="stop once proven within this gap (default: 0.01)"
    )
    train.add_argument(
        "--subset-size", type=int, default=defaults["subset_size"], metavar="M", help="classes per network (default: 2)"
    )
    train.add_argument("--ties", default=defaults["ties"], help=f"one of {', '.join(TIES)} (default: margin)")
    train.add_argument(
        "--input-scaling",
        default=defaults["input_scaling"],
        help=f"one of {', '.join(str(m).lower() for m in INPUT_SCALINGS)}",
    )
    train.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="networks trained at the same time (default: one per core)"
    )
    train.add_argument("--seed", type=int, default=0, help="seed of the solver's random choices (default: 0)")
    train.add_argument(
        "--run",
        type=Path,
        dest="run_dir",
        metavar="DIR",
        help="keep every finished network in this folder; the same command again trains only what is missing",
    )

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


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part.strip())


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _seconds(text: str) -> float | tuple[float, ...]:
    parts = tuple(float(part) for part in text.split(","))
    return parts[0] if len(parts) == 1 else parts


def _train(options: argparse.Namespace) -> int:
    # A file that cannot be written should be known before the hours of training, not after.
    if not options.output.parent.is_dir():
        raise ValueError(f"the folder of {options.output} does not exist")
    if options.output.is_dir():
        raise ValueError(f"{options.output} is a folder; give the name of a model file")
    X, y = read_labelled(options.data, options.target)
    classifier = BeMiClassifier(
        hidden_layers=options.hidden_layers,
        weight_bound=options.weight_bound,
        stages=options.stages,
        engine=options.engine,
        solver=options.solver,
        time_limit=options.time_limit,
        node_limit=options.node_limit,
        gap=options.gap,
        subset_size=options.subset_size,
        ties=options.ties,
        input_scaling=None if options.input_scaling == "none" else options.input_scaling,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=int(progress_wanted(options)),
        run_dir=options.run_dir,
    )
    classifier.fit(X, y)
    save(classifier, options.output)
    summary = training_summary(classifier)
    summary |= {"model": str(options.output), "training": evaluation(classifier, X, y)}
    show(options, summary, training_table(summary), evaluation_table(summary["training"]))
    if not options.json:
        print(f"model written to {options.output}")
    return 0


def _predict(options: argparse.Namespace) -> int:
    classifier = load(options.model)
    labels = classifier.predict(read_features(options.data, _feature_names(classifier))).tolist()
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
    X, y = read_labelled(options.data, options.target)
    names = _feature_names(classifier)
    if names is not None and options.data.suffix.lower() != ".npz":
        X = read_features(options.data, names)
    if classifier.classes_.dtype.kind in "OU" and y.dtype.kind not in "OU":
        y = y.astype(str)
    result = evaluation(classifier, X, np.asarray(y))
    show(options, result, evaluation_table(result))
    return 0


def _feature_names(classifier: BeMiClassifier) -> list[str] | None:
    names = getattr(classifier, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


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
        failures = list(selftest.failures(backend.solve))
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
