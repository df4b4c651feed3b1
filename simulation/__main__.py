"""python -m simulation --seed N: run one seed, print what happened, and end with its trace.

The last line is all that is needed to compare two runs: equal seeds give equal lines.
"""

import argparse
from functools import partial

from simulation.electing import electing
from simulation.exercise import exercise
from simulation.losing import losing
from simulation.pipeline import pipeline
from simulation.serving import api_under_clients
from simulation.storing import store_under_faults
from simulation.succeeding import succeeding
from simulation.world import simulate

SCENARIOS = {
    "api": api_under_clients,
    "store": store_under_faults,
    "pipeline": pipeline,
    "losing": losing,
    "exercise": exercise,
    "electing": electing,
    "succeeding": succeeding,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("scenario", nargs="?", choices=SCENARIOS, default="api")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--virtual-s", type=float, help="virtual seconds to run")
    parser.add_argument("--quiet", action="store_true", help="print the last line only")
    parser.add_argument("--steps", action="store_true", help="print every step of the loop as well")
    chosen = parser.parse_args()
    scenario = SCENARIOS[chosen.scenario]
    length = {} if chosen.virtual_s is None else {"virtual_s": chosen.virtual_s}
    result = simulate(
        partial(scenario, **length),
        chosen.seed,
        write=None if chosen.quiet else print,
        each_step=chosen.steps,
    )
    ran = f"STEPS={result.steps} VIRTUAL={result.virtual_s:g}s"
    print(f"SEED={chosen.seed} TRACE={result.trace} {ran}")


if __name__ == "__main__":
    main()
