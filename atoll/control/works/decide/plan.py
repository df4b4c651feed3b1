"""The Works of a binding: every target cluster has the right one, and no other cluster has any.

A binding, its template and the Works that stand come in; a plan goes out. It sends before it
withdraws: a cluster that is no target any more keeps its Work until those of all targets have
arrived, or for so long after the decision. What Works do in their clusters is not known here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from atoll.control.works.decide.overriding.overriding import Policies, no_policies
from atoll.control.works.decide.overriding.selecting import Unsuitable
from atoll.control.works.decide.rendering import Means, Rendered, SeenRendering, render
from atoll.control.works.decide.sending import Sending
from atoll.control.works.decide.splitting import Split, split
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import resource_bindings
from atoll.dialects.karmada.objects.encoding import patched
from atoll.dialects.karmada.ordinals import range_of
from atoll.dialects.karmada.references import marks_of
from atoll.dialects.karmada.works import has_arrived, is_of
from atoll.errors import AtollError, Invalid
from atoll.model.action import NOTHING, Action, Create, Delete, Plan, Ref, Tell, Update
from atoll.model.cluster import Cluster
from atoll.model.ordinals import Range
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.wire import Object

NOT_SENT = "SyncWorkFailed"
MOVE_LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class SeenBinding:
    """A binding and all that its Works depend on.

    `works`: those that carry the binding's id or name, and any that stand where its own would.
    `new_id`: an id nobody has yet. `knows_health`: whether health is told for this kind.
    `needed_in`: the clusters that still have something which depends on this.
    """

    binding: ResourceBinding
    template: Object | None
    clusters: Mapping[str, Cluster]
    means: Means
    works: tuple[Work, ...] = ()
    policies: Policies = no_policies
    new_id: str = ""
    knows_health: bool = True
    needed_in: frozenset[str] = frozenset()
    move_limit_s: float = MOVE_LIMIT_S


@dataclass(frozen=True, slots=True)
class _Sent:
    """What is sent to the targets; `where` is the Work of each that could be rendered.

    `waiting`: the Works of targets that have not arrived, None for one that is not there yet.
    """

    writes: tuple[Create | Update, ...] = ()
    told: tuple[Tell, ...] = ()
    where: Mapping[str, Ref] = field(default_factory=dict)
    waiting: tuple[Work | None, ...] = ()


def plan(seen: SeenBinding, now: float) -> Plan:
    """Send to every target what it should have, then withdraw what no target has any more."""
    if seen.binding.meta.is_going:
        return _ended(seen)
    if seen.binding.problem is not None:
        return Plan((Tell(seen.binding.wire, NOT_SENT, str(seen.binding.problem), warning=True),))
    binding = _held(seen.binding, seen.new_id)
    first = () if binding is seen.binding else (Update(binding.wire),)
    targets = frozenset(target.name for target in binding.targets)
    own = _own(seen)
    if binding.spec.is_split:
        return Plan((*first, *_split(seen, binding, own)))
    purged = [work for work in own if work.cluster in _evicted(binding, targets, at_once=True)]
    if blocking := [work for work in purged if not _is_overdue(work, seen, now)]:
        # A purge is asked for where two copies at a time would do harm: nothing is sent meanwhile.
        return Plan((*first, *_deletes(blocking)), again_in=_until_overdue(blocking, seen, now))
    template = _template(seen)
    if template is None:
        return Plan(first)
    sent = _sent(seen, binding, template)
    # A target that cannot be rendered now keeps what it has.
    kept = (targets - sent.where.keys()).union(_evicted(binding, targets, at_once=False))
    kept |= seen.needed_in
    orphans = [
        work
        for work in own
        if not (work.meta.is_going or work.ref in sent.where.values() or work.cluster in kept)
    ]
    left = _time_left(seen, sent.waiting, now) if orphans else None
    withdrawn = () if left is None or left > 0 else tuple(_deletes(orphans))
    again_in = left if left is not None and 0 < left < float("inf") else None
    return Plan((*first, *sent.writes, *sent.told, *withdrawn), again_in=again_in)


def as_wanted(seen: SeenBinding) -> dict[str, Work]:
    """The Works that are as they should be, by the targets that they are for.

    What became of them in their clusters is not asked.
    """
    template, own = _template(seen), _own(seen)
    if template is None or _held(seen.binding, seen.new_id) is not seen.binding:
        return {}
    ordinals = None
    if seen.binding.spec.is_split:
        found = _divided(seen, template, own)
        if found is None or found.held:
            return {}
        ordinals = found.told
    sent = _sent(seen, seen.binding, template, ordinals)
    changing = {Ref.of(write.object) for write in sent.writes}
    standing = {work.ref: work for work in own if not work.meta.is_going}
    wanted = {cluster: ref for cluster, ref in sent.where.items() if ref not in changing}
    return {cluster: standing[ref] for cluster, ref in wanted.items() if ref in standing}


def _divided(seen: SeenBinding, template: Object, own: list[Work]) -> Split | None:
    """What each cluster may be told now of a StatefulSet whose ordinals are divided."""
    targets = [target.name for target in seen.binding.targets]
    first = range_of(template, "").start
    return split(seen.binding, targets, own, seen.clusters, start=first)


def _split(seen: SeenBinding, binding: ResourceBinding, own: list[Work]) -> Iterator[Action]:
    """What may be done now for a StatefulSet whose ordinals are divided."""
    template = _template(seen)
    found = None if template is None else _divided(seen, template, own)
    if template is None or found is None:
        return
    sent = _sent(seen, binding, template, found.told)
    yield from sent.writes
    yield from sent.told
    if found.held:
        message = f"Ordinals wait until they are gone elsewhere: {'; '.join(found.held)}"
        yield Tell(binding.wire, "OrdinalsWaiting", message)
        yield Tell(template, "OrdinalsWaiting", message)
    yield from _deletes(list(found.ended))


def _template(seen: SeenBinding) -> Object | None:
    """The template that the binding was made for, unless it is gone."""
    template, meant = seen.template, seen.binding.spec.template_uid
    if template is None or (meant and meant != template["metadata"].get("uid")):
        # One made anew under the same name gets a binding of its own, and may mean other clusters.
        return None
    return template


def _ended(seen: SeenBinding) -> Plan:
    """Withdraw everything, then let the binding end."""
    binding = seen.binding
    finalizers, ours = binding.meta.finalizers, _finalizer(binding)
    if ours not in finalizers:
        return NOTHING
    left = [each for each in finalizers if each != ours]
    freed = patched(binding.wire, {"metadata": {"finalizers": left}})
    return Plan((*_deletes(_own(seen)), Update(freed)))


def _held(binding: ResourceBinding, new_id: str) -> ResourceBinding:
    """The binding with our finalizer, and with an id for its Works to carry; itself if it has."""
    finalizers, ours = binding.meta.finalizers, _finalizer(binding)
    labels = marks_of(binding).labels
    if ours in finalizers and all(labels.values()):
        return binding
    metadata = {
        "finalizers": [*(each for each in finalizers if each != ours), ours],
        "labels": {key: value or new_id for key, value in labels.items()},
    }
    return resource_bindings.decode(patched(binding.wire, {"metadata": metadata}), binding)


def _finalizer(binding: ResourceBinding) -> str:
    cluster_wide = binding.is_cluster_wide
    return names.CLUSTER_BINDING_FINALIZER if cluster_wide else names.BINDING_FINALIZER


def _own(seen: SeenBinding) -> list[Work]:
    """The Works that are this binding's, in the order of their clusters."""
    marks = marks_of(seen.binding)
    return sorted((work for work in seen.works if is_of(work, marks)), key=lambda work: work.ref)


