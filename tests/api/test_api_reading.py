"""Reading and listing: order, selectors, pages, and how fresh an answer has to be."""

import base64
import json

import pytest
from backends import Backend
from manifests import configmap

from atoll.wire import Wire


def names(listed: Wire) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


def token(**content: object) -> str:
    """A continue token as a client could make it up."""
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def fill(api: Backend, path: str, letters: str) -> list[Wire]:
    return [api.create(path, configmap(letter, {"letter": letter})) for letter in letters]


def test_a_missing_object_is_not_found(api: Backend, configmaps: str, deployments: str) -> None:
    details = api.request("GET", f"{configmaps}/nope").refusal(
        404, "NotFound", 'configmaps "nope" not found'
    )
    assert details == {"name": "nope", "kind": "configmaps"}
    details = api.request("GET", f"{deployments}/nope").refusal(
        404, "NotFound", 'deployments.apps "nope" not found'
    )
    assert details == {"name": "nope", "group": "apps", "kind": "deployments"}


def test_an_empty_list_has_items_all_the_same(api: Backend, configmaps: str) -> None:
    listed = api.read(configmaps)
    assert (listed["kind"], listed["apiVersion"], listed["items"]) == ("ConfigMapList", "v1", [])
    assert int(listed["metadata"]["resourceVersion"]) > 0


def test_a_list_of_a_namespace_that_is_not_there_is_empty(api: Backend, unique: str) -> None:
    assert api.read(f"/api/v1/namespaces/{unique}/configmaps")["items"] == []


def test_a_list_is_sorted_by_name(api: Backend, configmaps: str) -> None:
    fill(api, configmaps, "cabd")
    assert names(api.read(configmaps)) == list("abcd")


def test_a_list_over_all_namespaces_is_sorted_by_the_bytes_of_its_keys(
    api: Backend, configmaps: str, unique: str
) -> None:
    other = f"{unique}-a"
    api.create("/api/v1/namespaces", {"metadata": {"name": other}})
    api.create(configmaps, configmap("z", {"suite": unique}))
    api.create(f"/api/v1/namespaces/{other}/configmaps", configmap("a", {"suite": unique}))
    listed = api.read(f"/api/v1/configmaps?labelSelector=suite%3D{unique}")
    assert names(listed) == ["a", "z"], "a dash sorts before the slash behind the namespace"


def test_items_of_built_in_kinds_do_not_repeat_their_kind(api: Backend, configmaps: str) -> None:
    (made,) = fill(api, configmaps, "a")
    (item,) = api.read(configmaps)["items"]
    assert {"kind": "ConfigMap", "apiVersion": "v1", **item} == made
    assert "kind" not in item


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("letter=a", "a"),
        ("letter==a", "a"),
        ("letter!=a", "bcd"),
        ("letter in (a,c)", "ac"),
        ("letter notin (a,c)", "bd"),
        ("letter", "abcd"),
        ("!letter", ""),
        ("other!=x", "abcd"),
        ("letter=a,letter=b", ""),
        ("letter in (a,b),letter!=a", "b"),
        ("", "abcd"),
    ],
)
def test_labels_select(api: Backend, configmaps: str, selector: str, found: str) -> None:
    fill(api, configmaps, "abcd")
    quoted = selector.replace(" ", "%20").replace("=", "%3D")
    assert names(api.read(f"{configmaps}?labelSelector={quoted}")) == list(found)


def test_labels_compare_as_numbers(api: Backend, configmaps: str) -> None:
    for number in ("3", "20", "x"):
        api.create(configmaps, configmap(f"n{number}", {"size": number}))
    assert names(api.read(f"{configmaps}?labelSelector=size%3E5")) == ["n20"]
    assert names(api.read(f"{configmaps}?labelSelector=size%3C5")) == ["n3"]


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("a%20b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a%3D%3D%3Db", "unable to parse requirement: found '=', expected: identifier"),
        ("a%20in%20b", "unable to parse requirement: found 'b' expected: '('"),
        (
            "-a",
            'unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of '
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
    ],
    ids=["two words", "three equals", "no bracket", "dash"],
)
def test_bad_label_selectors_are_refused(
    api: Backend, configmaps: str, selector: str, message: str
) -> None:
    answer = api.request("GET", f"{configmaps}?labelSelector={selector}")
    answer.refusal(400, "BadRequest", message)


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("metadata.name=a", "a"),
        ("metadata.name==a", "a"),
        ("metadata.name!=a", "bcd"),
        ("metadata.name=a,metadata.name!=a", ""),
        ("metadata.name=nope", ""),
    ],
)
def test_fields_select(api: Backend, configmaps: str, selector: str, found: str) -> None:
    fill(api, configmaps, "abcd")
    assert names(api.read(f"{configmaps}?fieldSelector={selector}")) == list(found)


