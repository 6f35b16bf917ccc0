"""python -m minilite: runs the command."""

import sys

from minilite.cli import main

if __name__ == "__main__":
    sys.exit(main())
