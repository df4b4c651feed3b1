"""Who owns whom: every object's uid, and the dependents of each, kept up to date event by event."""

from typing import NamedTuple

from atoll.apiserver.objects.view import Metadata, OwnerReference, metadata_of
from atoll.store.record import Event, Record


class Node(NamedTuple):
    """An object as garbage collection sees it."""

    collection: str
    name: str  # in its collection
    metadata: Metadata

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def ending(self) -> bool:
        return self.metadata.deletion_timestamp is not None


def node_of(record: Record) -> Node:
    return Node(record.collection, record.name, metadata_of(record))


class Graph:
    """Objects by uid, and dependents by the uid of their owner. Dicts keep the order of arrival."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._dependents: dict[str, dict[str, OwnerReference]] = {}

    def node(self, uid: str) -> Node | None:
        return self._nodes.get(uid)

    def dependents(self, uid: str) -> list[tuple[Node, OwnerReference]]:
        """Who names this uid as an owner, and how."""
        found = self._dependents.get(uid, {})
        return [(self._nodes[dependent], reference) for dependent, reference in found.items()]

    def add(self, record: Record) -> Node:
        """Take in an object as it is now."""
        node = node_of(record)
        metadata = node.metadata
        self._forget_owners(metadata.uid)
        self._nodes[metadata.uid] = node
        for reference in metadata.owner_references:
            self._dependents.setdefault(reference.uid, {})[metadata.uid] = reference
        return node

    def remove(self, record: Record) -> None:
        """Forget an object that is gone; its dependents still name it."""
        uid = metadata_of(record).uid
        self._forget_owners(uid)
        self._nodes.pop(uid, None)

    def note(self, event: Event) -> str:
        """Follow one event; gives the uid of the object it is about."""
        if event.removed:
            self.remove(event.after)
            return metadata_of(event.after).uid
        before = event.before
        if before is not None and metadata_of(before).uid != metadata_of(event.after).uid:
            self.remove(before)
        return self.add(event.after).uid

    def _forget_owners(self, uid: str) -> None:
        known = self._nodes.get(uid)
        if known is None:
            return
        for reference in known.metadata.owner_references:
            dependents = self._dependents.get(reference.uid)
            if dependents is not None:
                dependents.pop(uid, None)
                if not dependents:
                    del self._dependents[reference.uid]
