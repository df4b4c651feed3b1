"""The kinds of flowcontrol.apiserver.k8s.io/v1: which requests wait for which others.

They are kept for those who write them; this server lets requests through by rules of its own.
"""

from math import ceil, log2
from typing import Any

from atoll.apiserver.fields.error import (
    Errors,
    duplicate,
    faulty,
    forbidden,
    invalid,
    named,
    not_supported,
    required,
)
from atoll.apiserver.kinds.reading import (
    Object,
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
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults, subdomain_faults

_PRECEDENCE, _PRECEDENCE_MAX = 1000, 10_000
_METHODS = ("ByNamespace", "ByUser")
_LEVELS, _RESPONSES = ("Exempt", "Limited"), ("Queue", "Reject")
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
)
_QUEUES_MAX, _HASH_BITS = 10_000_000, 60


def _default_schema(schema: Object) -> None:
    fill_zero(grown(schema, "spec"), matchingPrecedence=_PRECEDENCE)


def _schema_errors(schema: Object) -> Errors:
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
    level, where = (
        text(spec, "priorityLevelConfiguration", "name"),
        "spec.priorityLevelConfiguration",
    )
    yield from named(f"{where}.name", level, subdomain_faults, "must reference a priority level")
    for rule, place in each(parts(spec, "rules"), "spec.rules"):
        yield from _rule_errors(rule, place)


def _rule_errors(rule: Object, where: str) -> Errors:
    subjects = parts(rule, "subjects")
    if not subjects:
        yield required(f"{where}.subjects", "subjects must contain at least one value")
    for subject, place in each(subjects, f"{where}.subjects"):
        yield from _subject_errors(subject, place)
    resources, urls = parts(rule, "resourceRules"), parts(rule, "nonResourceRules")
    if not resources and not urls:
        why = "at least one of resourceRules and nonResourceRules has to be non-empty"
        yield required(where, why)
    for resource, place in each(resources, f"{where}.resourceRules"):
        yield from _verbs_errors(resource, place)
        yield from _resource_errors(resource, place)
    for url, place in each(urls, f"{where}.nonResourceRules"):
        yield from _verbs_errors(url, place)
        yield from _urls_errors(url, place)


def _subject_errors(subject: Object, where: str) -> Errors:
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


def _subject_own_errors(subject: Object | None, kind: str, where: str) -> Errors:
    if subject is None:
        yield required(where, f"{_SUBJECTS[kind]} is required when subject kind is '{kind}'")
        return
    name = text(subject, "name")
    if not name:
        yield required(f"{where}.name")
    elif kind == "ServiceAccount" and name != "*":
        yield from faulty(f"{where}.name", name, subdomain_faults(name))
    if kind == "ServiceAccount":
        namespace, place = text(subject, "namespace"), f"{where}.namespace"
        yield from named(
            place, namespace, label_faults, "must specify namespace for service account"
        )


def _verbs_errors(rule: Object, where: str) -> Errors:
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


def _resource_errors(rule: Object, where: str) -> Errors:
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
            yield from (
                invalid(f"{place}[{index}]", namespace, intro + reason)
                for reason in label_faults(str(namespace))
            )


def _urls_errors(rule: Object, where: str) -> Errors:
    urls, place = items(rule, "nonResourceURLs"), f"{where}.nonResourceURLs"
    if not urls:
        return [required(place, "nonResourceURLs must contain at least one value")]
    if "*" in urls:
        return _alone(urls, place, "non-resource URLs")
    return [
        invalid(f"{place}[{index}]", url, why)
        for index, url in enumerate(urls)
        if (why := _url_fault(str(url)))
    ]


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


def _conditions_errors(obj: Object) -> Errors:
    seen = set()
    for condition, where in each(parts(obj, "status", "conditions"), "status.conditions"):
        kind = text(condition, "type")
        if kind in seen:
            yield duplicate(f"{where}.type", kind)
        seen.add(kind)
        if not kind:
            yield required(f"{where}.type")


def _default_level(level: Object) -> None:
    spec = grown(level, "spec")
    exempt, limited = given(spec, "exempt"), given(spec, "limited")
    if exempt is not None:
        fill(exempt, nominalConcurrencyShares=0, lendablePercent=0)
    if limited is not None:
        fill(limited, nominalConcurrencyShares=30, lendablePercent=0)
        queuing = given(limited, "limitResponse", "queuing")
        if queuing is not None:
            fill_zero(queuing, handSize=8, queues=64, queueLengthLimit=50)


def _level_errors(level: Object) -> Errors:
    spec, name = part(level, "spec"), text(level, "metadata", "name")
    kind, limited, exempt = text(spec, "type"), given(spec, "limited"), given(spec, "exempt")
    if (name == "exempt") != (kind == "Exempt"):
        yield invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    if kind == "Exempt":
        if limited is not None:
            yield forbidden("spec.limited", "must be nil if the type is not Limited")
        if exempt is not None:
            yield from _shares_errors(exempt, "spec.exempt")
    elif kind == "Limited":
        if exempt is not None:
            yield forbidden("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield required("spec.limited", "must not be empty when type is Limited")
        else:
            yield from _limited_errors(limited, "spec.limited")
    elif kind:
        yield not_supported("spec.type", kind, _LEVELS)
    else:
        yield required("spec.type")


def _shares_errors(shares: Object, where: str) -> Errors:
    nominal, lendable = shares.get("nominalConcurrencyShares"), shares.get("lendablePercent")
    if isinstance(nominal, int) and nominal < 0:
        why = "must be a non-negative integer"
        yield invalid(f"{where}.nominalConcurrencyShares", nominal, why)
    if isinstance(lendable, int) and not 0 <= lendable <= 100:
        yield invalid(f"{where}.lendablePercent", lendable, "must be between 0 and 100, inclusive")


def _limited_errors(limited: Object, where: str) -> Errors:
    shares = list(_shares_errors(limited, where))
    response, place = part(limited, "limitResponse"), f"{where}.limitResponse"
    kind, queuing, found = text(response, "type"), given(response, "queuing"), []
    if kind == "Reject" and queuing is not None:
        why = "must be nil if limited.limitResponse.type is not Limited"
        found.append(forbidden(f"{place}.queuing", why))
    elif kind == "Queue" and queuing is None:
        why = "must not be empty if limited.limitResponse.type is Limited"
        found.append(required(f"{place}.queuing", why))
    elif kind == "Queue" and queuing is not None:
        found += _queuing_errors(queuing, f"{place}.queuing")
    elif not kind:
        found.append(required(f"{place}.type"))
    elif kind not in _RESPONSES:
        found.append(not_supported(f"{place}.type", kind, _RESPONSES))
    borrowing = limited.get("borrowingLimitPercent")
    if isinstance(borrowing, int) and borrowing < 0:
        why = "if specified, must be a non-negative integer"
        shares.append(invalid(f"{where}.borrowingLimitPercent", borrowing, why))
    nominal = [error for error in shares if error.field.endswith("nominalConcurrencyShares")]
    return nominal + found + [error for error in shares if error not in nominal]


def _queuing_errors(queuing: Object, where: str) -> Errors:
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
    default=_default_schema,
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
