"""A request's body to the object it says, or the Status that says why not.

In: bytes, their content type, and the resource they should be an object of. Out: the object, made
to fit its resource (`conforming`), and warnings. Texts are kube-apiserver's. Defaults are
not filled in, names and namespaces not compared: that is for the verbs.
"""

from dataclasses import dataclass
from typing import Any, Literal

import orjson

from atoll.apiserver.bodies.json_text import (
    may_have_floats,
    may_repeat,
    read_json,
    read_literally,
    read_repeating,
    repeated_paths,
)
from atoll.apiserver.bodies.protobuf import PROTOBUF, read_envelope, read_message
from atoll.apiserver.bodies.yaml_text import YamlText, non_finite, read_yaml
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas import facts
from atoll.apiserver.schemas.embedded import has_embedded, read_embedded
from atoll.apiserver.schemas.fitting import fits
from atoll.apiserver.schemas.json_values import settle_numbers
from atoll.apiserver.schemas.mismatch import Mismatch, WrongType
from atoll.apiserver.schemas.pruning import drop_nulls, prune
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.schemas.structural import object_meta
from atoll.apiserver.schemas.typed import read_typed
from atoll.apiserver.status import ApiError, bad_request, unsupported_media_type
from atoll.errors import Malformed
from atoll.wire import Wire

COMPLAINTS_MAX = 100


@dataclass(slots=True)
class Conformed:
    """An object that fits its resource, and what was wrong with it before."""

    object: Wire
    complaints: list[str]


def conform(
    resource: Resource, obj: Wire, *, patched: bool = False, may_have_nulls: bool = True
) -> Conformed:
    """Make an object fit. Of a patched one, complaints are sorted: its order is nobody's.

    The numbers of a custom object must be settled already (`json_values.settle_numbers`).
    """
    if resource.custom:
        return _conform_custom(resource.schema, obj, may_have_nulls=may_have_nulls)
    if patched and fits(resource.schema, obj):
        # A copy, for what was patched may still be looked at, and what comes of it is filled in.
        return Conformed(orjson.loads(orjson.dumps(obj)), [])
    read, complaints = read_typed(resource.schema, obj)
    texts = list(dict.fromkeys(map(str, complaints)))
    return Conformed(read, (sorted(texts) if patched else texts)[:COMPLAINTS_MAX])


def _conform_custom(schema: Schema, obj: Wire, *, may_have_nulls: bool) -> Conformed:
    """Make a custom object fit the shape its CRD gives it."""
    dropped: list[str] = []
    result = obj
    if "metadata" in result:
        given = result["metadata"]
        metadata, complaints = read_typed(object_meta(), {} if given is None else given)
        dropped += sorted(f"metadata.{complaint.path}" for complaint in complaints)
        result = {**result, "metadata": metadata}
    result = prune(schema, result, dropped)
    if may_have_nulls:
        result = drop_nulls(schema, result)
    if has_embedded(schema):
        result = read_embedded(schema, result, dropped)
    unknown = [f'unknown field "{path}"' for path in dict.fromkeys(dropped)]
    return Conformed(result, unknown[:COMPLAINTS_MAX])


Validation = Literal["Ignore", "Warn", "Strict"]

JSON, YAML = "application/json", "application/yaml"
_SHOWN_MAX = 30
_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
_ENVELOPE = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
    ' Kind string "json:\\"kind,omitempty\\"" }'
)


@dataclass(slots=True)
class Body:
    """What the client sent, and the warnings it should get."""

    object: Wire
    warnings: list[str]


@dataclass(slots=True)
class _Text:
    """A body whose form is understood; its meaning is not looked at yet."""

    raw: bytes
    value: Any
    is_json: bool
    repeated: list[str]  # of YAML


def media_type(content_type: str) -> str:
    """The type without its parameters; nothing means JSON."""
    if content_type == JSON:  # as mostly
        return JSON
    return content_type.partition(";")[0].strip().lower() or JSON


