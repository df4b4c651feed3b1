"""ClusterNodes, Atoll's own kind: the nodes of a cluster that pulls, published by its agent.

A table of nodes comes in and goes out again, with the same answer to every demand; in between it is
one object, of columns that are compressed: small enough for 5,000 nodes and more. What changes with
every pod is apart from what nodes are, so that the latter is seldom read. Who may publish, and how
long it is believed, is not known here.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from atoll.dialects import json
from atoll.dialects.compressed import deflated, inflated
from atoll.dialects.prices import API_VERSION
from atoll.dialects.wire import part, text
from atoll.errors import Invalid
from atoll.model.taint import Effect, Taint
from atoll.scheduling.columns import Interned, Numbers, T
from atoll.scheduling.nodes.rows import INT64_MOST, NodeRows
from atoll.scheduling.nodes.table import NodeTable
from atoll.wire import Object

KIND = "ClusterNodes"
_TRAITS, _ROOM = "traits", "room"
_UNREADABLE = (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError)


class Columns(NamedTuple):
    """The nodes of one cluster as text: what they are, and what is free on each of them."""

    traits: str
    room: str


def encode(table: NodeTable, before: tuple[NodeTable, Columns] | None = None) -> Columns:
    """The nodes of one cluster as text; the same for the same nodes.

    `before` is how a table was written of which this one may have come.
    """
    rows = table.rows
    room = {
        "slots": rows.slots.tolist(),
        "free": {name: column.tolist() for name, column in rows.free.items()},
    }
    same = before is not None and _has_traits_of(before[0].rows, rows)
    traits = before[1].traits if before is not None and same else _written(_traits(rows))
    return Columns(traits, _written(room))


def _has_traits_of(one: NodeRows, other: NodeRows) -> bool:
    """Whether only what is free has changed from one to the other."""
    same = one.names is other.names and one.labels is other.labels
    return same and one.taints is other.taints


def _written(columns: Any) -> str:
    return deflated(json.written(columns).encode())


def _traits(rows: NodeRows) -> dict[str, Any]:
    taints = [[[each.key, each.effect, each.value] for each in one] for one in rows.taints.values]
    return {
        "names": rows.names,
        "taints": [taints, rows.taints.codes.tolist()],
        "labels": {
            key: [list(column.values), column.codes.tolist()] for key, column in rows.labels.items()
        },
    }


def wire(owner: Object, columns: Columns, count: int, at: str) -> dict[str, Any]:
    """The object in which these columns are published; it goes with the Cluster that owns it."""
    name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
    of = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name, "uid": uid}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name, "ownerReferences": [of]},
        "spec": {"nodes": count, "asOf": at, _TRAITS: columns.traits, _ROOM: columns.room},
    }


def columns_of(published: Object) -> Columns:
    """The columns in such an object, as they are written there."""
    spec = part(published, "spec", "") or {}
    return Columns(text(spec, _TRAITS, "spec"), text(spec, _ROOM, "spec"))


def decode(columns: Columns, alike: NodeTable | None = None) -> NodeTable:
    """The nodes that were written so; Invalid if they cannot be read.

    `alike` is a table of the same traits, if one is known: these are not read again then.
    """
    if alike is None:
        alike = _read(columns.traits, _TRAITS, _with_traits)
    rows = alike.rows

    def with_room(found: Any) -> NodeTable:
        room = NodeRows(
            names=rows.names,
            labels=rows.labels,
            taints=rows.taints,
            free={name: _numbers(each, len(rows)) for name, each in sorted(found["free"].items())},
            slots=_numbers(found["slots"], len(rows)),
        )
        return NodeTable(room, alike.masks)

    return _read(columns.room, _ROOM, with_room)


def problems(published: Object) -> Iterator[Invalid]:
    """What is wrong with such an object."""
    try:
        decode(columns_of(published))
    except Invalid as problem:
        yield problem


def _read(written: str, key: str, meant: Any) -> NodeTable:
    path = f"spec.{key}"
    try:
        table: NodeTable = meant(json.read(inflated(written, path).decode()))
    except _UNREADABLE as error:
        problem = "is not what an agent of Atoll wrote"
        raise Invalid(path, f"{len(written)} characters", problem) from error
    return table


def _with_traits(found: Any) -> NodeTable:
    """A table of nodes of which it is not known yet what is free."""
    names = tuple(_text(each) for each in found["names"])
    if any(one >= other for one, other in pairwise(names)):
        raise ValueError("names must be in order, each once")
    count = len(names)
    taints = [tuple(_taint(*each) for each in one) for one in found["taints"][0]]
    rows = NodeRows(
        names=names,
        labels={
            key: _interned([None if each is None else _text(each) for each in values], codes, count)
            for key, (values, codes) in sorted(found["labels"].items())
        },
        taints=_interned(taints, found["taints"][1], count),
        free={},
        slots=np.zeros(count, np.int64),
    )
    return NodeTable(rows)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("must be text")
    return value


def _taint(key: str, effect: str, value: str) -> Taint:
    return Taint(_text(key), Effect(effect), _text(value))


def _numbers(given: Sequence[int], count: int) -> Numbers:
    if len(given) != count or not all(type(each) is int for each in given):
        raise ValueError("must have a whole number for each node")
    return np.maximum(np.array(given, np.int64), -INT64_MOST)


def _interned(values: Sequence[T], codes: Sequence[int], count: int) -> Interned[T]:
    column = _numbers(codes, count)
    if count and (int(column.min()) < 0 or int(column.max()) >= len(values)):
        raise IndexError("must name a value for each node")
    index = {value: code for code, value in enumerate(values)}
    if len(index) != len(values):
        raise ValueError("values must differ")
    return Interned(column.astype(np.int32), tuple(values), index)
