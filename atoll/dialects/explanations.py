"""Explanations as they are stored: the newest decision whole, the earlier ones compressed."""

from collections.abc import Iterator
from typing import Any

from atoll.dialects import json
from atoll.dialects.compressed import deflated, inflated
from atoll.errors import Invalid
from atoll.wire import Object

NAMESPACED, CLUSTER_WIDE = "Explanation", "ClusterExplanation"
KEPT = 10
EARLIER, DECISIONS, NUMBER = "earlier", "decisions", "number"


def expanded(explanation: Object) -> dict[str, Any]:
    """An explanation as it is shown: all decisions in one list."""
    shown = dict(explanation)
    earlier = _read(shown.get(EARLIER))
    if earlier is not None:
        del shown[EARLIER]
        shown[DECISIONS] = [*(shown.get(DECISIONS) or ()), *earlier]
    return shown


def compact(explanation: Object) -> dict[str, Any]:
    """An explanation as it is stored: the newest decision, and the others compressed."""
    shown = expanded(explanation)
    decisions = shown.get(DECISIONS) or []
    if len(decisions) > 1:
        earlier = deflated(json.written(decisions[1:KEPT]).encode())
        shown |= {DECISIONS: decisions[:1], EARLIER: earlier}
    return shown


def problems(explanation: Object) -> Iterator[Invalid]:
    """What is wrong with an explanation that someone writes."""
    earlier = explanation.get(EARLIER)
    if earlier is not None and _read(earlier) is None:
        problem = "cannot be read: it is not what Atoll wrote; leave it out"
        yield Invalid(EARLIER, f"{len(earlier)} characters", problem)


def _read(earlier: Any) -> list[Any] | None:
    """The decisions in their compressed form; None if it is none."""
    if not isinstance(earlier, str):
        return None
    try:
        found = json.read(inflated(earlier, EARLIER).decode())
    except (Invalid, UnicodeDecodeError):
        return None
    good = isinstance(found, list) and all(isinstance(each, dict) for each in found)
    return found if good else None
