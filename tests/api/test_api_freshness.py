"""How fresh a list has to be: resourceVersion and resourceVersionMatch."""

import pytest
from backends import Backend
from manifests import configmap

INVALID = 'ListOptions.meta.k8s.io "" is invalid: '


def test_a_list_says_at_which_version_it_is(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    listed = api.read(configmaps)
    assert int(listed["metadata"]["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])
    api.delete(f"{configmaps}/a")
    after = api.read(configmaps)
    assert int(after["metadata"]["resourceVersion"]) > int(listed["metadata"]["resourceVersion"])


def test_a_list_not_older_than_a_version_has_what_was_written_then(
    api: Backend, configmaps: str
) -> None:
    version = api.create(configmaps, configmap("a"))["metadata"]["resourceVersion"]
    for query in ("", "&resourceVersionMatch=NotOlderThan"):
        listed = api.read(f"{configmaps}?resourceVersion={version}{query}")
        assert int(listed["metadata"]["resourceVersion"]) >= int(version)
        assert len(listed["items"]) == 1


def test_a_list_at_an_exact_version_shows_the_past(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    version = api.create(configmaps, configmap("b", k="old"))["metadata"]["resourceVersion"]
    api.create(configmaps, configmap("c"))
    api.patch(f"{configmaps}/b", {"data": {"k": "new"}})
    api.delete(f"{configmaps}/a")
    path = f"{configmaps}?resourceVersion={version}&resourceVersionMatch=Exact"
    listed = api.read(path)
    assert listed["metadata"]["resourceVersion"] == version
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a", "b"]
    assert listed["items"][1]["data"] == {"k": "old"}


def test_a_version_with_a_limit_is_an_exact_one_from_its_second_page_on(
    api: Backend, configmaps: str
) -> None:
    for name in "abc":
        version = api.create(configmaps, configmap(name))["metadata"]["resourceVersion"]
    path = f"{configmaps}?resourceVersion={version}&resourceVersionMatch=Exact&limit=2"
    first = api.read(path)
    api.delete(f"{configmaps}/c")
    rest = api.read(f"{configmaps}?limit=2&continue={first['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["c"]
    assert rest["metadata"]["resourceVersion"] == version


def test_a_version_of_the_future_is_waited_for_and_then_refused(
    api: Backend, configmaps: str
) -> None:
    answer = api.request("GET", f"{configmaps}?resourceVersion=999999999")
    details = answer.refusal(504, "Timeout")
    message = answer.json()["message"]
    assert message.startswith("Timeout: Too large resource version: 999999999, current: ")
    assert details["retryAfterSeconds"] == 1
    assert details["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]


def test_one_object_can_be_asked_for_by_version_too(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    version = made["metadata"]["resourceVersion"]
    for wanted in ("", "0", version):
        assert api.read(f"{configmaps}/a?resourceVersion={wanted}")["metadata"]["name"] == "a"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param(
            "resourceVersionMatch=Exact",
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
            "resourceVersion is provided",
            id="match alone",
        ),
        pytest.param(
            "resourceVersion=0&resourceVersionMatch=Exact",
            'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for '
            'resourceVersion "0"',
            id="exactly any",
        ),
        pytest.param(
            "resourceVersion=5&resourceVersionMatch=Zzz",
            'resourceVersionMatch: Unsupported value: "Zzz": supported values: "Exact", '
            '"NotOlderThan", ""',
            id="unknown match",
        ),
        pytest.param(
            "sendInitialEvents=true",
            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
            id="initial events of a list",
        ),
    ],
)
def test_impossible_wishes_are_refused(
    api: Backend, configmaps: str, query: str, message: str
) -> None:
    details = api.request("GET", f"{configmaps}?{query}").refusal(422, "Invalid", INVALID + message)
    assert (details["group"], details["kind"]) == ("meta.k8s.io", "ListOptions")


@pytest.mark.parametrize("version", ["abc", "-1", "1.5"])
def test_a_version_must_be_a_number(api: Backend, configmaps: str, version: str) -> None:
    answer = api.request("GET", f"{configmaps}?resourceVersion={version}")
    answer.refusal(
        400,
        "BadRequest",
        f'invalid resource version: resourceVersion: Invalid value: "{version}": '
        f'strconv.ParseUint: parsing "{version}": invalid syntax',
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("timeoutSeconds=x&watch=1", 'strconv.ParseInt: parsing "x": invalid syntax'),
    ],
    ids=["limit", "timeout"],
)
def test_numbers_in_options_must_be_numbers(
    api: Backend, configmaps: str, query: str, message: str
) -> None:
    api.request("GET", f"{configmaps}?{query}").refusal(400, "BadRequest", message)
