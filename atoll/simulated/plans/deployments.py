"""Deployments: a ReplicaSet for each template, and the way from one to the next.

A deployment and its replica sets come in; what to do next goes out. First replica sets are made and
scaled, then their pods follow, then all of it is told; each is a plan of its own, for what follows
depends on what came of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from atoll.apiserver.objects.conditions import condition, since
from atoll.dialects.kubernetes.selectors import label_selector
from atoll.simulated.plans import replicas
from atoll.simulated.plans.census import TEMPLATE_HASH, Pod
from atoll.simulated.plans.revisions import template_hash
from atoll.simulated.plans.setting import Setting, condition_of, share, without_zeros
from atoll.simulated.plans.steps import (
    Change,
    Make,
    Plan,
    Step,
    end_of,
    key_of,
    owner,
    status_change,
)
from atoll.wire import Wire

COLLECTION = "deployments.apps"
REVISION = "deployment.kubernetes.io/revision"
_DESIRED, _MOST = (
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
)
_CONDITIONS = ("Available", "Progressing", replicas.FAILURE)
_ENOUGH = ("MinimumReplicasAvailable", "Deployment has minimum availability.")
_TOO_FEW = ("MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
_NOT_HANDED_ON = ("kubectl.kubernetes.io/last-applied-configuration", REVISION, _DESIRED, _MOST)


def plan(deployment: Wire, sets: list[Wire], setting: Setting, lone: Sequence[Wire] = ()) -> Plan:
    """What to do next about a deployment that has these replica sets, the oldest first.

    `lone` are the replica sets of its namespace that nobody has.
    """
    spec = deployment["spec"]
    changing = _changing_hands(deployment, sets, lone)
    if changing:
        return Plan(changing)
    mark = template_hash(spec["template"])
    newest = next((one for one in sets if _mark(one) == mark), None)
    if newest is None and not spec.get("paused"):
        return Plan([Make(replicas.COLLECTION, _replica_set(deployment, sets, mark))])
    pods = {one["metadata"]["uid"]: setting.pods_of(one["metadata"]["uid"]) for one in sets}
    rollout = _Rollout(deployment, newest, sets, pods, setting)
    steps = _scaled(rollout) or [
        step for one in sets for step in replicas.pod_steps(one, rollout.pods_of(one), setting)
    ]
    return Plan(steps) if steps else _told(rollout)


@dataclass(frozen=True, slots=True)
class _Rollout:
    """A deployment, the replica set of its template if there is one, and all of them and theirs."""

    deployment: Wire
    newest: Wire | None
    sets: list[Wire]
    pods: dict[str, list[Pod]]
    setting: Setting

    def pods_of(self, replica_set: Wire) -> list[Pod]:
        return self.pods[replica_set["metadata"]["uid"]]

    @property
    def olds(self) -> list[Wire]:
        return [one for one in self.sets if one is not self.newest]

    @property
    def available(self) -> dict[str, int]:
        """By replica set: how many of its pods have been ready for as long as it asks."""
        return {
            one["metadata"]["uid"]: self.setting.available(
                [pod for pod in self.pods_of(one) if pod.is_active],
                one["spec"].get("minReadySeconds") or 0,
            )
            for one in self.sets
        }


def _changing_hands(deployment: Wire, sets: list[Wire], lone: Sequence[Wire]) -> list[Step]:
    """Replica sets that the selector means no more are let go; lone ones it means are taken."""
    selector, meta = label_selector(deployment["spec"]["selector"], ""), deployment["metadata"]

    def change(one: Wire, **parts: Any) -> Step:
        return Change(key_of(replicas.COLLECTION, one), one["metadata"]["uid"], parts)

    let_go = [one for one in sets if not selector.matches(one["metadata"].get("labels") or {})]
    taken = [one for one in lone if selector.matches(one["metadata"].get("labels") or {})]
    return [change(one, disowned=meta["uid"]) for one in let_go] + [
        change(one, owned=owner(deployment)) for one in taken
    ]


def _mark(replica_set: Wire) -> str:
    """Which template a replica set is of; one that was made by others does not bear its mark."""
    labels = replica_set["metadata"].get("labels") or {}
    return str(labels.get(TEMPLATE_HASH) or template_hash(replica_set["spec"]["template"]))


def _number(replica_set: Wire) -> int:
    """The revision of a replica set."""
    written = (replica_set["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(written) if written.isdigit() else 0


def _replicas(one: Wire) -> int:
    """How many pods a replica set, or a whole deployment, is to have."""
    return int(one["spec"].get("replicas", 1))


def _replica_set(deployment: Wire, sets: list[Wire], mark: str) -> Wire:
    """The replica set of the deployment's template, with as many pods as may be at once."""
    spec, meta = deployment["spec"], deployment["metadata"]
    template, marked = spec["template"], {TEMPLATE_HASH: mark}
    labels = (template.get("metadata") or {}).get("labels") or {}
    matched = {**(spec["selector"].get("matchLabels") or {}), **marked}
    number = max(map(_number, sets), default=0) + 1
    made: Wire = {
        "replicas": _first_size(deployment, sets),
        "selector": {**spec["selector"], "matchLabels": matched},
        "template": {
            **template,
            "metadata": {**(template.get("metadata") or {}), "labels": {**labels, **marked}},
        },
    }
    if spec.get("minReadySeconds"):
        made["minReadySeconds"] = spec["minReadySeconds"]
    return {
        "metadata": {
            "name": f"{meta['name']}-{mark}",
            "namespace": meta["namespace"],
            "labels": {**labels, **marked},
            "annotations": _handed_on(deployment) | {REVISION: str(number)},
            "ownerReferences": [owner(deployment)],
        },
        "spec": made,
        "status": {"replicas": 0},
    }


