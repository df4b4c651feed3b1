"""What servers behind this one are told about whom to believe, in a ConfigMap that all may find.

Its name and its keys are Kubernetes' own: libraries of aggregated servers read it. What others have
put there stays beside ours, for there may be more than one server like this.
"""

from collections.abc import Sequence

import orjson

from atoll.apiserver.access.front_proxy import FrontProxy
from atoll.apiserver.authentication import FRONT_PROXY
from atoll.apiserver.housekeeping.acting import Upkeep, call_on, ensure, revise
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Event
from atoll.wire import Wire

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
_KEY = f"{NAMESPACE}/{NAME}"
_LISTS = {
    "requestheader-allowed-names": FRONT_PROXY,
    "requestheader-extra-headers-prefix": "X-Remote-Extra-",
    "requestheader-group-headers": "X-Remote-Group",
    "requestheader-uid-headers": "X-Remote-Uid",
    "requestheader-username-headers": "X-Remote-User",
}


def with_trust(data: dict[str, str], client_ca: bytes, front: FrontProxy) -> dict[str, str]:
    """What the ConfigMap shall say, beside what it says."""
    told = dict(data)
    for key, value in _LISTS.items():
        told[key] = orjson.dumps(_with(_read(data.get(key, "")), value)).decode()
    bundles = {"client-ca-file": client_ca, "requestheader-client-ca-file": front.ca}
    for key, bundle in bundles.items():
        known = data.get(key, "")
        told[key] = known if bundle.decode().strip() in known else known + bundle.decode()
    return told


def _read(text: str) -> list[str]:
    """A list as the ConfigMap has it; what is none counts for nothing."""
    try:
        found = orjson.loads(text)
    except ValueError:
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _with(known: list[str], value: str) -> list[str]:
    return known if value in known else [*known, value]


class Trust(Upkeep):
    """Keeps the ConfigMap as it shall be, in a server that others can come to from outside."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, "whom to believe")

    def load(self) -> None:
        self._work.add(_KEY)

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.name == _KEY and event.after.collection == "configmaps":
                self._work.add(_KEY)

    async def _look(self, _: str) -> None:
        signing = self._api.signing
        front = signing.front
        if front is None:
            return
        meta, data = {"name": NAME, "namespace": NAMESPACE}, with_trust({}, signing.ca, front)
        await ensure(self._api, "configmaps", {"metadata": meta, "data": data})

        def completed(old: Wire) -> Wire:
            return {**old, "data": with_trust(old.get("data") or {}, signing.ca, front)}

        await revise(self._api, call_on(self._api, "configmaps", NAMESPACE, NAME), completed)
