"""The rules of roles: what one allows, and whether one covers another. Pure.

A rule is as Kubernetes defines it: verbs on resources of groups, perhaps only of some names, or
verbs on paths that are no resources; `*` stands for all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from atoll.apiserver.authorization import Attributes
from atoll.wire import Wire

ALL = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. It is about resources or about paths, never both."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def allows(self, wanted: Attributes) -> bool:
        """Whether this is one of the things that the rule is about."""
        if ALL not in self.verbs and wanted.verb not in self.verbs:
            return False
        if wanted.path:
            return any(_covers_url(url, wanted.path) for url in self.urls)
        return (
            (ALL in self.groups or wanted.group in self.groups)
            and _covers_resource(self.resources, wanted.resource)
            and (not self.names or wanted.name in self.names)
        )

    def covers(self, other: "Rule") -> bool:
        """Whether whatever the other rule allows is allowed by this one."""
        return (
            _has_all(self.verbs, other.verbs)
            and _has_all(self.groups, other.groups)
            and all(_covers_resource(self.resources, one) for one in other.resources)
            and all(any(_covers_url(url, one) for url in self.urls) for one in other.urls)
            and (not self.names or (bool(other.names) and set(other.names) <= set(self.names)))
        )


def rules_of(role: Wire) -> tuple[Rule, ...]:
    """The rules of a Role or ClusterRole."""
    return tuple(rule_of(one) for one in role.get("rules") or ())


def rule_of(wire: Wire) -> Rule:
    return Rule(
        tuple(wire.get("verbs") or ()),
        tuple(wire.get("apiGroups") or ()),
        tuple(wire.get("resources") or ()),
        tuple(wire.get("resourceNames") or ()),
        tuple(wire.get("nonResourceURLs") or ()),
    )


def uncovered(owned: Sequence[Rule], asked: Iterable[Rule]) -> list[Rule]:
    """What is asked for and not owned, in the smallest parts, put together by resource."""
    missing = [
        part
        for rule in asked
        for part in _parts(rule)
        if not any(one.covers(part) for one in owned)
    ]
    found: dict[Rule, Rule] = {}
    for part in missing:
        key = replace(part, verbs=()) if part.resources else part
        known = found.get(key)
        if known is None:
            found[key] = part
        elif part.verbs[0] not in known.verbs:
            found[key] = replace(known, verbs=(*known.verbs, *part.verbs))
    return list(found.values())


def _parts(rule: Rule) -> list[Rule]:
    """One rule for each verb on each single thing."""
    of_resources = [
        Rule((verb,), (group,), (resource,), names)
        for group in rule.groups
        for resource in rule.resources
        for verb in rule.verbs
        for names in _each(rule.names)
    ]
    return of_resources + [Rule((verb,), urls=(url,)) for url in rule.urls for verb in rule.verbs]


def _each(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [(name,) for name in names] if names else [()]


def described(rule: Rule) -> str:
    """A rule in the words of a refusal."""
    named = (
        ("APIGroups", rule.groups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.urls),
        ("ResourceNames", rule.names),
        ("Verbs", rule.verbs),
    )
    return "{" + ", ".join(f"{name}:{quoted(values)}" for name, values in named if values) + "}"


def quoted(values: Iterable[str]) -> str:
    """Texts in brackets, as Go prints them."""
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


def _has_all(own: Sequence[str], others: Sequence[str]) -> bool:
    return ALL in own or set(others) <= set(own)


def _covers_resource(resources: Sequence[str], one: str) -> bool:
    if ALL in resources or one in resources:
        return True
    _, slash, subresource = one.partition("/")
    return bool(slash) and f"{ALL}/{subresource}" in resources


def _covers_url(own: str, path: str) -> bool:
    if own in (ALL, path):
        return True
    return own.endswith(ALL) and path.startswith(own[:-1])
