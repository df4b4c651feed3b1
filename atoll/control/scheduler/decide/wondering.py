"""Questions about placement that people ask: what would change it, and how many would fit where.

A binding or a demand comes in, with the fleet of the moment; sentences or numbers go out. Every
answer about a change is decided anew by the scheduler itself; nothing is written.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from atoll.dialects.karmada import demand as demands
from atoll.errors import Invalid
from atoll.model.resource_binding import ResourceBinding
from atoll.scheduling.cycle import decide
from atoll.scheduling.estimates import OWN_REPORT
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.nodes.view import NODE_VIEW, NodeView
from atoll.scheduling.question import NOWHERE, Surroundings
from atoll.scheduling.setting import Setting
from atoll.scheduling.whatif.search import DECISIONS_MOST, nearest

_ROWS_MOST = 24_000
"""So many clusters are looked at in all: whoever asks must not hold up the plane for long."""


def changes(
    binding: ResourceBinding,
    fleet: Fleet,
    setting: Setting,
    around: Surroundings = NOWHERE,
    *,
    most: int = 5,
) -> list[str]:
    """The nearest changes that would place a binding otherwise, were it placed anew now.

    None is told of what runs and could not be placed anew: its own replicas are in the way.
    """
    standing = binding.standing()
    if isinstance(standing, Invalid):
        raise standing
    found = standing.binding
    decision = decide(replace(found, targets=(), observed_term=""), fleet, setting, around)
    if found.targets and not decision.ok:
        return []
    tries = min(DECISIONS_MOST, _ROWS_MOST // max(len(fleet), 1))
    return [str(each) for each in nearest(decision, most=most, tries=tries)]


class Fitting(NamedTuple):
    """How many replicas fit in a cluster, and who says so."""

    replicas: int
    by: str


def fits(
    requests: Mapping[str, str], fleet: Fleet, nodes: NodeView, *, models: bool
) -> dict[str, Fitting]:
    """By cluster, how many replicas that ask for so much there is room for.

    Where the nodes are known they have the say, else the cluster's own report.
    """
    if not requests:
        raise Invalid("requests", requests, "must name a resource, such as cpu")
    demand = demands.decode({"resourceRequest": dict(requests)}, "requests")
    names = fleet.traits.names.tolist()
    reported = fleet.capacity.replicas(demand, models=models).tolist()
    seen = nodes.answers(names, demand, {}).tolist()
    return {
        name: Fitting(by_nodes, NODE_VIEW) if by_nodes >= 0 else Fitting(by_report, OWN_REPORT)
        for name, by_nodes, by_report in zip(names, seen, reported, strict=True)
    }
