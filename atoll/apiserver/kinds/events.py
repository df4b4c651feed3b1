"""Event, which is one collection under two groups: core/v1, as it is stored, and events.k8s.io/v1.

The two differ in the names of fields; `to_core` and `from_core` are inverse to each other.
"""

from atoll.apiserver.fields.error import Errors, FieldError, faulty, invalid, required
from atoll.apiserver.kinds.reading import text
from atoll.apiserver.kinds.rules import needed
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import qualified_faults
from atoll.wire import Wire

_CORE, _NEW = "v1", "events.k8s.io/v1"

# core -> events.k8s.io
_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK = {new: core for core, new in _NAMES.items()}
# Written even if empty by core/v1, and by events.k8s.io/v1 only if there is something to write.
_NEVER_ABSENT = ("reportingComponent", "reportingInstance")
_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def from_core(event: Wire) -> Wire:
    """A stored event as events.k8s.io/v1 shows it."""
    renamed = {
        _NAMES.get(key, key): value
        for key, value in event.items()
        if value or key not in _NEVER_ABSENT
    }
    return renamed | _versioned(event, _NEW)


def to_core(event: Wire) -> Wire:
    """An event of events.k8s.io/v1 as it is stored."""
    renamed = {_BACK.get(key, key): value for key, value in event.items()}
    return dict.fromkeys(_NEVER_ABSENT, "") | renamed | _versioned(event, _CORE)


def _versioned(event: Wire, version: str) -> Wire:
    return {"apiVersion": version} if "apiVersion" in event else {}


def _default_new(event: Wire) -> None:
    _null_times(event, "eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp")
    event.setdefault("deprecatedSource", {})


def _null_times(event: Wire, *keys: str) -> None:
    """Times that are not set are written as null."""
    for key in keys:
        event.setdefault(key, None)


def _about_errors(event: Wire, key: str) -> list[FieldError]:
    """An event lives in the namespace of what it is about; of cluster-wide things, in default."""
    namespace, about = text(event, "metadata", "namespace"), text(event, key, "namespace")
    if about == namespace or (not about and namespace in ("default", "kube-system")):
        return []
    return [invalid("involvedObject.namespace", about, "does not match event.namespace")]


def _new_errors(event: Wire) -> Errors:
    if errors := _about_errors(event, "regarding"):
        yield from errors
        return
    if not event.get("eventTime"):
        yield required("eventTime")
    else:
        yield from _reporter_errors(event)
    kind = text(event, "type")
    if kind not in ("Normal", "Warning"):
        yield invalid("type", kind, f"has invalid value: {kind}")


def _reporter_errors(event: Wire) -> Errors:
    controller = text(event, "reportingController")
    yield from needed(event, "", "reportingController")
    yield from faulty("reportingController", controller, qualified_faults(controller))
    yield from needed(event, "", "reportingInstance", "action", "reason")


def _selectable(about: str, reporter: str) -> dict[str, tuple[str, ...]]:
    return {
        **{f"{about}.{key}": (about, key) for key in _ABOUT},
        reporter: (reporter,),
        "reason": ("reason",),
        "type": ("type",),
    }


CORE_EVENT = Strategy(
    creates_on_update=True,
    has_dependents=False,
    selectable={
        **_selectable("involvedObject", "reportingComponent"),
        "source": ("source", "component"),
    },
    selectable_else={"source": ("reportingComponent",)},
    default=lambda event: _null_times(event, "eventTime", "firstTimestamp", "lastTimestamp"),
    errors=lambda event: _about_errors(event, "involvedObject"),
)
NEW_EVENT = Strategy(
    creates_on_update=True,
    has_dependents=False,
    selectable=_selectable("regarding", "reportingController"),
    default=_default_new,
    errors=_new_errors,
)
