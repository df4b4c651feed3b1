"""Work leaves clusters that it may not stay in: by taints that are an order, and gracefully.

A binding, the fleet, and how far its targets are come in; at most one write of the binding goes
out. A target that must be left becomes a task, and where its replicas go is for the scheduler to
say. The copy is kept for as long as its task is there. Should nothing else take its place before
its cluster is fit again, the cluster has it back, and nothing was moved.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from atoll.control.eviction.decide import tasks
from atoll.control.eviction.decide.tasks import Fate, Given, Replacement
from atoll.control.eviction.decide.tolerating import Order, order
from atoll.control.scheduler.decide.outcome import said_in, status_of, tell
from atoll.dialects.karmada.objects import encoding
from atoll.errors import Invalid
from atoll.model.action import NOTHING, Action, Plan, Update
from atoll.model.binding import Target
from atoll.model.cluster import Cluster
from atoll.model.resource_binding import Eviction, ResourceBinding
from atoll.model.standing import Standing
from atoll.scheduling.cycle import decide
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import NOWHERE, Surroundings
from atoll.scheduling.setting import Setting

STARTED, SUCCEEDED = "EvictWorkloadFromClusterStarted", "EvictWorkloadFromClusterSucceed"
FAILED, CANCELLED = "EvictWorkloadFromClusterFailed", "EvictWorkloadFromClusterCancelled"
TASKS = "gracefulEvictionTasks"
TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenEviction:
    """A binding of either kind, and what decides whether it may stay where it is.

    `turns`: the moments at which targets that must be left may be, so that not all go at once.
    `surroundings` matter to one that is nowhere, and may go back where it was.
    """

    binding: ResourceBinding
    fleet: Fleet
    setting: Setting
    replacement: Replacement = Replacement.NONE
    turns: Mapping[str, float] = field(default_factory=dict)
    timeout_s: float = TIMEOUT_S
    surroundings: Surroundings = NOWHERE


@dataclass(slots=True)
class _Draft:
    """What a binding is to become, as far as that is known."""

    clusters: list[Target]
    tasks: list[Eviction] = field(default_factory=list)
    told: list[Action] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)


def orders(binding: ResourceBinding, fleet: Fleet) -> dict[str, Order]:
    """The targets of a binding that must be left, now or later, with the reason."""
    found = binding.standing()
    if isinstance(found, Invalid) or binding.meta.is_going:
        return {}
    clusters = ((each.name, _cluster(fleet, each.name)) for each in found.binding.targets)
    given = found.binding.intent.tolerations
    ordered = ((name, order(one.taints, given)) for name, one in clusters if one is not None)
    return {name: each for name, each in ordered if each is not None}


def plan(seen: SeenEviction, now: float) -> Plan:
    """Begin, end and take back what is to be evicted."""
    binding = seen.binding
    if binding.meta.is_going:
        return NOTHING
    spec = binding.spec
    draft = _Draft(list(spec.clusters))
    ordered = orders(binding, seen.fleet) if seen.setting.features.Failover else {}
    _judge(draft, seen, now)
    _begin(draft, seen, ordered, now)
    again_in = min(draft.waits, default=None)
    if (tuple(draft.clusters), tuple(draft.tasks)) == (spec.clusters, spec.evictions):
        return Plan(tuple(draft.told), again_in)
    known = binding.wire["spec"].get("clusters")
    fresh = {
        "clusters": encoding.clusters(draft.clusters, known) or None,
        TASKS: [each.wire for each in draft.tasks] or None,
    }
    update = Update(encoding.patched(binding.wire, {"spec": fresh}))
    return Plan((update, *draft.told), again_in)


def _judge(draft: _Draft, seen: SeenEviction, now: float) -> None:
    """Say what becomes of the tasks there are."""
    wire = seen.binding.wire
    scheduled = _is_scheduled(seen.binding)
    back = frozenset(_fit_again(seen, now)) if is_nowhere(seen.binding) else frozenset[str]()
    given = Given(seen.replacement if scheduled else Replacement.NONE, back, seen.timeout_s)
    for task in (tasks.stamped(each, now) for each in seen.binding.spec.evictions):
        fate, wait = tasks.fate(task, given, now)
        draft.waits += [] if wait is None else [wait]
        match fate:
            case Fate.DONE:
                said = f"Evict from cluster {task.cluster} succeed."
                draft.told += tell(wire, SUCCEEDED, said, warning=False)
                continue
            case Fate.BACK:
                draft.clusters.append(Target(task.cluster, task.replicas))
                said = f"Cluster {task.cluster} keeps it: it is fit again, and nothing took its"
                draft.told += tell(wire, CANCELLED, f"{said} place.", warning=False)
                continue
            case Fate.STUCK:
                said = f"Evict from cluster {task.cluster} failed: nothing took its place, so it"
                draft.told += tell(wire, FAILED, f"{said} stays.", warning=True)
        draft.tasks.append(task)


def _begin(draft: _Draft, seen: SeenEviction, ordered: Mapping[str, Order], now: float) -> None:
    """Make tasks of the targets whose time is over, when it is their turn."""
    mode = seen.binding.spec.purge_mode or "Gracefully"
    leaving = {each.cluster for each in draft.tasks}
    for target in list(draft.clusters):
        why = ordered.get(target.name)
        if why is None:
            continue
        due = max(why.at, seen.turns.get(target.name, why.at))
        if due > now:
            draft.waits.append(due - now)
            continue
        draft.clusters.remove(target)
        if target.name in leaving:
            continue
        task = tasks.begun(target, why, mode, now)
        draft.tasks.append(task)
        draft.waits.append(seen.timeout_s)
        said = f"Evict from cluster {target.name}: {task.wire['message']}."
        draft.told += tell(seen.binding.wire, STARTED, said, warning=True)


def _fit_again(seen: SeenEviction, now: float) -> Iterator[str]:
    """The clusters that were left for a taint, and could be targets again as if they never were."""
    found = seen.binding.standing()
    if isinstance(found, Invalid):
        return
    for task in seen.binding.spec.evictions:
        cluster = _cluster(seen.fleet, task.cluster)
        if cluster is None or not cluster.ready or not tasks.is_of_taint(task):
            continue
        ordered = order(cluster.taints, found.binding.intent.tolerations)
        if ordered is not None and ordered.at <= now:
            continue
        if _would_stay(found, Target(task.cluster, task.replicas), seen):
            yield task.cluster


def _would_stay(found: Standing, target: Target, seen: SeenEviction) -> bool:
    """Whether a decision would leave a target where it was before it was evicted."""
    binding = found.binding
    if any(each.name == target.name for each in binding.targets):
        return False
    evicting = tuple(each for each in binding.evicting if each != target.name)
    before = replace(binding, targets=(*binding.targets, target), evicting=evicting)
    decision = decide(before, seen.fleet, seen.setting, seen.surroundings)
    return decision.ok and any(each.name == target.name for each in decision.targets)


def _is_scheduled(binding: ResourceBinding) -> bool:
    """Whether the last decision is about what the binding says now, and was for some cluster."""
    is_of_now = binding.status.observed_generation == binding.meta.generation
    return bool(binding.spec.clusters) and is_of_now


def is_nowhere(binding: ResourceBinding) -> bool:
    """Whether work is leaving clusters, and the scheduler looked for another and found none."""
    said = said_in(status_of(binding.wire))
    failed = said is not None and said[0] == "False"
    return failed and bool(binding.spec.evictions) and not _is_scheduled(binding)


def _cluster(fleet: Fleet, name: str) -> Cluster | None:
    row = fleet.rows.get(name)
    return None if row is None else fleet.clusters[row]
