"""``python -m bemi_lab.cli`` is ``bemi-lab``."""

import sys

from bemi_lab.cli import main

sys.exit(main())
