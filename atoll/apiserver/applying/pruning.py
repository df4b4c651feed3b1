"""What an applier no longer applies: removed, unless somebody else owns it.

In: the merged object and who owns what, now and when this applier last applied. Out: the object
without the fields that only this applier owned and has now dropped. Fields that nobody owns stay,
even within an item that was dropped.
"""

from atoll.apiserver.applying.fieldset import FieldSet, difference, intersection, union
from atoll.apiserver.applying.merging import remove_fields
from atoll.apiserver.applying.typed import mentioned, with_named
from atoll.apiserver.schemas.schema import Schema
from atoll.wire import Object


def prune(merged: Object, last: FieldSet, owned: FieldSet, schema: Schema) -> Object:
    """`merged` without what is in `last` and not owned (by the applier's new set or others)."""
    if not difference(last, owned):
        return merged
    there = with_named(mentioned(merged, schema), schema)
    dropped = with_named(last, schema)
    kept = _left(merged, dropped, schema)
    unowned = difference(there, union(kept, with_named(owned, schema)))
    kept = _left(merged, unowned, schema)
    gone = intersection(difference(there, kept), dropped)
    return remove_fields(merged, gone, schema) or {}


def _left(merged: Object, removed: FieldSet, schema: Schema) -> FieldSet:
    """The fields that are left in the object once some are removed."""
    return with_named(mentioned(remove_fields(merged, removed, schema), schema), schema)
