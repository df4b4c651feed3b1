"""The ConfigMap cluster-info on a host, by which clusters that register know that it is the one.

Followed by whoever leads: it is made where there is none, and signed by the tokens that may. Hosts
whose own controllers do the same come to the same signatures. What they are is said in
`housekeeping.bootstrap_tokens`.
"""

import logging
from collections.abc import Awaitable, Callable

from atoll.apiserver.access.bootstrap_tokens import NAMESPACE, BootstrapToken, read_token
from atoll.apiserver.housekeeping.bootstrap_tokens import INFO, KUBECONFIG, kubeconfig, signed
from atoll.client.api import ApiClient, Missing, Stale, Taken, Wire
from atoll.client.collection import Collection
from atoll.client.endpoint import Endpoint
from atoll.client.mirror import Mirror
from atoll.effects import Effects
from atoll.runtime.worklist import Worklist

log = logging.getLogger("atoll.hosting")

_SPACE, _, _NAME = INFO.partition("/")
_MAPS = Collection("v1", "ConfigMap", "configmaps", namespaced=True, within=_SPACE, named=_NAME)
_SECRETS = Collection("v1", "Secret", "secrets", namespaced=True, within=NAMESPACE)


class Informing:
    """Follows bootstrap tokens and cluster-info; `host` is what others are told, if they may."""

    def __init__(self, api: ApiClient, host: Endpoint | None, effects: Effects) -> None:
        self._api = api
        self._host = host
        self._effects = effects
        self._work: Worklist[str] = Worklist("cluster-info")
        self._maps, self._secrets = Mirror(api, _MAPS), Mirror(api, _SECRETS)
        for mirror in (self._maps, self._secrets):
            mirror.listen(lambda *_: self._work.add(INFO))
        self.services: dict[str, Callable[[], Awaitable[None]]] = {
            "cluster-info": self._maps.run,
            "bootstrap tokens": self._secrets.run,
            "signatures of cluster-info": self._run,
        }
        """What is to be run while we lead."""

    async def _run(self) -> None:
        for mirror in (self._maps, self._secrets):
            await mirror.ready.wait()
        self._work.add(INFO)
        await self._work.run(self._look)

    async def _look(self, _: str) -> None:
        info = self._maps.get(_SPACE, _NAME)
        if info is None:
            await self._make()
            return
        now = self._effects.now()
        tokens = [one for one in self._tokens() if one.signs and not one.is_over(now)]
        data = info.get("data") or {}
        right = signed(data, tokens)
        try:
            if right != data:
                await self._api.replace(_MAPS, {**info, "data": right})
        except (Stale, Missing):
            return  # what is newer comes by itself
        ends = [(one.ends - now).total_seconds() for one in tokens if one.ends is not None]
        if ends:
            self._work.add_later(INFO, min(ends))

    def _tokens(self) -> list[BootstrapToken]:
        found = (read_token(secret) for secret in self._secrets)
        return [one for one in found if one is not None]

    async def _make(self) -> None:
        if self._host is None or self._host.ca is None:
            said = {"configmap": INFO}
            log.info(
                "The host has no %(configmap)s, so clusters cannot register by themselves", said
            )
            return
        wire: Wire = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"namespace": _SPACE, "name": _NAME},
            "data": {KUBECONFIG: kubeconfig(self._host.ca, self._host.server)},
        }
        try:
            await self._api.create(_MAPS, wire)
        except (Taken, Missing):
            return  # another was faster; or the namespace is yet to come, and we look again then
