"""A fitted ensemble as HTML for notebooks: what was trained, what is proved, and which network is for which classes."""

from __future__ import annotations

import math
from html import escape

from bemi.checks import counted
from bemi.ensemble.ensemble import Ensemble
from bemi.files import printable
from bemi.report.estimates import expected_accuracy
from bemi.report.summary import rows_inside, shown_stage, training_summary

MOST_CLASSES = 20
"""A grid of more classes is too wide for a notebook."""

MOST_NETWORKS = 45
"""Networks that a list has; the rest is only counted."""

_STYLE = """
.bemi { font-size: 0.9em; max-width: 60em; }
.bemi table { border-collapse: separate; border-spacing: 2px; margin: 0.4em 0; }
.bemi th, .bemi td { text-align: right; padding: 0.1em 0.5em; font-variant-numeric: tabular-nums; }
.bemi th:first-child { text-align: left; }
.bemi .grid td, .bemi .grid th:not(:first-child) { min-width: 2.6em; text-align: center; border-radius: 0.2em; }
.bemi details { margin: 0.3em 0; }
"""


def fitted_html(ensemble: Ensemble) -> str:
    """The ensemble in a few lines, with details to unfold."""
    summary = training_summary(ensemble)
    layers, bound = ", ".join(map(str, summary["layers"])), summary["weight_bound"]
    head = f"{counted(summary['networks'], 'network')} [{layers}], weights &minus;{bound}..{bound}"
    links = f"{summary['mean_links']:.1f} of {summary['total_links']} links per network"
    votes = f"the networks vote; ties: {ensemble.ties.name}, {ensemble.ties.words}"
    known = [expected_accuracy(ensemble.training.expected), rows_inside(ensemble)]
    told = "".join(f"<p>{escape(line[0].upper() + line[1:])}.</p>" for line in known if line)
    parts = [f"<p><b>{head}</b>; {links}; {votes}.</p>", told, _stages(summary)]
    pairs = all(len(key) == 2 for key in ensemble.keys)
    small = len(ensemble.classes) <= MOST_CLASSES
    parts.append(_grid(ensemble) if pairs and small and len(ensemble.networks) > 1 else _list(ensemble))
    return f'<style>{_STYLE}</style><div class="bemi">{"".join(parts)}</div>'


def _stages(summary: dict) -> str:
    """Gaps and links after each stage."""
    rows = [
        f"<tr><th>{name}</th><td>{numbers['ran']}</td><td>{numbers['optimal']}</td><td>{_percent(numbers['mean_gap'])}</td>"
        f"<td>{_percent(numbers['max_gap'])}</td><td>{numbers['mean_links']:.1f}</td></tr>"
        for name, numbers in summary["stages"].items()
    ]
    heads = "".join(f"<th>{text}</th>" for text in ("stage", "ran", "proved optimal", "mean gap", "max gap", "links"))
    return f"<table><tr>{heads}</tr>{''.join(rows)}</table>"


def _grid(ensemble: Ensemble) -> str:
    """Which network tells two classes apart, with its gap: darker squares are further from their bound."""
    labels = [_text(label) for label in ensemble.classes.tolist()]
    gaps = {tuple(key): _gap(ensemble, n) for n, key in enumerate(ensemble.keys)}
    largest = max((gap for gap in gaps.values() if math.isfinite(gap)), default=0.0)
    heads = "".join(f"<th>{label}</th>" for label in labels[1:])
    rows = []
    for i, one in enumerate(ensemble.classes.tolist()[:-1]):
        cells = "".join(
            "<td></td>" if j <= i else _cell(gaps.get((one, other), math.inf), largest, f"{labels[i]} / {labels[j]}")
            for j, other in enumerate(ensemble.classes.tolist())
            if j > 0
        )
        rows.append(f"<tr><th>{labels[i]}</th>{cells}</tr>")
    what = f"Gap of each network after stage {shown_stage(ensemble)}: its distance to the bound, in %"
    return (
        f"<details open><summary>{what}</summary>"
        f'<table class="grid"><tr><th></th>{heads}</tr>{"".join(rows)}</table></details>'
    )


def _cell(gap: float, largest: float, title: str) -> str:
    if not math.isfinite(gap):
        return f'<td title="{title}">&ndash;</td>'
    share = 0.1 + 0.6 * gap / largest if gap > 0 else 0.0
    return f'<td title="{title}" style="background: rgba(213, 94, 0, {share:.2f})">{100 * gap:.1f}</td>'


def _list(ensemble: Ensemble) -> str:
    rows = "".join(
        f"<tr><th>{_text(' / '.join(map(str, key)))}</th><td>{network.links}</td>"
        f"<td>{_percent(_gap(ensemble, n))}</td></tr>"
        for n, (key, network) in enumerate(zip(ensemble.keys[:MOST_NETWORKS], ensemble.networks, strict=False))
    )
    left = len(ensemble.networks) - MOST_NETWORKS
    more = f"<p>and {left} more</p>" if left > 0 else ""
    heads = f"<tr><th>network</th><th>links</th><th>gap of {shown_stage(ensemble)}</th></tr>"
    return f"<details><summary>Networks</summary><table>{heads}{rows}</table>{more}</details>"


def _gap(ensemble: Ensemble, network: int) -> float:
    return ensemble.reports[network][shown_stage(ensemble)].gap


def _percent(share: float | None) -> str:
    return "&ndash;" if share is None or not math.isfinite(share) else f"{100 * share:.1f} %"


def _text(value: object) -> str:
    return escape(printable(str(value), longest=40))