def _deletes(works: list[Work]) -> Iterator[Delete]:
    for work in works:
        if not work.meta.is_going:
            yield Delete.of(work.wire)


def _evicted(binding: ResourceBinding, targets: frozenset[str], *, at_once: bool) -> list[str]:
    """Clusters that are left: at once, before anything is sent elsewhere, or in their own time."""
    tasks = [each for each in binding.spec.evictions if each.is_at_once is at_once]
    return [each.cluster for each in tasks if each.cluster not in targets]


def _is_overdue(work: Work, seen: SeenBinding, now: float) -> bool:
    """Has it been going for so long that its cluster must be lost?"""
    since = work.meta.deleted
    return since is not None and now - since >= seen.move_limit_s


def _until_overdue(works: list[Work], seen: SeenBinding, now: float) -> float | None:
    going = [each.meta.deleted for each in works if each.meta.deleted is not None]
    return max(going) + seen.move_limit_s - now if len(going) == len(works) else None


def _sent(
    seen: SeenBinding,
    binding: ResourceBinding,
    template: Object,
    ordinals: Mapping[str, Range] | None = None,
) -> _Sent:
    """What each target lacks, and what there is to tell about it."""
    rendered = render(
        SeenRendering(
            binding=binding,
            template=template,
            clusters=seen.clusters,
            means=seen.means,
            policies=seen.policies,
            ordinals=ordinals,
        )
    )
    standing, marks = {work.ref: work for work in seen.works}, marks_of(binding)
    writes: list[Create | Update] = []
    where: dict[str, Ref] = {}
    waiting: list[Work | None] = []
    failures: dict[str, AtollError] = {}
    overridden: list[tuple[str, Rendered]] = []
    for index, (cluster, found) in enumerate(rendered.items()):
        if isinstance(found, AtollError):
            failures[cluster] = found
            waiting.append(None)
            continue
        where[cluster] = found.work
        work = standing.get(found.work)
        if work is not None and not is_of(work, marks):
            failures[cluster] = _taken(work)
        elif work is None and seen.clusters[cluster].deleting:
            pass  # what is taken back from a cluster that leaves is not sent there anew
        elif work is None or not work.meta.is_going:
            sending = Sending(cluster, binding, found, (ordinals or {}).get(cluster))
            wanted = sending.work(work, f"{seen.new_id}-{index}")
            if work is None or wanted != work.wire:
                writes.append(Create(wanted) if work is None else Update(wanted))
                overridden.append((cluster, found))
            elif has_arrived(work, knows_health=seen.knows_health):
                continue
        waiting.append(work)
    told = _told(binding, template, failures, overridden)
    return _Sent(tuple(writes), tuple(told), where, tuple(waiting))


