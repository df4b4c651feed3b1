"""A watcher that does not read: it may be cut off, but it never misses an event in the middle."""

from backends import Backend
from manifests import configmap
from streams import Watch

from atoll.wire import Wire

WRITES = 60
LARGE = "x" * 200_000


def version(obj: Wire) -> int:
    return int(obj["metadata"]["resourceVersion"])


def drain(watch: Watch, last: int) -> list[int]:
    """The versions of all events up to the last one, or to where the server gave up."""
    seen: list[int] = []
    while not seen or seen[-1] != last:
        try:
            seen.append(version(watch.next()["object"]))
        except (EOFError, ConnectionError):
            break
    return seen


def test_a_watcher_that_falls_behind_can_resume_where_it_was(api: Backend, configmaps: str) -> None:
    start = int(api.read(configmaps)["metadata"]["resourceVersion"])
    with api.watch(f"{configmaps}?watch=1&resourceVersion={start}") as watch:
        made = [api.create(configmaps, configmap(f"n{n}", large=LARGE)) for n in range(WRITES)]
        written = [version(one) for one in made]
        seen = drain(watch, written[-1])
    assert seen == written[: len(seen)]
    while seen != written:
        at = seen[-1] if seen else start
        with api.watch(f"{configmaps}?watch=1&resourceVersion={at}") as watch:
            more = drain(watch, written[-1])
        assert more
        seen += more
        assert seen == written[: len(seen)]
