"""The status of a workload that runs in several members: sums of their counters.

Conditions and whatever else stands in the template's status are left alone. The generation
observed moves on only when every member has observed the template as it is now.
"""

from typing import Any

from atoll.dialects.wire import Wire, text_by_name
from atoll.interpreting.aggregating.reports import in_order, news, place, reported, status_of
from atoll.interpreting.counters import COUNTERS
from atoll.interpreting.fields import inner, without
from atoll.interpreting.kinds import kind_of
from atoll.interpreting.operations import Item
from atoll.interpreting.reflecting import generation


def workload(template: Wire, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """Sums of the counters, and the generation that all members have observed."""
    counters = COUNTERS[kind_of(template)]
    old, current = inner(template, "status"), _generation(template)
    observed = generation(old, "observedGeneration", "status")
    caught_up = [path for path, status in reported(items) if _is_current(status, path, current)]
    if len(caught_up) == len(items):
        observed = current
    rest = without(old, (*counters.names, "observedGeneration"))
    seen = {"observedGeneration": observed} if observed else {}
    return news(template, {**rest, **_sums(template, items), **seen})


def autoscaler(template: Wire, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """Sums of the replicas there are and of those wanted."""
    return news(template, _sums(template, items))


def budget(template: Wire, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """Sums, and every pod being disrupted under the name of its cluster."""
    disrupted = {
        f"{item.cluster}/{pod}": since
        for item in in_order(items)
        for pod, since in text_by_name(status_of(item), "disruptedPods", place(item)).items()
    }
    found = {"disruptedPods": disrupted} if disrupted else {}
    return news(template, _sums(template, items) | found)


def _sums(template: Wire, items: tuple[Item, ...]) -> dict[str, Any]:
    counters = COUNTERS[kind_of(template)]
    read = [counters.read(status, path) for path, status in reported(items)]
    return counters.written({name: sum(each[name] for each in read) for name in counters.names})


def _generation(template: Wire) -> int:
    return generation(inner(template, "metadata"), "generation", "metadata")


def _is_current(status: Wire, path: str, current: int) -> bool:
    """The member's controller has seen its object, and its object is the template's newest."""
    seen = generation(status, "observedGeneration", path)
    of_template = generation(status, "resourceTemplateGeneration", path)
    return seen >= generation(status, "generation", path) and of_template >= current