def decode_body(
    body: bytes, content_type: str, expected: Resource, *, validation: Validation = "Warn"
) -> Body:
    """The object a body says, fit for its resource; refuses what Kubernetes would refuse."""
    form = media_type(content_type)
    if form == PROTOBUF:
        return Body(_decode_protobuf(body, expected), [])
    kind = expected.kind
    try:
        text = _read(body, form)
        envelope = _envelope(text.value)
    except Malformed as reason:
        raise unrecognized(kind, str(reason), body) from None
    _check_kind(envelope, expected, body)
    try:
        fitting = _conform(text, envelope, expected, strict=validation != "Ignore")
    except Mismatch as mismatch:
        raise not_handled(envelope, expected, mismatch.message()) from None
    if validation == "Strict" and fitting.complaints:
        complaints = ", ".join(fitting.complaints)
        raise not_handled(envelope, expected, f"strict decoding error: {complaints}")
    warnings = fitting.complaints if validation == "Warn" else []
    return Body(fitting.object, warnings)


def decode_options(body: bytes, content_type: str) -> Wire:
    """DeleteOptions, which need not say their kind; what is wrong is told without ceremony."""
    try:
        given = _options(body, media_type(content_type))
        options, _ = read_typed(facts.load().schema(_OPTIONS), given)
    except Malformed as reason:
        raise bad_request(str(reason)) from None
    except Mismatch as mismatch:
        raise bad_request(mismatch.message()) from None
    read: Wire = options
    return read


def _options(body: bytes, form: str) -> Wire:
    if form == PROTOBUF:
        sent = read_envelope(body)
        _check_options_kind(sent.kind, sent.api_version)
        return read_message(_OPTIONS, sent.raw)
    given = _envelope(_read(body, form).value)
    _check_options_kind(given.get("kind", ""), given.get("apiVersion", ""))
    return given


def _check_options_kind(kind: str, version: str) -> None:
    if kind not in ("", "DeleteOptions"):
        unknown = f'no kind "{kind}" is registered for version "{version}"'
        raise Malformed(f"{unknown} in scheme {_SCHEME}")


def _read(body: bytes, form: str) -> _Text:
    if form == JSON:
        try:
            return _Text(body, read_json(body), is_json=True, repeated=[])
        except Malformed as reason:
            raise Malformed(f"couldn't get version/kind; json parse error: {reason}") from None
    if form == YAML:
        found = read_yaml_or_json(body)
        return _Text(body, found.value, is_json=False, repeated=found.repeated)
    raise unsupported_media_type([JSON, YAML, PROTOBUF])


def _decode_protobuf(body: bytes, expected: Resource) -> Wire:
    """The object a protobuf body says, which cannot have unknown or repeated fields."""
    if expected.custom:
        raise unsupported_media_type([JSON, YAML])
    try:
        sent = read_envelope(body)
    except Malformed as reason:
        raise unrecognized(expected.kind, str(reason), body) from None
    said = {"kind": sent.kind, "apiVersion": sent.api_version}
    _check_kind(said, expected, body)
    obj: Wire = {"kind": expected.kind, "apiVersion": expected.api_version}
    try:
        obj.update(read_message(expected.schema.definition, sent.raw))
        return conform(expected, obj).object
    except Malformed as reason:
        raise not_handled(said, expected, str(reason)) from None
    except Mismatch as mismatch:
        raise not_handled(said, expected, mismatch.message()) from None


def read_yaml_or_json(body: bytes) -> YamlText:
    """What a YAML body says; the JSON that most clients send as YAML is read faster."""
    if body.startswith(b"{"):
        try:
            value = read_json(body)
        except Malformed:
            pass
        else:
            if not may_repeat(body, value):
                return YamlText(settle_numbers(value), [])
    found = read_yaml(body)
    for number in non_finite(found.value):
        name = "NaN" if number != number else "+Inf" if number > 0 else "-Inf"
        raise Malformed(f"json: unsupported value: {name}")
    return YamlText(settle_numbers(found.value), found.repeated)


def _envelope(value: Any) -> Wire:
    """The object, whose kind and version are strings if they are said at all."""
    if value is None:
        return {}
    prefix = "couldn't get version/kind; json parse error: "
    if not isinstance(value, dict):
        raise Malformed(prefix + WrongType(value, _ENVELOPE).message())
    for key in ("apiVersion", "kind"):
        if value.get(key) is not None and not isinstance(value[key], str):
            wrong = WrongType(value[key], "string")
            wrong.inside("", key)
            raise Malformed(prefix + wrong.message())
    if value.get("apiVersion", "") and value["apiVersion"].count("/") > 1:
        raise Malformed(f"unexpected GroupVersion string: {value['apiVersion']}")
    return value


