"""``python -m ldr``: the command line."""

import sys

from ldr.solvers.errors import ArgumentError, needed


def main() -> None:
    """Run the command line; if a package is missing, print its name."""
    try:
        for package in ("typer", "rich"):
            needed(package, "the command line")
    except ArgumentError as error:
        sys.exit(f"Error: {error}")
    from ldr.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
