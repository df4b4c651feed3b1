"""Statuses of other projects' kinds: which fields are reported, and how they add up, as data.

Times are the members' own, so that the same reports always give the same status. Fields that a
tally does not name stay as they are in the template's status.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from atoll.dialects.karmada.names import TEMPLATE_GENERATION
from atoll.dialects.wire import INT64, count, number, part, parts, text, text_by_name
from atoll.interpreting.aggregating import in_order, news, place, reported, status_of
from atoll.interpreting.fields import inner, without
from atoll.interpreting.operations import Item
from atoll.interpreting.reflecting import Reflect, generation
from atoll.model.selector import as_integer
from atoll.wire import Object

Aggregate = Callable[[Object, tuple[Item, ...]], Object | None]


def picking(*fields: str, generations: bool = False) -> Reflect:
    """Report these fields as they are, and which generations they are about."""

    def reflect(observed: Object) -> dict[str, Any] | None:
        status = part(observed, "status", "")
        if status is None:
            return None
        found = {key: status[key] for key in fields if status.get(key) is not None}
        return found | (_generations(observed, status) if generations else {})

    return reflect


def _generations(observed: Object, status: Object) -> dict[str, int]:
    metadata = inner(observed, "metadata")
    written = text_by_name(metadata, "annotations", "metadata").get(TEMPLATE_GENERATION, "")
    found = {
        "observedGeneration": _seen(status, "status"),
        "generation": generation(metadata, "generation", "metadata"),
        "resourceTemplateGeneration": as_integer(written) or 0,
    }
    return {key: value for key, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class Tally:
    """How the fields of a kind's statuses add up.

    `sums` are added; of `last` the last cluster that says something is believed, in the order of
    their names; with `conditions`, those that say the same become one that names the clusters;
    with `generations`, the generation observed moves on when every member has observed it.
    """

    sums: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    conditions: bool = False
    generations: bool = False

    def __call__(self, template: Object, items: tuple[Item, ...]) -> Object | None:
        """The template's status; None if it says so already."""
        return news(template, self.status(template, items))

    def status(self, template: Object, items: tuple[Item, ...]) -> dict[str, Any]:
        """The template's status."""
        old, found = inner(template, "status"), list(reported(items))
        status: dict[str, Any] = {
            key: sum(count(each, key, path) for path, each in found) for key in self.sums
        }
        for _, each in found:
            status |= {key: each[key] for key in self.last if each.get(key)}
        if self.conditions and (merged := merged_conditions(items)):
            status["conditions"] = merged
        if self.generations and (observed := _observed(template, items)):
            status["observedGeneration"] = observed
        gone = (*self.sums, "conditions") if self.conditions else self.sums
        return {**without(old, gone), **status}


def _observed(template: Object, items: tuple[Item, ...]) -> int:
    current = generation(inner(template, "metadata"), "generation", "metadata")
    caught_up = [path for path, each in reported(items) if _is_current(each, path, current)]
    if len(caught_up) == len(items):
        return current
    return _seen(inner(template, "status"), "status")


def _is_current(status: Object, path: str, current: int) -> bool:
    of_template = generation(status, "resourceTemplateGeneration", path)
    seen = _seen(status, path)
    return of_template == current and seen == generation(status, "generation", path)


def _seen(status: Object, path: str) -> int:
    """The generation observed; before any, some controllers say -1."""
    return number(status, "observedGeneration", path, least=-1, most=INT64) or 0


def merged_conditions(items: tuple[Item, ...]) -> list[dict[str, Any]]:
    """Conditions of all clusters: those alike become one, whose message says who says what."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for item in in_order(items):
        for here, each in parts(status_of(item), "conditions", place(item)):
            alike = tuple(text(each, key, here) for key in ("type", "status", "reason"))
            said = f"{item.cluster}={text(each, 'message', here)}"
            known = found.setdefault(alike, {**each, "message": ""})
            known["message"] = f"{known['message']}, {said}" if known["message"] else said
    return list(found.values())


def clusters_where(items: tuple[Item, ...], holding: Callable[[Object, str], bool]) -> list[str]:
    """The names of the clusters whose status is so."""
    return [each.cluster for each in in_order(items) if holding(status_of(each), place(each))]


def earliest(items: tuple[Item, ...], key: str) -> str:
    """The first of the times that clusters give; times in UTC compare as text."""
    return min(_times(items, key), default="")


def latest(items: tuple[Item, ...], key: str) -> str:
    """The last of the times that clusters give."""
    return max(_times(items, key), default="")


def _times(items: tuple[Item, ...], key: str) -> list[str]:
    given = (text(each, key, path) for path, each in reported(items))
    return [each for each in given if each]


def all_conditions(items: tuple[Item, ...]) -> list[Object]:
    """The conditions of all clusters, one after the other."""
    return [each for path, one in reported(items) for _, each in parts(one, "conditions", path)]


def newest(conditions: Iterable[Object], key: str, *times: str) -> list[Object]:
    """Of the conditions that agree in a field the one that changed last, as each first came."""
    found: dict[str, tuple[str, Object]] = {}
    for each in conditions:
        sort = str(each.get(key) or "")
        since = next((str(each[name]) for name in times if each.get(name)), "")
        if since and (sort not in found or since > found[sort][0]):
            found[sort] = since, each
    return [each for _, each in found.values()]


def nothing_empty(value: Any) -> Any:
    """A value without what says nothing in it: zero, empty text, empty lists and objects."""
    if isinstance(value, dict):
        kept = {key: nothing_empty(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each not in (0, "", "0s", None, [], {})}
    return [nothing_empty(each) for each in value] if isinstance(value, list) else value


def of_several(sum_up: Aggregate) -> Aggregate:
    """Of no cluster nothing is told, of the only one what it says itself; else what is summed."""

    def aggregate(template: Object, items: tuple[Item, ...]) -> Object | None:
        if not items:
            return None
        if len(items) == 1 and items[0].status is not None:
            return news(template, dict(status_of(items[0])))
        return sum_up(template, items)

    return aggregate
