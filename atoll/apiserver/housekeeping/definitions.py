"""Custom resource definitions: from the object a user writes to resources that are served.

A definition whose names are free is established in the very write that creates it, and served from
the moment that write is committed, before its writer is answered. One whose names are taken says so
and is looked at again when a definition goes. Deleting one deletes all its objects first. One of
a kind that is built in is kept and serves nothing: its objects are the server's own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from atoll.apiserver.admission import Admission
from atoll.apiserver.catalog import Catalog
from atoll.apiserver.custom import resources_of
from atoll.apiserver.housekeeping.acting import (
    Upkeep,
    call_on,
    delete_all,
    revise,
    take_off_finalizer,
)
from atoll.apiserver.housekeeping.graph import node_of
from atoll.apiserver.kinds.definitions import CLEANUP
from atoll.apiserver.objects.conditions import condition, is_true, since
from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.objects.view import metadata_of
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.definitions import definition_errors
from atoll.apiserver.status import method_not_allowed
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Event, Record
from atoll.wire import Wire

COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"


@dataclass(frozen=True, slots=True)
class Conflict:
    """A name that another resource of the group already has: which one, and what is said."""

    reason: str
    message: str


def conflicts(definition: Wire, served: Iterable[Resource]) -> list[Conflict]:
    """What keeps a definition from being served: names that others in its group already have."""
    names, group, own = _names(definition), definition["spec"]["group"], _collection(definition)
    others = [one for one in served if one.group == group and one.collection != own]
    words = {word for one in others for word in (one.plural, one.singular, *one.short_names)}
    kinds = {kind for one in others for kind in (one.kind, one.list_kind)}
    asked = [
        ("PluralConflict", [names["plural"]], words),
        ("SingularConflict", [names.get("singular", "")], words),
        ("ShortNamesConflict", names.get("shortNames") or [], words),
        ("KindConflict", [names["kind"]], kinds),
        ("ListKindConflict", [names.get("listKind", "")], kinds),
    ]
    return [
        Conflict(reason, f'"{name}" is already in use')
        for reason, wanted, taken in asked
        for name in wanted
        if name in taken
    ]


def _names(definition: Wire) -> Wire:
    names: Wire = definition["spec"]["names"]
    return names


def _collection(definition: Wire) -> str:
    return f"{_names(definition)['plural']}.{definition['spec']['group']}"


def status_of(definition: Wire, taken: Sequence[Conflict], now: str) -> Wire:
    """The status of a definition: whether its names are its own, and whether it is served."""
    status: Wire = definition.get("status") or {}
    known = status.get("conditions") or []
    fresh = [_names_accepted(taken), _established(definition, taken)]
    others = [one for one in known if one["type"] not in ("NamesAccepted", "Established")]
    stored = next(one["name"] for one in definition["spec"]["versions"] if one.get("storage"))
    versions = status.get("storedVersions") or []
    return {
        **status,
        "conditions": [*(since(one, known, now) for one in fresh), *others],
        "acceptedNames": status.get("acceptedNames", {}) if taken else _names(definition),
        "storedVersions": versions if stored in versions else [*versions, stored],
    }


def _names_accepted(taken: Sequence[Conflict]) -> Wire:
    if taken:
        messages = ", ".join(one.message for one in taken)
        return condition("NamesAccepted", taken[0].reason, messages, holds=False)
    return condition("NamesAccepted", "NoConflicts", "no conflicts found", holds=True)


def _established(definition: Wire, taken: Sequence[Conflict]) -> Wire:
    if taken and not is_true(definition, "Established"):
        return condition("Established", "NotAccepted", "not all names are accepted", holds=False)
    message = "the initial names have been accepted"
    return condition("Established", "InitialNamesAccepted", message, holds=True)


class Definitions(Upkeep):
    """Keeps the catalog in step with the definitions in the store."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, "custom resource definitions")

    @property
    def _catalog(self) -> Catalog:
        return self._api.catalog

    def load(self) -> None:
        """Serve what the store has definitions of."""
        for record in self._api.store.page(COLLECTION).records:
            self._serve(record)
            if metadata_of(record).deletion_timestamp is not None:
                self._work.add(record.name)

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.collection == COLLECTION:
                self._note(event)
            elif event.removed and (owner := self._ending_definition(event.after.collection)):
                self._work.add(owner)

    def _note(self, event: Event) -> None:
        if not event.removed:
            self._serve(event.after)
            if metadata_of(event.after).deletion_timestamp is not None:
                self._work.add(event.after.name)
            return
        if not self._built_in(event.after.name):
            self._catalog.drop(event.after.name)
            self._api.watches.end(event.after.name)
        for record in self._api.store.page(COLLECTION).records:
            if not is_true(orjson.loads(record.value), "Established"):
                self._work.add(record.name)

    def _serve(self, record: Record) -> None:
        definition = orjson.loads(record.value)
        if is_true(definition, "Established") and not self._built_in(record.name):
            self._catalog.put(record.name, resources_of(definition))

    def _built_in(self, collection: str) -> bool:
        """Whether this collection is served whatever users define. It has its definition's name."""
        resource = self._catalog.of_collection(collection)
        return resource is not None and not resource.custom

    def _ending_definition(self, collection: str) -> str | None:
        """The definition of this collection, if it is being deleted. It has the same name."""
        record = self._api.store.get(COLLECTION, collection)
        if record is None or metadata_of(record).deletion_timestamp is None:
            return None
        return record.name

    def mutate(self, seen: Admission) -> Wire:
        """The admission hook that settles a definition's status as it is written."""
        assert seen.object is not None
        if seen.resource.collection != COLLECTION or seen.subresource:
            return seen.object
        if definition_errors(seen.object):
            return seen.object  # validation is about to say so
        return self._settled(seen.object)

    def _settled(self, definition: Wire) -> Wire:
        taken = conflicts(definition, self._catalog)
        return {**definition, "status": status_of(definition, taken, rfc3339(self._api.now()))}

    def refuse_in_ending(self, seen: Admission) -> None:
        """The admission hook that lets nothing new be made of a kind that is being deleted."""
        if seen.operation != "CREATE" or not seen.resource.custom:
            return
        if self._ending_definition(seen.resource.collection) is not None:
            raise method_not_allowed()

    async def _look(self, name: str) -> None:
        record = self._api.store.get(COLLECTION, name)
        if record is None:
            return
        if metadata_of(record).deletion_timestamp is None:
            await revise(self._api, call_on(self._api, COLLECTION, "", name), self._settled)
            return
        if CLEANUP in metadata_of(record).finalizers:
            await self._clean_up(record)

    async def _clean_up(self, record: Record) -> None:
        """Delete every object of a definition that is going; let it go when none is left."""
        if self._built_in(record.name):
            await take_off_finalizer(self._api, node_of(record), CLEANUP)
            return
        nodes = map(node_of, self._api.store.page(record.name).records)
        refusals = await delete_all(self._api, [node for node in nodes if not node.ending])
        if refusals:
            raise refusals[0]  # tried again, less and less often
        if not self._api.store.page(record.name).records:
            await take_off_finalizer(self._api, node_of(record), CLEANUP)
