"""Who may go through the plane to a cluster, and what right it takes to speak for them there.

The plane's ClusterRoles and their bindings come in; names go out, and rules for a role in the
member. Who asks, and how requests travel, is not known here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from atoll.model.action import Object

_WAYS = (("cluster.karmada.io", "clusters/proxy"), ("search.karmada.io", "proxying/proxy"))


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


def leads(role: Object) -> bool:
    """Whether a ClusterRole gives the way to any cluster."""
    return any(_leads_to(rule, None) for rule in role.get("rules") or ())


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


def _leads_to(rule: Object, cluster: str | None) -> bool:
    """Whether a rule gives the way to a cluster, or to any."""
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    named = rule.get("resourceNames") or ()
    return any(
        _covers(groups, group)
        and (_covers(resources, resource) or f"*/{resource.partition('/')[2]}" in resources)
        and (not named or cluster is None or cluster in named or group == _WAYS[1][0])
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
