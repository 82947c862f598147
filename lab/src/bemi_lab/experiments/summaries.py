"""Summary pages of the recorded runs: templates in ``pages/``, whose numbers come from the runs' tables.

A template says in a few sentences what was found.  It calls the methods of :class:`Summaries`; everything behind a
summary, the full tables as CSV and the conditions of its runs, is added by ``details`` and ``benchmarks``.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import DictLoader, Environment, StrictUndefined

from bemi.files import write_atomically
from bemi_lab.experiments import figures, same_images
from bemi_lab.experiments.report import Section, section
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.store import PACKED
from bemi_lab.experiments.table import Table, in_text, markdown

ACROSS = {"same-images": same_images.beside_the_paper, "own-systems": same_images.own_systems}
"""Tables about all of the paper's experiments together."""


def write(results: Path, reports: Path) -> list[Path]:
    """Write a page per template, and beside the pages ``tables/`` and ``figures/``; returns the files written."""
    made = Summaries(results)
    contents = {f"{name}.md": text.encode() for name, text in made.pages().items()}
    contents |= made.tables | made.figures
    for folder in ("tables", "figures"):
        (reports / folder).mkdir(parents=True, exist_ok=True)
    write_atomically({reports / name: content for name, content in contents.items()})
    return [reports / name for name in contents]


class Summaries:
    """All pages on a folder of packed runs; what they link to collects in ``tables`` and ``figures``."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.tables: dict[str, bytes] = {}
        self.figures: dict[str, bytes] = {}
        self.section = cache(self._section)

    def pages(self) -> dict[str, str]:
        """The pages by name."""
        folder = files("bemi_lab.experiments") / "pages"
        sources = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        return {name.removesuffix(".md"): text for name, text in self.rendered(sources).items()}

    def rendered(self, sources: Mapping[str, str]) -> dict[str, str]:
        """Templates with the numbers of the runs in their places."""
        environment = Environment(loader=DictLoader(dict(sources)), undefined=StrictUndefined, trim_blocks=True)
        environment.filters |= {f"d{digits}": _rounded(digits) for digits in range(4)}
        offered = (self.has, self.value, self.values, self.table, self.link, self.figure, self.recorded, self.shown)
        environment.globals |= {method.__name__: method for method in (*offered, self.details, self.benchmarks)}
        return {name: f"{environment.get_template(name).render().strip()}\n" for name in sources}

    def has(self, run: str) -> bool:
        """Whether a run is recorded."""
        return (self.results / f"{run}{PACKED}").exists()

    def _section(self, run: str) -> Section:
        return section(self.results / f"{run}{PACKED}")

    def _table(self, run: str, name: str) -> Table:
        if run in ACROSS:
            return ACROSS[run]([self.section(path.name.removesuffix(PACKED)).run for path in self._paper_runs()])
        return self.section(run).tables[name]

    def _paper_runs(self) -> list[Path]:
        return sorted(self.results.glob(f"exp*{PACKED}"), key=lambda path: path.name.removesuffix(PACKED))

    def frame(self, run: str, name: str = "") -> pd.DataFrame:
        """A table of a run with one column per number."""
        return pd.read_csv(io.StringIO(self._table(run, name).csv()))

    def values(self, run: str, name: str, column: str, **where: Any) -> pd.Series:
        """A column of a run's table, in the rows that have these values."""
        frame = self.frame(run, name)
        return frame.loc[_chosen(frame, where), column]

    def value(self, run: str, name: str, column: str, **where: Any) -> Any:
        """A single value of a run's table."""
        (found,) = self.values(run, name, column, **where)
        return found

    def table(
        self,
        run: str,
        name: str = "",
        columns: Sequence[str] = (),
        titles: Mapping[str, str] | None = None,
        digits: int = 1,
        **where: Any,
    ) -> str:
        """Columns and rows of a run's table as Markdown, and a link to all of it."""
        made = self._table(run, name)
        kept = [i for i, heading in enumerate(made.headings) if not columns or heading in columns]
        rows = [
            [in_text(row[i], digits) for i in kept]
            for row in made.rows
            if all(row[made.headings.index(key.replace("_", " "))] in _listed(value) for key, value in where.items())
        ]
        headings = [(titles or {}).get(made.headings[i], made.headings[i]) for i in kept]
        return f"{markdown(headings, rows)}\n\n([full table]({self._csv(run, name)}))"

    def link(self, run: str, name: str, text: str) -> str:
        """A link to a table of a run."""
        return f"[{text}]({self._csv(run, name)})"

    def figure(self, run: str, name: str, alt: str) -> str:
        """A figure of a run as an image; ``alt`` says what there is to see."""
        path = f"figures/{run}-{name}.svg"
        self.figures[path] = figures.as_svg(self.section(run).figures[name]())
        return f"![{alt}]({path})"

    def recorded(self, benchmark: str) -> pd.DataFrame:
        """The recorded table of a benchmark."""
        path = f"tables/{benchmark}.csv"
        self.tables[path] = (self.results / "benchmarks" / f"{benchmark}.csv").read_bytes()
        return pd.read_csv(io.BytesIO(self.tables[path])).convert_dtypes()

    def shown(self, frame: pd.DataFrame, digits: int = 2) -> str:
        """A table as Markdown."""
        rows = [[in_text(value, digits) for value in row] for row in frame.astype(object).itertuples(index=False)]
        return markdown(list(frame.columns), rows)

    def details(self, *runs: str) -> str:
        """How these runs were made, and links to all of their tables."""
        lines = [_conditions(self.section(run)) for run in runs]
        headings = ["command", "samples", "bemi", "solver", "date"]
        links = [self.link(run, name, f"{run}: {name}") for run in runs for name in self.section(run).tables]
        repeated = f"## How to repeat it\n\n{markdown(headings, lines)}"
        return f"{repeated}\n\nAll tables: {', '.join(links)}."

    def benchmarks(self, **commands: str) -> str:
        """The commands of benchmarks, by the name of their recorded table, with its date."""
        names = {name: name.replace("_", "-") for name in commands}
        rows = [
            [f"[{names[name]}](tables/{names[name]}.csv)", text.split("; ")[0], text.split("; ")[1]]
            for name, text in commands.items()
        ]
        for name in names.values():
            self.recorded(name)
        return f"## How to repeat it\n\n{markdown(['table', 'command', 'bemi, date'], rows)}"

    def _csv(self, run: str, name: str) -> str:
        path = f"tables/{run}-{name}.csv" if name else f"tables/{run}.csv"
        self.tables[path] = self._table(run, name).csv().encode()
        return path


