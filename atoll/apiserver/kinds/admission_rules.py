"""What those who have a say in admission are asked about, as users write it: rules and conditions.

Webhooks and policies are written alike; here are their shared defaults and rules. Whether a request
is meant is found out elsewhere, and what conditions say in CEL is not read here.
"""

from atoll.apiserver.fields.error import (
    Errors,
    duplicate,
    faulty,
    invalid,
    named,
    required,
    too_many,
)
from atoll.apiserver.kinds.labels import selector_errors
from atoll.apiserver.kinds.reading import each, items, part, parts, text
from atoll.apiserver.kinds.rules import all_of, one_of, unique
from atoll.dialects.kubernetes.names import path_segment_faults, qualified_faults
from atoll.wire import Wire

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_CONDITIONS_MAX = 64


def default_rules(rules: list[Wire]) -> None:
    """Rules are about both scopes where they do not say, in place."""
    for rule in rules:
        if rule.get("scope") is None:
            rule["scope"] = "*"


def default_match(match: Wire) -> None:
    """Match equivalent resources, in all namespaces, whatever their labels, in place."""
    if match.get("matchPolicy") is None:
        match["matchPolicy"] = "Equivalent"
    for selector in ("namespaceSelector", "objectSelector"):
        if match.get(selector) is None:
            match[selector] = {}


def match_errors(match: Wire, path: str) -> Errors:
    """What is wrong with a policy's choice of requests."""
    yield from one_of(match, path, "matchPolicy", MATCH_POLICIES)
    for selector in ("namespaceSelector", "objectSelector"):
        yield from selector_errors(part(match, selector), f"{path}.{selector}")
    for key in ("resourceRules", "excludeResourceRules"):
        for rule, where in each(parts(match, key), f"{path}.{key}"):
            yield from _name_errors(items(rule, "resourceNames"), f"{where}.resourceNames")
            yield from rule_errors(rule, where)


def _name_errors(names: list[str], path: str) -> Errors:
    for index, name in enumerate(names):
        where = f"{path}[{index}]"
        yield from faulty(where, name, path_segment_faults(name))
        if name in names[:index]:
            yield duplicate(where, name)


def rule_errors(rule: Wire, path: str) -> Errors:
    """What is wrong with one rule: operations, groups, versions, resources and scope."""
    yield from _alone_errors(items(rule, "operations"), f"{path}.operations", "operations")
    yield from all_of(rule, path, "operations", OPERATIONS)
    yield from _alone_errors(items(rule, "apiGroups"), f"{path}.apiGroups", "API groups")
    versions = items(rule, "apiVersions")
    yield from _alone_errors(versions, f"{path}.apiVersions", "API versions")
    yield from (
        required(f"{path}.apiVersions[{index}]")
        for index, version in enumerate(versions)
        if not version
    )
    yield from _resource_errors(items(rule, "resources"), f"{path}.resources")
    yield from one_of(rule, path, "scope", _SCOPES)


def _alone_errors(values: list[str], where: str, what: str) -> Errors:
    if not values:
        return [required(where)]
    if len(values) > 1 and "*" in values:
        return [invalid(where, values, f"if '*' is present, must not specify other {what}")]
    return []


def _resource_errors(resources: list[str], path: str) -> Errors:
    if not resources:
        yield required(path)
    every_below: set[str] = set()
    of_every: set[str] = set()
    is_last_plain = False
    for index, written in enumerate(resources):
        where = f"{path}[{index}]"
        if not written:
            yield required(where)
            continue
        resource, slash, below = written.partition("/")
        if not slash:
            is_last_plain = written != "*"
            continue
        if resource in every_below:
            why = f"if '{resource}/*' is present, must not specify {written}"
            yield invalid(where, written, why)
        if below in of_every:
            yield invalid(where, written, f"if '*/{below}' is present, must not specify {written}")
        if below == "*":
            every_below.add(resource)
        if resource == "*":
            of_every.add(below)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(path, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and is_last_plain:
        why = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, resources, why)


def condition_errors(conditions: list[Wire], path: str) -> Errors:
    """What is wrong with the names and the number of conditions."""
    if len(conditions) > _CONDITIONS_MAX:
        yield too_many(path, len(conditions), _CONDITIONS_MAX)
    names: set[str] = set()
    for condition, where in each(conditions, path):
        name = text(condition, "name")
        if not text(condition, "expression").strip():
            yield required(f"{where}.expression")
        yield from named(f"{where}.name", name, qualified_faults)
        yield from unique(names, name, f"{where}.name") if name else ()
