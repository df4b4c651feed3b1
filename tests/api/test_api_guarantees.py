"""What lists and watches promise while many write at once: nothing lost, doubled or reordered."""

import itertools
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from backends import Backend
from manifests import configmap
from streams import Watch

from atoll.wire import Wire

WRITERS = 4
WRITES = 15


def version(obj: Wire) -> int:
    return int(obj["metadata"]["resourceVersion"])


def churn(api: Backend, path: str, writer: int) -> list[int]:
    """Create, change and delete; the version of each write but the deletions'."""
    seen = []
    for number in range(WRITES):
        name = f"w{writer}-{number % 3}"
        if number % 3 == number % 6:
            seen.append(version(api.create(path, configmap(name, n=str(number)))))
            seen.append(version(api.patch(f"{path}/{name}", {"data": {"m": str(number)}})))
        else:
            api.delete(f"{path}/{name}")
    forget(api)
    return seen


def forget(api: Backend) -> None:
    """Give this thread's connection back."""
    getattr(api, "forget", lambda: None)()


def in_parallel(*work: Callable[[], Iterable[int]]) -> list[int]:
    with ThreadPoolExecutor(len(work)) as pool:
        return list(itertools.chain.from_iterable(pool.map(lambda one: one(), work)))


def writers(api: Backend, path: str) -> list[Callable[[], list[int]]]:
    return [lambda writer=writer: churn(api, path, writer) for writer in range(WRITERS)]


def follow(watch: Watch, until: str) -> list[Wire]:
    """All events before the object of this name appears."""
    events: list[Wire] = []
    while (event := watch.next())["object"]["metadata"].get("name") != until:
        events.append(event)
    return events


def replay(state: dict[str, Wire], events: list[Wire]) -> dict[str, Wire]:
    """What a client's cache holds after these events."""
    for event in events:
        name = event["object"]["metadata"]["name"]
        if event["type"] == "DELETED":
            del state[name]
        elif event["type"] == "ADDED":
            assert name not in state
            state[name] = event["object"]
        elif event["type"] == "MODIFIED":
            assert name in state
            state[name] = event["object"]
    return state


def listed(api: Backend, path: str) -> dict[str, Wire]:
    head = {"kind": "ConfigMap", "apiVersion": "v1"}
    return {
        item["metadata"]["name"]: {**head, **item}
        for item in api.read(path)["items"]
        if item["metadata"]["name"] != "end"
    }


def test_versions_are_never_used_twice(api: Backend, configmaps: str) -> None:
    seen = in_parallel(*writers(api, configmaps))
    assert len(seen) == len(set(seen))


def test_watchers_see_every_write_once_and_in_order(api: Backend, configmaps: str) -> None:
    start = api.read(configmaps)["metadata"]["resourceVersion"]
    path = f"{configmaps}?watch=1&resourceVersion={start}"
    with api.watch(path) as first, api.watch(path) as second:
        written = in_parallel(*writers(api, configmaps))
        api.create(configmaps, configmap("end"))
        events = follow(first, "end")
        assert follow(second, "end") == events
    versions = [version(event["object"]) for event in events]
    assert versions == sorted(set(versions))
    kept = [version(one["object"]) for one in events if one["type"] != "DELETED"]
    assert kept == sorted(written)
    assert replay({}, events) == listed(api, configmaps)


def test_a_watch_that_resumes_misses_nothing_and_repeats_nothing(
    api: Backend, configmaps: str
) -> None:
    start = int(api.read(configmaps)["metadata"]["resourceVersion"])
    resumed: list[Wire] = []

    def resume() -> list[int]:
        at = start
        while True:
            with api.watch(f"{configmaps}?watch=1&resourceVersion={at}") as watch:
                for _ in range(3):
                    event = watch.next()
                    if event["object"]["metadata"]["name"] == "end":
                        return []
                    resumed.append(event)
                    at = version(event["object"])

    def write() -> list[int]:
        in_parallel(*writers(api, configmaps))
        api.create(configmaps, configmap("end"))
        forget(api)
        return []

    in_parallel(resume, write)
    with api.watch(f"{configmaps}?watch=1&resourceVersion={start}") as watch:
        assert follow(watch, "end") == resumed
    assert replay({}, resumed) == listed(api, configmaps)


