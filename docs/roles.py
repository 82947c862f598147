"""Docstrings as the API pages read them: Markdown, without the roles and markers of reStructuredText."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Roles(griffe.Extension):
    """Turns roles into plain code, and the marker of a literal block into nothing: its lines are indented anyway."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = re.sub(r":(?:class|func|meth|data|mod):`~?([^`]+)`", r"`\1`", obj.docstring.value)
            obj.docstring.value = re.sub(r"^ *::\n", "", text, flags=re.MULTILINE).replace("::\n\n", ":\n\n")
