"""What is remembered of containers changes nothing about what is told of them."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.kinds.podrules import _container_errors, pod_spec_errors
from atoll.apiserver.kinds.probes import probes_errors

CONTAINER: dict[str, Any] = {
    "name": "web",
    "image": "web:1",
    "env": [{"name": "VERSION", "value": "1"}],
    "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
    "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}},
    "readinessProbe": {
        "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
        "successThreshold": 1,
    },
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
}
CHANGES = st.sampled_from(
    [
        (("name",), "Web"),
        (("image",), ""),
        (("image",), "web:2"),
        (("env", 0, "name"), ""),
        (("env", 0, "name"), "a=b"),
        (("env", 0, "value"), "2"),
        (("ports", 0, "containerPort"), 0),
        (("ports", 0, "name"), "no_name"),
        (("resources", "limits", "cpu"), "100m"),
        (("readinessProbe", "httpGet"), None),
        (("volumeMounts", 0, "name"), "nowhere"),
    ]
)


def spec_of(changes: list[tuple[tuple[Any, ...], Any]], volume: str) -> dict[str, Any]:
    container = copy.deepcopy(CONTAINER)
    for path, value in changes:
        at: Any = container
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
    return {"containers": [container], "volumes": [{"name": volume, "emptyDir": {}}]}


@given(st.lists(CHANGES, max_size=2), st.sampled_from(["data", "other"]))
def test_a_container_is_told_the_same_whatever_came_before(changes: Any, volume: str) -> None:
    spec = spec_of(changes, volume)
    list(pod_spec_errors(spec_of([], "data"), "spec"))  # which is right, and remembered
    where, [container] = "spec.containers[0]", spec["containers"]
    expected = [*_container_errors(container, where, {volume: False})]
    expected += probes_errors(container, where, restarted=True)
    told = [error for error in pod_spec_errors(spec, "spec") if error.field.startswith(where)]
    assert [str(error) for error in told] == [str(error) for error in expected]


@pytest.mark.parametrize("volume", ["data", "other"])
def test_the_same_container_is_wrong_where_its_volume_is_not(volume: str) -> None:
    errors = list(pod_spec_errors(spec_of([], volume), "spec"))
    assert bool(errors) == (volume == "other")
