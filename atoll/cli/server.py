"""The program of a server's process; loading the code for it can be interrupted, too."""

import sys
from functools import partial


def main(written: str) -> int:
    """Carry out an order, and give the code to end with."""
    try:
        from atoll.cli.failing import exit_code
        from atoll.cli.serving import read_order, serve

        return exit_code(partial(serve, read_order(written)))
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
