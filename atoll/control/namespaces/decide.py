"""Namespaces go to every cluster, so that what is in them can follow.

Comes in: a namespace, one cluster, the Work there is for it. Goes out: the Work as it should be,
owned by the namespace, so that it goes when the namespace goes. Not for the plane's own namespaces,
`default`, those skipped by name, nor those whose label says no. Only cluster-wide overrides apply.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from atoll.control.works.decide.overriding.overriding import (
    Policies,
    listed,
    no_policies,
    override,
)
from atoll.control.works.decide.owned import (
    is_owned_by,
    marked,
    owned_work,
    work_id_of,
    work_ref,
)
from atoll.control.works.decide.rendering import Means, Rendered
from atoll.dialects.karmada import names
from atoll.dialects.kubernetes import metadata
from atoll.errors import AtollError
from atoll.model.action import NOTHING, Create, Delete, Plan, Tell, Update
from atoll.model.cluster import Cluster
from atoll.model.work import Work
from atoll.wire import Object

KUBE = (re.compile("kube-.*"),)
_GARBAGE_S = 5.0


@dataclass(frozen=True, slots=True)
class SeenNamespace:
    """A namespace, or None if it is gone, and a cluster that it is to go to.

    `work`: the one of the name that this namespace's has in that cluster. `new_id`: an id nobody
    has yet.
    """

    namespace: Object | None
    cluster: Cluster
    means: Means
    work: Work | None = None
    policies: Policies = no_policies
    new_id: str = ""


def plan(seen: SeenNamespace) -> Plan:
    """Have a cluster get the namespace as it is now, unless it is to stay here."""
    namespace, work = seen.namespace, seen.work
    if namespace is None:
        return NOTHING if work is None else _withdrawn(work)
    if namespace["metadata"].get("deletionTimestamp") or not is_propagated(namespace):
        return NOTHING
    if work is None and seen.cluster.deleting:
        return NOTHING
    if work is not None and not is_owned_by(metadata.decode(namespace), work):
        # Of a namespace that had this name before; it goes with that.
        return Plan(again_in=_GARBAGE_S)
    try:
        wanted = _work(seen, namespace)
    except AtollError as failed:
        name, cluster = namespace["metadata"]["name"], seen.cluster.name
        message = f"Namespace {name} for cluster {cluster}: {failed}"
        return Plan((Tell(namespace, "SyncWorkFailed", message, warning=True),))
    if work is None:
        return Plan((Create(wanted),))
    return NOTHING if wanted == work.wire else Plan((Update(wanted),))


def is_propagated(namespace: Object, skipped: Sequence[re.Pattern[str]] = KUBE) -> bool:
    """Whether a namespace goes to the members by itself."""
    metadata = namespace["metadata"]
    name = metadata["name"]
    label = (metadata.get("labels") or {}).get(names.SKIP_AUTO_PROPAGATION, "")
    own = name == "default" or names.is_reserved(name)
    by_name = any(pattern.fullmatch(name) for pattern in skipped)
    return not (own or by_name or label.lower() == "true")


def _withdrawn(work: Work) -> Plan:
    """The deletion of what the garbage collector has not come to yet."""
    is_ours = any(each.kind == "Namespace" for each in work.meta.owners)
    return Plan((Delete.of(work.wire),)) if is_ours and not work.meta.is_going else NOTHING


def _work(seen: SeenNamespace, namespace: Object) -> Object:
    """The Work of the cluster as it should be, changed only where it must be."""
    rendered = _rendered(seen, namespace)
    rules = rendered.overridden.cluster_wide
    notes = {names.APPLIED_CLUSTER_OVERRIDES: listed(rules) if rules else None}
    manifest = rendered.identified(work_id_of(seen.work, seen.new_id))
    return owned_work(metadata.decode(namespace), rendered.work, seen.work, manifest, notes)


def _rendered(seen: SeenNamespace, namespace: Object) -> Rendered:
    """The namespace as the cluster gets it."""
    overridden = override(namespace, seen.cluster, seen.policies, seen.means.texts)
    work = work_ref(seen.cluster.name, namespace)
    uid = namespace["metadata"].get("uid", "")
    manifest = marked(overridden.manifest, work, **{names.TEMPLATE_UID: uid})
    return Rendered(seen.means.prune(manifest), work, overridden, "")
