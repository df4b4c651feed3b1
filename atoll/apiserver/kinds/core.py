"""The plain kinds: namespaces, configuration, secrets, accounts and nodes of core/v1; Leases."""

from base64 import b64decode, b64encode
from binascii import Error

import msgspec

from atoll.apiserver.fields.error import Errors, FieldError, faulty, invalid, required
from atoll.apiserver.kinds.reading import each, fill, grown, part, parts, text
from atoll.apiserver.kinds.rules import (
    are_config_keys,
    chosen,
    frozen_data,
    in_range,
    key_errors,
    not_negative,
    unchanged,
)
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults, qualified_faults
from atoll.wire import Wire

TOKEN_REQUEST = ("authentication.k8s.io", "v1", "TokenRequest")
_NAME_LABEL = "kubernetes.io/metadata.name"
_DATA_MAX = 1024 * 1024
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def _default_namespace(namespace: Wire) -> None:
    name = text(namespace, "metadata", "name")
    if name:
        grown(namespace, "metadata", "labels")[_NAME_LABEL] = name
    fill(grown(namespace, "status"), phase="Active")
    grown(namespace, "spec")


def _hold_namespace(namespace: Wire) -> None:
    """A namespace is held until what is in it has been removed."""
    finalizers = grown(namespace, "spec").setdefault("finalizers", [])
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")


def _keep_holders(namespace: Wire, old: Wire) -> None:
    """Who holds a namespace is changed through its `finalize` subresource only."""
    holders = part(old, "spec").get("finalizers")
    spec = namespace["spec"] = dict(part(namespace, "spec"))
    if holders is None:
        spec.pop("finalizers", None)
    else:
        spec["finalizers"] = holders


def _end_namespace(namespace: Wire, _now: str) -> Wire:
    return {**namespace, "status": {**part(namespace, "status"), "phase": "Terminating"}}


def _namespace_update_errors(new: Wire, _old: Wire) -> Errors:
    name = text(new, "metadata", "name")
    label = part(new, "metadata", "labels").get(_NAME_LABEL)
    if label == name:
        return []
    return [invalid(f"metadata.labels[{_NAME_LABEL}]", label or "", f"must be {name}")]


def _configmap_errors(configmap: Wire) -> Errors:
    data, binary = part(configmap, "data"), part(configmap, "binaryData")
    if binary or not are_config_keys(data):  # as hardly ever
        for key in sorted(data):
            yield from key_errors({key: ""}, "data")
            if key in binary:
                yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        yield from key_errors(binary, "binaryData")
    if _data_size(data, binary) > _DATA_MAX:
        yield FieldError("FieldValueTooLong", "[]", None, f"may not be more than {_DATA_MAX} bytes")


def _data_size(data: Wire, binary: Wire) -> int:
    """The bytes of all data, or at least so many as they are, if that is within the limit."""
    size = 4 * sum(map(len, data.values())) + sum(map(len, binary.values()))
    if size <= _DATA_MAX:  # no character is more than four bytes
        return size
    texts = sum(len(str(value).encode()) for value in data.values())
    return texts + sum(len(str(value)) * 3 // 4 for value in binary.values())


def _node_errors(node: Wire) -> Errors:
    for taint, where in each(parts(node, "spec", "taints"), "metadata.taints"):
        key = text(taint, "key")
        yield from faulty(f"{where}.key", key, qualified_faults(key))
        yield from chosen({"effect": text(taint, "effect")}, where, "effect", _TAINT_EFFECTS)


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
CONFIG_MAP = Strategy(
    errors=_configmap_errors,
    update_errors=lambda new, old: frozen_data(new, old, "data", "binaryData"),
)
SERVICE_ACCOUNT = Strategy(returns_deleted=True, posts={"token": TOKEN_REQUEST})
NODE = Strategy(
    has_status=True,
    selectable={"spec.unschedulable": ("spec", "unschedulable")},
    errors=_node_errors,
)


def _lease_errors(lease: Wire) -> Errors:
    spec = part(lease, "spec")
    yield from in_range(spec, "spec", "leaseDurationSeconds", "must be greater than 0", 1)
    yield from not_negative(spec, "spec", "leaseTransitions")


# Leader election is safe because of this one: no write without knowing what it overwrites.
LEASE = Strategy(unconditional_update=False, creates_on_update=True, errors=_lease_errors)


_ACCOUNT = "kubernetes.io/service-account.name"
_NEEDED = {
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_JSON = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_REDACTED = "<secret contents redacted>"


def _default_secret(secret: Wire) -> None:
    """The text under stringData wins over the data of the same key, and is never given back."""
    texts = secret.pop("stringData", None)
    if isinstance(texts, dict) and texts:
        encoded = {key: b64encode(str(value).encode()).decode() for key, value in texts.items()}
        secret["data"] = {**part(secret, "data"), **encoded}
    fill(secret, type="Opaque")


def _secret_errors(secret: Wire) -> Errors:
    data = part(secret, "data")
    yield from key_errors(data, "data")
    if sum(len(str(value)) * 3 // 4 for value in data.values()) > _DATA_MAX:
        detail = f"may not be more than {_DATA_MAX} bytes"
        yield FieldError("FieldValueTooLong", "data", None, detail)
    yield from _type_errors(secret, data)


def _type_errors(secret: Wire, data: Wire) -> Errors:
    kind = text(secret, "type")
    if kind == "kubernetes.io/service-account-token":
        annotations = part(secret, "metadata", "annotations")
        return [] if annotations.get(_ACCOUNT) else [required(f"metadata.annotations[{_ACCOUNT}]")]
    if kind == "kubernetes.io/basic-auth":
        either = ("username", "password")
        return [] if any(key in data for key in either) else _missing(data, either)
    if kind in _JSON:
        return _json_errors(data, _JSON[kind])
    return _missing(data, _NEEDED.get(kind, ()))


def _missing(data: Wire, keys: tuple[str, ...]) -> Errors:
    return [required(f"data[{key}]") for key in keys if key not in data]


def _json_errors(data: Wire, key: str) -> Errors:
    if key not in data:
        return _missing(data, (key,))
    try:
        content = b64decode(str(data[key]))
        msgspec.json.decode(content)
    except Error:
        return []
    except (msgspec.DecodeError, RecursionError):
        first = content[:1].decode("latin-1")
        why = f"invalid character '{first}' looking for beginning of value"
        return [
            invalid(f"data[{key}]", _REDACTED, why if first else "unexpected end of JSON input")
        ]
    return []


SECRET = Strategy(
    selectable={"type": ("type",)},
    default=_default_secret,
    errors=_secret_errors,
    update_errors=lambda new, old: [*unchanged(new, old, "type"), *frozen_data(new, old, "data")],
)
