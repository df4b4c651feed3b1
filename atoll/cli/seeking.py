"""Asking the plane, and members through it, for objects of a kind; once, or as they change.

A quest comes in: a kind, perhaps names, a namespace, selectors. Rows and failures go out, by place
and name. Members are asked at the same time, each on a connection of its own; none holds up or
spoils what another says.
"""

import json
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from atoll.cli.discovering import Kinds, Resource
from atoll.cli.failing import ERROR, USAGE, CommandFailed
from atoll.cli.places import Place
from atoll.cli.printing import show, tell_error
from atoll.cli.rows import Row, Rows, Widths, rows_of
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing, Refused, refused
from atoll.client.transport import Unreachable

_TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
_PAGE = "500"
_AT_ONCE = 16
_FROM = "resource.karmada.io/cached-from-cluster"


@dataclass(frozen=True, slots=True)
class Quest:
    """What is looked for: one kind, and of it these names or all."""

    resource: Resource
    names: tuple[str, ...]
    namespace: str
    asked: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """What could not be had, in one line."""

    text: str
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What there is of one kind, by place and name, and what could not be had."""

    resource: Resource
    rows: tuple[Row, ...] = ()
    failures: tuple[Failure, ...] = ()


def named_quests(
    kinds: Kinds, words: Sequence[str], namespace: str, asked: Mapping[str, str]
) -> list[Quest]:
    """What is meant by `TYPE[,TYPE] [NAME...]`, or by `TYPE/NAME...`; CommandFailed if nothing."""
    first = words[0]
    if any("/" in word for word in words):
        if not all("/" in word for word in words):
            raise CommandFailed("give TYPE and names, or TYPE/NAME each", code=USAGE)
        return [
            Quest(kinds.find(kind), (name,), namespace, asked)
            for kind, _, name in (word.partition("/") for word in words)
        ]
    names = tuple(words[1:])
    resources = [one for each in first.split(",") if each for one in kinds.find_all(each)]
    if names and len(resources) > 1:
        raise CommandFailed("names are of one kind; give TYPE/NAME each", code=USAGE)
    return [Quest(each, names, namespace, asked) for each in dict.fromkeys(resources)]


def seek(client: PlainClient, quest: Quest, places: Sequence[Place], *, whole: bool) -> Found:
    """What there is of a kind in these places; `whole` brings the objects as they are."""
    if len(places) == 1:
        answers = [_answer(client, quest, places[0], whole=whole)]
    else:
        answers = _all_at_once(client, quest, places, whole=whole)
    rows = tuple(row for each in answers for row in each.rows)
    failures = tuple(failure for each in answers for failure in each.failures)
    if len(places) > 1 and quest.names:
        # What runs in some members need not be in the others.
        there = {row.name for row in rows}
        absent = [name for name in quest.names if name not in there]
        failures = (
            *(each for each in failures if not each.missing),
            *(
                Failure(f"{_not_there(quest, name)} in any of these clusters", missing=True)
                for name in absent
            ),
        )
    return Found(quest.resource, rows, failures)


def _all_at_once(
    client: PlainClient, quest: Quest, places: Sequence[Place], *, whole: bool
) -> list[Found]:
    from concurrent.futures import ThreadPoolExecutor

    def ask(place: Place) -> Found:
        with closing(PlainClient(client.endpoint)) as own:
            return _answer(own, quest, place, whole=whole)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(ask, places))


def _answer(client: PlainClient, quest: Quest, place: Place, *, whole: bool) -> Found:
    """What one place says; that it says nothing is an answer, too."""
    rows, failures = list[Row](), list[Failure]()
    where = f"cluster {place.name}: " if place.is_member else ""
    try:
        for name in quest.names or ("",):
            try:
                rows += _asked(client, quest, place, name, whole=whole)
            except Missing as error:
                text = _not_there(quest, name) if name else str(error)
                failures.append(Failure(where + text, missing=bool(name)))
    except (Refused, Unreachable) as error:
        failures.append(Failure(f"{where}{error}"))
    return Found(quest.resource, tuple(rows), tuple(failures))


def _not_there(quest: Quest, name: str) -> str:
    inside = f" in namespace {quest.namespace}" if quest.resource.collection.namespaced else ""
    return f'{quest.resource.plural_title} "{name}" not found{inside}'


def _asked(client: PlainClient, quest: Quest, place: Place, name: str, *, whole: bool) -> list[Row]:
    collection = quest.resource.collection
    path = place.prefix + collection.path(quest.namespace, name)
    query = {key: value for key, value in quest.asked.items() if value}
    if not name:
        query["limit"] = _PAGE
    rows = list[Row]()
    while True:
        headers = {} if whole else _TABLE
        answer = client.request("GET", path, urlencode(query), headers=headers).json()
        rows += _whole(place, quest, answer) if whole else rows_of(place, answer)
        rest = (answer.get("metadata") or {}).get("continue")
        if not rest or name:
            return rows
        query["continue"] = rest


def _whole(place: Place, quest: Quest, answer: Mapping[str, Any]) -> list[Row]:
    collection = quest.resource.collection
    head = {"apiVersion": collection.api_version, "kind": collection.kind}
    objects = answer.get("items", [answer])
    return [Row(place, (), (), _marked(_told({**head, **each}), place)) for each in objects]


def _told(found: Mapping[str, Any]) -> dict[str, Any]:
    """An object without who manages which field, as kubectl shows it."""
    metadata = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    return {**found, "metadata": metadata}


def _marked(found: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
    """An object of a member says whose it is, the way Karmada's search does."""
    if not place.is_member:
        return found
    metadata = found["metadata"]
    annotations = {**(metadata.get("annotations") or {}), _FROM: place.name}
    return {**found, "metadata": {**metadata, "annotations": annotations}}


