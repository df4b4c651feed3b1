"""What is reported of a member's object: the parts of its status that add up to the template's.

An object as observed in a member comes in, the status for its Work goes out; None while there is
none.
"""

from collections.abc import Callable
from typing import Any

from atoll.dialects.karmada.names import TEMPLATE_GENERATION
from atoll.dialects.wire import INT64, number, part, text, text_by_name
from atoll.errors import Invalid
from atoll.interpreting.counters import COUNTERS
from atoll.interpreting.fields import inner
from atoll.interpreting.kinds import kind_of
from atoll.model.selector import as_integer
from atoll.wire import Object

Reflect = Callable[[Object], Object | None]


def workload(observed: Object) -> dict[str, Any] | None:
    """The counters, and which generation of the template and of the object they are about."""
    status = part(observed, "status", "")
    if status is None:
        return None
    metadata = inner(observed, "metadata")
    generations = {
        "observedGeneration": generation(status, "observedGeneration", "status"),
        "generation": generation(metadata, "generation", "metadata"),
        "resourceTemplateGeneration": _of_template(metadata),
    }
    counters = COUNTERS[kind_of(observed)]
    found = counters.written(counters.read(status, "status"))
    return (found | {key: value for key, value in generations.items() if value}) or None


def generation(wire: Object, key: str, path: str) -> int:
    """A generation; zero if absent."""
    return number(wire, key, path, most=INT64) or 0


def _of_template(metadata: Object) -> int:
    written = text_by_name(metadata, "annotations", "metadata").get(TEMPLATE_GENERATION, "0")
    found = as_integer(written)
    if found is None or not 0 <= found <= INT64:
        field = f"metadata.annotations[{TEMPLATE_GENERATION}]"
        raise Invalid(field, written, "must be the template's generation, a whole number")
    return found


def service(observed: Object) -> dict[str, Any] | None:
    """The addresses of a load balancer; nothing of other services."""
    if text(inner(observed, "spec"), "type", "spec") != "LoadBalancer":
        return None
    status = part(observed, "status", "")
    return (
        None if status is None else {"loadBalancer": part(status, "loadBalancer", "status") or {}}
    )


def chosen(*fields: str) -> Reflect:
    """Counters, and these fields as they are."""

    def reflect(observed: Object) -> dict[str, Any] | None:
        status = part(observed, "status", "")
        if status is None:
            return None
        counters = COUNTERS[kind_of(observed)]
        kept = {key: status[key] for key in fields if status.get(key)}
        return counters.written(counters.read(status, "status")) | kept

    return reflect
