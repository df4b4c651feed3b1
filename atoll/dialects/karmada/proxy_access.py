"""Who may go through the plane to a cluster, and what right it takes to speak for them there.

The plane's ClusterRoles and their bindings come in; names go out, and rules for a role in the
member. Who asks, and how requests travel, is not known here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from atoll.wire import Object

_WAYS = (("cluster.karmada.io", "clusters/proxy"), ("search.karmada.io", "proxying/proxy"))

EVERYWHERE = ""
"""In the place of a cluster's name, which is never empty."""


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


def ways(role: Object) -> frozenset[str]:
    """The clusters that a ClusterRole gives the way to, by name; `EVERYWHERE` alone: to any."""
    named = frozenset(name for rule in role.get("rules") or () for name in _ways(rule))
    return frozenset((EVERYWHERE,)) if EVERYWHERE in named else named


def let_through(cluster: str, roles: Iterable[Object], bindings: Iterable[Object]) -> Subjects:
    """Those to whom a ClusterRole gives the way to this cluster."""
    leading = {
        role["metadata"]["name"]
        for role in roles
        if not ways(role).isdisjoint((cluster, EVERYWHERE))
    }
    subjects = [
        subject
        for binding in bindings
        if binding["roleRef"]["kind"] == "ClusterRole" and binding["roleRef"]["name"] in leading
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


def _ways(rule: Object) -> Iterator[str]:
    """The clusters that a rule gives the way to."""
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    for group, resource in _WAYS:
        of_all = f"*/{resource.partition('/')[2]}"
        if _covers(groups, group) and (_covers(resources, resource) or of_all in resources):
            named = rule.get("resourceNames") if group == _WAYS[0][0] else None
            yield from filter(None, named) if named else (EVERYWHERE,)


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
