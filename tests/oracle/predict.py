"""Decide the cases of a file: `python -m tests.oracle.predict INPUTS.jsonl`.

Lines of `{id, gates?, input}` come in; whatever else a line has is not looked at. One line
`{id, ok, clusters, reason, error, retry, affinity, bound}` per case goes to standard output, in
the order and the meaning of the recorded outcomes: `error` is null on success, and `bound` is
null where the binding holds `clusters` afterwards.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from atoll.errors import Invalid
from atoll.model.binding import Target
from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Decision
from tests.oracle.casefile import Case, Unreadable, read_cases
from tests.oracle.situation import situation

# What bad input must never cause: reported with its case, so that the other cases are decided.
MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


class Undecided(Exception):
    """No prediction for a case; the text says why."""


def predict(case: Case) -> dict[str, Any]:
    """The outcome of one case. Raises Undecided if its input is bad, or if we are."""
    try:
        asked = situation(case)
        decision = decide(asked.binding, asked.fleet, asked.setting, asked.surroundings)
    except Invalid as bad:
        raise Undecided(f"case {case['id']}: {bad}") from bad
    except MISTAKES as mistake:
        raise Undecided(f"case {case['id']}: {type(mistake).__name__}: {mistake}") from mistake
    return {"id": case["id"], **outcome(decision)}


def outcome(decision: Decision) -> dict[str, Any]:
    return {
        "ok": decision.ok,
        "clusters": _targets(decision.targets),
        "reason": str(decision.verdict),
        "error": decision.message or None,
        "retry": decision.retry,
        "affinity": decision.term,
        "bound": None if decision.bound == decision.targets else _targets(decision.bound),
    }


def _targets(targets: tuple[Target, ...]) -> list[dict[str, Any]]:
    return [{"name": each.name, "replicas": each.replicas} for each in targets]


def predict_file(path: Path) -> int:
    """Write the prediction of every case; 1 if some have none."""
    status = 0
    for case in read_cases(path):
        try:
            line = json.dumps(predict(case), separators=(",", ":"))
        except Undecided as reason:
            sys.stderr.write(f"{reason}\n")
            status = 1
        else:
            sys.stdout.write(f"{line}\n")
    return status


def command(work: Callable[[Path], int], description: str) -> int:
    """Run a command that takes one file of cases; its exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("cases", type=Path, help="one JSON object per line; may end in .gz")
    try:
        return work(parser.parse_args().cases)
    except Unreadable as reason:
        sys.stderr.write(f"{reason}\n")
        return 2


if __name__ == "__main__":
    sys.exit(command(predict_file, "Decide the cases of a file, one line of JSON each."))
