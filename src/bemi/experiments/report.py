"""Make a report page from run folders: only reads results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bemi.experiments import figures, kinds


def write(folders: Sequence[Path], page: Path) -> list[Path]:
    """Write a Markdown page on runs, and next to it a folder of the same name with a CSV per table and all figures.

    A run's own ``notes.md``, if there is one, is included unchanged.  Returns the files written.
    """
    sections = {folder: kinds.of_run(folder).section(folder) for folder in folders}
    beside = page.with_suffix("")
    beside.mkdir(parents=True, exist_ok=True)
    written = [page]
    text = ["# Results", _introduction(any(section.quotes_paper for section in sections.values()))]
    for folder, section in sections.items():
        stem = folder.name
        text.append(f"## {section.title}\n\n{section.conditions}")
        notes = folder / "notes.md"
        if notes.exists():
            text.append(notes.read_text(encoding="utf-8").strip())
        for name, table in section.tables.items():
            path = beside / f"{stem}-{name}.csv"
            path.write_text(table.csv(), encoding="utf-8")
            written.append(path)
            text.append(f"{table.markdown()}\n([as CSV]({beside.name}/{path.name}))")
        for name, draw in section.figures.items() if figures.available() else ():
            figure = draw()
            if figure is not None:
                path = beside / f"{stem}-{name}.svg"
                figures.save(figure, path)
                written.append(path)
                text.append(f"![{section.title}: {name}]({beside.name}/{path.name})")
    page.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return written


def _introduction(quotes_paper: bool) -> str:
    made = "Made by `bemi report` from the runs named below, which `bemi reproduce` made."
    paper = (
        " *The paper* is Bernardelli, Gualandi, Milanesi, Lau, Yorke-Smith, *Multi-Objective Linear Ensembles for "
        "Robust and Sparse Training of Few-Bit Neural Networks*; its numbers are copied from the figures and tables "
        "that each section names."
    )
    return made + paper if quotes_paper else made
