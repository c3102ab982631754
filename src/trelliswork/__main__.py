"""``python -m trelliswork`` is the program ``trelliswork``."""

from __future__ import annotations

import sys

__all__ = ["program"]


def program() -> int:
    """Run the command that the shell gives and return its exit code; an interrupt while loading is no traceback."""
    try:
        from trelliswork.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(program())
