"""What all plans are given besides the objects: the time, names to draw, moulds, and nodes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from atoll.apiserver.objects.times import parse_rfc3339, rfc3339
from atoll.model.demand import NodeClaim
from atoll.simulated.plans.census import Pod
from atoll.simulated.plans.moulds import Mould
from atoll.wire import Wire


@dataclass(frozen=True, slots=True)
class Setting:
    """The moment of a plan, and whom it may ask."""

    moment: datetime
    suffix: Callable[[], str]
    mould: Callable[[Mapping[str, Any], str], Mould]
    pods_of: Callable[[str], list[Pod]]
    strays: Callable[[str], list[Pod]]  # of a namespace: the pods without a controller
    daemon_nodes: Callable[[NodeClaim], tuple[list[str], set[str]]]
    refusal: str = ""  # why no more pods may be made now: a quota is used up

    @property
    def now(self) -> str:
        return rfc3339(self.moment)

    def seconds_since(self, then: str | None) -> float:
        """How long ago that was; no time at all where it is not known."""
        moment = parse_rfc3339(then or "")
        return 0.0 if moment is None else (self.moment - moment) / timedelta(seconds=1)

    def available(self, pods: list[Pod], min_ready_s: int) -> int:
        """How many of these pods have been ready for so long."""
        return sum(
            pod.is_ready and (not min_ready_s or self.seconds_since(pod.since) >= min_ready_s)
            for pod in pods
        )


def condition_of(obj: Wire, kind: str) -> Wire:
    """A condition in an object's status; nothing if it is not there."""
    known = (obj.get("status") or {}).get("conditions") or []
    return next((one for one in known if one.get("type") == kind), {})


def without_zeros(**counts: int | None) -> Wire:
    return {key: value for key, value in counts.items() if value}


def share(asked: int | str | None, wanted: int, *, up: bool) -> int:
    """So many pods, or so many percent of them."""
    if not isinstance(asked, str):
        return int(asked or 0)
    hundredths = int(asked.removesuffix("%")) * wanted
    return -(-hundredths // 100) if up else hundredths // 100
