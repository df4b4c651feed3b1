"""Questions about placement that people ask: what would change it, and how many would fit where.

A binding or a demand comes in, with the fleet of the moment; sentences or numbers go out. Every
answer about a change is decided anew by the scheduler itself; nothing is written.
"""

from collections.abc import Mapping
from dataclasses import replace

from atoll.dialects.karmada import demand as demands
from atoll.errors import Invalid
from atoll.model.action import Object
from atoll.planning.placing.standing import standing
from atoll.scheduling.cycle import decide
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.setting import Setting
from atoll.scheduling.whatif.search import DECISIONS_MOST, nearest

_ROWS_MOST = 24_000
"""So many clusters are looked at in all: whoever asks must not hold up the plane for long."""


def changes(binding: Object, fleet: Fleet, setting: Setting, most: int = 5) -> list[str]:
    """The nearest changes that would place a binding otherwise, were it placed anew now."""
    found = standing(binding).binding
    decision = decide(replace(found, targets=(), observed_term=""), fleet, setting)
    tries = min(DECISIONS_MOST, _ROWS_MOST // max(len(fleet), 1))
    return [str(each) for each in nearest(decision, most=most, tries=tries)]


def fits(requests: Mapping[str, str], fleet: Fleet, *, models: bool) -> dict[str, int]:
    """By cluster, how many replicas that ask for so much its own report has room for."""
    if not requests:
        raise Invalid("requests", requests, "must name a resource, such as cpu")
    demand = demands.decode({"resourceRequest": dict(requests)}, "requests")
    room = fleet.capacity.replicas(demand, models=models).tolist()
    return dict(zip(fleet.traits.names.tolist(), room, strict=True))