def _rounded(digits: int) -> Any:
    """A filter: a number, or several between slashes."""

    def text(value: Any) -> str:
        numbers = [value] if pd.api.types.is_scalar(value) else list(value)
        return " / ".join(f"{number:,.{digits}f}" for number in numbers)

    return text


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _chosen(frame: pd.DataFrame, where: Mapping[str, Any]) -> pd.Series:
    chosen = pd.Series(data=True, index=frame.index)
    for key, value in where.items():
        chosen &= frame[key.replace("_", " ")].isin(_listed(value))
    return chosen


def _conditions(made: Section) -> list[str]:
    """Command, samples, versions and date of a run."""
    run = made.run
    settings, last = run.settings, run.visits[-1]
    experiment = run.experiment
    command = f"bemi-lab reproduce {experiment.name}"
    if experiment.paper.sizes is not None and not run.on_paper_images:
        command += " --images random"
    for option in ("engine", "time_limit", "seed"):
        usual = (option == "time_limit" and experiment.time_limit) or getattr(Settings, option)
        if settings[option] != usual:
            command += f" --{option.replace('_', '-')} {settings[option]:{'' if option == 'engine' else 'g'}}"
    samples = run.samples if run.cells else 1 + max(record["sample"] for record in run.systems)
    usual_samples = experiment.samples if run.cells else max(grid.samples for grid in experiment.grids)
    if samples != usual_samples:
        command += f" --samples {samples}"
    return [f"`{command}`", str(samples), last["bemi"], last["solver"], last["started"][:10]]
