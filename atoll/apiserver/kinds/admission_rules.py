"""What those who have a say in admission are asked about, as users write it: rules and conditions.

Webhooks and policies are written alike; here are their shared defaults and rules. Whether a request
is meant is found out elsewhere, and what conditions say in CEL is not read here.
"""

from atoll.apiserver.fields.error import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from atoll.apiserver.kinds.labels import selector_errors
from atoll.apiserver.kinds.reading import Object, each, items, part, parts, text
from atoll.apiserver.kinds.rules import one_of
from atoll.dialects.kubernetes.names import path_segment_faults, qualified_faults

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_CONDITIONS_MAX = 64


def default_rules(rules: list[Object]) -> None:
    """Rules are about both scopes where they do not say, in place."""
    for rule in rules:
        if rule.get("scope") is None:
            rule["scope"] = "*"


def default_match(match: Object) -> None:
    """Match equivalent resources, in all namespaces, whatever their labels, in place."""
    if match.get("matchPolicy") is None:
        match["matchPolicy"] = "Equivalent"
    for selector in ("namespaceSelector", "objectSelector"):
        if match.get(selector) is None:
            match[selector] = {}


def match_errors(match: Object, path: str) -> list[FieldError]:
    """What is wrong with a policy's choice of requests."""
    errors = one_of(match, path, "matchPolicy", MATCH_POLICIES)
    for selector in ("namespaceSelector", "objectSelector"):
        errors += selector_errors(part(match, selector), f"{path}.{selector}")
    for key in ("resourceRules", "excludeResourceRules"):
        for rule, where in each(parts(match, key), f"{path}.{key}"):
            errors += _name_errors(items(rule, "resourceNames"), f"{where}.resourceNames")
            errors += rule_errors(rule, where)
    return errors


def _name_errors(names: list[str], path: str) -> list[FieldError]:
    errors = []
    for index, name in enumerate(names):
        where = f"{path}[{index}]"
        errors += [invalid(where, name, fault) for fault in path_segment_faults(name)]
        if name in names[:index]:
            errors.append(duplicate(where, name))
    return errors


def rule_errors(rule: Object, path: str) -> list[FieldError]:
    """What is wrong with one rule: operations, groups, versions, resources and scope."""
    operations = items(rule, "operations")
    errors = _alone_errors(operations, f"{path}.operations", "operations")
    errors += [
        not_supported(f"{path}.operations[{index}]", operation, OPERATIONS)
        for index, operation in enumerate(operations)
        if operation not in OPERATIONS
    ]
    errors += _alone_errors(items(rule, "apiGroups"), f"{path}.apiGroups", "API groups")
    versions = items(rule, "apiVersions")
    errors += _alone_errors(versions, f"{path}.apiVersions", "API versions")
    errors += [
        required(f"{path}.apiVersions[{index}]")
        for index, version in enumerate(versions)
        if not version
    ]
    errors += _resource_errors(items(rule, "resources"), f"{path}.resources")
    return errors + one_of(rule, path, "scope", _SCOPES)


def _alone_errors(values: list[str], where: str, what: str) -> list[FieldError]:
    if not values:
        return [required(where)]
    if len(values) > 1 and "*" in values:
        return [invalid(where, values, f"if '*' is present, must not specify other {what}")]
    return []


def _resource_errors(resources: list[str], path: str) -> list[FieldError]:
    errors = [] if resources else [required(path)]
    every_below: set[str] = set()
    of_every: set[str] = set()
    is_last_plain = False
    for index, written in enumerate(resources):
        where = f"{path}[{index}]"
        if not written:
            errors.append(required(where))
            continue
        resource, slash, below = written.partition("/")
        if not slash:
            is_last_plain = written != "*"
            continue
        if resource in every_below:
            why = f"if '{resource}/*' is present, must not specify {written}"
            errors.append(invalid(where, written, why))
        if below in of_every:
            why = f"if '*/{below}' is present, must not specify {written}"
            errors.append(invalid(where, written, why))
        if below == "*":
            every_below.add(resource)
        if resource == "*":
            of_every.add(below)
    if len(resources) > 1 and "*/*" in resources:
        why = "if '*/*' is present, must not specify other resources"
        errors.append(invalid(path, resources, why))
    if "*" in resources and is_last_plain:
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, why))
    return errors


def condition_errors(conditions: list[Object], path: str) -> list[FieldError]:
    """What is wrong with the names and the number of conditions."""
    errors = []
    if len(conditions) > _CONDITIONS_MAX:
        errors.append(too_many(path, len(conditions), _CONDITIONS_MAX))
    names: set[str] = set()
    for condition, where in each(conditions, path):
        name = text(condition, "name")
        if not text(condition, "expression").strip():
            errors.append(required(f"{where}.expression"))
        if not name:
            errors.append(required(f"{where}.name"))
            continue
        errors += [invalid(f"{where}.name", name, fault) for fault in qualified_faults(name)]
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        names.add(name)
    return errors
