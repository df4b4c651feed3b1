"""The kinds of flowcontrol.apiserver.k8s.io/v1: which requests wait for which others.

They are kept for those who write them; this server lets requests through by rules of its own.
"""

from math import ceil, log2
from typing import Any

from atoll.apiserver.fields.error import (
    Errors,
    faulty,
    forbidden,
    invalid,
    named,
    not_supported,
    optional,
    required,
)
from atoll.apiserver.kinds.reading import (
    each,
    fill,
    fill_zero,
    given,
    grown,
    items,
    part,
    parts,
    text,
)
from atoll.apiserver.kinds.rules import if_given, in_each, in_range, needed, unique
from atoll.apiserver.resource import VERBS, Strategy
from atoll.dialects.kubernetes.names import label_faults, subdomain_faults
from atoll.wire import Wire

_PRECEDENCE, _PRECEDENCE_MAX = 1000, 10_000
_METHODS = ("ByNamespace", "ByUser")
_LEVELS, _RESPONSES = ("Exempt", "Limited"), ("Queue", "Reject")
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_VERBS = tuple(sorted([*VERBS, "proxy"]))
_QUEUES_MAX, _HASH_BITS = 10_000_000, 60


def _schema_errors(schema: Wire) -> Errors:
    spec, name = part(schema, "spec"), text(schema, "metadata", "name")
    precedence, where = spec.get("matchingPrecedence") or 0, "spec.matchingPrecedence"
    if precedence <= 0:
        yield invalid(where, precedence, "must be a positive value")
    if precedence > _PRECEDENCE_MAX:
        yield invalid(where, precedence, f"must not be greater than {_PRECEDENCE_MAX}")
    if precedence == 1 and name != "exempt":
        why = "only the schema named 'exempt' may have matchingPrecedence 1"
        yield invalid(where, precedence, why)
    method = given(spec, "distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        shown = {"Type": method.get("type", "")}
        yield not_supported("spec.distinguisherMethod.type", shown, _METHODS)
    level, why = text(spec, "priorityLevelConfiguration", "name"), "must reference a priority level"
    yield from named("spec.priorityLevelConfiguration.name", level, subdomain_faults, why)
    yield from in_each(spec, "spec", "rules", _rule_errors)


def _rule_errors(rule: Wire, where: str) -> Errors:
    subjects = parts(rule, "subjects")
    if not subjects:
        yield required(f"{where}.subjects", "subjects must contain at least one value")
    yield from in_each(rule, where, "subjects", _subject_errors)
    resources, urls = parts(rule, "resourceRules"), parts(rule, "nonResourceRules")
    if not resources and not urls:
        why = "at least one of resourceRules and nonResourceRules has to be non-empty"
        yield required(where, why)
    yield from in_each(rule, where, "resourceRules", _resource_errors)
    yield from in_each(rule, where, "nonResourceRules", _urls_errors)


def _subject_errors(subject: Wire, where: str) -> Errors:
    kind = text(subject, "kind")
    if kind not in _SUBJECTS:
        yield not_supported(f"{where}.kind", kind, tuple(_SUBJECTS))
        return
    key = _SUBJECTS[kind]
    yield from _subject_own_errors(given(subject, key), kind, f"{where}.{key}")
    order = ("serviceAccount", "user", "group")
    owners = {key: kind for kind, key in _SUBJECTS.items()}
    yield from (
        forbidden(f"{where}.{other}", f"{other} is forbidden when subject kind is not '{owner}'")
        for other in order
        if other != key and given(subject, other) is not None and (owner := owners[other])
    )


def _subject_own_errors(subject: Wire | None, kind: str, where: str) -> Errors:
    if subject is None:
        yield required(where, f"{_SUBJECTS[kind]} is required when subject kind is '{kind}'")
        return
    yield from needed(subject, where, "name")
    if kind == "ServiceAccount":
        name, why = text(subject, "name"), "must specify namespace for service account"
        yield from optional(f"{where}.name", name, subdomain_faults) if name != "*" else ()
        yield from named(f"{where}.namespace", text(subject, "namespace"), label_faults, why)


def _verbs_errors(rule: Wire, where: str) -> Errors:
    verbs, place = items(rule, "verbs"), f"{where}.verbs"
    if not verbs:
        return [required(place, "verbs must contain at least one value")]
    if "*" in verbs:
        return _alone(verbs, place, "verbs")
    return [] if {*verbs} <= {*_VERBS} else [not_supported(place, verbs, _VERBS)]


def _alone(listed: list[Any], where: str, things: str) -> Errors:
    if len(listed) > 1 and "*" in listed:
        return [invalid(where, listed, f"if '*' is present, must not specify other {things}")]
    return []


def _resource_errors(rule: Wire, where: str) -> Errors:
    yield from _verbs_errors(rule, where)
    for key, thing in (("apiGroups", "api group"), ("resources", "resource")):
        listed, place = items(rule, key), f"{where}.{key}"
        if listed:
            yield from _alone(listed, place, f"{thing}s")
        else:
            yield required(place, f"resource rules must supply at least one {thing}")
    namespaces, place = items(rule, "namespaces"), f"{where}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        yield required(place, why)
    elif "*" in namespaces:
        yield from _alone(namespaces, place, "namespaces")
    else:
        intro = "each member of this list must be '*' or a DNS-1123 label; "
        for index, namespace in enumerate(namespaces):
            faults = (intro + fault for fault in label_faults(str(namespace)))
            yield from faulty(f"{place}[{index}]", namespace, faults)


def _urls_errors(rule: Wire, where: str) -> Errors:
    yield from _verbs_errors(rule, where)
    urls, place = items(rule, "nonResourceURLs"), f"{where}.nonResourceURLs"
    if not urls:
        yield required(place, "nonResourceURLs must contain at least one value")
    if "*" in urls:
        yield from _alone(urls, place, "non-resource URLs")
        return
    for index, url in enumerate(urls):
        if why := _url_fault(str(url)):
            yield invalid(f"{place}[{index}]", url, why)


def _url_fault(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if url.count("*") > 1 or ("*" in url and not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


def _conditions_errors(obj: Wire) -> Errors:
    seen: set[str] = set()
    for condition, where in each(parts(obj, "status", "conditions"), "status.conditions"):
        yield from unique(seen, text(condition, "type"), f"{where}.type")
        yield from needed(condition, where, "type")


def _default_level(level: Wire) -> None:
    spec = grown(level, "spec")
    exempt, limited = given(spec, "exempt"), given(spec, "limited")
    if exempt is not None:
        fill(exempt, nominalConcurrencyShares=0, lendablePercent=0)
    if limited is not None:
        fill(limited, nominalConcurrencyShares=30, lendablePercent=0)
        queuing = given(limited, "limitResponse", "queuing")
        if queuing is not None:
            fill_zero(queuing, handSize=8, queues=64, queueLengthLimit=50)


def _level_errors(level: Wire) -> Errors:
    spec, name = part(level, "spec"), text(level, "metadata", "name")
    kind, limited, exempt = text(spec, "type"), given(spec, "limited"), given(spec, "exempt")
    if (name == "exempt") != (kind == "Exempt"):
        yield invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    if kind == "Exempt":
        if limited is not None:
            yield forbidden("spec.limited", "must be nil if the type is not Limited")
        yield from if_given(spec, "spec", "exempt", _shares_errors)
    elif kind == "Limited":
        if exempt is not None:
            yield forbidden("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield required("spec.limited", "must not be empty when type is Limited")
        else:
            yield from _limited_errors(limited)
    elif kind:
        yield not_supported("spec.type", kind, _LEVELS)
    else:
        yield required("spec.type")


def _shares_errors(shares: Wire, where: str) -> Errors:
    yield from _nominal_errors(shares, where)
    yield from _lendable_errors(shares, where)


def _nominal_errors(shares: Wire, where: str) -> Errors:
    return in_range(shares, where, "nominalConcurrencyShares", "must be a non-negative integer")


def _lendable_errors(shares: Wire, where: str) -> Errors:
    return in_range(
        shares, where, "lendablePercent", "must be between 0 and 100, inclusive", most=100
    )


def _limited_errors(limited: Wire) -> Errors:
    where = "spec.limited"
    yield from _nominal_errors(limited, where)
    yield from _response_errors(part(limited, "limitResponse"), f"{where}.limitResponse")
    yield from _lendable_errors(limited, where)
    why = "if specified, must be a non-negative integer"
    yield from in_range(limited, where, "borrowingLimitPercent", why)


def _response_errors(response: Wire, where: str) -> Errors:
    kind, queuing = text(response, "type"), given(response, "queuing")
    if kind == "Reject" and queuing is not None:
        why = "must be nil if limited.limitResponse.type is not Limited"
        yield forbidden(f"{where}.queuing", why)
    elif kind == "Queue" and queuing is None:
        why = "must not be empty if limited.limitResponse.type is Limited"
        yield required(f"{where}.queuing", why)
    elif kind == "Queue" and queuing is not None:
        yield from _queuing_errors(queuing, f"{where}.queuing")
    elif not kind:
        yield required(f"{where}.type")
    elif kind not in _RESPONSES:
        yield not_supported(f"{where}.type", kind, _RESPONSES)


def _queuing_errors(queuing: Wire, where: str) -> Errors:
    length, queues = queuing.get("queueLengthLimit") or 0, queuing.get("queues") or 0
    hand, place = queuing.get("handSize") or 0, f"{where}.handSize"
    if length <= 0:
        yield invalid(f"{where}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        yield invalid(f"{where}.queues", queues, "must be positive")
    elif queues > _QUEUES_MAX:
        yield invalid(f"{where}.queues", queues, f"must not be greater than {_QUEUES_MAX}")
    if hand <= 0:
        yield invalid(place, hand, "must be positive")
    elif hand > queues:
        yield invalid(place, hand, f"should not be greater than queues ({queues})")
    elif ceil(log2(queues) * hand) > _HASH_BITS:
        why = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater"
            f" than {_HASH_BITS}"
        )
        yield invalid(place, hand, why)


FLOW_SCHEMA = Strategy(
    tracks_generation=True,
    has_status=True,
    default=lambda schema: fill_zero(grown(schema, "spec"), matchingPrecedence=_PRECEDENCE),
    errors=_schema_errors,
    status_errors=_conditions_errors,
)
PRIORITY_LEVEL_CONFIGURATION = Strategy(
    tracks_generation=True,
    has_status=True,
    default=_default_level,
    errors=_level_errors,
    status_errors=_conditions_errors,
)
