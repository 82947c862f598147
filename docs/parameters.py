"""The table of parameters in options.md, made from their declarations in ``bemi.settings``.

``python docs/parameters.py`` writes it into the page.  A test compares.
"""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path

from bemi import BeMiClassifier, FewBitClassifier, ScorecardClassifier
from bemi.settings import AUTO, SETTINGS

PAGE = Path(__file__).parent / "options.md"
BEGIN, END = "<!-- made by docs/parameters.py -->\n\n", "\n<!-- end of what it makes -->\n"

ADVICE = {
    "weight_bound": "1 or 3 make a smaller model ([what they cost](../lab/reports/bits-and-links.md)).",
    "input_scaling": 'Use `"per-feature"` if integer columns have different units, `"common"` for pixels in 0..1.',
    "C": "Use a smaller value if labels are unreliable.",
    "mw_loss": "0.1 or 0.3 save more links ([measured](../lab/reports/bits-and-links.md)).",
    "probabilities": "[How they are fitted](probabilities.md).",
    "reject": "[What is rejected](unknown.md).",
    "subsets": "For too many classes to train all pairs ([what it costs](../lab/reports/copies-and-subsets.md)).",
    "max_per_class": "For more rows than time ([what medoids gain](../lab/reports/copies-and-subsets.md)).",
    "copies": "[What they gain](../lab/reports/copies-and-subsets.md).",
    "solver": "`bemi solvers` lists what is installed; [your own](adding-a-backend.md).",
    "time_limit": "Give more if reports show large gaps.",
    "node_limit": "Use it, with `time_limit=None`, if every run must give the same networks.",
    "n_jobs": "-1 uses all cores.",
    "run_dir": "[More](scaling.md).",
}
"""When to change a parameter, or where to read more."""


def table() -> str:
    """Every parameter: its default in each estimator, and what it means."""
    estimators = {"F": FewBitClassifier, "B": BeMiClassifier, "S": ScorecardClassifier}
    lines = ["| parameter, and its default | |", "|---|---|"]
    for name, setting in SETTINGS.items():
        defaults: dict[str, str] = {}  # the letters of the estimators that share one
        for letter, estimator in estimators.items():
            if name in (own := signature(estimator).parameters):
                default = repr(own[name].default)
                defaults[default] = f"{defaults.get(default, '')}{letter} "
        shown = " ".join(f"{letters}`{default}`" for default, letters in defaults.items())
        chosen = f' `"auto"` {markdown(setting.automatic)}.' if repr(AUTO) in defaults and setting.automatic else ""
        about = f"{markdown(setting.about)}{chosen} {ADVICE.get(name, '')}".strip()
        lines.append(f"| `{name}`<br>{shown} | {about} |")
    return "\n".join(lines) + "\n"


def markdown(text: str) -> str:
    """A description of a docstring as Markdown."""
    text = re.sub(r":class:`(bemi\.(\w+))`", r"[`\2`](api.md#\1)", text)
    text = re.sub(r":meth:`(\w+)`", r"`\1`", text)
    return text.replace("``", "`").replace("  ", " ")


def updated(page: str) -> str:
    """The page with its table made anew."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
