"""Watching: every change once and in order, from any point that is still remembered."""

import time

import pytest
from backends import Backend
from manifests import configmap

from atoll.wire import Wire

LISTING = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
END = {"k8s.io/initial-events-end": "true"}


def version(obj: Wire) -> int:
    return int(obj["metadata"]["resourceVersion"])


def brief(event: Wire) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"]["name"]


def test_a_watch_is_a_stream_of_json_lines(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    with api.watch(f"{configmaps}?watch=true&resourceVersion={version(made) - 1}") as watch:
        assert watch.status == 200
        assert watch.headers["content-type"] == "application/json"
        assert watch.next() == {"type": "ADDED", "object": made}


def test_changes_come_in_order_with_the_objects_as_written(api: Backend, configmaps: str) -> None:
    start = api.read(configmaps)["metadata"]["resourceVersion"]
    with api.watch(f"{configmaps}?watch=1&resourceVersion={start}") as watch:
        made = api.create(configmaps, configmap("a", k="1"))
        changed = api.update(f"{configmaps}/a", configmap("a", k="2"))
        api.delete(f"{configmaps}/a")
        first, second, third = watch.take(3)
    assert first == {"type": "ADDED", "object": made}
    assert second == {"type": "MODIFIED", "object": changed}
    assert (third["type"], third["object"]["data"]) == ("DELETED", {"k": "2"})
    assert version(third["object"]) > version(changed)


def test_the_past_is_replayed_from_the_version_given(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", k="1"))
    api.update(f"{configmaps}/a", configmap("a", k="2"))
    api.delete(f"{configmaps}/a")
    with api.watch(f"{configmaps}?watch=1&resourceVersion={version(made)}") as watch:
        assert [brief(event) for event in watch.take(2)] == [("MODIFIED", "a"), ("DELETED", "a")]
        api.create(configmaps, configmap("b"))
        assert brief(watch.next()) == ("ADDED", "b")


@pytest.mark.parametrize("query", ["", "&resourceVersion=0"], ids=["no version", "version zero"])
def test_without_a_version_the_present_comes_first(
    api: Backend, configmaps: str, query: str
) -> None:
    for name in "ba":
        api.create(configmaps, configmap(name))
    api.read(configmaps)
    with api.watch(f"{configmaps}?watch=1{query}") as watch:
        assert sorted(brief(event) for event in watch.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
        api.create(configmaps, configmap("c"))
        assert brief(watch.next()) == ("ADDED", "c")


def test_the_deleted_object_has_the_version_of_its_deletion(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    with api.watch(f"{configmaps}?watch=1&resourceVersion={version(made)}") as watch:
        api.delete(f"{configmaps}/a")
        gone = watch.next()["object"]
    assert version(gone) > version(made)
    with api.watch(f"{configmaps}?watch=1&resourceVersion={version(gone)}") as watch:
        after = api.create(configmaps, configmap("b"))
        assert watch.next()["object"] == after


def test_labels_decide_what_comes_and_goes(api: Backend, configmaps: str) -> None:
    start = version(api.create(configmaps, configmap("a", k="0")))
    path = f"{configmaps}?watch=1&labelSelector=on%3Dyes&resourceVersion={start}"
    with api.watch(path) as watch:
        entered = api.update(f"{configmaps}/a", configmap("a", {"on": "yes"}, k="1"))
        changed = api.update(f"{configmaps}/a", configmap("a", {"on": "yes"}, k="2"))
        left = api.update(f"{configmaps}/a", configmap("a", {"on": "no"}, k="3"))
        api.update(f"{configmaps}/a", configmap("a", {"on": "no"}, k="4"))
        again = api.update(f"{configmaps}/a", configmap("a", {"on": "yes"}, k="5"))
        events = watch.take(4)
    assert events[0] == {"type": "ADDED", "object": entered}
    assert events[1] == {"type": "MODIFIED", "object": changed}
    assert events[2]["type"] == "DELETED"
    assert events[2]["object"]["data"] == {"k": "2"}, "the last state that was selected"
    assert version(events[2]["object"]) == version(left)
    assert events[3] == {"type": "ADDED", "object": again}


def test_replayed_changes_are_selected_as_live_ones_are(api: Backend, configmaps: str) -> None:
    start = version(api.create(configmaps, configmap("a", {"on": "yes"})))
    left = api.update(f"{configmaps}/a", configmap("a", {"on": "no"}))
    api.delete(f"{configmaps}/a")
    api.create(configmaps, configmap("b", {"on": "yes"}))
    path = f"{configmaps}?watch=1&labelSelector=on%3Dyes&resourceVersion={start}"
    with api.watch(path) as watch:
        events = watch.take(2)
    assert [brief(event) for event in events] == [("DELETED", "a"), ("ADDED", "b")]
    assert version(events[0]["object"]) == version(left)


def test_one_object_can_be_watched_by_name(api: Backend, configmaps: str) -> None:
    start = version(api.create(configmaps, configmap("b")))
    path = f"{configmaps}?watch=1&fieldSelector=metadata.name%3Da&resourceVersion={start}"
    with api.watch(path) as watch:
        api.create(configmaps, configmap("c"))
        api.create(configmaps, configmap("a"))
        api.delete(f"{configmaps}/b")
        api.delete(f"{configmaps}/a")
        assert [brief(event) for event in watch.take(2)] == [("ADDED", "a"), ("DELETED", "a")]


def test_other_namespaces_are_not_seen(api: Backend, configmaps: str, unique: str) -> None:
    other = f"{unique}-x"
    api.create("/api/v1/namespaces", {"metadata": {"name": other}})
    start = api.read(configmaps)["metadata"]["resourceVersion"]
    with api.watch(f"{configmaps}?watch=1&resourceVersion={start}") as watch:
        api.create(f"/api/v1/namespaces/{other}/configmaps", configmap("a"))
        api.create(configmaps, configmap("b"))
        assert brief(watch.next()) == ("ADDED", "b")


def test_all_namespaces_can_be_watched_at_once(api: Backend, configmaps: str, unique: str) -> None:
    query = f"watch=1&labelSelector=suite%3D{unique}"
    with api.watch(f"/api/v1/configmaps?{query}") as watch:
        api.create(configmaps, configmap("a", {"suite": unique}))
        assert watch.next()["object"]["metadata"]["namespace"] == unique


def test_a_watch_can_begin_with_a_list(api: Backend, configmaps: str) -> None:
    for name in "ab":
        made = api.create(configmaps, configmap(name))
    with api.watch(f"{configmaps}?{LISTING}&allowWatchBookmarks=true") as watch:
        assert sorted(brief(event) for event in watch.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
        end = watch.next()
        later = api.create(configmaps, configmap("c"))
        assert watch.next() == {"type": "ADDED", "object": later}
    assert (end["type"], end["object"]["kind"]) == ("BOOKMARK", "ConfigMap")
    assert end["object"]["apiVersion"] == "v1"
    metadata = end["object"]["metadata"]
    assert metadata["annotations"] == END
    assert version(made) <= int(metadata["resourceVersion"]) < version(later)


def test_an_empty_collection_ends_its_initial_events_too(api: Backend, configmaps: str) -> None:
    with api.watch(f"{configmaps}?{LISTING}&allowWatchBookmarks=true") as watch:
        end = watch.next()
        assert end["object"]["metadata"]["annotations"] == END
        start = end["object"]["metadata"]["resourceVersion"]
        api.create(configmaps, configmap("a"))
        assert brief(watch.next()) == ("ADDED", "a")
    with api.watch(f"{configmaps}?watch=1&resourceVersion={start}") as watch:
        assert brief(watch.next()) == ("ADDED", "a")


def test_the_initial_list_is_selected(api: Backend, configmaps: str) -> None:
    for name in "abc":
        api.create(configmaps, configmap(name, {"letter": name}))
    path = f"{configmaps}?{LISTING}&allowWatchBookmarks=true&labelSelector=letter%3Db"
    with api.watch(path) as watch:
        assert brief(watch.next()) == ("ADDED", "b")
        assert watch.next()["type"] == "BOOKMARK"


def test_the_initial_list_is_as_fresh_as_asked_for(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    path = f"{configmaps}?{LISTING}&allowWatchBookmarks=true&resourceVersion={version(made)}"
    with api.watch(path) as watch:
        assert watch.next() == {"type": "ADDED", "object": made}
        assert version(watch.next()["object"]) >= version(made)


def test_initial_events_can_be_declined(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    path = f"{configmaps}?{LISTING}&allowWatchBookmarks=true".replace("true", "false", 1)
    with api.watch(path) as watch:
        api.create(configmaps, configmap("b"))
        assert brief(watch.until(lambda event: event["type"] != "BOOKMARK")) == ("ADDED", "b")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param(
            "watch=1&sendInitialEvents=true",
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
            "resourceVersionMatch to NotOlderThan",
            id="without a match",
        ),
        pytest.param(
            "watch=1&resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless "
            "sendInitialEvents is provided",
            id="match without initial events",
        ),
    ],
)
def test_impossible_watches_are_refused(
    api: Backend, configmaps: str, query: str, message: str
) -> None:
    answer = api.request("GET", f"{configmaps}?{query}")
    answer.refusal(422, "Invalid", f'ListOptions.meta.k8s.io "" is invalid: {message}')


def test_a_watch_ends_cleanly_when_its_time_is_over(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    path = f"{configmaps}?watch=1&timeoutSeconds=1&resourceVersion={version(made)}"
    begun = time.monotonic()
    with api.watch(path) as watch:
        assert watch.rest() == []
    assert time.monotonic() - begun > 0.9, "not before its time"


def test_a_watch_of_the_future_waits(api: Backend, configmaps: str) -> None:
    with api.watch(f"{configmaps}?watch=1&resourceVersion=999999999") as watch:
        assert watch.status == 200
        api.create(configmaps, configmap("a"))
        assert watch.is_quiet(0.3)


def test_watching_one_path_reads_the_object(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    assert api.read(f"{configmaps}/a?watch=true") == made


def test_a_watch_with_a_bad_selector_is_refused(api: Backend, configmaps: str) -> None:
    with api.watch(f"{configmaps}?watch=1&fieldSelector=data.x%3D1") as watch:
        assert (watch.status, watch.body()["reason"]) == (400, "BadRequest")


def test_paths_of_the_old_form_watch_too(api: Backend, configmaps: str) -> None:
    for name in ("a", "b"):
        api.create(configmaps, {"metadata": {"name": name, "labels": {"mine": "yes"}}})
    old = configmaps.replace("/api/v1/", "/api/v1/watch/")
    with api.watch(f"{old}?labelSelector=mine") as watch:
        names = [event["object"]["metadata"]["name"] for event in watch.take(2)]
        assert sorted(names) == ["a", "b"]
    with api.watch(f"{old}/b?timeoutSeconds=1") as watch:
        assert [each["object"]["metadata"]["name"] for each in watch.rest()] == ["b"]
    assert api.request("POST", old, body={}).status == 405
    assert api.request("GET", "/api/v1/watch/nonsense").status == 404
    refused = api.request("GET", old, headers={"impersonate-user": "nobody"})
    assert 'User "nobody" cannot watch resource "configmaps"' in refused.json()["message"]