def watch(client: PlainClient, quest: Quest, places: Sequence[Place], rows: Rows) -> int:
    """Show what there is, and every change from then on, until the servers end it."""
    told: queue.SimpleQueue[Callable[[], bool]] = queue.SimpleQueue()
    widths, headed = Widths(), list[bool]()
    widest = max(places, key=lambda place: len(place.name))

    def print_row(row: Row) -> bool:
        kind = quest.resource.collection
        if rows.head and not headed:
            widths.line(rows.cells(replace(row, place=widest), kind))
            show(widths.line(rows.heading(row.definitions, kind)))
        headed.append(True)
        show(widths.line(rows.cells(row, kind)))
        return False

    def ended(place: Place, error: Exception | None) -> bool:
        if error is not None:
            tell_error(f"{place.name}: {error}" if place.is_member else str(error))
        return True

    def follow(place: Place) -> None:
        own = PlainClient(client.endpoint)
        try:
            _follow(own, quest, place, lambda row: told.put(lambda: print_row(row)))
            told.put(lambda: ended(place, None))
        except (Refused, Unreachable) as failure:
            error = failure
            told.put(lambda: ended(place, error))

    for place in places:
        threading.Thread(target=follow, args=(place,), daemon=True).start()
    left = len(places)
    while left:
        left -= told.get()()
    return ERROR


def _follow(client: PlainClient, quest: Quest, place: Place, tell: Callable[[Row], None]) -> None:
    """Tell of every row there is in a place, and of every change."""
    name = quest.names[0] if quest.names else ""
    only = {"fieldSelector": f"metadata.name={name}"} if name else {}
    every = replace(quest, names=(), asked={**quest.asked, **only})
    collection = quest.resource.collection
    path = place.prefix + collection.path(quest.namespace)
    query = {key: value for key, value in every.asked.items() if value}
    first = client.request("GET", path, urlencode(query), headers=_TABLE).json()
    for row in rows_of(place, first):
        tell(row)
    version = first["metadata"]["resourceVersion"]
    query |= {"watch": "1", "resourceVersion": version}
    with client.stream(path, urlencode(query), headers=_TABLE) as lines:
        definitions = first["columnDefinitions"]
        for line in lines:
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise refused(event["object"].get("code", 500), event["object"])
            if event["type"] == "BOOKMARK":
                continue
            # Only the first Table of a watch says what its columns are.
            table = {"columnDefinitions": definitions, **_filled(event["object"])}
            for row in rows_of(place, table):
                tell(row)


def _filled(table: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in table.items() if value}
