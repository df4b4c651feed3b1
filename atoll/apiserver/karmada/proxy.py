"""The way through the plane to a cluster: `clusters/NAME/proxy/...`.

A request comes in, the member's answer goes out: watches, logs and upgraded connections included.
The member is asked with the impersonator's token on behalf of the caller, so it decides what the
caller may do there. That a caller may come here at all is decided before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from atoll.apiserver.access.front_proxy import sent_on, told_back
from atoll.apiserver.admission import Kinds
from atoll.apiserver.authentication import Identity
from atoll.apiserver.resource import Branch, Errand
from atoll.apiserver.responding import json_response
from atoll.apiserver.routing import ResourceRoute, route
from atoll.apiserver.status import (
    ApiError,
    method_not_allowed,
    not_found,
    unavailable,
    unknown_resource,
)
from atoll.client.transport import Transport, Unreachable, closing, whole
from atoll.dialects.karmada.cluster_access import way
from atoll.dialects.karmada.proxy_access import Subjects, let_through
from atoll.errors import UsageError
from atoll.exchange import Request, Response
from atoll.runtime.children import Children
from atoll.store.store import Store
from atoll.wire import Wire

if TYPE_CHECKING:
    from atoll.members.ways import Reach

CACHED_FROM = "resource.karmada.io/cached-from-cluster"
Ask = Callable[[str], Awaitable[Response]]


async def ask_all(clusters: Sequence[str], request: Request, ask: Ask) -> Response:
    """What all of them have together; of a single object, what the one that has it answers."""
    target = route(request.path)
    if not isinstance(target, ResourceRoute):
        raise unknown_resource()
    if request.method != "GET" or "watch=1" in request.query or "watch=true" in request.query:
        raise method_not_allowed()
    names = sorted(clusters)
    async with Children("all clusters") as children:
        asked = {name: children.spawn(_answer(ask, name), name) for name in names}
        answers = {name: await task for name, task in asked.items()}
    found = {name: one for name, one in answers.items() if one is not None}
    if not found:
        raise ApiError(404, "NotFound", "no cluster has it, or lets you see it", details={})
    if not target.name:
        return json_response(_together(found))
    if len(found) > 1:
        message = f"it is in more than one cluster: {', '.join(found)}; ask one of them"
        raise ApiError(409, "Conflict", message, details={})
    return next(iter(found.values()))


async def _answer(ask: Ask, name: str) -> Response | None:
    try:
        response = await ask(name)
    except ApiError:
        return None
    if response.status == 200:
        return await whole(response)
    if response.stream is not None:
        async with closing(response.stream):
            pass
    return None


def _together(answers: dict[str, Response]) -> dict[str, Any]:
    """One list of all, each item saying where it is from."""
    lists = {name: orjson.loads(answer.body) for name, answer in answers.items()}
    first = next(iter(lists.values()))
    items = [
        _said_from(name, item) for name, each in lists.items() for item in each.get("items") or ()
    ]
    return {**first, "metadata": {"resourceVersion": ""}, "items": items}


def _said_from(cluster: str, item: dict[str, Any]) -> dict[str, Any]:
    metadata = item.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), CACHED_FROM: cluster}
    return {**item, "metadata": {**metadata, "annotations": annotations}}


CLUSTERS = "clusters.cluster.karmada.io"
_RBAC = "rbac.authorization.k8s.io"
METHODS = ("create", "delete", "get", "patch", "update")


class Registry(Protocol):
    """What is known of the clusters of a plane, and of who may go to them."""

    async def names(self) -> Sequence[str]:
        """What the clusters are called."""

    async def cluster(self, name: str) -> Wire | None:
        """A cluster; None if there is none of this name."""

    async def secret(self, namespace: str, name: str) -> Wire | None:
        """A Secret; None if there is none."""

    async def subjects(self, cluster: str) -> Subjects:
        """Who may go to a cluster."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a plane's own store says."""

    store: Store

    async def names(self) -> Sequence[str]:
        return [each["metadata"]["name"] for each in self._all(CLUSTERS)]

    async def cluster(self, name: str) -> Wire | None:
        return self._found(CLUSTERS, name)

    async def secret(self, namespace: str, name: str) -> Wire | None:
        return self._found("secrets", f"{namespace}/{name}")

    async def subjects(self, cluster: str) -> Subjects:
        roles, bindings = (
            self._all(f"{each}.{_RBAC}") for each in ("clusterroles", "clusterrolebindings")
        )
        return let_through(cluster, roles, bindings)

    def _all(self, collection: str) -> Iterable[Wire]:
        for record in self.store.page(collection).records:
            yield orjson.loads(record.value)

    def _found(self, collection: str, name: str) -> Wire | None:
        record = self.store.get(collection, name)
        return None if record is None else orjson.loads(record.value)


