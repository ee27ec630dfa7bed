"""`python -m labenv` is the command line."""

import sys

from labenv.cli import main

if __name__ == "__main__":
    sys.exit(main())
