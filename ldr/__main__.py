"""``python -m ldr``: the command line."""

from ldr.cli.app import main

if __name__ == "__main__":
    main()
