"""``python -m ldr``: the command line."""

import sys

from ldr.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
