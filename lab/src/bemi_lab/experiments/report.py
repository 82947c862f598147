"""Make a report page from run folders: only reads results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bemi_lab.experiments import experiment_types, figures, same_images
from bemi_lab.experiments.tables import Table


def write(folders: Sequence[Path], page: Path, title: str = "Results") -> list[Path]:
    """Write a Markdown page on runs, and next to it a folder of the same name with a CSV per table and all figures.

    Comparisons with the paper on the same images come first, then the runs, then comparisons of our own systems.  A
    run's own ``notes.md``, if there is one, is included unchanged.  Returns the files written.
    """
    sections = {folder: experiment_types.of_run(folder).section(folder) for folder in folders}
    beside = page.with_suffix("")
    beside.mkdir(parents=True, exist_ok=True)
    written = [page]
    text = [f"# {title}", _introduction(any(section.quotes_paper for section in sections.values()))]
    runs = [section.run for section in sections.values() if section.run is not None]
    text += _across(same_images.beside_the_paper(runs), "On the paper's images and on random ones", beside, written)
    for folder, section in sections.items():
        text.append(f"## {section.title}\n\n{section.conditions}")
        notes = folder / "notes.md"
        if notes.exists():
            text.append(notes.read_text(encoding="utf-8").strip())
        for name, table in section.tables.items():
            text.append(_shown(table, beside / f"{folder.name}-{name}.csv", written))
        for name, draw in section.figures.items() if figures.available() else ():
            path = beside / f"{folder.name}-{name}.svg"
            figure = draw()
            if figure is not None:
                figures.save(figure, path)
                written.append(path)
            # Without its network files a run cannot be drawn again; what was drawn from them before still holds.
            if path.exists():
                text.append(f"![{section.title}: {name}]({beside.name}/{path.name})")
    text += _across(same_images.own_systems(runs), "Our own systems on the same images", beside, written)
    page.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return written


def _across(table: Table, title: str, beside: Path, written: list[Path]) -> list[str]:
    """A section with a table about several runs; none if it is empty."""
    return [f"## {title}\n\n{_shown(table, beside / f'{table.name}.csv', written)}"] if table.rows else []


def _shown(table: Table, path: Path, written: list[Path]) -> str:
    """A table as Markdown, also written as CSV."""
    path.write_text(table.csv(), encoding="utf-8")
    written.append(path)
    return f"{table.markdown()}\n([as CSV]({path.parent.name}/{path.name}))"


def _introduction(quotes_paper: bool) -> str:
    made = "Made by `bemi-lab report` from the runs named below, which `bemi-lab reproduce` made."
    paper = (
        " *The paper* is Bernardelli, Gualandi, Milanesi, Lau, Yorke-Smith, *Multi-Objective Linear Ensembles for "
        "Robust and Sparse Training of Few-Bit Neural Networks*; its numbers are copied from the figures and tables "
        "that each section names."
    )
    return made + paper if quotes_paper else made
