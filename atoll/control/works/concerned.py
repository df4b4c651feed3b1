"""Which bindings must be looked at again when an override policy changes, or how a cluster is.

Found by what policies select and by where bindings go: whoever cannot be meant is not asked.
"""

from collections.abc import Iterator

from atoll.control.hub import Hub
from atoll.control.policies.templates import candidates
from atoll.control.works.decide.overriding.selecting import is_for, rules
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.karmada.references import binding_of
from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.member import Member
from atoll.model.override_index import OverrideIndex
from atoll.model.policy import LOCATION, OverridePolicy
from atoll.model.resource_binding import ResourceBinding
from atoll.model.resource_selector import ResourceSelector
from atoll.wire import Wire


def by_policy(hub: Hub, policy: OverridePolicy) -> Iterator[ResourceBinding]:
    """The bindings that a policy may mean, and that go to a cluster that it is for."""
    meant: dict[str, bool] = {}
    for binding in _selected(hub, policy):
        for target in binding.targets:
            if target.name not in meant:
                cluster = hub.cluster(target.name)
                meant[target.name] = cluster is not None and is_for(policy, cluster)
            if meant[target.name]:
                yield binding
                break


def by_cluster(hub: Hub, before: Member | None, after: Member | None) -> Iterator[ResourceBinding]:
    """The bindings that may be sent otherwise to a cluster that changed.

    All of those it has if it came, leaves or went; else, those of whose overrides others are for
    it now. Taints and states are not looked at, and those of a cluster that comes and goes change
    all the time.
    """
    member = after or before
    if member is None or not is_looked_at_otherwise(before, after):
        return
    name = member.name
    if before is None or after is None or before.meta.is_going != after.meta.is_going:
        yield from hub.bindings(target_names, name)
        return
    for policy in overrides_otherwise(hub.overrides, before, after):
        if hub.overrides.reach(policy) is None:
            space = policy.ref.namespace
            found = hub.bindings(target_names, name)
            yield from (each for each in found if space in ("", each.meta.namespace))
        else:
            yield from (each for each in _selected(hub, policy) if name in target_names(each))


def is_looked_at_otherwise(before: Member | None, after: Member | None) -> bool:
    """Whether what overrides look at in a cluster is other than it was, or its being there."""
    return _looked_at(before) != _looked_at(after)


def overrides_otherwise(
    known: OverrideIndex, before: Member, after: Member
) -> list[OverridePolicy]:
    """The policies of which other rules are for a cluster than were."""
    old, new = before.cluster(), after.cluster()
    if isinstance(old, Invalid) or isinstance(new, Invalid):
        return list(known)
    labels = before.meta.labels.items() ^ after.meta.labels.items()
    where = (LOCATION,) if before.spec.location != after.spec.location else ()
    found = known.looking_at((*sorted({key for key, _ in labels}), *where))
    return [each for each in found if list(rules(each, old)) != list(rules(each, new))]


def target_names(binding: ResourceBinding) -> list[str]:
    return [target.name for target in binding.targets]


def _selected(hub: Hub, policy: OverridePolicy) -> Iterator[ResourceBinding]:
    selectors, space = hub.overrides.reach(policy), policy.ref.namespace
    if selectors is not None:
        found = dict.fromkeys(Ref.of(wire) for each in selectors for wire in _meant(hub, each))
        bindings = (hub.binding(binding_of(template)) for template in found)
        yield from (each for each in bindings if each is not None)
    elif space:
        yield from hub.plane.informer(kinds.RESOURCE_BINDING).by(_namespace, space)
    else:
        for kind in kinds.BINDINGS:
            yield from hub.plane.informer(kind)


def _meant(hub: Hub, selector: ResourceSelector) -> Iterator[Wire]:
    """The templates that a selector may mean, as far as they are followed."""
    mirror = hub.plane.mirrored(selector.api_version, selector.kind)
    if mirror is not None:
        yield from candidates(selector, mirror)


def _looked_at(member: Member | None) -> tuple[object, ...] | None:
    if member is None:
        return None
    return member.meta.labels, member.meta.is_going, member.spec.location


def _namespace(binding: ResourceBinding) -> tuple[str]:
    return (binding.meta.namespace,)
