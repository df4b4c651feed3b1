"""Is a predicted outcome one of those Karmada gave?

The recorded expectation of a case and a prediction come in, the differences go out as text.
What is chance in Karmada is free: the places of the clusters in `orderFree`, and which of
`possibleErrors` is reported. Everything else must be equal, including the order of the list.
"""

from collections.abc import Iterator
from typing import Any

Expected = dict[str, Any]
Outcome = dict[str, Any]
Targets = list[tuple[str, int]]


def differences(expected: Expected, got: Outcome) -> list[str]:
    """What sets the prediction apart from the first acceptable outcome; empty if one is met."""
    found = [list(_apart(each, expected, got)) for each in _acceptable(expected)]
    return [] if [] in found else found[0]


def _acceptable(expected: Expected) -> Iterator[Outcome]:
    yield from expected["outcomes"]
    if "stableSortOutcome" in expected:
        yield expected["outcomes"][0] | {"clusters": expected["stableSortOutcome"]}


def _apart(outcome: Outcome, expected: Expected, got: Outcome) -> Iterator[str]:
    wanted, given = targets(outcome["clusters"]), targets(got["clusters"])
    if sorted(wanted) != sorted(given):
        yield f"clusters: expected {written(wanted)}, got {written(given)}"
    elif _fixed(wanted, expected) != _fixed(given, expected):
        yield f"order: expected {written(wanted)}, got {written(given)}"
    for key, absent in (("ok", False), ("reason", ""), ("retry", False), ("affinity", "")):
        should, does = outcome.get(key) or absent, got[key] or absent
        if should != does:
            yield f"{key}: expected {should!r}, got {does!r}"
    # Without a recorded `bound` the binding holds what was decided, in whichever order that is.
    held = given if outcome.get("bound") is None else targets(outcome["bound"])
    if held != _bound(got):
        yield f"bound: expected {written(held)}, got {written(_bound(got))}"
    if (got["error"] or None) not in _texts(outcome, expected):
        yield f"error: expected {outcome.get('error')!r}, got {got['error']!r}"


def targets(clusters: list[dict[str, Any]]) -> Targets:
    return [(each["name"], each.get("replicas") or 0) for each in clusters]


def _bound(got: Outcome) -> Targets:
    return targets(got["clusters"] if got["bound"] is None else got["bound"])


def _fixed(clusters: Targets, expected: Expected) -> list[str | None]:
    free = set(expected.get("orderFree", ()))
    return [None if name in free else name for name, _ in clusters]


def _texts(outcome: Outcome, expected: Expected) -> set[str | None]:
    if outcome["ok"]:
        return {None}
    recorded = {each["error"] for each in expected["outcomes"] if not each["ok"]}
    return recorded | set(expected.get("possibleErrors", ()))


def written(clusters: Targets) -> str:
    return " ".join(f"{name}={replicas}" for name, replicas in clusters) or "nothing"
