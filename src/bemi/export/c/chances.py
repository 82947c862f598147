"""Chances of the classes in C: ``bemi_predict_proba``, with a table of bytes for every network."""

from __future__ import annotations

from itertools import accumulate
from string import Template

from bemi.ensemble.probabilities import Probabilities
from bemi.export.c.costs import CODE
from bemi.export.c.text import runtime
from bemi.inputs.c_types import read_macro, smallest_type
from bemi.inputs.export_hooks import CCode, CTable

HEAD = "int bemi_predict_proba(const bemi_input_t x[BEMI_INPUTS], uint16_t p[BEMI_CLASSES])"


def pair_code(probabilities: Probabilities, *, prepare: str, score: str, head: str = HEAD) -> CCode:
    """Chances of two classes.

    Parameters
    ----------
    probabilities
        Those of the ensemble.
    prepare, score
        C that makes what the score is computed from, and the score.
    head
        Declaration of the function.
    """
    (table,) = probabilities.tables
    macros = {
        "BEMI_CHANCES": len(table.entries),
        "BEMI_CHANCES_FROM": f"({table.start}L)",
        "BEMI_CHANCES_SHIFT": table.shift,
    }
    source = Template(runtime("chances_pair.c")).substitute(head=head, prepare=prepare, score=score)
    return CCode(source, macros, (CTable("bemi_chances", "uint8_t", table.entries),), CODE["chances_pair.c"])


def coupled_code(probabilities: Probabilities, *, prepare: str, head: str = HEAD) -> CCode:
    """Chances of more than two classes, from those of all pairs; ``prepare`` makes the state of a prediction."""
    tables = probabilities.tables
    starts = [table.start for table in tables]
    places = [*accumulate((len(table.entries) for table in tables), initial=0)]
    kinds = {
        "START": smallest_type(min(starts), max(starts)),
        "CHANCES": smallest_type(0, places[-1], ("uint16_t", "uint32_t")),
    }
    macros = read_macro("START", kinds["START"]) | read_macro("CHANCES", kinds["CHANCES"])
    return CCode(
        Template(runtime("chances.c")).substitute(head=head, prepare=prepare),
        macros,
        (
            CTable("bemi_chances_from", kinds["START"], starts),
            CTable("bemi_chances_shift", "uint8_t", [table.shift for table in tables]),
            CTable("bemi_chances_at", kinds["CHANCES"], places),
            CTable("bemi_chances", "uint8_t", [chance for table in tables for chance in table.entries]),
        ),
        CODE["chances.c"],
    )
