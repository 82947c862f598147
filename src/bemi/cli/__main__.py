import sys

from bemi.cli import main

sys.exit(main())
