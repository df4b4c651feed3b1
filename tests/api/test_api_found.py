"""What random histories have found to be different once, each as plainly as it can be said."""

from typing import Any

import pytest
from backends import Backend
from manifests import configmap, deployment

from atoll.wire import Wire


def owned(obj: Wire, manager: str) -> Any:
    entries = obj["metadata"].get("managedFields", [])
    return next(one["fieldsV1"] for one in entries if one["manager"] == manager)


def container(obj: Wire) -> Any:
    return obj["spec"]["template"]["spec"]["containers"][0]


def test_what_go_leaves_out_is_left_out_and_nobodys(api: Backend, deployments: str) -> None:
    sent = deployment("a", env=[{"name": "E", "value": ""}], tty=False, workingDir="")
    sent["spec"] |= {"paused": False, "minReadySeconds": 0}
    made = api.create(f"{deployments}?fieldManager=m", sent)
    assert container(made)["env"] == [{"name": "E"}]
    assert not {"tty", "workingDir"} & container(made).keys()
    assert not {"paused", "minReadySeconds"} & made["spec"].keys()
    assert not {"f:paused", "f:minReadySeconds"} & owned(made, "m")["f:spec"].keys()


def test_who_applies_what_is_left_out_owns_it_and_writes_it_once(
    api: Backend, deployments: str
) -> None:
    sent = deployment("a")
    sent["spec"]["paused"] = False
    made = api.apply(f"{deployments}/a", sent, "m").object(201)
    assert "paused" not in made["spec"]
    assert "f:paused" in owned(made, "m")["f:spec"]
    again = api.apply(f"{deployments}/a", sent, "m").object()
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_the_status_of_a_built_in_kind_takes_metadata_along(api: Backend, deployments: str) -> None:
    made = api.create(deployments, deployment("a"))
    made["metadata"] |= {"annotations": {"a": "1"}, "labels": {"l": "1"}}
    made["metadata"]["finalizers"] = ["ex.io/held"]
    made["spec"]["replicas"] = 9
    written = api.update(f"{deployments}/a/status?fieldManager=m", made)
    assert written["metadata"]["annotations"] == {"a": "1"}
    assert written["metadata"]["finalizers"] == ["ex.io/held"]
    assert "labels" not in written["metadata"], "those of a Deployment stay as they are"
    assert (written["spec"]["replicas"], written["metadata"]["generation"]) == (1, 1)
    assert owned(written, "m").keys() == {"f:metadata"}
    api.patch(f"{deployments}/a", {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("metadata", [[{}], 7, "x"], ids=["list", "number", "text"])
def test_what_is_applied_has_metadata_of_the_right_form(
    api: Backend, configmaps: str, metadata: Any
) -> None:
    sent = {**configmap("a"), "metadata": metadata}
    answer = api.apply(f"{configmaps}/a", sent, "m")
    answer.refusal(500, None)
    assert ".metadata: expected map, got &{" in answer.json()["message"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"odd": 1}, 'map[string]interface {}{"odd":1}'),
        ([], "[]interface {}{}"),
        ([None, "x"], '[]interface {}{interface {}(nil), "x"}'),
    ],
    ids=["map", "no items", "items"],
)
def test_a_value_that_is_no_string_is_shown_as_go_shows_it(
    api: Backend, configmaps: str, value: Any, said: str
) -> None:
    answer = api.apply(f"{configmaps}/a", {**configmap("a"), "data": {"k": value}}, "m")
    said = f".data.k: expected string, got &value.valueUnstructured{{Value:{said}}}"
    assert answer.json()["message"].endswith(said)


def test_a_new_object_is_judged_before_its_name_is_looked_for(
    api: Backend, deployments: str
) -> None:
    api.create(deployments, deployment("a"))
    wrong = deployment("a")
    del wrong["spec"]["selector"]
    api.request("POST", deployments, body=wrong).refusal(422, "Invalid")
    api.request("POST", deployments, body=deployment("a")).refusal(409, "AlreadyExists")


def test_no_owners_at_all_are_a_wish(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", k="v"))
    assert made["metadata"]["managedFields"]
    forgotten = api.patch(f"{configmaps}/a", {"metadata": {"managedFields": []}})
    assert "managedFields" not in forgotten["metadata"]


def test_what_is_applied_is_checked_before_whom_it_is_meant_for(
    api: Backend, configmaps: str
) -> None:
    api.apply(f"{configmaps}/a", configmap("a", k="v"), "m").object(201)
    other = configmap("a", k="w")
    other["metadata"] |= {"uid": "00000000-0000-4000-8000-000000000000"}
    conflict = api.apply(f"{configmaps}/a", other, "n").refusal(409, "Conflict")
    assert conflict["causes"][0]["reason"] == "FieldManagerConflict"
    forced = api.apply(f"{configmaps}/a", other, "n", "&force=true").refusal(422, "Invalid")
    assert forced["causes"][0]["field"] == "metadata.uid"


def test_new_finalizers_of_what_ends_are_told_in_order(api: Backend, configmaps: str) -> None:
    held = configmap("a")
    held["metadata"]["finalizers"] = ["ex.io/b"]
    api.create(configmaps, held)
    api.delete(f"{configmaps}/a")
    patch = {"metadata": {"finalizers": ["ex.io/b", "ex.io/c", "ex.io/a"]}}
    details = api.try_patch(f"{configmaps}/a", patch).refusal(422, "Invalid")
    assert details["causes"][0]["message"].endswith('[]string{"ex.io/a", "ex.io/c"}')
    api.patch(f"{configmaps}/a", {"metadata": {"finalizers": None}})
