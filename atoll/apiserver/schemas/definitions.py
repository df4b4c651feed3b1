"""A CustomResourceDefinition, held to the rules Kubernetes has for it.

In: a definition, well-typed and with its defaults (singular, listKind, conversion) filled in. Out:
the rules it breaks, in Kubernetes' words and order. As in Kubernetes, what all versions have in
common is spoken of as if it stood at the top: spec.validation rather than spec.versions[0].schema.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.schemas.formats import unrecognized_formats
from atoll.apiserver.schemas.schema_rules import default_errors, schema_errors
from atoll.apiserver.schemas.structure_rules import selectable_errors, structure_errors
from atoll.dialects.kubernetes.names import rfc1035_faults, subdomain_faults
from atoll.wire import Wire

Judge = Callable[[Wire, str, Sequence[str]], list[FieldError]]
"""From a schema, its place, and the fields known to be wrong, to what is wrong with its rules."""

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (*("byte", "date", "date-time", "double", "float", "int32", "int64", "password"),)
_APPROVED = "api-approved.kubernetes.io"
_WARNING_MAX = 256
# What may stand at the root of a schema whose status is written apart; anything else would be lost
# when the schema of the status is cut out. In Go's names, as in the message.
_AT_ROOT = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength"
    " MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties"
    " ExternalDocs Example XPreserveUnknownFields XValidations"
)
_KEYS_AT_ROOT = {
    *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"),
    *(name[0].lower() + name[1:] for name in _AT_ROOT.split()),
}
_SHARED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def definition_errors(definition: Wire, judge: Judge | None = None) -> list[FieldError]:
    """The rules a definition breaks; those about metadata in general are not asked here.

    `judge` finds what is wrong with rules in CEL, of which nothing is known here.
    """
    return [
        *_name(definition),
        *_spec(definition.get("spec", {}), judge or (lambda *_: [])),
        *_stored_versions(definition),
        *_approval(definition),
    ]


def definition_update_errors(new: Wire, old: Wire) -> list[FieldError]:
    """What may not change: the names that objects are stored under."""
    spec, before = new.get("spec", {}), old.get("spec", {})
    frozen: list[tuple[str, ...]] = [("group",), ("names", "plural")]
    if _is_established(old):
        frozen = [("scope",), ("names", "kind"), *frozen]
    changed = [path for path in frozen if _at(spec, path) != _at(before, path)]
    return [
        fields.invalid(f"spec.{'.'.join(path)}", _at(spec, path), "field is immutable")
        for path in changed
    ]


def definition_warnings(definition: Wire) -> list[str]:
    """What its writer should know although the definition is taken."""
    warnings = []
    for version in definition["spec"]["versions"]:
        schema = version.get("schema", {}).get("openAPIV3Schema", {})
        warnings += [f'unrecognized format "{name}"' for name in unrecognized_formats(schema)]
    return list(dict.fromkeys(warnings))


def _at(spec: Wire, path: tuple[str, ...]) -> Any:
    value: Any = spec
    for key in path:
        value = value.get(key, "")
    return value


def _is_established(definition: Wire) -> bool:
    conditions = definition.get("status", {}).get("conditions") or []
    return any(c.get("type") == "Established" and c.get("status") == "True" for c in conditions)


def _name(definition: Wire) -> Iterator[FieldError]:
    spec, name = definition.get("spec", {}), definition.get("metadata", {}).get("name", "")
    if name != f"{_at(spec, ('names', 'plural'))}.{spec.get('group', '')}":
        sentence = 'must be spec.names.plural+"."+spec.group'
        yield fields.invalid("metadata.name", name, sentence)


def _stored_versions(definition: Wire) -> Iterator[FieldError]:
    versions = definition.get("spec", {}).get("versions") or []
    stored = definition.get("status", {}).get("storedVersions") or []
    if not any(version.get("storage") for version in versions) and not stored:
        sentence = "must have at least one stored version"
        yield fields.invalid("status.storedVersions", None, sentence)
        return
    names = [version.get("name") for version in versions]
    for index, version in enumerate(stored):
        if version not in names:
            sentence = (
                f"missing from spec.versions; {version} was previously a storage version, and must"
                f" remain in spec.versions until a storage migration ensures no data remains"
                f" persisted in {version} and removes {version} from status.storedVersions"
            )
            yield fields.invalid(f"status.storedVersions[{index}]", version, sentence)


def _approval(definition: Wire) -> Iterator[FieldError]:
    """Groups of the Kubernetes community are not for everyone."""
    group = definition.get("spec", {}).get("group", "")
    if not (group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))):
        return
    said = definition.get("metadata", {}).get("annotations", {}).get(_APPROVED, "")
    where = f"metadata.annotations[{_APPROVED}]"
    sentence = f'protected groups must have approval annotation "{_APPROVED}"'
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    if not said:
        yield fields.required(where, f"{sentence}, {see}")
    elif not said.startswith("unapproved") and "://" not in said.strip(":/"):
        sentence += ' with either a URL or a reason starting with "unapproved"'
        yield fields.invalid(where, said, f"{sentence}, {see}")


def _spec(spec: Wire, judge: Judge) -> Iterator[FieldError]:
    versions = [dict(version) for version in spec.get("versions") or []]
    shared = _lift_shared(versions)
    yield from _group(spec.get("group", ""))
    yield from _choice("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    if "openAPIV3Schema" not in (shared.get("schema") or {}):
        for index, version in enumerate(versions):
            if "openAPIV3Schema" not in (version.get("schema") or {}):
                yield fields.required(f"spec.versions[{index}].schema.openAPIV3Schema")
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        yield from _label(f"{path}.name", version.get("name", ""))
        yield from _deprecation(version, f"{path}.deprecationWarning")
        status = _has_status(version, shared)
        yield from _described(version, (path, f"{path}.schema"), judge, has_status=status)
    yield from _whole_versions(spec, versions)
    yield from _names(spec.get("names", {}))
    status = any(_has_status(version, shared) for version in versions)
    yield from _described(shared, ("spec", "spec.validation"), judge, has_status=status)
    yield from _conversion(spec.get("conversion", {}))
    if spec.get("preserveUnknownFields"):
        sentence = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true"
            " in spec.versions[*].schema instead"
        )
        yield fields.invalid("spec.preserveUnknownFields", True, sentence)


def _lift_shared(versions: list[Wire]) -> Wire:
    """Take what all versions have in common out of them; changes the dicts in the list."""
    shared: Wire = {}
    for name in _SHARED:
        values = [version.get(name) for version in versions]
        if values and all(value == values[0] for value in values):
            shared[name] = values[0]
            for version in versions:
                version.pop(name, None)
    return shared


def _has_status(version: Wire, shared: Wire) -> bool:
    subresources = version.get("subresources") or shared.get("subresources") or {}
    return subresources.get("status") is not None


def _group(group: str) -> Iterator[FieldError]:
    if not group:
        yield fields.required("spec.group")
    elif reasons := subdomain_faults(group):
        yield fields.invalid("spec.group", group, ",".join(reasons))
    elif "." not in group:
        yield fields.invalid("spec.group", group, "should be a domain with at least one dot")


def _choice(path: str, value: str, choices: tuple[str, ...]) -> Iterator[FieldError]:
    if not value:
        yield fields.required(path)
    elif value not in choices:
        yield fields.not_supported(path, value, choices)


def _label(path: str, value: str, prefix: str = "") -> Iterator[FieldError]:
    reasons = rfc1035_faults(value.lower() if prefix else value)
    if reasons:
        yield fields.invalid(path, value, prefix + ",".join(reasons))


def _deprecation(version: Wire, path: str) -> Iterator[FieldError]:
    said = version.get("deprecationWarning")
    if said is None:
        return
    if not version.get("deprecated"):
        yield fields.invalid(path, said, "can only be set for deprecated versions")
        return
    if len(said.encode()) > _WARNING_MAX:
        yield fields.invalid(path, said, f"must be <= {_WARNING_MAX} characters long")
    if not said:
        yield fields.invalid(path, said, "must not be an empty string")
    odd = next((at for at, character in enumerate(said) if not character.isprintable()), None)
    if odd is not None:
        sentence = "must only contain printable UTF-8 characters"
        detail = f"{sentence}; non-printable character found at index {odd}"
        yield fields.invalid(path, said, detail)


def _whole_versions(spec: Wire, versions: list[Wire]) -> Iterator[FieldError]:
    names = [version.get("name", "") for version in versions]
    given = spec.get("versions") or []
    if len(set(names)) < len(names):
        yield fields.invalid("spec.versions", given, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        sentence = "must have exactly one version marked as storage version"
        yield fields.invalid("spec.versions", given, sentence)
    if names:
        yield from _label("spec.version", names[0])


def _names(names: Wire) -> Iterator[FieldError]:
    path = "spec.names"
    for key in ("plural", "singular", "kind", "listKind"):
        if not names.get(key):
            yield fields.required(f"{path}.{key}")
    for key in ("plural", "singular", "kind", "listKind"):
        mixed = "" if key in ("plural", "singular") else "may have mixed case, but should otherwise"
        if names.get(key):
            yield from _label(f"{path}.{key}", names[key], f"{mixed} match: " if mixed else "")
    for index, name in enumerate(names.get("shortNames") or []):
        yield from _label(f"{path}.shortNames[{index}]", name)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        sentence = "kind and listKind may not be the same"
        yield fields.invalid(f"{path}.listKind", names["listKind"], sentence)
    for index, name in enumerate(names.get("categories") or []):
        yield from _label(f"{path}.categories[{index}]", name)


def _described(
    said: Wire, places: tuple[str, str], judge: Judge, *, has_status: bool
) -> Iterator[FieldError]:
    """What a version, or all of them together, say about their objects, and where."""
    path, schema_path = places
    schema = (said.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        where = f"{schema_path}.openAPIV3Schema"
        yield from _schema(schema, where, judge, has_status=has_status)
    scale = (said.get("subresources") or {}).get("scale")
    if scale is not None:
        yield from _scale(scale, f"{path}.subresources.scale")
    for index, column in enumerate(said.get("additionalPrinterColumns") or []):
        yield from _column(column, f"{path}.additionalPrinterColumns[{index}]")
    yield from selectable_errors(said.get("selectableFields") or [], schema or {}, path)


def _schema(schema: Wire, path: str, judge: Judge, *, has_status: bool) -> Iterator[FieldError]:
    if has_status:
        yield from _root(schema, path)
    if schema.get("nullable"):
        yield fields.forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    rest = schema_errors(schema, path)
    # What is not supported at all is told once, not as a lack of structure too.
    unsupported = any("is not supported" in e.detail or "not an array" in e.detail for e in rest)
    structure = [] if unsupported else structure_errors(schema, path)
    yield from structure
    if not structure and not unsupported:
        yield from default_errors(schema, path)
    yield from rest
    if not structure and not unsupported:
        yield from judge(schema, path, [error.field for error in rest])


def _root(schema: Wire, path: str) -> Iterator[FieldError]:
    if schema.get("type", "object") != "object":
        sentence = (
            'only "object" is allowed as the type at the root of the schema'
            " if the status subresource is enabled"
        )
        yield fields.invalid(f"{path}.type", schema["type"], sentence)
        return
    if any(value and key not in _KEYS_AT_ROOT for key, value in schema.items()):
        sentence = (
            f"only [{_AT_ROOT}] fields are allowed at the root of the schema"
            " if the status subresource is enabled"
        )
        yield fields.invalid(path, schema, sentence)


def _simple_path(path: str, text: str) -> Iterator[FieldError]:
    if not text:
        yield fields.required(path)
    elif not text.startswith("."):
        yield fields.invalid(path, text, "must be a simple json path starting with .")


def _scale(scale: Wire, path: str) -> Iterator[FieldError]:
    for key, top in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        text = scale.get(key, "")
        errors = list(_simple_path(f"{path}.{key}", text))
        yield from errors
        if not errors and not text.startswith(f"{top}."):
            yield fields.invalid(f"{path}.{key}", text, f"should be a json path under {top}")
    selector = scale.get("labelSelectorPath")
    if selector:
        errors = list(_simple_path(f"{path}.labelSelectorPath", selector))
        yield from errors
        if not errors and not selector.startswith((".spec.", ".status.")):
            sentence = "should be a json path under either .spec or .status"
            yield fields.invalid(f"{path}.labelSelectorPath", selector, sentence)


def _column(column: Wire, path: str) -> Iterator[FieldError]:
    if not column.get("name"):
        yield fields.required(f"{path}.name")
    kind, form = column.get("type", ""), column.get("format", "")
    one_of = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        yield fields.required(f"{path}.type", one_of)
    elif kind not in _COLUMN_TYPES:
        yield fields.invalid(f"{path}.type", kind, one_of)
    if form and form not in _COLUMN_FORMATS:
        sentence = f"must be one of {','.join(_COLUMN_FORMATS)}"
        yield fields.invalid(f"{path}.format", form, sentence)
    yield from _simple_path(f"{path}.JSONPath", column.get("jsonPath", ""))


def _conversion(conversion: Wire) -> Iterator[FieldError]:
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook") or {}
    path = "spec.conversion"
    yield from _choice(f"{path}.strategy", strategy, ("None", "Webhook"))
    if strategy == "Webhook":
        return  # how it is reached is a rule of `kinds`
    for name, key in (
        ("webhookClientConfig", "clientConfig"),
        ("conversionReviewVersions", "conversionReviewVersions"),
    ):
        if webhook.get(key):
            sentence = "should not be set when strategy is not set to Webhook"
            yield fields.forbidden(f"{path}.{name}", sentence)
