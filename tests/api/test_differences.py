"""The list of differences names tests that exist, and says why."""

import re
from pathlib import Path

from differences import DIFFERENCES


def test_every_difference_belongs_to_a_test_and_has_a_reason() -> None:
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    tests = set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
    assert {name.partition("[")[0] for name in DIFFERENCES} <= tests
    assert all(DIFFERENCES.values())
