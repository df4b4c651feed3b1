"""The admission policies of one server: followed as they change, and asked if they are concerned.

What policies say is in a language of its own, which takes time and memory to load. So this module
knows only that there are policies; those who know what they mean are loaded with the first one.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from atoll.apiserver.admission import Admission, Fit, Outside
from atoll.apiserver.authorization import Authorize
from atoll.apiserver.resource import Resource
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.webhooks.configured import GROUP, Configured, Sorts, stored
from atoll.apiserver.webhooks.views import with_object
from atoll.store.record import Event
from atoll.wire import Wire

if TYPE_CHECKING:
    from atoll.apiserver.policies.acting import Acting
    from atoll.apiserver.policies.policy import Policy


_COLLECTIONS = tuple(
    (f"{sort}admissionpolicies.{GROUP}", f"{sort}admissionpolicybindings.{GROUP}")
    for sort in ("mutating", "validating")
)
# What is asked and never stored is answered whatever policies say.
_EXEMPT = ("authentication.k8s.io", "authorization.k8s.io", GROUP)


class AdmissionPolicies:
    """The admission policies of one server, asked before `others` outside are."""

    def __init__(self, api: Api, authorize: Authorize, others: Outside) -> None:
        self._api = api
        self._authorize = authorize
        self._others = others
        every = (collection for pair in _COLLECTIONS for collection in pair)
        self._configured: Configured[Policy] = Configured(api, every, _EXEMPT, self._read)
        self._loaded: Acting | None = None

    def load(self) -> None:
        self._configured.load()

    def follow(self, events: Sequence[Event]) -> None:
        self._configured.follow(events)

    async def run(self) -> None:
        """Nothing is kept up: what is configured is followed as it changes."""
        await asyncio.Event().wait()

    def _read(self) -> "Sorts[Policy]":
        written = [[stored(self._api, each) for each in pair] for pair in _COLLECTIONS]
        if not any(policies for policies, _ in written):
            return (), ()
        from atoll.apiserver.policies.policy import policies_of

        mutating, validating = (tuple(policies_of(*each)) for each in written)
        return mutating, validating

    def concerns(self, resource: Resource) -> bool:
        return self._configured.concerns(resource) or self._others.concerns(resource)

    async def mutated(self, admission: Admission, fit: Fit) -> Wire:
        obj = admission.object
        assert obj is not None, "only creations and updates are mutated"
        if self._configured.concerns(admission.resource):
            obj = await self._acting.mutated(admission, fit)
        if self._others.concerns(admission.resource):
            return await self._others.mutated(with_object(admission, obj), fit)
        return obj

    async def check(self, admission: Admission) -> None:
        if self._configured.concerns(admission.resource):
            await self._acting.check(admission)
        if self._others.concerns(admission.resource):
            await self._others.check(admission)

    @property
    def _acting(self) -> "Acting":
        if self._loaded is None:
            from atoll.apiserver.policies.acting import Acting

            self._loaded = Acting(self._api, self._authorize, self._configured)
        return self._loaded
