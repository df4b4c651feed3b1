"""Every namespace knows the CA of this server: the ConfigMap kube-root-ca.crt, for pods to mount.

`right` says purely what that ConfigMap is; the service follows namespaces and their ConfigMaps of
this name, and makes or mends them. A server that nobody reaches from outside has no CA to tell of.
"""

from collections.abc import Sequence

from atoll.apiserver.housekeeping.acting import Upkeep, call_on, ensure, revise
from atoll.apiserver.housekeeping.namespaces import COLLECTION as NAMESPACES
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.view import metadata_of
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Event
from atoll.wire import Wire

CONFIG_MAPS, NAME, KEY = "configmaps", "kube-root-ca.crt", "ca.crt"
DESCRIPTION = "kubernetes.io/description"
_SAYS = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal"
    " endpoints such as the internal service IP or kubernetes.default.svc. No other usage is"
    " guaranteed across distributions of Kubernetes clusters."
)


def right(found: Wire, ca: str) -> Wire:
    """This ConfigMap with the CA and nothing else in it, and what it is for."""
    meta = metadata(found)
    annotations = {**(meta.get("annotations") or {}), DESCRIPTION: _SAYS}
    return {**found, "metadata": {**meta, "annotations": annotations}, "data": {KEY: ca}}


class RootCa(Upkeep):
    """Follows the store and keeps the CA known in every namespace."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, "root CA")
        self._ca = api.signing.ca.decode()

    def load(self) -> None:
        for record in self._api.store.page(NAMESPACES).records:
            self._note(record.name)

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            record = event.after
            if record.collection == NAMESPACES:
                if event.before is None:
                    self._note(record.name)
            elif record.collection == CONFIG_MAPS and record.name.endswith(f"/{NAME}"):
                self._note(record.name.partition("/")[0])

    def _note(self, namespace: str) -> None:
        if self._ca:
            self._work.add(namespace)

    async def _look(self, namespace: str) -> None:
        record = self._api.store.get(NAMESPACES, namespace)
        if record is None or metadata_of(record).deletion_timestamp is not None:
            return
        made = right({"metadata": {"name": NAME, "namespace": namespace}}, self._ca)
        await ensure(self._api, CONFIG_MAPS, made)
        call = call_on(self._api, CONFIG_MAPS, namespace, NAME)
        await revise(self._api, call, lambda found: right(found, self._ca))
