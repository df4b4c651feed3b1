"""The plain kinds of core/v1: namespaces, configuration, accounts, nodes, quotas and limits."""

from atoll.apiserver.fields.error import FieldError, duplicate, invalid, not_supported
from atoll.apiserver.kinds.reading import Object, each, fill, grown, part, parts, text
from atoll.apiserver.kinds.rules import frozen_data, key_errors
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults, qualified_faults
from atoll.model.quantity import parse

_NAME_LABEL = "kubernetes.io/metadata.name"
_DATA_MAX = 1024 * 1024
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_QUOTA_PREFIXES = ("requests.", "limits.", "count/")
_QUOTA_NAMES = frozenset(
    [
        "cpu",
        "memory",
        "ephemeral-storage",
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    ]
)
_NOT_A_QUOTA = (
    "must be a standard resource type or fully qualified",
    "must be a standard resource for quota",
)


def _default_namespace(namespace: Object) -> None:
    name = text(namespace, "metadata", "name")
    if name:
        grown(namespace, "metadata", "labels")[_NAME_LABEL] = name
    fill(grown(namespace, "status"), phase="Active")
    grown(namespace, "spec")


def _hold_namespace(namespace: Object) -> None:
    """A namespace is held until what is in it has been removed."""
    finalizers = grown(namespace, "spec").setdefault("finalizers", [])
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")


def _keep_holders(namespace: Object, old: Object) -> None:
    """Who holds a namespace is changed through its `finalize` subresource only."""
    holders = part(old, "spec").get("finalizers")
    spec = namespace["spec"] = dict(part(namespace, "spec"))
    if holders is None:
        spec.pop("finalizers", None)
    else:
        spec["finalizers"] = holders


def _end_namespace(namespace: Object, _now: str) -> Object:
    return {**namespace, "status": {**part(namespace, "status"), "phase": "Terminating"}}


def _namespace_update_errors(new: Object, _old: Object) -> list[FieldError]:
    name = text(new, "metadata", "name")
    label = part(new, "metadata", "labels").get(_NAME_LABEL)
    if label == name:
        return []
    return [invalid(f"metadata.labels[{_NAME_LABEL}]", label or "", f"must be {name}")]


def _configmap_errors(configmap: Object) -> list[FieldError]:
    data, binary = part(configmap, "data"), part(configmap, "binaryData")
    errors = []
    for key in sorted(data):
        errors += key_errors({key: ""}, "data")
        if key in binary:
            why = "duplicate of key present in binaryData"
            errors.append(invalid(f"data[{key}]", key, why))
    errors += key_errors(binary, "binaryData")
    size = sum(len(str(value).encode()) for value in data.values())
    size += sum(len(str(value)) * 3 // 4 for value in binary.values())
    if size > _DATA_MAX:
        detail = f"may not be more than {_DATA_MAX} bytes"
        errors.append(FieldError("FieldValueTooLong", "[]", None, detail))
    return errors


def _configmap_update_errors(new: Object, old: Object) -> list[FieldError]:
    return frozen_data(new, old, "data", "binaryData")


def _node_errors(node: Object) -> list[FieldError]:
    errors = []
    for taint, where in each(parts(node, "spec", "taints"), "metadata.taints"):
        key = text(taint, "key")
        errors += [invalid(f"{where}.key", key, reason) for reason in qualified_faults(key)]
        if taint.get("effect") not in _TAINT_EFFECTS:
            effect = taint.get("effect") or ""
            errors.append(not_supported(f"{where}.effect", effect, _TAINT_EFFECTS))
    return errors


def _default_limits(limits: Object) -> None:
    """Limits stand in for each other: max for default, default and then min for defaultRequest."""
    for limit in parts(limits, "spec", "limits"):
        if limit.get("type") != "Container":
            continue
        default = {**part(limit, "max"), **part(limit, "default")}
        request = {**part(limit, "min"), **default, **part(limit, "defaultRequest")}
        limit |= {"default": default} if default else {}
        limit |= {"defaultRequest": request} if request else {}


def _limits_errors(limits: Object) -> list[FieldError]:
    errors = []
    seen = set()
    for limit, where in each(parts(limits, "spec", "limits"), "spec.limits"):
        kind = limit.get("type")
        if kind in seen:
            errors.append(duplicate(f"{where}.type", kind))
        seen.add(kind)
        errors += _limit_errors(limit, where)
    return errors


def _limit_errors(limit: Object, where: str) -> list[FieldError]:
    low, high = part(limit, "min"), part(limit, "max")
    default, request = part(limit, "default"), part(limit, "defaultRequest")
    pairs = (
        ("min", low, low, high, "min value {0} is greater than max value {1}"),
        (
            "defaultRequest",
            request,
            low,
            request,
            "min value {0} is greater than default request value {1}",
        ),
        ("default", low, low, default, "min value {0} is greater than default value {1}"),
        (
            "defaultRequest",
            request,
            request,
            default,
            "default request value {0} is greater than default value {1}",
        ),
        ("default", default, default, high, "default value {0} is greater than max value {1}"),
    )
    errors = []
    for field, shown, smaller, larger, why in pairs:
        for name in sorted(smaller):
            below, above = parse(smaller[name]), parse(larger.get(name))
            if below is not None and above is not None and below > above:
                detail = why.format(smaller[name], larger[name])
                errors.append(invalid(f"{where}.{field}[{name}]", shown[name], detail))
    return errors


def _quota_errors(quota: Object) -> list[FieldError]:
    errors = []
    for name, amount in sorted(part(quota, "spec", "hard").items()):
        where = f"spec.hard[{name}]"
        if "/" not in name and name not in _QUOTA_NAMES and not name.startswith(_QUOTA_PREFIXES):
            errors += [invalid(where, name, why) for why in _NOT_A_QUOTA]
        value = parse(amount)
        if value is not None and value < 0:
            errors.append(invalid(where, amount, "must be greater than or equal to 0"))
    return errors


NAMESPACE = Strategy(
    has_status=True,
    returns_deleted=True,
    held_by=("spec", "finalizers"),
    name_errors=label_faults,
    selectable={"status.phase": ("status", "phase")},
    default=_default_namespace,
    update_errors=_namespace_update_errors,
    prepare_create=_hold_namespace,
    prepare_update=_keep_holders,
    begin_delete=_end_namespace,
)
CONFIG_MAP = Strategy(errors=_configmap_errors, update_errors=_configmap_update_errors)
SERVICE_ACCOUNT = Strategy(returns_deleted=True)
NODE = Strategy(
    has_status=True,
    selectable={"spec.unschedulable": ("spec", "unschedulable")},
    errors=_node_errors,
)
LIMIT_RANGE = Strategy(creates_on_update=True, default=_default_limits, errors=_limits_errors)
RESOURCE_QUOTA = Strategy(has_status=True, returns_deleted=True, errors=_quota_errors)
