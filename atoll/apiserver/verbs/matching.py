"""Which records a list, watch or deletecollection means: namespace, labels and fields."""

from dataclasses import dataclass
from typing import Any

import orjson

from atoll.apiserver.objects.paths import at
from atoll.apiserver.objects.unread import kept_bytes
from atoll.apiserver.objects.view import metadata_of, view_of
from atoll.apiserver.resource import Resource
from atoll.apiserver.selecting import check_fields_known
from atoll.apiserver.verbs.call import Call
from atoll.model.selector import Selector
from atoll.store.record import Record

_EVERYWHERE = frozenset(["metadata.name", "metadata.namespace"])


def served(resource: Resource, record: Record) -> bytes:
    """The record's object in the bytes this resource serves; most are served as they are stored."""
    if resource.serves_as_stored:
        return record.value
    if not resource.shared:
        return kept_bytes(resource.from_stored(orjson.loads(record.value)))
    renditions = view_of(record).renditions
    value = renditions.get(resource)
    if value is None:
        if len(renditions) > 4:  # earlier forms of a CRD that has changed since
            renditions.clear()
        value = kept_bytes(resource.from_stored(orjson.loads(record.value)))
        renditions[resource] = value
    return value


@dataclass(frozen=True, slots=True)
class Matcher:
    """The selection of one call. `prefix` limits it to a namespace."""

    resource: Resource
    prefix: str
    labels: Selector
    fields: Selector

    @property
    def selective(self) -> bool:
        """Whether anything but the namespace is asked for."""
        return bool(self.labels) or bool(self.fields)

    def matches(self, record: Record) -> bool:
        if not record.name.startswith(self.prefix):
            return False
        if self.labels and not self.labels.matches(metadata_of(record).labels or {}):
            return False
        return not self.fields or self.fields.matches(self._fields_of(record))

    def _fields_of(self, record: Record) -> dict[str, str]:
        namespace, _, name = record.name.rpartition("/")
        values = {"metadata.name": name, "metadata.namespace": namespace}
        wanted = {requirement.key for requirement in self.fields.requirements} - _EVERYWHERE
        if wanted:
            obj = orjson.loads(served(self.resource, record))
            values |= {key: self._text_of(obj, key) for key in sorted(wanted)}
        return values

    def _text_of(self, obj: dict[str, Any], key: str) -> str:
        strategy = self.resource.strategy
        found = self._text_at(obj, strategy.selectable[key])
        if not found and key in strategy.selectable_else:
            return self._text_at(obj, strategy.selectable_else[key])
        return found

    def _text_at(self, obj: dict[str, Any], path: tuple[str, ...]) -> str:
        value = at(obj, path)
        if value is not None or self.resource.custom:
            return _text(value)
        # What JSON leaves out is zero to Kubernetes, and zero is what one asks for by name.
        schema = self.resource.schema
        for name in path:
            schema = schema.fields[name]
        return {"boolean": "false", "integer": "0"}.get(schema.type, "")


def matcher(call: Call, labels: Selector, fields: Selector) -> Matcher:
    """The selection a call asks for; ApiError 400 for a field this kind is not selected by."""
    resource = call.resource
    known = _EVERYWHERE | resource.strategy.selectable.keys()
    check_fields_known(fields, known, resource)
    prefix = f"{call.namespace}/" if resource.namespaced and call.namespace else ""
    return Matcher(resource, prefix, labels, fields)


def _text(value: Any) -> str:
    """A field as field selectors compare it: text, and empty if it is not there."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
    return str(value)
