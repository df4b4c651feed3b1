"""The audit policy: how much is recorded of which request (audit.k8s.io/v1 Policy).

The text of a policy comes in and is checked; rules come out, of which the first that matches a
request decides. Pure.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import yaml

from atoll.apiserver.authentication import Identity
from atoll.apiserver.authorization import Attributes
from atoll.apiserver.fields.error import FieldError, invalid, not_supported, required
from atoll.apiserver.kinds.reading import each, items, parts, text
from atoll.dialects.kubernetes.names import subdomain_faults
from atoll.errors import UsageError
from atoll.wire import Wire

_STEP = re.compile(r"[^.\[\]]+")


def line_of(source: str, field: str) -> int:
    """The line of a field such as `rules[0].level`, or of the nearest thing around it."""
    near = yaml.compose(source, Loader=yaml.SafeLoader)
    for step in _STEP.findall(field):
        inner = _inside(near, step)
        if inner is None:
            break
        near = inner
    return int(near.start_mark.line) + 1


def _inside(node: yaml.Node, step: str) -> yaml.Node | None:
    match node:
        case yaml.MappingNode():
            return next((value for key, value in node.value if key.value == step), None)
        case yaml.SequenceNode() if step.isdecimal() and int(step) < len(node.value):
            found: yaml.Node = node.value[int(step)]
            return found
    return None


def fault(error: yaml.YAMLError) -> str:
    """What the reader of YAML says, in one line, with the line of the file."""
    match error:
        case yaml.MarkedYAMLError(problem=str(problem), problem_mark=yaml.Mark(line=line)):
            return f"line {line + 1}: {problem}"
    return " ".join(str(error).split())


LEVELS = ("None", "Metadata", "Request", "RequestResponse")
NONE, METADATA, REQUEST, REQUEST_RESPONSE = LEVELS
STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")
RECEIVED, STARTED, COMPLETE, PANIC = STAGES
_VERSION = "audit.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Resources:
    """Some resources of a group, or all of it."""

    group: str
    resources: tuple[str, ...]
    names: tuple[str, ...]

    def match(self, wanted: Attributes) -> bool:
        if self.group not in (wanted.group, "*"):
            return False
        if not self.resources:
            return True
        if self.names and wanted.name not in self.names:
            return False
        return any(_is_meant(known, wanted) for known in self.resources)


def _is_meant(known: str, wanted: Attributes) -> bool:
    if known in ("*", wanted.resource) or known == f"{wanted.plural}/*":
        return True
    return bool(wanted.subresource) and known == f"*/{wanted.subresource}"


@dataclass(frozen=True, slots=True)
class Rule:
    """How much is recorded of the requests that match; what is empty matches everything."""

    level: str
    omitted: frozenset[str] = frozenset()
    omits_owners: bool = False
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    resources: tuple[Resources, ...] = ()
    paths: tuple[str, ...] = ()

    def match(self, identity: Identity | None, wanted: Attributes) -> bool:
        if self.users and (identity is None or identity.name not in self.users):
            return False
        if self.groups and not (identity and set(self.groups) & set(identity.groups)):
            return False
        if self.verbs and wanted.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return self._match_resource(wanted)
        return not self.paths or any(_covers(path, wanted.path) for path in self.paths)

    def _match_resource(self, wanted: Attributes) -> bool:
        if wanted.path or (self.namespaces and wanted.namespace not in self.namespaces):
            return False
        return not self.resources or any(known.match(wanted) for known in self.resources)


def _covers(pattern: str, path: str) -> bool:
    if not path:
        return False
    return pattern in ("*", path) or (pattern[-1:] == "*" and path.startswith(pattern.rstrip("*")))


@dataclass(frozen=True, slots=True)
class Policy:
    """All rules, in order; what none matches is not recorded."""

    rules: tuple[Rule, ...]

    def rule_for(self, identity: Identity | None, wanted: Attributes) -> Rule | None:
        """The rule that decides about a request; None if it is not to be recorded."""
        for rule in self.rules:
            if rule.match(identity, wanted):
                return None if rule.level == NONE else rule
        return None


# Without a policy of the user's: who did what, and never what was in it.
USUAL = Policy((Rule(METADATA, frozenset([RECEIVED])),))


def read_policy(source: str, name: str) -> Policy:
    """The policy in a file of this name; UsageError says what is wrong with it."""
    try:
        document = yaml.safe_load(source)
    except yaml.YAMLError as error:
        raise UsageError(f"the audit policy in {name} is not YAML: {fault(error)}") from error
    except RecursionError as error:
        raise UsageError(f"the audit policy in {name} is too deep") from error
    if not isinstance(document, dict):
        raise UsageError(f"the audit policy in {name} is no object")
    if (document.get("apiVersion"), document.get("kind")) != (_VERSION, "Policy"):
        raise UsageError(f"the file {name} holds no Policy of {_VERSION}")
    errors = list(_errors(document))
    if errors:
        told = (f"line {line_of(source, one.field)}: {one}" for one in errors)
        raise UsageError(f"the audit policy in {name} is wrong: {'; '.join(told)}")
    if not parts(document, "rules"):
        raise UsageError(f"the audit policy in {name} has no rules")
    return Policy(tuple(_rule(rule, document) for rule in parts(document, "rules")))


def _errors(policy: Wire) -> Iterable[FieldError]:
    yield from _stage_errors(policy, "omitStages")
    for rule, where in each(parts(policy, "rules"), "rules"):
        level = rule.get("level")
        if not level:
            yield required(f"{where}.level")
        elif level not in LEVELS:
            yield not_supported(f"{where}.level", level, LEVELS)
        yield from _path_errors(rule, where)
        yield from _resource_errors(rule, where)
        yield from _stage_errors(rule, f"{where}.omitStages")


def _stage_errors(holder: Wire, where: str) -> Iterable[FieldError]:
    for index, stage in enumerate(items(holder, "omitStages")):
        if stage not in STAGES:
            yield invalid(f"{where}[{index}]", stage, f"allowed stages are {','.join(STAGES)}")


def _path_errors(rule: Wire, where: str) -> Iterable[FieldError]:
    paths = items(rule, "nonResourceURLs")
    for index, path in enumerate(paths):
        place = f"{where}.nonResourceURLs[{index}]"
        if path == "*":
            continue
        if not str(path).startswith("/"):
            yield invalid(place, path, "non-resource URL rules must begin with a '/' character")
        if "*" in str(path)[:-1]:
            why = "non-resource URL wildcards '*' must be the final character of the rule"
            yield invalid(place, path, why)
    if paths and (items(rule, "resources") or items(rule, "namespaces")):
        why = "rules cannot apply to both regular resources and non-resource URLs"
        yield invalid(f"{where}.nonResourceURLs", paths, why)


def _resource_errors(rule: Wire, where: str) -> Iterable[FieldError]:
    for known in parts(rule, "resources"):
        group = text(known, "group")
        faults = subdomain_faults(group) if group not in ("", "*") else []
        if faults:
            yield invalid(f"{where}.resources.group", group, ",".join(faults))
        if items(known, "resourceNames") and not items(known, "resources"):
            why = "using resourceNames requires at least one resource"
            yield invalid(f"{where}.resources.resourceNames", known["resourceNames"], why)


def _rule(rule: Wire, policy: Wire) -> Rule:
    omits = rule.get("omitManagedFields")
    stages = [*items(policy, "omitStages"), *items(rule, "omitStages")]
    return Rule(
        level=text(rule, "level"),
        omitted=frozenset(stages),
        omits_owners=bool(policy.get("omitManagedFields") if omits is None else omits),
        users=_words(rule, "users"),
        groups=_words(rule, "userGroups"),
        verbs=_words(rule, "verbs"),
        namespaces=_words(rule, "namespaces"),
        resources=tuple(
            Resources(
                text(known, "group"), _words(known, "resources"), _words(known, "resourceNames")
            )
            for known in parts(rule, "resources")
        ),
        paths=_words(rule, "nonResourceURLs"),
    )


def _words(holder: Wire, key: str) -> tuple[str, ...]:
    return tuple(map(str, items(holder, key)))
