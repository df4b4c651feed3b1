"""The books of quotas: what is booked as it happens is what a fresh count finds."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.apiserver.admitting.quotas import Quotas
from atoll.apiserver.housekeeping.quotas import told
from atoll.effects import Chance
from atoll.model.quantity import parse
from atoll.runtime.supervisor import Supervisor
from atoll.store.memory import MemoryLog
from atoll.store.store import Put, Remove, Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HARD = {
    "pods": "3",
    "count/pods": "5",
    "requests.cpu": "2",
    "limits.memory": "1Gi",
    "secrets": "9",
    "services.nodeports": "4",
    "requests.storage": "10Gi",
}

amounts = st.sampled_from(["100m", "1", "250m"])
sizes = st.sampled_from(["1Gi", "64Mi", "1000"])


def container(cpu, memory):
    resources = {"requests": {"cpu": cpu}, "limits": {"memory": memory}}
    return {"name": "c", "resources": resources}


pods = st.builds(
    lambda cpu, memory, phase, deadline: {
        "spec": {
            "containers": [container(cpu, memory)],
            **({"activeDeadlineSeconds": 5} if deadline else {}),
        },
        "status": {"phase": phase},
    },
    amounts,
    sizes,
    st.sampled_from(["Pending", "Running", "Succeeded"]),
    st.booleans(),
)
claims = st.builds(lambda size: {"spec": {"resources": {"requests": {"storage": size}}}}, sizes)
services = st.builds(
    lambda kind, ports: {"spec": {"type": kind, "ports": [{"port": 1}] * ports}},
    st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]),
    st.integers(1, 3),
)
quotas = st.builds(
    lambda names, scopes: {"spec": {"hard": {name: HARD[name] for name in names}, **scopes}},
    st.sets(st.sampled_from(sorted(HARD)), min_size=1),
    st.sampled_from([{}, {"scopes": ["Terminating"]}, {"scopes": ["NotTerminating"]}]),
)
writes = st.one_of(
    st.tuples(st.just("pods"), st.none() | pods),
    st.tuples(st.just("persistentvolumeclaims"), st.none() | claims),
    st.tuples(st.just("services"), st.none() | services),
    st.tuples(st.just("secrets"), st.none() | st.just({})),
    st.tuples(st.just("resourcequotas"), st.none() | quotas),
)
histories = st.lists(
    st.tuples(st.sampled_from(["a/x", "a/y", "b/x"]), writes), min_size=1, max_size=25
)


class NothingThere(Exception):
    """There is nothing to remove."""


async def step(store, collection, key, wanted):
    with suppress(NothingThere):
        await store.write(collection, key, decision(key, wanted))


def decision(key, wanted):
    namespace, _, name = key.partition("/")
    meta = {"name": name, "namespace": namespace}

    def decide(record, _revision):
        if wanted is None:
            if record is None:
                raise NothingThere
            return Remove(record.value)
        return Put(orjson.dumps({"metadata": meta, **wanted}))

    return decide


def books(ledger, store):
    """What each quota tells, as it is written down."""
    found = {}
    for record in store.page("resourcequotas").records:
        book = ledger.book(record.name)
        found[record.name] = None if book is None else told(orjson.loads(record.value), book)
    return found


@settings(max_examples=60)
@given(histories, st.integers(1, 4))
def test_what_is_booked_is_what_is_there(history, at_once):
    async def main():
        store = Store.open(MemoryLog())
        ledger = Quotas(store, lambda: NOW)
        store.listen(ledger.follow)
        async with Supervisor("store", Chance("quotas")) as services_:
            services_.start("commits", store.run)
            for start in range(0, len(history), at_once):
                some = history[start : start + at_once]
                await asyncio.gather(
                    *(step(store, collection, key, wanted) for key, (collection, wanted) in some)
                )
            fresh = Quotas(store, lambda: NOW)
            fresh.load()
            return books(ledger, store), books(fresh, store)

    booked, counted = asyncio.run(main())
    assert _values(booked) == _values(counted)


def _values(found):
    """However they are written: that follows who came first."""
    return {
        key: {name: parse(amount) for name, amount in quota["status"]["used"].items()}
        for key, quota in found.items()
    }
