"""python -m bench: measure the API server, and kube-apiserver beside it where it is built."""

import argparse
import signal
import sys
from collections.abc import Sequence

import orjson

from bench.apiserver import GROUPS, measure
from bench.connection import Failed
from bench.report import as_json, as_table
from bench.sizes import FULL, QUICK
from testenv.build import Binaries, find
from testenv.errors import StartFailed, Unavailable


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    binaries = None if options.alone else _binaries()
    try:
        report = measure(QUICK if options.quick else FULL, options.only, binaries, _say)
    except (Failed, StartFailed) as failure:
        _say(str(failure))
        return 1
    except KeyboardInterrupt:
        return 130
    if options.output == "json":
        print(orjson.dumps(as_json(report), option=orjson.OPT_INDENT_2).decode())
    else:
        print(as_table(report))
        print("\nMedians of rounds; above 1 x Atoll is better. See docs/benchmarks.md.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute, and less exact")
    parser.add_argument(
        "--only", type=_groups, default=GROUPS, metavar="GROUP,...", help=", ".join(GROUPS)
    )
    parser.add_argument("--alone", action="store_true", help="measure Atoll only")
    parser.add_argument("-o", dest="output", choices=["table", "json"], default="table")
    return parser


def _groups(text: str) -> tuple[str, ...]:
    groups = tuple(text.split(","))
    for group in groups:
        if group not in GROUPS:
            raise argparse.ArgumentTypeError(f"{group} is none of {', '.join(GROUPS)}")
    return groups


def _binaries() -> Binaries | None:
    try:
        return find()
    except Unavailable as missing:
        _say(f"measuring Atoll only: {missing}")
        return None


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