def _taken(work: Work) -> Invalid:
    problem = "another object's Work stands there; rename one of the two objects"
    return Invalid("the Work", str(work.ref), problem)


def _time_left(seen: SeenBinding, waiting: tuple[Work | None, ...], now: float) -> float:
    """How long orphans may stay yet: until all has arrived, or the time for a move is over.

    That time begins with the decision, or with the last Work that was made on its account.
    """
    if not waiting:
        return 0.0
    begun = [seen.binding.status.last_scheduled]
    begun += [work.meta.created for work in waiting if work is not None]
    known = [each for each in begun if each is not None]
    return max(known) + seen.move_limit_s - now if known else float("inf")


def _told(
    binding: ResourceBinding,
    template: Object,
    failures: Mapping[str, AtollError],
    changed: list[tuple[str, Rendered]],
) -> Iterator[Tell]:
    """Events on the binding and on the template, where its owner will look."""
    for cluster, rendered in changed:
        overridden = rendered.overridden
        for each in (*overridden.cluster_wide, *overridden.namespaced):
            message = f"Apply {_named(each.policy.ref)} for cluster({cluster}) succeed."
            yield Tell(template, "ApplyOverridePolicySucceed", message)
    for cluster, error in failures.items():
        if isinstance(error, Unsuitable):
            message = f"Apply {_named(error.policy.ref)} for cluster({cluster}) failed: {error}"
            for about in (template, error.policy.wire):
                yield Tell(about, "ApplyOverridePolicyFailed", message, warning=True)
    if failures:
        message = "; ".join(f"cluster {cluster}: {error}" for cluster, error in failures.items())
        yield Tell(binding.wire, NOT_SENT, message, warning=True)
        yield Tell(template, NOT_SENT, message, warning=True)
    elif changed:
        ref = binding.ref
        name = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
        message = f"Sync work of {ref.kind}({name}) successful."
        yield Tell(binding.wire, "SyncWorkSucceed", message)
        yield Tell(template, "SyncWorkSucceed", message)


def _named(policy: Ref) -> str:
    if policy.namespace:
        return f"override policy({policy.namespace}/{policy.name})"
    return f"cluster override policy({policy.name})"
