"""``python -m bemi.certificate model.bemi``: check a model with nothing but Python and this package's folder."""

from __future__ import annotations

import argparse
import sys

from bemi.certificate.limits import DEFAULT_BUDGET, CertificateError
from bemi.certificate.verification import verify
from bemi.files import printable


def main() -> int:
    """Print what is proved; the exit code is 1 if the certificate is refused, 2 if a file cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m bemi.certificate", description="Check a model's certificate.")
    parser.add_argument("model")
    parser.add_argument("certificate", nargs="?", help="by default the model's name with .cert added")
    parser.add_argument("--digest", help="the SHA-256 that the model file must have")
    parser.add_argument(
        "--budget", type=float, default=DEFAULT_BUDGET, help="millions of steps, by default %(default)s"
    )
    options = parser.parse_args()
    try:
        checked = verify(options.model, options.certificate, digest=options.digest, budget=options.budget)
    except CertificateError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(printable(f"{error.filename}: {error.strerror}"), file=sys.stderr)
        return 2
    if checked.nothing_ran:
        print("nothing is proved: no stage of any network ran", file=sys.stderr)
        return 1
    print(f"{checked.networks} networks verified in {checked.seconds:.1f} s; SHA-256 {checked.digest}")
    for stage, (fewest, most) in checked.rows.items():
        print(
            f"{stage}: {checked.certified[stage]} bounds certified, {checked.computed[stage]} computed, "
            f"{checked.claimed[stage]} solver-reported, {checked.not_run[stage]} could not run; "
            f"{fewest} to {most} rows a network"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