@dataclass(frozen=True, slots=True)
class _Way:
    """An open way, and what it depends on."""

    on: Mapping[str, Any]
    transport: Transport


def with_proxy(kinds: Kinds, store: Store, reach: "Reach") -> Kinds:
    """The kinds of a plane, with the way to its clusters."""
    proxy = ClusterProxy(Stored(store), reach)
    return replace(
        kinds,
        branches={**kinds.branches, ("cluster.karmada.io", "clusters"): (proxy.branch(),)},
        services={**kinds.services, "ways to clusters": proxy.keep},
    )


@dataclass(slots=True)
class ClusterProxy:
    """Answers for the members, over ways that are kept open until something about them changes."""

    registry: Registry
    reach: "Reach"
    _ways: dict[str, _Way] = field(default_factory=dict)

    def branch(self) -> Branch:
        """What is served below a cluster."""
        return Branch("proxy", "ClusterProxyOptions", self.serve, METHODS, goes_on=True)

    async def serve(self, errand: Errand) -> Response:
        """What the named cluster answers; ApiError if it cannot be asked."""
        request = _forwarded(errand)
        if errand.name == "*":
            request = replace(request, headers={**request.headers, "accept": "application/json"})
            names = await self.registry.names()
            return await ask_all(names, request, lambda name: self._ask(name, request, errand))
        return await self._ask(errand.name, request, errand)

    async def _ask(self, name: str, request: Request, errand: Errand) -> Response:
        cluster = await self.registry.cluster(name)
        if cluster is None:
            raise not_found("clusters", "cluster.karmada.io", name)
        transport = await self._way(cluster)
        headers = {**request.headers, **await self._spoken_for(name, errand.identity)}
        try:
            response = await transport.send(replace(request, headers=headers))
        except Unreachable as error:
            raise unavailable(f"cluster {name} cannot be reached: {error}") from error
        return told_back(response)

    async def _way(self, cluster: Wire) -> Transport:
        name = cluster["metadata"]["name"]
        try:
            secret = await self._credentials(cluster)
            on = way(cluster, secret)
            known = self._ways.get(name)
            if known is not None and known.on == on:
                return known.transport
            opened = _Way(on, self.reach(cluster, secret))
        except UsageError as error:
            raise unavailable(f"there is no way to cluster {name}: {error}") from error
        self._ways[name] = opened
        if known is not None:
            await known.transport.close()
        return opened.transport

    async def keep(self) -> None:
        """Keep ways open until this is cancelled."""
        try:
            await asyncio.Event().wait()
        finally:
            for each in self._ways.values():
                await each.transport.close()

    async def _credentials(self, cluster: Wire) -> Wire:
        """A Secret with the impersonator's token, and with what the cluster's own says of trust."""
        spec = cluster["spec"]
        token = await self._secret(spec.get("impersonatorSecretRef"))
        if token is None:
            raise UsageError("its spec.impersonatorSecretRef names no Secret; join it again")
        own = await self._secret(spec.get("secretRef")) or {}
        trust = {key: own[key] for key in ("caBundle",) if key in own}
        return {"data": {**trust, "token": token.get("token", "")}}

    async def _secret(self, ref: Wire | None) -> Wire | None:
        if not ref:
            return None
        found = await self.registry.secret(ref.get("namespace", ""), ref.get("name", ""))
        return None if found is None else found.get("data") or {}

    async def _spoken_for(self, cluster: str, identity: Identity) -> dict[str, str]:
        subjects = await self.registry.subjects(cluster)
        groups = [each for each in identity.groups if each in subjects.spoken_groups]
        told = {"impersonate-user": identity.name, "impersonate-group": "\n".join(groups)}
        return {key: value for key, value in told.items() if value}


def _forwarded(errand: Errand) -> Request:
    """The request as the member shall see it, but for who sends it."""
    request = errand.request
    headers = sent_on(request.headers)
    return Request(request.method, f"/{errand.beyond}", request.query, headers, request.body)
