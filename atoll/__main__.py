"""`python -m atoll`, and the `atoll` command itself."""

import sys


def main() -> None:
    """Carry out the command line; loading the code for it can be interrupted, too."""
    try:
        from atoll.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
