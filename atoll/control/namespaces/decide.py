"""Namespaces go to every cluster, so that what is in them can follow.

Comes in: a namespace, the clusters, the Works there are for it. Goes out: one Work per cluster,
owned by the namespace, so that it goes when the namespace goes. Not for the plane's own namespaces,
`default`, those skipped by name, nor those whose label says no. Only cluster-wide overrides apply.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from atoll.control.works.decide.overriding.overriding import Policies, listed, override
from atoll.control.works.decide.owned import (
    is_owned_by,
    marked,
    owned_work,
    owners_of,
    work_id_of,
    work_ref,
)
from atoll.control.works.decide.rendering import Means, Rendered
from atoll.dialects.karmada import names
from atoll.errors import AtollError
from atoll.model.action import NOTHING, Action, Create, Delete, Object, Plan, Ref, Tell, Update
from atoll.model.cluster import Cluster

KUBE = (re.compile("kube-.*"),)
_GARBAGE_S = 5.0


@dataclass(frozen=True, slots=True)
class SeenNamespace:
    """A namespace, or None if it is gone, and what there is of it.

    `works`: those of the name this namespace's have, in all clusters. `new_id`: an id nobody has
    yet.
    """

    namespace: Object | None
    clusters: Mapping[str, Cluster]
    means: Means
    works: Sequence[Object] = ()
    policies: Policies = field(default_factory=Policies)
    skipped: tuple[re.Pattern[str], ...] = KUBE
    new_id: str = ""


def plan(seen: SeenNamespace) -> Plan:
    """Have every cluster get the namespace as it is now, unless it is to stay here."""
    namespace = seen.namespace
    if namespace is None:
        return Plan(tuple(_withdrawn(seen.works)))
    if namespace["metadata"].get("deletionTimestamp") or not is_propagated(namespace, seen.skipped):
        return NOTHING
    there = {names.cluster_of(Ref.of(each).namespace): each for each in seen.works}
    actions: list[Action] = []
    again_in = None
    for index, name in enumerate(sorted(seen.clusters)):
        work = there.get(name)
        if work is None and seen.clusters[name].deleting:
            continue
        if work is not None and not is_owned_by(namespace, work):
            # Of a namespace that had this name before; it goes with that.
            again_in = _GARBAGE_S
            continue
        try:
            wanted = _work(seen, namespace, name, work, f"{seen.new_id}-{index}")
        except AtollError as failed:
            message = f"Namespace {namespace['metadata']['name']} for cluster {name}: {failed}"
            actions.append(Tell(namespace, "SyncWorkFailed", message, warning=True))
            continue
        if wanted != work:
            actions.append(Create(wanted) if work is None else Update(wanted))
    return Plan(tuple(actions), again_in=again_in)


def is_propagated(namespace: Object, skipped: Sequence[re.Pattern[str]] = KUBE) -> bool:
    """Whether a namespace goes to the members by itself."""
    metadata = namespace["metadata"]
    name = metadata["name"]
    label = (metadata.get("labels") or {}).get(names.SKIP_AUTO_PROPAGATION, "")
    own = name == "default" or names.is_reserved(name)
    by_name = any(pattern.fullmatch(name) for pattern in skipped)
    return not (own or by_name or label.lower() == "true")


def _withdrawn(works: Sequence[Object]) -> list[Action]:
    """Deletions of what the garbage collector has not come to yet."""
    return [
        Delete.of(work)
        for work in works
        if not work["metadata"].get("deletionTimestamp")
        and any(each.get("kind") == "Namespace" for each in owners_of(work))
    ]


def _work(
    seen: SeenNamespace, namespace: Object, cluster: str, standing: Object | None, new_id: str
) -> Object:
    """The Work of a cluster as it should be, changed only where it must be."""
    rendered = _rendered(seen, namespace, seen.clusters[cluster])
    known = ((standing or {}).get("metadata") or {}).get("annotations") or {}
    kept = {k: v for k, v in known.items() if k != names.APPLIED_CLUSTER_OVERRIDES}
    rules = rendered.overridden.cluster_wide
    told = {names.APPLIED_CLUSTER_OVERRIDES: listed(rules)} if rules else {}
    manifest = rendered.identified(work_id_of(standing, new_id))
    return owned_work(namespace, rendered.work, standing, manifest, {**kept, **told})


def _rendered(seen: SeenNamespace, namespace: Object, cluster: Cluster) -> Rendered:
    """The namespace as a cluster gets it."""
    overridden = override(namespace, cluster, seen.policies, seen.means.texts)
    work = work_ref(cluster.name, namespace)
    uid = namespace["metadata"].get("uid", "")
    manifest = marked(overridden.manifest, work, **{names.TEMPLATE_UID: uid})
    return Rendered(seen.means.prune(manifest), work, overridden, "")
