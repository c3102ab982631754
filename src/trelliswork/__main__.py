"""``python -m trelliswork`` is the program ``trelliswork``."""

import sys

from trelliswork.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
