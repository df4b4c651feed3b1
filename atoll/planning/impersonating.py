"""Who may go through the plane to a cluster, and the right to speak for them there.

A cluster and the plane's ClusterRoles with their bindings come in; who is let through goes out, and
the two Works that give the plane's impersonator the right to act as them in the member: a
ClusterRole and its binding. Who asks, and how requests travel, is not known here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from atoll.dialects.karmada import names
from atoll.model.action import NOTHING, Action, Create, Object, Plan, Ref, Update
from atoll.planning.overriding.overriding import Overridden
from atoll.planning.owning import is_owned_by, marked, owned_work, work_id_of, work_ref
from atoll.planning.rendering import Rendered

RBAC = "rbac.authorization.k8s.io"
IMPERSONATOR = "karmada-impersonator"
_WAYS = (("cluster.karmada.io", "clusters/proxy"), ("search.karmada.io", "proxying/proxy"))
_GARBAGE_S = 5.0


@dataclass(frozen=True, slots=True)
class Subjects:
    """Those who may go to a cluster, by name; service accounts with their namespaces."""

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    accounts: frozenset[tuple[str, str]] = frozenset()

    @property
    def spoken_groups(self) -> frozenset[str]:
        """The groups that one who is let through may be said to be of."""
        spaces = {namespace for namespace, _ in self.accounts}
        of_accounts = {f"system:serviceaccounts:{each}" for each in spaces}
        return self.groups | of_accounts | ({"system:serviceaccounts"} if spaces else frozenset())


@dataclass(frozen=True, slots=True)
class SeenAccess:
    """A cluster, the plane's roles and bindings, and the Works that stand for this."""

    cluster: Object
    roles: Sequence[Object]
    bindings: Sequence[Object]
    works: Sequence[Object] = ()
    new_id: str = ""


def let_through(cluster: str, roles: Iterable[Object], bindings: Iterable[Object]) -> Subjects:
    """Those to whom a ClusterRole gives the way to this cluster."""
    ways = {
        role["metadata"]["name"]
        for role in roles
        if any(_leads_to(rule, cluster) for rule in role.get("rules") or ())
    }
    subjects = [
        subject
        for binding in bindings
        if binding["roleRef"]["kind"] == "ClusterRole" and binding["roleRef"]["name"] in ways
        for subject in binding.get("subjects") or ()
    ]
    return Subjects(
        users=frozenset(each["name"] for each in subjects if each["kind"] == "User"),
        groups=frozenset(each["name"] for each in subjects if each["kind"] == "Group"),
        accounts=frozenset(
            (each.get("namespace", ""), each["name"])
            for each in subjects
            if each["kind"] == "ServiceAccount"
        ),
    )


def _leads_to(rule: Object, cluster: str) -> bool:
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    named = rule.get("resourceNames") or ()
    return any(
        _covers(groups, group)
        and (_covers(resources, resource) or f"*/{resource.partition('/')[2]}" in resources)
        and (not named or cluster in named or group == _WAYS[1][0])
        for group, resource in _WAYS
    )


def _covers(listed: Sequence[str], wanted: str) -> bool:
    return wanted in listed or "*" in listed


def rules_for(subjects: Subjects) -> list[Object]:
    """The right to speak for these, and for nobody else.

    A group has members whose names nobody can list: where one is let through, its members are,
    whatever they are called.
    """
    users = [] if subjects.groups else sorted(subjects.users)
    named = {
        "users": users if subjects.users or subjects.groups else None,
        "serviceaccounts": sorted({name for _, name in subjects.accounts}) or None,
        "groups": sorted(subjects.spoken_groups) or None,
    }
    return [
        {
            "verbs": ["impersonate"],
            "apiGroups": [""],
            "resources": [resource],
            **({"resourceNames": found} if found else {}),
        }
        for resource, found in named.items()
        if found is not None
    ]


def works_of(cluster: str) -> list[Ref]:
    """The Works that tell a cluster."""
    return [work_ref(cluster, manifest) for manifest in (_role([]), _binding(""))]


def plan(seen: SeenAccess) -> Plan:
    """Have the member let the plane speak for those who may come, and for nobody else."""
    cluster = seen.cluster
    account = cluster["spec"].get("impersonatorSecretRef")
    if cluster["metadata"].get("deletionTimestamp") or not account:
        return NOTHING
    name = cluster["metadata"]["name"]
    subjects = let_through(name, seen.roles, seen.bindings)
    manifests = (_role(rules_for(subjects)), _binding(account["namespace"]))
    standing = {each["metadata"]["name"]: each for each in seen.works}
    actions: list[Action] = []
    again_in = None
    for index, manifest in enumerate(manifests):
        work = work_ref(name, manifest)
        known = standing.get(work.name)
        if known is not None and not is_owned_by(cluster, known):
            again_in = _GARBAGE_S  # of a cluster that had this name before; it goes with that
            continue
        work_id = work_id_of(known, f"{seen.new_id}-{index}")
        rendered = Rendered(marked(manifest, work), work, Overridden(manifest), "")
        wanted = owned_work(cluster, work, known, rendered.identified(work_id))
        if wanted != known:
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
