"""An API server put together from its parts, over a store that is open.

The plane, every simulated member, the tests and the simulation are built by this one function. It
starts no task itself: `services` are for a supervisor to run, next to the store's own `run`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from atoll.apiserver.admission import Hooks, Kinds
from atoll.apiserver.authentication import Tokens
from atoll.apiserver.authorization import Authorize, authorize
from atoll.apiserver.catalog import Catalog
from atoll.apiserver.discovery import Discovery
from atoll.apiserver.documents import Documents
from atoll.apiserver.housekeeping.bootstrap import bootstrap
from atoll.apiserver.housekeeping.definitions import Definitions
from atoll.apiserver.housekeeping.expiry import Expiry
from atoll.apiserver.housekeeping.garbage import Collector
from atoll.apiserver.housekeeping.namespaces import Lifecycle, Sweeper
from atoll.apiserver.kinds.builtin import builtin_resources
from atoll.apiserver.openapi import OpenApi
from atoll.apiserver.resource import Branch, Resource
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.server import ApiServer
from atoll.apiserver.verbs.call import Api
from atoll.effects import Effects
from atoll.exchange import Handler
from atoll.store.store import Store

Service = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Assembly:
    """A server and what must run for it. It is ready once `start` has returned."""

    handle: Handler
    api: Api
    services: dict[str, Service]
    _load: tuple[Callable[[], None], ...]
    _ready: asyncio.Event

    async def start(self) -> None:
        """Take in what the store has, make what every cluster has. The store must be running."""
        for load_one in self._load:
            load_one()
        await bootstrap(self.api)
        self._ready.set()


def assemble(
    store: Store,
    effects: Effects,
    tokens: Tokens | None = None,
    kinds: Kinds | None = None,
    authorize: Authorize = authorize,
) -> Assembly:
    """Build an API server over a store, with kinds of the plane's own where it is one."""
    facts = load()
    own = kinds or Kinds()
    resources = [*builtin_resources(facts), *own.resources]
    catalog = Catalog([_branched(each, own.branches) for each in resources], facts)
    api = Api(store, catalog, effects)
    definitions = Definitions(api)
    collector, sweeper, expiry = Collector(api), Sweeper(api), Expiry(api)
    api.hooks = Hooks(
        mutating=(definitions.mutate, *own.hooks.mutating),
        validating=(Lifecycle(store), definitions.refuse_in_ending, *own.hooks.validating),
    )
    # Definitions come first: whoever follows must find the resources that an event is about.
    for follower in (definitions, collector, sweeper, expiry):
        store.listen(follower.follow)
    ready = asyncio.Event()
    documents = Documents(Discovery(catalog), OpenApi(catalog, facts), ready.is_set)
    return Assembly(
        handle=ApiServer(api, documents, tokens or Tokens({}), authorize).handle,
        api=api,
        services={
            "custom resource definitions": definitions.run,
            "garbage collection": collector.run,
            "namespaces": sweeper.run,
            "expiry of events": expiry.run,
            **own.services,
        },
        _load=(definitions.load, collector.load, sweeper.load, expiry.load),
        _ready=ready,
    )


def _branched(
    resource: Resource, branches: Mapping[tuple[str, str], tuple[Branch, ...]]
) -> Resource:
    found = branches.get((resource.group, resource.plural))
    return replace(resource, branches=found) if found else resource
