"""python -m bench.growth: what one change costs, against how much there is that did not change.

Planes without members, in processes of their own, are filled with more and less of something; then
a little is changed in each, by turns. Read the slope: 0 means that a change costs the same however
much there is; 1, that it costs twice as much where there is twice as much. The ratios are between
planes of one size, where Deployments share a namespace and a policy and where they do not. CPU is
of everything in the process: API server, mirrors, controllers.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence

from bench.growth.cases import ALIKE, COMPARED, COMPARED_OF, SHAPES
from bench.growth.growing import Grown, compare, grow
from bench.growth.slopes import Round, middles, ratio, slope
from bench.scheduling import calibration

ROUNDS = 7
RATIOS = "ratios"
ALL = (*SHAPES, RATIOS)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    print(f"calibration: {calibration():.2f} million steps per CPU-second\n")
    for name in options.only:
        begun = time.monotonic()
        if name == RATIOS:
            size = max(options.sizes or (COMPARED_OF,))
            lines = _ratios(size, compare(size, options.rounds))
        else:
            sizes = options.sizes or SHAPES[name].sizes
            lines = _table(grow(name, sizes, options.rounds))
        print("\n".join(lines), flush=True)
        print(f"bench: {name} took {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.growth", description=__doc__)
    parser.add_argument(
        *("--only",), type=_parts, default=list(ALL), metavar="WHAT;...", help="; ".join(ALL)
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
        if each not in ALL:
            raise argparse.ArgumentTypeError(f"{each} is none of {'; '.join(ALL)}")
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


def _ratios(size: int, found: Mapping[str, Sequence[Round[str]]]) -> list[str]:
    lines = [f"{f'{size:,} Deployments that have':54}{'ms':>10}{'times':>7}{'95 %':>15}"]
    for shape, told in COMPARED.items():
        lines.append(f"  {told}")
        for change, rounds in found.items():
            cost, times = middles(rounds)[shape] * 1e3, ratio(rounds, shape, ALIKE)
            sure = f"{times.low:.2f} to {times.high:.2f}"
            lines.append(f"    {change:50}{cost:>10.2f}{times.times:>7.2f}{sure:>15}")
    return [*lines, ""]


if __name__ == "__main__":
    sys.exit(main())
