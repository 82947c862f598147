"""Tries mutants of certificates, in a process of its own with little memory:

    python tests/certificate/certificate_fuzz.py COUNT [FIRST]

Mutants are numbered, from FIRST on (0 unless given).  Each must be refused in one line or accepted; what is accepted is
given to the second checker, which must accept it and find the same objectives and bounds.  Prints a summary as JSON;
the first mutant that misbehaves ends the run with a traceback that names its number.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import both_checkers
import second_checker
from certificate_mutants import Mutator, genuine

from bemi.certificate import CertificateError, Work, verification

ROOM = 1 << 30
BUDGET = 30
"""Millions of steps; the genuine certificates take less than one."""


def tried(header: Any, weights: bytes, claims: Any) -> str:
    """What the checker says of a mutant, after the second one has agreed."""
    result = verification.Verification(digest=claims.get("model"))
    both_checkers._inside.append([])
    try:
        both_checkers._steady(lambda: verification._check(header, weights, claims, result, Work(BUDGET)))
    except CertificateError as error:
        said = str(error)
        assert said.isprintable(), said
        return "over a limit" if both_checkers._LIMIT.search(said) else "refused"
    finally:
        stages = both_checkers._inside.pop()
    try:
        found = second_checker.whole_file(header, weights, claims.get("model"), claims)
    except second_checker.TooLarge:
        return "accepted, too large for the second checker"
    again = [(value, shown) for network in found for _, value, _, _, shown in network if value is not None]
    assert again == stages, (again, stages)
    return "accepted by both"


def peak_mb() -> int:
    """Most memory of this program so far.  ``ru_maxrss`` would include that of the process which started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) >> 10


def run(count: int, first: int) -> dict[str, Any]:
    for name in ("_confident", "_margins", "_soft", "_links"):
        recorded = both_checkers._stage(getattr(verification._Network, name))
        setattr(verification._Network, name, recorded)
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    mutator, outcomes = Mutator(genuine()), Counter[str]()
    slowest, began = 0.0, time.process_time()
    for number in range(first, first + count):
        title, (header, weights, claims) = mutator.mutant(number)
        start = time.process_time()
        try:
            outcomes[tried(header, weights, claims)] += 1
        except BaseException:
            print(f"mutant {number} of {title!r}", file=sys.stderr)
            raise
        slowest = max(slowest, time.process_time() - start)
    return {
        **{"mutants": count, "outcomes": outcomes, "cpu_seconds": round(time.process_time() - began, 1)},
        **{"slowest": round(slowest, 3), "peak_mb": peak_mb()},
    }


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0), indent=1))
