"""ResourceQuota and LimitRange: how much a namespace may use, and how much each thing in it."""

from atoll.apiserver.fields.error import Errors, faulty, forbidden, invalid, required
from atoll.apiserver.kinds.reading import each, items, part, parts, text
from atoll.apiserver.kinds.rules import IMMUTABLE, amount_errors, unique
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import qualified_faults
from atoll.model.quantity import parse
from atoll.wire import Wire

_QUOTA_PREFIXES = ("requests.", "limits.", "count/")
_QUOTA_NAMES = frozenset(
    [
        *("cpu", "memory", "ephemeral-storage", "pods", "services", "replicationcontrollers"),
        *("resourcequotas", "secrets", "configmaps", "persistentvolumeclaims"),
        *("services.nodeports", "services.loadbalancers"),
    ]
)
_NOT_A_QUOTA = (
    "must be a standard resource type or fully qualified",
    "must be a standard resource for quota",
)
_PODS = frozenset(["pods"])
_COMPUTE = _PODS | {
    *("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
}
_CLAIMS = frozenset(["persistentvolumeclaims", "requests.storage"])
# What each scope can be about.
_SCOPES = {
    "Terminating": _COMPUTE,
    "NotTerminating": _COMPUTE,
    "BestEffort": _PODS,
    "NotBestEffort": _COMPUTE,
    "PriorityClass": _COMPUTE,
    "CrossNamespacePodAffinity": _COMPUTE,
    "VolumeAttributesClass": _CLAIMS,
}
_OPPOSITES = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_NAMELESS = frozenset(_SCOPES) - {"PriorityClass", "VolumeAttributesClass"}
_EXISTS_WHY = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating,"
    " ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort,"
    " ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _quota_errors(quota: Wire) -> Errors:
    hard = part(quota, "spec", "hard")
    for name, amount in sorted(hard.items()):
        where = f"spec.hard[{name}]"
        if "/" not in name and name not in _QUOTA_NAMES and not name.startswith(_QUOTA_PREFIXES):
            yield from faulty(where, name, _NOT_A_QUOTA)
        yield from amount_errors(amount, where)
    yield from _scopes_errors(quota, hard)
    yield from _selector_errors(quota, hard)


def _scopes_errors(quota: Wire, hard: Wire) -> Errors:
    scopes, where = items(quota, "spec", "scopes"), "spec.scopes"
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid(where, scopes, "unsupported scope")
        strangers = _strangers(scope, hard)
        yield from [invalid(where, scopes, "unsupported scope applied to resource")] * strangers
    if any(pair <= {*scopes} for pair in _OPPOSITES):
        yield invalid(where, scopes, "conflicting scopes")


def _strangers(scope: str, hard: Wire) -> int:
    """How many of the limited things a scope cannot be about."""
    known = _SCOPES.get(scope)
    if known is None:
        return 0
    return sum(name not in known and _is_standard(name) for name in hard)


def _is_standard(name: str) -> bool:
    return name in _QUOTA_NAMES or name.startswith(("requests.", "limits."))


def _selector_errors(quota: Wire, hard: Wire) -> Errors:
    selector = part(quota, "spec", "scopeSelector")
    where, seen = "spec.scopeSelector.matchExpressions", set()
    for need in parts(selector, "matchExpressions"):
        scope, operator = text(need, "scopeName"), text(need, "operator")
        values = items(need, "values")
        seen.add(scope)
        if scope not in _SCOPES:
            yield invalid(f"{where}.scopeName", scope, "unsupported scope")
        why = "unsupported scope applied to resource"
        yield from [invalid(where, selector, why)] * _strangers(scope, hard)
        if scope in _NAMELESS and operator != "Exists":
            yield invalid(f"{where}.operator", operator, _EXISTS_WHY)
        if operator in ("In", "NotIn"):
            if not values:
                why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope"
                yield required(f"{where}.values", f"{why} selector")
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope"
                yield invalid(f"{where}.values", values, f"{why} selector")
        else:
            yield invalid(f"{where}.operator", operator, "not a valid selector operator")
    if any(pair <= seen for pair in _OPPOSITES):
        yield invalid(where, items(quota, "spec", "scopes"), "conflicting scopes")


def _quota_update_errors(new: Wire, old: Wire) -> Errors:
    after, before = items(new, "spec", "scopes"), items(old, "spec", "scopes")
    return [] if {*after} == {*before} else [invalid("spec.scopes", after, IMMUTABLE)]


def _default_limits(limits: Wire) -> None:
    """Limits stand in for each other: max for default, default and then min for defaultRequest."""
    for limit in parts(limits, "spec", "limits"):
        if limit.get("type") != "Container":
            continue
        default = {**part(limit, "max"), **part(limit, "default")}
        request = {**part(limit, "min"), **default, **part(limit, "defaultRequest")}
        limit |= {"default": default} if default else {}
        limit |= {"defaultRequest": request} if request else {}


def _limits_errors(limits: Wire) -> Errors:
    seen: set[str] = set()
    for limit, where in each(parts(limits, "spec", "limits"), "spec.limits"):
        kind = text(limit, "type")
        yield from faulty(f"{where}.type", kind, qualified_faults(kind))
        yield from unique(seen, kind, f"{where}.type")
        yield from _type_errors(limit, kind, where)
        yield from _limit_errors(limit, where)


def _type_errors(limit: Wire, kind: str, where: str) -> Errors:
    for key in ("max", "min"):
        for name in sorted(part(limit, key)):
            if "/" not in name and name not in _QUOTA_NAMES and name != "storage":
                place, why = f"{where}.{key}[{name}]", _NOT_A_QUOTA[0]
                yield invalid(place, name, why)
    if kind == "Pod":
        why = "may not be specified when `type` is 'Pod'"
        named = (key for key in ("default", "defaultRequest") if part(limit, key))
        yield from (forbidden(f"{where}.{key}", why) for key in named)
    if kind == "PersistentVolumeClaim" and "storage" not in {
        *part(limit, "min"),
        *part(limit, "max"),
    }:
        why = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{where}.limits", why)


def _limit_errors(limit: Wire, where: str) -> Errors:
    low, high = part(limit, "min"), part(limit, "max")
    default, request = part(limit, "default"), part(limit, "defaultRequest")
    if limit.get("type") == "Pod":
        default = request = {}
    pairs = (
        ("min", low, (low, "min"), (high, "max")),
        ("defaultRequest", request, (low, "min"), (request, "default request")),
        ("defaultRequest", request, (request, "default request"), (default, "default limit")),
        ("default", low, (low, "min"), (default, "default")),
        ("default", high, (default, "default"), (high, "max")),
    )
    for field, shown, (smaller, less), (larger, more) in pairs:
        for name in sorted(smaller):
            below, above = parse(smaller[name]), parse(larger.get(name))
            if below is not None and above is not None and below > above:
                why = f"{less} value {smaller[name]} is greater than {more} value {larger[name]}"
                yield invalid(f"{where}.{field}[{name}]", shown[name], why)
    for name, ratio in sorted(part(limit, "maxLimitRequestRatio").items()):
        value = parse(ratio)
        if value is not None and value < 1:
            place = f"{where}.maxLimitRequestRatio[{name}]"
            yield invalid(place, ratio, f"ratio {ratio} is less than 1")


LIMIT_RANGE = Strategy(creates_on_update=True, default=_default_limits, errors=_limits_errors)
RESOURCE_QUOTA = Strategy(
    has_status=True, returns_deleted=True, errors=_quota_errors, update_errors=_quota_update_errors
)
