"""What admission goes by: the few objects with which administrators set up a cluster.

Follows the store and keeps them decoded, by collection and namespace, so that a write which nothing
has been set up for finds that out in one look. What they mean is known by those who ask.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import orjson

from atoll.apiserver.admitting.pod_security import PREFIX, Policy, policy_of
from atoll.apiserver.objects.view import metadata_of
from atoll.store.record import Event, Record
from atoll.store.store import Store
from atoll.wire import Wire

LIMIT_RANGES = "limitranges"
PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"
STORAGE_CLASSES = "storageclasses.storage.k8s.io"
INGRESS_CLASSES = "ingressclasses.networking.k8s.io"
RUNTIME_CLASSES = "runtimeclasses.node.k8s.io"
NAMESPACES = "namespaces"
KEPT = (LIMIT_RANGES, PRIORITY_CLASSES, STORAGE_CLASSES, INGRESS_CLASSES, RUNTIME_CLASSES)
_NONE: Mapping[str, Wire] = MappingProxyType({})


class Settings:
    """These objects as they are now."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[str, dict[str, dict[str, Wire]]] = {name: {} for name in KEPT}
        self.policies: dict[str, Policy] = {}
        """What pods must keep to in those namespaces that ask for a standard."""

    def of(self, collection: str, namespace: str = "") -> Mapping[str, Wire]:
        """The objects of a collection in a namespace, by name."""
        return self._kept[collection].get(namespace, _NONE)

    def load(self) -> None:
        for collection in (*KEPT, NAMESPACES):
            for record in self._store.page(collection).records:
                self._note(record, removed=False)

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.collection in self._kept or event.after.collection == NAMESPACES:
                self._note(event.after, removed=event.removed)

    def _note(self, record: Record, *, removed: bool) -> None:
        if record.collection == NAMESPACES:
            self.policies.pop(record.name, None)
            labels = metadata_of(record).labels or {}
            if not removed and any(label.startswith(PREFIX) for label in labels):
                self.policies[record.name] = policy_of(labels)
            return
        namespace, _, name = record.name.rpartition("/")
        spaces = self._kept[record.collection]
        if not removed:
            spaces.setdefault(namespace, {})[name] = orjson.loads(record.value)
            return
        found = spaces.get(namespace, {})
        found.pop(name, None)
        if not found:
            spaces.pop(namespace, None)
