"""``bemi train``: train an ensemble and write it to a model file."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.cli import options as cli_options
from bemi.cli.options import (
    IMAGE,
    add_column_rules,
    add_json,
    add_many_machines,
    add_quiet,
    add_recordings,
    image_shape,
)
from bemi.cli.output import Notes, check_writable, is_quiet, on_cluster, progress_wanted, show
from bemi.cli.recordings import ABOUT_RECORDINGS, reading_of, refuse
from bemi.inputs import registry
from bemi.settings import SETTINGS, Setting

if TYPE_CHECKING:
    from bemi.ensemble.ensemble import Ensemble


_EXAMPLE = """\
bemi train data.csv --target label -o model.bemi
bemi train photos/ -o model.bemi               # photos/cat/1.png, photos/dog/2.png, ...
bemi train wrist.csv --window 128 --id person --target activity -o wrist.bemi"""


def add_command(commands: Any) -> None:
    command = commands.add_parser("train", help="train an ensemble and write it to a model file")
    command.set_defaults(run=run, example=_EXAMPLE)
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


def _add_model_options(command: argparse.ArgumentParser) -> None:
    """What to train.  An option without a default leaves the choice to the estimator."""
    add = command.add_argument
    add("--paper", action="store_true", help="train the paper's networks: hidden layers 4,4, weights -1..1")
    add("--scorecard", type=int, metavar="N", help="train a scorecard of at most N lines, for tables")
    add(
        "--image-shape",
        type=image_shape,
        metavar=IMAGE,
        help="rows are images of this size (default: look at the data)",
    )
    estimate = "do not choose settings by cross-validation, which also estimates the accuracy on new rows"
    add("--no-estimate", action="store_true", help=estimate)
    for name in OPTIONS:
        _add_setting(command, SETTINGS[name])


def _add_setting(command: argparse.ArgumentParser, setting: Setting) -> None:
    """Add the option of a declared setting; None if it is not given."""
    option = setting.option
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
    command.add_argument(f"--{setting.name.replace('_', '-')}", **details)


def _add_running_options(command: argparse.ArgumentParser) -> None:
    """How to train: processes, machines."""
    add = command.add_argument
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


OPTIONS = tuple(name for name, setting in SETTINGS.items() if setting.option is not None)
"""Settings that are options of the same name; the word none becomes None."""


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
    from bemi import save

    check_writable(options.output)
    notes = Notes()
    given = _signal(options, notes) if _is_signal(options) else _rows(options, notes)
    classifier = _classifier(options, given)
    if progress_wanted(options):
        # Before training, so that the user can still stop it and choose otherwise.
        notes.print()
        print(_duration(classifier, given.y), file=sys.stderr)
    with on_cluster(options.cluster):
        if options.shard is not None:
            return _train_shard(options, classifier, given, notes)
        classifier.fit(given.X, given.y, **({} if given.groups is None else {"groups": given.groups}))
    save(classifier, options.output)
    _tell_units(classifier, given, notes)
    if not progress_wanted(options) and not is_quiet(options):
        notes.print()
    _report(options, classifier, given, notes.lines)
    return 0


def _classifier(options: argparse.Namespace, given: Given) -> Any:
    """The estimator that the options name, with the parameters that they give."""
    from bemi import BeMiClassifier, FewBitClassifier, ScorecardClassifier

    if options.paper and options.scorecard is not None:
        raise ValueError("--paper and --scorecard are two estimators; give one of them")
    estimator: type = BeMiClassifier if options.paper else FewBitClassifier
    asked = _asked_for(options, given)
    if options.scorecard is not None:
        if given.channels is not None or given.shape is not None:
            raise ValueError("--scorecard is for tables")
        estimator, asked = ScorecardClassifier, asked | {"max_lines": options.scorecard}
    elif not options.paper:
        asked |= _about_rows(options, given, asked)
    elif given.channels is not None and "inputs" not in asked:
        from bemi.inputs.signal.transform import SignalCounts

        asked["inputs"] = SignalCounts(given.channels)
    known = estimator().get_params(deep=False)
    for name in asked:
        if name not in known:
            others = {"--paper": BeMiClassifier, "": FewBitClassifier, "--scorecard": ScorecardClassifier}
            having = [flag for flag, other in others.items() if name in other().get_params(deep=False)]
            needs = "needs --paper" if having == ["--paper"] else f"is no setting of {estimator.__name__}"
            raise ValueError(f"--{name.replace('_', '-')} {needs}")
    return estimator(
        **asked,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=int(progress_wanted(options)),
        run_dir=options.run_dir,
    )


def _about_rows(options: argparse.Namespace, given: Given, asked: dict[str, Any]) -> dict[str, Any]:
    """What the few-bit classifier is told about the rows, and its usual settings if nothing shall be compared."""
    from bemi.estimators.few_bit import COMPARED, kind_of
    from bemi.inputs.signal.transform import SignalCounts
    from bemi.settings import AUTO

    told: dict[str, Any] = {}
    if given.channels is not None:
        told |= {"kind": "signal", "inputs": SignalCounts(given.channels)}
    elif given.shape is not None:
        told["kind"] = given.shape
    told |= {name: value for name, value in asked.items() if name in ("kind", "inputs")}
    if options.no_estimate:
        usual = kind_of(given.X, told.get("kind", AUTO), told.get("inputs", AUTO)).usual
        told = {name: usual[name] for name in COMPARED if name not in asked} | told
    return told


def _duration(classifier: Any, y: Any) -> str:
    """How long training may take; most networks are done long before their limit."""
    import numpy as np
    from joblib import effective_n_jobs

    from bemi.ensemble.subsets import class_subsets

    given = getattr(classifier, "subsets", None)
    networks = len(class_subsets(len(np.unique(y)), int(getattr(classifier, "subset_size", 2))))
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

    named = options.inputs is not None and Takes.by(registry.by_short_name(options.inputs)) is Takes.WINDOWS
    if options.window is not None or named:
        return True
    from bemi.io.pictures import has_pictures

    return options.data.is_dir() and not has_pictures(options.data)


def _rows(options: argparse.Namespace, notes: Notes) -> Given:
    """Rows of a table or images."""
    from bemi.io.columns import ColumnRules
    from bemi.io.tables import read_labelled, row_shape

    refuse(options, ABOUT_RECORDINGS, "is for signals; give --window too, or --inputs signal")
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

    from bemi.io.signals import read_training, training_rows

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


def _tell_units(classifier: Any, given: Given, notes: Notes) -> None:
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


def _asked_for(options: argparse.Namespace, given: Given) -> dict[str, Any]:
    """Parameters that the user chose."""
    asked = {name: getattr(options, name) for name in OPTIONS if getattr(options, name) is not None}
    asked = {name: None if value == "none" else value for name, value in asked.items()}
    if options.inputs is not None:
        asked["inputs"] = _named_inputs(options.inputs, given)
    if options.class_weight is not None:
        asked["class_weight"] = labels_weighed(options.class_weight, given.y)
    if options.copies is not None:
        asked |= _copies(given, asked) if options.copies else {"copies": None}
    return asked


def _named_inputs(name: str, given: Given) -> Any:
    """The transform of a short name, told the shape of images or the channels of a signal."""
    from bemi.inputs.transform import Takes

    named = registry.by_short_name(name)
    if given.channels is not None and named is not None and Takes.by(named) is Takes.WINDOWS:
        return named(given.channels)  # type: ignore[call-arg]
    return registry.make(name, given.shape)


def _copies(given: Given, asked: dict[str, Any]) -> dict[str, Any]:
    """Copies that suit the rows, and inputs that go with them."""
    import numpy as np

    from bemi.augment.images import ImageScenarios
    from bemi.augment.scenarios import NoiseScenarios, SignalScenarios
    from bemi.inputs.constant import ConstantInput
    from bemi.inputs.images import why_no_image

    if given.channels is not None:
        return {"copies": SignalScenarios()}
    is_image = given.shape is not None or registry.takes_images(asked.get("inputs"))
    if is_image or ("inputs" not in asked and why_no_image(np.asarray(given.X)) is None):
        return {"copies": ImageScenarios(shape=given.shape)}
    # Noisy rows are made of scaled numbers, which bits have not.
    return {"copies": NoiseScenarios()} | ({} if "inputs" in asked else {"inputs": ConstantInput()})


def labels_weighed(given: str | dict[str, float], y: Any) -> str | dict[Any, float]:
    """Class weights by label, each label in the type that the file gave it."""
    import numpy as np

    from bemi.io.cells import Known

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


def _train_shard(options: argparse.Namespace, classifier: Any, given: Given, notes: Notes) -> int:
    shard, shards = options.shard
    if options.run_dir is None:
        raise ValueError("--shard needs --run DIR, the folder that all parts share")
    trained = classifier.fit_shard(
        given.X, given.y, shard, shards, **({} if given.groups is None else {"groups": given.groups})
    )
    if not progress_wanted(options) and not is_quiet(options):
        notes.print()
    result = {"shard": [shard, shards], "trained": trained, "run": str(options.run_dir), "notes": notes.lines}
    show(options, result)
    if not options.json and not is_quiet(options):
        print(f"part {shard} of {shards}: {trained} networks trained into {options.run_dir}")
        print("when all parts are done, the same command without --shard writes the model")
    return 0


def _report(options: argparse.Namespace, classifier: Any, given: Given, notes: list[str]) -> None:
    from bemi.cli.tables import estimate, result_table
    from bemi.report.summary import evaluation, training_summary

    choice, ensemble = classifier.choice_, classifier.ensemble_
    summary = training_summary(ensemble)
    about = {"estimator": classifier.NAME, "networks": _in_words(ensemble)}
    about |= {} if choice is None else {"kind": choice.kind, "why": given.why or choice.why}
    summary |= {"settings": about, "notes": notes}
    summary |= {"reused_networks": classifier.reused_networks_}
    summary |= {"model": str(options.output), "training": evaluation(ensemble, given.X, given.y)}
    summary |= {"estimate": estimate(choice)}
    show(options, summary, result_table(summary))
    if options.json or is_quiet(options):
        return
    if choice is not None:
        print(f"{choice.kind}: {about['why']}")
    print(about["networks"])
    if summary["estimate"] is not None:
        print(f"chosen: {summary['estimate']['words']}")
    if classifier.reused_networks_:
        count = f"{classifier.reused_networks_} of {summary['networks']} networks"
        print(f"{count} were in {options.run_dir} and not trained again")
    print(f"model written to {options.output}")


def _in_words(ensemble: Ensemble) -> str:
    """What was trained, in one line."""
    trained = ensemble.training.settings
    seen = registry.describe(ensemble.inputs.transform)
    if trained["input_scaling"] == "per-feature":
        seen += ", each scaled to -127..127"
    sizes = ", ".join(map(str, trained["hidden_layers"]))
    hidden = f"hidden layers {sizes}" if sizes else "no hidden layer"
    bound = trained["weight_bound"]
    return f"{seen}; {hidden}, weights in -{bound}..{bound}, stages {', '.join(trained['stages'])}"