def test_fields_and_labels_select_together(api: Backend, configmaps: str) -> None:
    fill(api, configmaps, "abcd")
    query = "fieldSelector=metadata.name!=a&labelSelector=letter%20in%20(a,b)"
    assert names(api.read(f"{configmaps}?{query}")) == ["b"]


def test_secrets_can_be_selected_by_type(api: Backend, namespace: str) -> None:
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    api.create(secrets, {"metadata": {"name": "a"}, "type": "example.com/t"})
    api.create(secrets, {"metadata": {"name": "b"}})
    assert names(api.read(f"{secrets}?fieldSelector=type%3Dexample.com/t")) == ["a"]
    assert names(api.read(f"{secrets}?fieldSelector=type%3DOpaque")) == ["b"]


def test_fields_that_are_left_out_are_selected_by_their_zero(api: Backend, unique: str) -> None:
    for name, spec in ((f"{unique}-a", {}), (f"{unique}-b", {"unschedulable": True})):
        api.create("/api/v1/nodes", {"metadata": {"name": name}, "spec": spec})
    for value, found in (("false", f"{unique}-a"), ("true", f"{unique}-b")):
        nodes = api.read(f"/api/v1/nodes?fieldSelector=spec.unschedulable%3D{value}")
        assert found in names(nodes)
    for name in (f"{unique}-a", f"{unique}-b"):
        api.delete(f"/api/v1/nodes/{name}")


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (
            "data.a=1",
            '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("nonsense", "invalid selector: 'nonsense'; can't understand 'nonsense'"),
    ],
    ids=["unknown", "nonsense"],
)
def test_other_field_selectors_are_refused(
    api: Backend, configmaps: str, selector: str, message: str
) -> None:
    answer = api.request("GET", f"{configmaps}?fieldSelector={selector}")
    assert message in answer.json()["message"]
    answer.refusal(400, "BadRequest")


def test_a_limit_gives_pages_of_one_snapshot(api: Backend, configmaps: str) -> None:
    fill(api, configmaps, "abcde")
    first = api.read(f"{configmaps}?limit=2")
    assert names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    api.create(configmaps, configmap("bb"))
    api.delete(f"{configmaps}/d")
    second = api.read(f"{configmaps}?limit=2&continue={first['metadata']['continue']}")
    assert names(second) == ["c", "d"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    third = api.read(f"{configmaps}?limit=2&continue={second['metadata']['continue']}")
    assert names(third) == ["e"]
    assert "continue" not in third["metadata"]
    assert "remainingItemCount" not in third["metadata"]


def test_what_remains_is_not_counted_under_a_selector(api: Backend, configmaps: str) -> None:
    fill(api, configmaps, "abc")
    first = api.read(f"{configmaps}?limit=1&labelSelector=letter")
    assert first["metadata"]["continue"]
    assert "remainingItemCount" not in first["metadata"]


def test_a_limit_that_suffices_has_no_next_page(api: Backend, configmaps: str) -> None:
    fill(api, configmaps, "ab")
    assert "continue" not in api.read(f"{configmaps}?limit=2")["metadata"]


def test_a_limit_below_nothing_is_none(api: Backend, configmaps: str) -> None:
    fill(api, configmaps, "ab")
    listed = api.read(f"{configmaps}?limit=-1")
    assert "continue" not in listed["metadata"]
    assert [one["metadata"]["name"] for one in listed["items"]] == ["a", "b"]


def test_a_cached_list_ignores_the_limit(api: Backend, configmaps: str) -> None:
    fill(api, configmaps, "abc")
    listed = api.read(f"{configmaps}?limit=1&resourceVersion=0")
    assert set(names(listed)) <= set("abc")
    assert "continue" not in listed["metadata"]


def test_a_token_and_a_version_exclude_each_other(api: Backend, configmaps: str) -> None:
    fill(api, configmaps, "ab")
    more = api.read(f"{configmaps}?limit=1")["metadata"]["continue"]
    answer = api.request("GET", f"{configmaps}?limit=1&continue={more}&resourceVersion=5")
    answer.refusal(
        400, "BadRequest", "specifying resource version is not allowed when using continue"
    )


@pytest.mark.parametrize(
    "made_up",
    [
        pytest.param("!!!", id="no base64"),
        pytest.param(token(), id="empty"),
        pytest.param(token(v="meta.k8s.io/v1", rv=5), id="no start"),
        pytest.param(token(v="v9", rv=5, start="a"), id="another version"),
        pytest.param(token(v="meta.k8s.io/v1", rv=5, start="../x"), id="out of the collection"),
    ],
)
def test_an_invented_token_is_refused(api: Backend, configmaps: str, made_up: str) -> None:
    answer = api.request("GET", f"{configmaps}?limit=1&continue={made_up}")
    answer.refusal(400, "BadRequest")
    assert answer.json()["message"].startswith("invalid continue token: ")
