"""What clusters that register by themselves need of a host; followed by whoever leads.

Agents' requests for certificates that roles allow are approved without anybody's help. What fits is
decided as on the embedded plane (`housekeeping`); whether its sender may is asked of the host,
which signs what is approved. The ConfigMap cluster-info, by which they know that it is the host, is
made where there is none, and signed by the tokens that may; hosts whose own controllers do the same
come to the same signatures.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from atoll.apiserver.access.bootstrap_tokens import NAMESPACE, BootstrapToken, read_token
from atoll.apiserver.authentication import Identity, user_info
from atoll.apiserver.authorization import Attributes
from atoll.apiserver.housekeeping.bootstrap_tokens import INFO, KUBECONFIG, kubeconfig, signed
from atoll.apiserver.housekeeping.certificates import Approve, plan
from atoll.apiserver.kinds.certificates import APPROVED, GROUP
from atoll.apiserver.objects.times import rfc3339
from atoll.client.api import ApiClient, Missing, Stale, Taken
from atoll.client.collection import Collection
from atoll.client.endpoint import Endpoint
from atoll.client.mirror import Mirror
from atoll.effects import Effects
from atoll.hosting.installing import MANAGER
from atoll.runtime.worklist import Worklist
from atoll.wire import Wire

log = logging.getLogger("atoll.hosting")

_SPACE, _, _NAME = INFO.partition("/")
_MAPS = Collection("v1", "ConfigMap", "configmaps", namespaced=True, within=_SPACE, named=_NAME)
_SECRETS = Collection("v1", "Secret", "secrets", namespaced=True, within=NAMESPACE)
_REQUESTS = Collection(
    f"{GROUP}/v1", "CertificateSigningRequest", "certificatesigningrequests", namespaced=False
)
REVIEWS = Collection(
    "authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)
# Those of nodes are the host's own business.
_RIGHTS = ("clusteragent", "selfclusteragent")

Question = tuple[Identity, Attributes]


class Approving:
    """Follows requests for certificates on a host."""

    def __init__(self, api: ApiClient, effects: Effects) -> None:
        self._api = api
        self._effects = effects
        self._work: Worklist[str] = Worklist("requests for certificates")
        self._requests = Mirror(api, _REQUESTS)
        self._requests.listen(self._heard)
        self.services: dict[str, Callable[[], Awaitable[None]]] = {
            "requests for certificates": self._requests.run,
            "approval of agents": partial(self._work.run, self._look),
        }
        """What is to be run while we lead."""

    def _heard(self, _: Wire | None, after: Wire | None) -> None:
        if after is not None:
            self._work.add(after["metadata"]["name"])

    async def _look(self, name: str) -> None:
        request = self._requests.get("", name)
        if request is None:
            return
        now = self._effects.now()
        asked: list[Question] = []

        def note(sender: Identity, wanted: Attributes) -> bool:
            asked.append((sender, wanted))
            return False

        plan(request, note, now)
        granted = [each for each in asked if await self._may(*each)]
        match plan(request, lambda *question: question in granted, now):
            case Approve(message):
                await self._approve(request, message)

    async def _may(self, sender: Identity, wanted: Attributes) -> bool:
        if wanted.subresource not in _RIGHTS:
            return False
        info = user_info(sender)
        spec: dict[str, Any] = {
            "user": info.pop("username"),
            **info,
            "resourceAttributes": {
                "verb": wanted.verb,
                "group": wanted.group,
                "resource": wanted.plural,
                "subresource": wanted.subresource,
            },
        }
        answer = await self._api.create(REVIEWS, {"metadata": {}, "spec": spec})
        return bool(answer["status"]["allowed"])

    async def _approve(self, request: Wire, message: str) -> None:
        """Say that it is approved; unless it has changed since, or is gone."""
        metadata = {key: request["metadata"][key] for key in ("name", "uid", "resourceVersion")}
        moment = rfc3339(self._effects.now())
        condition = {
            "type": APPROVED,
            "status": "True",
            "reason": "AutoApproved",
            "message": message,
            "lastUpdateTime": moment,
            "lastTransitionTime": moment,
        }
        wire = {
            "apiVersion": _REQUESTS.api_version,
            "kind": _REQUESTS.kind,
            "metadata": metadata,
            "status": {"conditions": [condition]},
        }
        try:
            await self._api.apply(_REQUESTS.path_of(request, "approval"), wire, MANAGER)
        except (Stale, Missing):
            return  # what is newer comes by itself


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
