"""Every so many of the recorded cases, decided: real placements to hold explanations against."""

import gzip
import json
from functools import cache

from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Decision
from tests.oracle.casefile import CORPORA, Case
from tests.oracle.situation import situation


@cache
def decided(every: int) -> list[tuple[Case, Decision]]:
    """Cases with our decision; the others are not even read."""
    sample = []
    for corpus in CORPORA:
        with gzip.open(corpus, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if number % every == 0:
                    case = json.loads(line)
                    asked = situation(case)
                    given = (asked.binding, asked.fleet, asked.setting, asked.surroundings)
                    sample.append((case, decide(*given)))
    return sample
