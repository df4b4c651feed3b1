"""What a case asks of the scheduler, in the model's own words.

The wire form of a case comes in: clusters, a binding's spec and status, the placement applied
before, the other bindings of its groups and what is assumed to be on its way. The binding, the
fleet, the setting and the surroundings of one decision go out.
"""

from dataclasses import dataclass

from atoll.dialects.karmada import binding as bindings
from atoll.dialects.karmada import cluster as clusters
from atoll.dialects.karmada import demand
from atoll.dialects.karmada import placement as placements
from atoll.model.assumed import Assumed
from atoll.model.binding import Binding
from atoll.model.intent import Intent
from atoll.scheduling.features import Features
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import Surroundings
from atoll.scheduling.setting import Setting
from atoll.wire import Wire
from tests.oracle.casefile import Case


@dataclass(frozen=True)
class Situation:
    binding: Binding
    fleet: Fleet
    setting: Setting
    surroundings: Surroundings
    applied: Intent | None
    """What the last decision was made for; None before the first."""


def situation(case: Case) -> Situation:
    given = case["input"]
    applied = given.get("appliedPlacement")
    setting = Setting(
        features=Features.of(case.get("gates") or ""),
        empty_workloads=bool(given.get("options", {}).get("enableEmptyWorkloadPropagation")),
    )
    surroundings = Surroundings(
        neighbours=tuple(bindings.neighbour(each) for each in _neighbours(given)),
        assumed=tuple(_assumed(each) for each in given.get("assumed") or ()),
    )
    return Situation(
        binding=bindings.decode(given["spec"], given.get("status") or {}),
        fleet=Fleet.of(clusters.decode(each) for each in given.get("clusters") or ()),
        setting=setting,
        surroundings=surroundings,
        applied=None if applied is None else placements.decode(applied),
    )


def _assumed(wire: Wire) -> Assumed:
    """What a recent decision put on a cluster that does not report it yet."""
    return Assumed(wire["cluster"], demand.components(wire, "", wire.get("namespace") or ""))


def _neighbours(given: Wire) -> list[Wire]:
    """The other bindings as last seen, or as just assigned where that is newer."""
    assigning = {_key(each): each for each in given.get("assigning") or ()}
    return [
        _newer(seen, assigning.get(_key(seen), seen)) for seen in given.get("otherBindings") or ()
    ]


def _newer(seen: Wire, assigned: Wire) -> Wire:
    if _version(assigned) <= _version(seen):
        return seen
    # It is looked up by the groups it was seen in: one that it joined since does not count yet.
    before, now = _groups(seen), _groups(assigned)
    both = {name: group for name, group in now.items() if before.get(name) == group}
    return assigned | {"spec": assigned["spec"] | {"workloadAffinityGroups": both}}


def _key(wire: Wire) -> tuple[str, str]:
    return wire["metadata"].get("namespace", ""), wire["metadata"]["name"]


def _version(wire: Wire) -> int:
    return int(wire["metadata"].get("resourceVersion") or 0)


def _groups(wire: Wire) -> dict[str, str]:
    return wire["spec"].get("workloadAffinityGroups") or {}
