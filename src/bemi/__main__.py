"""``python -m bemi`` is the command ``bemi``, also where the folder of scripts is not on the path."""

import sys

from bemi.cli import main

if __name__ == "__main__":
    sys.exit(main())
