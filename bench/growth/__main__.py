"""python -m bench.growth: what one change costs, against how much there is that did not change.

Planes without members, in processes of their own, are filled with more and less of something; then
a little is changed in each, by turns. Read the slope: 0 means that a change costs the same however
much there is; 1, that it costs twice as much where there is twice as much. CPU is of everything in
the process: API server, mirrors, controllers.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from bench.growth.cases import SHAPES
from bench.growth.growing import Grown, grow
from bench.growth.slopes import middles, slope
from bench.scheduling import calibration

ROUNDS = 7


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    print(f"calibration: {calibration():.2f} million steps per CPU-second\n")
    for name in options.only:
        begun, shape = time.monotonic(), SHAPES[name]
        sizes = options.sizes or shape.sizes
        print("\n".join(_table(grow(name, sizes, options.rounds))), flush=True)
        print(f"bench: {name} took {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.growth", description=__doc__)
    parser.add_argument(
        *("--only",), type=_parts, default=list(SHAPES), metavar="WHAT;...", help="; ".join(SHAPES)
    )
    parser.add_argument(
        *("--sizes",),
        type=lambda text: tuple(int(each) for each in text.split(",")),
        metavar="N,...",
        help="how much of it there is",
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    return parser


def _parts(text: str) -> list[str]:
    found = [each.strip() for each in text.split(";")]
    for each in found:
        if each not in SHAPES:
            raise argparse.ArgumentTypeError(f"{each} is none of {'; '.join(SHAPES)}")
    return found


def _table(grown: Grown) -> list[str]:
    sizes = list(grown.filled)
    heads = "".join(f"{f'of {size:,}':>10}" for size in sizes)
    lines = [f"{f'{grown.shape}: ms of CPU for':42}{heads}{'slope':>7}{'95 %':>15}"]
    costs = "".join(f"{cost * 1e3:>10.2f}" for cost in grown.filled.values())
    lines.append(f"  {'all that is there, for each of it':40}{costs}")
    for change, rounds in grown.changes.items():
        costs = "".join(f"{cost * 1e3:>10.2f}" for cost in middles(rounds).values())
        found = slope(rounds)
        sure = f"{found.low:.2f} to {found.high:.2f}"
        lines.append(f"  {change:40}{costs}{found.exponent:>7.2f}{sure:>15}  {found.verdict}")
    return [*lines, ""]


if __name__ == "__main__":
    sys.exit(main())
