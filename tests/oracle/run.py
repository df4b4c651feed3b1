"""Decide the cases of a file and compare: `python -m tests.oracle.run CASES.jsonl`.

Cases with Karmada's answers come in; those we answer otherwise go to standard output with what
differs, then the line `N passed, M failed`. The exit status is 1 if any failed.
"""

import sys
from pathlib import Path

from tests.oracle.casefile import Case, read_cases
from tests.oracle.compare import differences
from tests.oracle.predict import Undecided, command, predict

SHOWN = 20


def failings(case: Case) -> list[str]:
    """What is wrong with our answer to a case; empty if it is one of Karmada's."""
    try:
        return differences(case["expected"], predict(case))
    except Undecided as reason:
        return [str(reason)]


def run_file(path: Path) -> int:
    passed = failed = 0
    for case in read_cases(path, "expected"):
        wrong = failings(case)
        if not wrong:
            passed += 1
            continue
        failed += 1
        if failed <= SHOWN:
            sys.stdout.write(f"{case['id']} [{' '.join(case.get('tags', ()))}]\n")
            sys.stdout.writelines(f"    {each}\n" for each in wrong)
    if failed > SHOWN:
        sys.stdout.write(f"... and {failed - SHOWN} more\n")
    sys.stdout.write(f"{passed} passed, {failed} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(command(run_file, "Compare our decisions with Karmada's."))