def _check_kind(obj: Wire, expected: Resource, body: bytes) -> None:
    """The object must be of the resource's kind and version; a built-in one need not say so."""
    kind, version = obj.get("kind") or "", obj.get("apiVersion") or ""
    if expected.custom:
        if not kind:
            shown = body.decode("utf-8", "replace")
            reason = f"Object 'Kind' is missing in '{shown}'"
            raise unrecognized(expected.kind, reason, body)
        # Another kind in the right version is refused by validation, as an invalid object.
        if version != expected.api_version:
            raise wrong_version(version, expected)
        return
    fault = kind_fault(obj, expected)
    if fault is None:
        return
    if kind in ("", expected.kind) and _is_registered(expected.kind, version):
        raise wrong_version(version, expected)
    raise not_handled(obj, expected, fault)


def kind_fault(obj: Wire, expected: Resource) -> str | None:
    """Why an object cannot be one of a built-in resource, judging by its kind and version."""
    kind = obj.get("kind") or expected.kind
    version = obj.get("apiVersion") or expected.api_version
    if (kind, version) == (expected.kind, expected.api_version):
        return None
    if not _is_registered(kind, version):
        return f'no kind "{kind}" is registered for version "{version}" in scheme {_SCHEME}'
    internal = expected.group.partition(".")[0] or "core"
    source, target = f"{version.rpartition('/')[2]}.{kind}", f"{internal}.{expected.kind}"
    return f"converting ({source}) to ({target}): unknown conversion"


_SCHEME = '"pkg/runtime/scheme.go:111"'


def _is_registered(kind: str, version: str) -> bool:
    group, _, version = version.rpartition("/")
    known = facts.load().kinds
    return any((k.kind, k.group, k.version) == (kind, group, version) for k in known)


def _conform(text: _Text, obj: Wire, expected: Resource, *, strict: bool) -> Conformed:
    repeated: list[str] = []
    if strict and text.repeated:
        lines = "\n  ".join(text.repeated)
        repeated = [f"yaml: unmarshal errors:\n  {lines}"]
    elif strict and text.is_json and may_repeat(text.raw, text.value):
        tree = read_repeating(text.raw)
        if expected.custom:
            repeated = [f'duplicate field "{path}"' for path in repeated_paths(tree)]
        else:
            obj = _envelope(tree)
    elif not expected.custom and fits(expected.schema, obj):
        return Conformed(obj, [])
    if expected.custom and text.is_json and may_have_floats(text.raw):
        obj = settle_numbers(obj)
    try:
        fitting = conform(expected, obj, may_have_nulls=not text.is_json or b"null" in text.raw)
    except WrongType as wrong:
        if text.is_json and isinstance(wrong.value, int | float):
            conform(expected, read_literally(text.raw))  # says the same, and quotes the number
        raise
    return Conformed(fitting.object, repeated + fitting.complaints)


def unrecognized(kind: str, reason: str, body: bytes) -> ApiError:
    """400 for a body that is not even an object of some kind."""
    message = f"the object provided is unrecognized (must be of type {kind}): {reason}"
    return bad_request(f"{message} ({_summary(body)})")


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    start, more = body[:_SHOWN_MAX], " ..." if len(body) > _SHOWN_MAX else ""
    shown = start.decode("utf-8", "replace") if body.startswith(b"{") else start.hex()
    return shown + more


def not_handled(obj: Wire, expected: Resource, reason: str) -> ApiError:
    """400 for an object that cannot be read as the kind it should be."""
    kind = obj.get("kind") or expected.kind
    version = (obj.get("apiVersion") or expected.api_version).rpartition("/")[2]
    message = f'{kind} in version "{version}" cannot be handled as a {expected.kind}: {reason}'
    return bad_request(message)


def wrong_version(version: str, expected: Resource) -> ApiError:
    return bad_request(
        f"the API version in the data ({version}) does not match"
        f" the expected API version ({expected.api_version})"
    )
