"""Members let the plane speak for those who may go through it to them.

A cluster and the plane's ClusterRoles with their bindings come in; two Works go out, which give the
plane's impersonator the right to act as those who are let through: a ClusterRole and its binding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from atoll.control.works.decide.overriding.overriding import Overridden
from atoll.control.works.decide.owned import is_owned_by, marked, owned_work, work_id_of, work_ref
from atoll.control.works.decide.rendering import Rendered
from atoll.dialects.karmada import names
from atoll.dialects.karmada.proxy_access import let_through, rules_for
from atoll.model.action import NOTHING, Action, Create, Plan, Ref, Update
from atoll.model.member import Member
from atoll.model.work import Work
from atoll.wire import Object

RBAC = "rbac.authorization.k8s.io"
IMPERSONATOR = "karmada-impersonator"
_GARBAGE_S = 5.0


@dataclass(frozen=True, slots=True)
class SeenAccess:
    """A cluster, the plane's roles and bindings, and the Works that stand for this."""

    cluster: Member
    roles: Sequence[Object]
    bindings: Sequence[Object]
    works: Sequence[Work] = ()
    new_id: str = ""


def works_of(cluster: str) -> list[Ref]:
    """The Works that tell a cluster."""
    return [work_ref(cluster, manifest) for manifest in (_role([]), _binding(""))]


def plan(seen: SeenAccess) -> Plan:
    """Have the member let the plane speak for those who may come, and for nobody else."""
    cluster = seen.cluster
    account = cluster.spec.impersonator
    if cluster.meta.is_going or account is None:
        return NOTHING
    name = cluster.name
    subjects = let_through(name, seen.roles, seen.bindings)
    manifests = (_role(rules_for(subjects)), _binding(account.namespace))
    standing = {each.ref.name: each for each in seen.works}
    actions: list[Action] = []
    again_in = None
    for index, manifest in enumerate(manifests):
        work = work_ref(name, manifest)
        known = standing.get(work.name)
        if known is not None and not is_owned_by(cluster.meta, known):
            again_in = _GARBAGE_S  # of a cluster that had this name before; it goes with that
            continue
        work_id = work_id_of(known, f"{seen.new_id}-{index}")
        rendered = Rendered(marked(manifest, work), work, Overridden(manifest), "")
        wanted = owned_work(cluster.meta, work, known, rendered.identified(work_id))
        if known is None or wanted != known.wire:
            actions.append(Create(wanted) if known is None else Update(wanted))
    return Plan(tuple(actions), again_in=again_in)


def _role(rules: list[Object]) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": IMPERSONATOR, "labels": {names.SYSTEM: "true"}},
        "rules": rules,
    }


def _binding(namespace: str) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": IMPERSONATOR, "labels": {names.SYSTEM: "true"}},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": IMPERSONATOR},
        "subjects": [{"kind": "ServiceAccount", "name": IMPERSONATOR, "namespace": namespace}],
    }
