"""Secret: text turned into data, and what each type of secret must hold."""

from base64 import b64decode, b64encode
from binascii import Error

import msgspec

from atoll.apiserver.fields.error import Errors, FieldError, invalid, required
from atoll.apiserver.kinds.reading import Object, fill, part, text
from atoll.apiserver.kinds.rules import frozen_data, key_errors, unchanged
from atoll.apiserver.resource import Strategy

_ACCOUNT = "kubernetes.io/service-account.name"
_DATA_MAX = 1024 * 1024
_NEEDED = {
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_JSON = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_REDACTED = "<secret contents redacted>"


def _default_secret(secret: Object) -> None:
    """The text under stringData wins over the data of the same key, and is never given back."""
    texts = secret.pop("stringData", None)
    if isinstance(texts, dict) and texts:
        encoded = {key: b64encode(str(value).encode()).decode() for key, value in texts.items()}
        secret["data"] = {**part(secret, "data"), **encoded}
    fill(secret, type="Opaque")


def _secret_errors(secret: Object) -> Errors:
    data = part(secret, "data")
    yield from key_errors(data, "data")
    if sum(len(str(value)) * 3 // 4 for value in data.values()) > _DATA_MAX:
        detail = f"may not be more than {_DATA_MAX} bytes"
        yield FieldError("FieldValueTooLong", "data", None, detail)
    yield from _type_errors(secret, data)


def _type_errors(secret: Object, data: Object) -> Errors:
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


def _missing(data: Object, keys: tuple[str, ...]) -> Errors:
    return [required(f"data[{key}]") for key in keys if key not in data]


def _json_errors(data: Object, key: str) -> Errors:
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


def _secret_update_errors(new: Object, old: Object) -> Errors:
    return [*unchanged(new, old, "type"), *frozen_data(new, old, "data")]


SECRET = Strategy(
    selectable={"type": ("type",)},
    default=_default_secret,
    errors=_secret_errors,
    update_errors=_secret_update_errors,
)
