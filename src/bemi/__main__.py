"""``python -m bemi``: the command line."""

import sys

from bemi.cli import main

if __name__ == "__main__":
    sys.exit(main())