def test_a_list_and_the_watch_from_it_join_without_a_gap(api: Backend, configmaps: str) -> None:
    done = threading.Event()
    caches: list[dict[str, Wire]] = []

    def inform() -> list[int]:
        """List and watch as an informer does, over and over, while others write."""
        while not done.is_set():
            found = api.read(configmaps)
            head = {"kind": "ConfigMap", "apiVersion": "v1"}
            state = {item["metadata"]["name"]: {**head, **item} for item in found["items"]}
            assert all(version(one) <= version(found) for one in state.values())
            at = found["metadata"]["resourceVersion"]
            with api.watch(f"{configmaps}?watch=1&resourceVersion={at}") as watch:
                if "end" in state:
                    break
                events = follow(watch, "end")
            assert all(version(one["object"]) > version(found) for one in events)
            caches.append(replay(state, events))
        forget(api)
        return []

    def write() -> list[int]:
        in_parallel(*writers(api, configmaps))
        api.create(configmaps, configmap("end"))
        done.set()
        forget(api)
        return []

    in_parallel(inform, inform, write)
    expected = listed(api, configmaps)
    assert caches
    assert all(cache == expected for cache in caches)


def test_a_watch_list_is_complete_at_its_bookmark(api: Backend, configmaps: str) -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    path = f"{configmaps}?{query}&allowWatchBookmarks=true"
    checked: list[int] = []
    done = threading.Event()

    def inform() -> list[int]:
        while not done.is_set():
            known = api.read(configmaps)
            with api.watch(path) as watch:
                initial: list[Wire] = []
                while (event := watch.next())["type"] != "BOOKMARK":
                    assert event["type"] == "ADDED"
                    initial.append(event["object"])
            at = version(event["object"])
            assert at >= version(known)
            assert all(version(one) <= at for one in initial)
            exact = f"{configmaps}?resourceVersion={at}&resourceVersionMatch=Exact"
            names = [one["metadata"]["name"] for one in api.read(exact)["items"]]
            assert sorted(one["metadata"]["name"] for one in initial) == names
            checked.append(at)
        forget(api)
        return []

    def write() -> list[int]:
        in_parallel(*writers(api, configmaps))
        done.set()
        return []

    in_parallel(inform, write)
    assert checked


def test_pages_are_one_snapshot_while_others_write(api: Backend, configmaps: str) -> None:
    done = threading.Event()
    pages: list[int] = []

    def page() -> list[int]:
        while not done.is_set():
            found = api.read(f"{configmaps}?limit=2")
            at = version(found)
            items = found["items"]
            while more := found["metadata"].get("continue"):
                found = api.read(f"{configmaps}?limit=2&continue={more}")
                assert version(found) == at
                items += found["items"]
                pages.append(at)
            exact = f"{configmaps}?resourceVersion={at}&resourceVersionMatch=Exact"
            assert items == api.read(exact)["items"]
        forget(api)
        return []

    def write() -> list[int]:
        in_parallel(*writers(api, configmaps))
        done.set()
        return []

    in_parallel(page, write)
    assert pages


def test_writers_read_what_they_wrote(api: Backend, configmaps: str) -> None:
    def write(writer: int) -> list[int]:
        for number in range(WRITES):
            made = api.create(configmaps, configmap(f"w{writer}-{number}"))
            assert api.read(f"{configmaps}/w{writer}-{number}") == made
            found = api.read(configmaps)
            assert version(found) >= version(made)
            assert made["metadata"]["uid"] in {one["metadata"]["uid"] for one in found["items"]}
        forget(api)
        return []

    in_parallel(*(lambda writer=writer: write(writer) for writer in range(WRITERS)))
    assert len(api.read(configmaps)["items"]) == WRITERS * WRITES


def test_of_many_updates_from_one_version_one_wins(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))

    def write(writer: int) -> list[int]:
        answer = api.request("PUT", f"{configmaps}/a", body={**made, "data": {"w": str(writer)}})
        forget(api)
        return [answer.status]

    statuses = in_parallel(*(lambda writer=writer: write(writer) for writer in range(8)))
    assert sorted(statuses) == [200] + [409] * 7


def test_patches_at_once_all_take_effect(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))

    def write(writer: int) -> list[int]:
        for number in range(5):
            api.patch(f"{configmaps}/a", {"data": {f"w{writer}-{number}": "x"}})
        forget(api)
        return []

    in_parallel(*(lambda writer=writer: write(writer) for writer in range(WRITERS)))
    assert len(api.read(f"{configmaps}/a")["data"]) == 5 * WRITERS


def test_a_list_waits_for_a_version_to_come(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    ahead = version(made) + 1

    def write() -> list[int]:
        time.sleep(0.2)
        done = [version(api.create(configmaps, configmap("b")))]
        forget(api)
        return done

    def read() -> list[int]:
        found = api.read(f"{configmaps}?resourceVersion={ahead}")
        forget(api)
        return [version(found)]

    written, read_at = in_parallel(write, read)
    # Others write too (a real cluster renews its leases), so the version may come before ours does.
    assert read_at >= ahead
    assert written >= ahead