def _first_size(deployment: Wire, sets: list[Wire]) -> int:
    wanted = _replicas(deployment)
    others = sum(map(_replicas, sets))
    if _is_recreated(deployment):
        return 0 if others else wanted
    surge, _ = _slack(deployment)
    return max(0, min(wanted, wanted + surge - others))


def _handed_on(deployment: Wire) -> dict[str, str]:
    """The annotations that a deployment gives its replica set."""
    notes = deployment["metadata"].get("annotations") or {}
    wanted = _replicas(deployment)
    most = wanted if _is_recreated(deployment) else wanted + _slack(deployment)[0]
    own = {key: value for key, value in notes.items() if key not in _NOT_HANDED_ON}
    return own | {_DESIRED: str(wanted), _MOST: str(most)}


def _is_recreated(deployment: Wire) -> bool:
    return (deployment["spec"].get("strategy") or {}).get("type") == "Recreate"


def _slack(deployment: Wire) -> tuple[int, int]:
    """How many pods there may be too many while rolling, and how many may be missing."""
    wanted = _replicas(deployment)
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge = share(rolling.get("maxSurge", "25%"), wanted, up=True)
    missing = share(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    return surge, min(wanted, missing if missing or surge else 1)


def _scaled(rollout: _Rollout) -> list[Step]:
    """Replica sets that should be of another size, or know of another revision."""
    deployment, newest, sets = rollout.deployment, rollout.newest, rollout.sets
    if newest is None:  # it is paused, and its template is not used yet
        newest = max(sets, key=_number, default=None)
        if newest is None:
            return []
        sizes = {newest["metadata"]["uid"]: _replicas(deployment)}
    elif _is_recreated(deployment):
        sizes = _recreated(rollout, newest)
    elif shares := _shares(deployment, sets):
        wanted = _replicas(deployment)
        sizes = proportional(shares, wanted + _slack(deployment)[0] if wanted else 0)
    else:
        sizes = _rolled(rollout, newest)
    return [
        step
        for one in sets
        for step in _resized(deployment, one, sizes.get(one["metadata"]["uid"]), sets, newest)
    ]


@dataclass(frozen=True, slots=True)
class Share:
    """The pods of one replica set, and how many there might be of the whole when it got them."""

    uid: str
    replicas: int
    most: int


def proportional(shares: Sequence[Share], allowed: int) -> dict[str, int]:
    """Every share grows or shrinks as the whole does; what rounding leaves goes to the largest."""
    change = allowed - sum(one.replicas for one in shares)
    # Of those of one size, the newest grows first, and the eldest shrinks first.
    ordered = list(reversed(shares)) if change > 0 else list(shares)
    ordered.sort(key=lambda one: -one.replicas)
    sizes = {one.uid: one.replicas for one in ordered}
    left = change
    for one in ordered:
        target = (2 * one.replicas * allowed + one.most) // (2 * one.most)  # rounded
        part = target - one.replicas
        part = max(0, min(part, left)) if change > 0 else min(0, max(part, left))
        sizes[one.uid] += part
        left -= part
    for one in ordered:
        part = max(left, -sizes[one.uid])
        sizes[one.uid] += part
        left -= part
    return sizes


def _shares(deployment: Wire, sets: list[Wire]) -> list[Share]:
    """Who shares what a deployment may have, if it is scaled while several have pods."""
    active = [one for one in sets if _replicas(one)]
    notes = [one["metadata"].get("annotations") or {} for one in active]
    wanted = str(deployment["spec"].get("replicas", 1))
    if len(active) < 2 or all(each.get(_DESIRED, wanted) == wanted for each in notes):
        return []
    there = sum(map(_replicas, active))
    return [
        Share(one["metadata"]["uid"], _replicas(one), _whole(each.get(_MOST), there))
        for one, each in zip(active, notes, strict=True)
    ]


def _whole(written: str | None, otherwise: int) -> int:
    return int(written) if written and written.isdigit() and int(written) else otherwise


def _resized(
    deployment: Wire, one: Wire, size: int | None, sets: list[Wire], newest: Wire
) -> list[Step]:
    parts: dict[str, Wire] = {}
    if size is not None and size != _replicas(one):
        parts["spec"] = {"replicas": size}
    notes, wanted = one["metadata"].get("annotations") or {}, _handed_on(deployment)
    if one is newest:
        wait_s = deployment["spec"].get("minReadySeconds") or 0
        if wait_s != (one["spec"].get("minReadySeconds") or 0):
            parts["spec"] = {**parts.get("spec", {}), "minReadySeconds": wait_s}
        latest = max(map(_number, sets))
        if _number(one) < latest:
            wanted[REVISION] = str(latest + 1)
    else:
        wanted = {key: wanted[key] for key in (_DESIRED, _MOST) if _replicas(one)}
    if any(notes.get(key) != value for key, value in wanted.items()):
        parts["annotations"] = wanted
    if not parts:
        return []
    return [Change(key_of(replicas.COLLECTION, one), one["metadata"]["uid"], parts)]


def _recreated(rollout: _Rollout, newest: Wire) -> dict[str, int]:
    """All old pods go before the first new one comes."""
    olds = rollout.olds
    if any(map(_replicas, olds)):
        return {one["metadata"]["uid"]: 0 for one in olds}
    if any(not pod.has_ended for one in olds for pod in rollout.pods_of(one)):
        return {}
    return {newest["metadata"]["uid"]: _replicas(rollout.deployment)}


def _rolled(rollout: _Rollout, newest: Wire) -> dict[str, int]:
    """New pods as far as there may be more, old ones away as far as enough are available."""
    wanted = _replicas(rollout.deployment)
    surge, missing = _slack(rollout.deployment)
    sizes = {one["metadata"]["uid"]: _replicas(one) for one in rollout.sets}
    uid = newest["metadata"]["uid"]
    more = max(0, wanted + surge - sum(sizes.values()))
    sizes[uid] = min(wanted, sizes[uid] + more)
    available = rollout.available
    olds = [one["metadata"]["uid"] for one in rollout.olds]
    least = wanted - missing
    spare = sum(sizes.values()) - least - max(0, sizes[uid] - available[uid])
    for old in olds:  # those that do not serve anyone go first
        cut = max(0, min(sizes[old] - available[old], spare))
        sizes[old] -= cut
        spare -= cut
    spare = min(spare, sum(available.values()) - least)
    for old in olds:
        cut = max(0, min(sizes[old], spare))
        sizes[old] -= cut
        spare -= cut
    return sizes


def _told(rollout: _Rollout) -> Plan:
    """The statuses of a deployment and its replica sets; old ones beyond the limit go."""
    steps: list[Step] = []
    for one in rollout.sets:
        fresh = replicas.status(one, rollout.pods_of(one), rollout.setting)
        steps += status_change(replicas.COLLECTION, one, fresh)
    notes = {}
    if rollout.newest is not None:
        steps += _cleaned(rollout)
        notes = {"annotations": {REVISION: str(_number(rollout.newest))}}
    fresh, again_s = _status(rollout)
    return Plan(steps + status_change(COLLECTION, rollout.deployment, fresh, **notes), again_s)


def _cleaned(rollout: _Rollout) -> list[Step]:
    limit, olds = rollout.deployment["spec"].get("revisionHistoryLimit", 10), rollout.olds
    empty = [one for one in olds if not _replicas(one) and not rollout.pods_of(one)]
    empty.sort(key=_number)
    return [end_of(replicas.COLLECTION, one) for one in empty[: max(0, len(olds) - limit)]]


def _status(rollout: _Rollout) -> tuple[Wire, float | None]:
    deployment, newest, setting = rollout.deployment, rollout.newest, rollout.setting
    spec, old = deployment["spec"], deployment.get("status") or {}
    wanted, wait_s = _replicas(deployment), spec.get("minReadySeconds") or 0
    active = [pod for each in rollout.pods.values() for pod in each if pod.is_active]
    updated = [pod for pod in active if newest and pod.owner == newest["metadata"]["uid"]]
    available = sum(rollout.available.values())
    counts = without_zeros(
        observedGeneration=deployment["metadata"].get("generation"),
        replicas=len(active),
        updatedReplicas=len(updated),
        readyReplicas=sum(pod.is_ready for pod in active),
        availableReplicas=available,
        unavailableReplicas=max(0, sum(map(_replicas, rollout.sets)) - available),
    )
    enough = available >= wanted - (0 if _is_recreated(deployment) else _slack(deployment)[1])
    said = _ENOUGH if enough else _TOO_FEW
    is_available = condition("Available", *said, holds=enough)
    is_done = len(active) == len(updated) == available == wanted
    moved = any(old.get(key) != counts.get(key) for key in {*counts, *old} - {"conditions"})
    name = newest["metadata"]["name"] if newest else deployment["metadata"]["name"]
    progressing, again_s = _progress(deployment, name, setting, is_done=is_done, moved=moved)
    told = [_stamped(one, deployment, setting.now) for one in (is_available, progressing) if one]
    told += _failures(rollout)[:1]
    told += [one for one in old.get("conditions") or () if one.get("type") not in _CONDITIONS]
    if wait_s and counts.get("readyReplicas", 0) > available:
        again_s = min(again_s or wait_s, wait_s)
    return counts | {"conditions": told}, again_s


def _failures(rollout: _Rollout) -> list[Wire]:
    """What keeps pods of these replica sets from being made, of the newest one first."""
    ordered = sorted(rollout.sets, key=lambda one: one is not rollout.newest)
    return [
        each | {"lastUpdateTime": each["lastTransitionTime"]}
        for one in ordered
        for each in replicas.conditions(one, rollout.pods_of(one), rollout.setting)
        if each["type"] == replicas.FAILURE
    ]


def _progress(
    deployment: Wire, name: str, setting: Setting, *, is_done: bool, moved: bool
) -> tuple[Wire | None, float | None]:
    """Whether a roll-out gets on; and when to look whether it still does."""
    known, spec = condition_of(deployment, "Progressing"), deployment["spec"]
    if spec.get("paused"):
        said = ("DeploymentPaused", "Deployment is paused")
        return condition("Progressing", *said, holds=True) | {"status": "Unknown"}, None
    if is_done:
        said = ("NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.')
        return condition("Progressing", *said, holds=True), None
    deadline_s = spec.get("progressDeadlineSeconds", 600)
    fresh_wish = deployment["metadata"].get("generation") != (deployment.get("status") or {}).get(
        "observedGeneration"
    )
    waited_s = 0.0 if moved or fresh_wish else setting.seconds_since(known.get("lastUpdateTime"))
    if waited_s >= deadline_s:
        said = ("ProgressDeadlineExceeded", f'ReplicaSet "{name}" has timed out progressing.')
        return condition("Progressing", *said, holds=False), None
    said = ("ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.')
    told = condition("Progressing", *said, holds=True)
    return (told | {"moved": True} if moved else told), deadline_s - waited_s


def _stamped(fresh: Wire, deployment: Wire, now: str) -> Wire:
    """A deployment's condition, with the times of its last change and of its last update."""
    moved = fresh.pop("moved", False)
    before = condition_of(deployment, fresh["type"])
    stamped = since(fresh, [before] if before else [], now)
    as_before = stamped | {"lastUpdateTime": before.get("lastUpdateTime")}
    return before if as_before == before and not moved else stamped | {"lastUpdateTime": now}
