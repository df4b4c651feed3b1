"""Agents' requests for certificates: those that roles allow are approved without anybody's help.

Followed by whoever leads. What fits is decided as on the embedded plane (`housekeeping`); whether
its sender may is asked of the host, which signs what is approved.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from atoll.apiserver.authentication import Identity, user_info
from atoll.apiserver.authorization import Attributes
from atoll.apiserver.housekeeping.certificates import Approve, plan
from atoll.apiserver.kinds.certificates import APPROVED, GROUP
from atoll.apiserver.objects.times import rfc3339
from atoll.client.api import ApiClient, Missing, Stale, Wire
from atoll.client.collection import Collection
from atoll.client.mirror import Mirror
from atoll.effects import Effects
from atoll.hosting.installing import MANAGER
from atoll.runtime.worklist import Worklist

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
            "approval of agents": self._run,
        }
        """What is to be run while we lead."""

    def _heard(self, _: Wire | None, after: Wire | None) -> None:
        if after is not None:
            self._work.add(after["metadata"]["name"])

    async def _run(self) -> None:
        await self._work.run(self._look)

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
