"""Who owns what after a create, an update or a patch.

In: the object as it was and as it shall be stored (decoded and defaulted; admission and the kind's
own strategy have not touched it yet), and who writes. Out: the object with its managedFields. The
writer comes to own what it added or changed; nobody owns what is gone.
"""

from functools import lru_cache
from typing import NamedTuple

from atoll.apiserver.applying.comparing import Comparison, compare, same
from atoll.apiserver.applying.fieldset import FieldSet, difference, union, without
from atoll.apiserver.applying.fieldset import Path as FieldPath
from atoll.apiserver.applying.newborn import blank, fields_of_new, is_built_in
from atoll.apiserver.applying.ownership import (
    Managers,
    Owner,
    cap_updates,
    is_reset,
    sent,
    stored,
    with_entries,
)
from atoll.apiserver.applying.typed import Untypable, fitted
from atoll.apiserver.patching.wording import too_deep
from atoll.apiserver.schemas.schema import Schema
from atoll.wire import Wire

Path = tuple[str, ...]

_OWN = (
    *("clusterName", "creationTimestamp", "generation", "managedFields", "name", "namespace"),
    *("resourceVersion", "selfLink", "uid"),
)
# Never tracked: what every write sends, and what the server itself keeps.
_UNTRACKED: FieldSet = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {".": {}, **{f"f:{key}": {} for key in _OWN}},
}
_UNTRACKED_KEYS = frozenset(key[2:] for key, within in _UNTRACKED.items() if not within)
_UNTRACKED_METADATA = frozenset(key[2:] for key in _UNTRACKED["f:metadata"])


class Writer(NamedTuple):
    """Who writes, in which version of the object, and through which subresource."""

    manager: str
    api_version: str
    subresource: str = ""

    def owner(self, operation: str) -> Owner:
        """The owner that the writer's fields belong to."""
        version = "" if operation == "Apply" else self.api_version
        return Owner(self.manager or "unknown", operation, version, self.subresource)


class Write(NamedTuple):
    """The circumstances of one write, whatever it changes."""

    schema: Schema
    writer: Writer
    now: str
    ignored: tuple[Path, ...]  # never tracked at this endpoint


def after_update(
    schema: Schema,
    old: Wire | None,
    new: Wire,
    writer: Writer,
    now: str,
    *,
    ignored: tuple[Path, ...] = (),
) -> Wire:
    """`new` with the managedFields that a create (no `old`), update or patch leaves it with."""
    try:
        if old is None and "managedFields" not in new["metadata"] and is_built_in(schema):
            return _with_maker(new, Write(schema, writer, now, ignored))
        managers = _base(old, new, schema, writer)
        if managers.entries or old is None:
            record_update(managers, old, new, Write(schema, writer, now, ignored))
        return with_entries(new, managers)
    except Untypable:  # better no owners than wrong ones
        return with_entries(new, Managers())
    except RecursionError:
        raise too_deep() from None


def _with_maker(new: Wire, write: Write) -> Wire:
    """A new object of a built-in kind, all of which belongs to who makes it."""
    managers = Managers()
    own = _new_fields(new, write)
    managers.put(write.writer.owner("Update"), write.writer.api_version, own, write.now)
    return with_entries(new, managers)


def _base(old: Wire | None, new: Wire, schema: Schema, writer: Writer) -> Managers:
    """The entries to start from: a client may send its own, though not to a subresource."""
    if writer.subresource:
        return stored(old)
    return Managers() if is_reset(new, typed=is_built_in(schema)) else sent(new, old)


def record_update(managers: Managers, old: Wire | None, new: Wire, write: Write) -> None:
    """Enters into `managers`, in place, what the writer changed."""
    fit_schema(managers, write.schema)
    if old is None and not managers.entries and is_built_in(write.schema):
        own = _new_fields(new, write)
    else:
        found = compared(old, new, write)
        take(managers, found)
        own = tracked(found.changed)
    if own:
        owner = write.writer.owner("Update")
        fields = union(managers.fields(owner), own)
        managers.put(owner, write.writer.api_version, fields, write.now)
    cap_updates(managers)


def _new_fields(new: Wire, write: Write) -> FieldSet:
    """What `compared` finds in a new object and is tracked, where there is nobody to take it from.

    What is not tracked is left out beforehand. What Go writes as null is not set.
    """
    after = {
        key: value
        for key, value in new.items()
        if value is not None and key not in _UNTRACKED_KEYS and (key,) not in write.ignored
    }
    metadata = after.get("metadata")
    if isinstance(metadata, dict):
        after["metadata"] = {
            key: value for key, value in metadata.items() if key not in _UNTRACKED_METADATA
        }
    return without(fields_of_new(after, write.schema), elements_of(write.ignored))


def fit_schema(managers: Managers, schema: Schema) -> None:
    """Brings the entries, in place, in line with a schema that may have changed since."""
    if not is_built_in(schema):
        for owner, entry in [*managers.entries.items()]:
            managers.reduce(owner, fitted(entry["fieldsV1"], schema))


def compared(old: Wire | None, new: Wire, write: Write) -> Comparison:
    """What changed, as far as it is tracked at this endpoint."""
    after = unmanaged(new)
    if old is not None:
        before = unmanaged(old)
    else:
        before = blank(write.schema)
        if is_built_in(write.schema):  # what Go writes as null is not set
            after = {key: value for key, value in after.items() if value is not None}
    found = compare(before, after, write.schema)
    if not write.ignored:
        return found
    skipped = elements_of(write.ignored)
    return Comparison(without(found.changed, skipped), without(found.removed, skipped))


def unmanaged(obj: Wire) -> Wire:
    """The object without its managedFields, which nobody owns."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    rest = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**obj, "metadata": rest}


@lru_cache(maxsize=256)
def elements_of(paths: tuple[Path, ...]) -> tuple[FieldPath, ...]:
    """Paths of plain names as paths of elements."""
    return tuple(tuple(f"f:{name}" for name in path) for path in paths)


def take(managers: Managers, found: Comparison) -> None:
    """Takes what changed or is gone, in place, from whoever owned it."""
    for owner, entry in [*managers.entries.items()]:
        left = difference(entry["fieldsV1"], found.changed)
        managers.reduce(owner, difference(left, found.removed))


def tracked(fields: FieldSet) -> FieldSet:
    """The fields of a set that entries may hold."""
    return difference(fields, _UNTRACKED)


def settled(old: Wire, new: Wire) -> Wire:
    """`old` itself if all that differs in `new` is the time of some entries, otherwise `new`."""
    before, after = stored(old).entries, stored(new).entries
    if before.keys() != after.keys() or not same(unmanaged(old), unmanaged(new)):
        return new
    if all({**before[owner], "time": ""} == {**after[owner], "time": ""} for owner in before):
        return old
    return new
