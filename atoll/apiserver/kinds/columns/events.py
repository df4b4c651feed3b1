"""The columns of events. They are those of core/v1, whatever group an event is read from."""

from dataclasses import replace
from typing import Any

from atoll.apiserver.kinds.columns.cells import name_of, since, wide
from atoll.apiserver.kinds.events import to_core
from atoll.apiserver.kinds.reading import Object, at, number, part, text
from atoll.apiserver.resource import Column


def _last_seen(event: Object) -> Any:
    last = at(event, "series", "lastObservedTime") or at(event, "lastTimestamp")
    return since(last) if last else _first_seen(event)


def _first_seen(event: Object) -> Any:
    return since(at(event, "firstTimestamp") or at(event, "eventTime"))


def _count(event: Object) -> int:
    if event.get("series"):
        return number(event, "series", "count")
    return number(event, "count") or (0 if at(event, "firstTimestamp") else 1)


def _about(event: Object) -> str:
    target = part(event, "involvedObject")
    kind, name = text(target, "kind").lower(), text(target, "name")
    return f"{kind}/{name}" if name else kind


def _source(event: Object) -> str:
    source = part(event, "source")
    component = text(source, "component") or text(event, "reportingComponent")
    host = text(source, "host") or text(event, "reportingInstance")
    return f"{component}, {host}" if host else component


EVENT = (
    Column("Last Seen", _last_seen),
    Column("Type", lambda obj: text(obj, "type")),
    Column("Reason", lambda obj: text(obj, "reason")),
    Column("Object", _about),
    wide("Subobject", lambda obj: text(obj, "involvedObject", "fieldPath")),
    wide("Source", _source),
    Column("Message", lambda obj: text(obj, "message").strip()),
    wide("First Seen", _first_seen),
    wide("Count", _count),
    Column("Name", name_of, format="name", priority=1),
)


def _converted(column: Column) -> Column:
    return replace(column, cell=lambda event: column.cell(to_core(event)))


NEW_EVENT = tuple(map(_converted, EVENT))
