"""`python -m atoll`, and the `atoll` command itself."""

import sys

from atoll.cli.app import run


def main() -> None:
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
