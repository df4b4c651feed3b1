"""Which Works something waits for when they end, and that these end first."""

from typing import Any

import pytest
from delivering import work

from atoll.control.delivery.decide.ending import is_awaited
from atoll.dialects.karmada.objects import resource_bindings, works
from atoll.wire import Wire

SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"}


def binding(*clusters: str, **spec: Any) -> Wire:
    targets = [{"name": each} for each in clusters]
    return {"spec": {"resource": {"kind": "Deployment"}, "clusters": targets, **spec}}


def leaving(cluster: str, purge: str) -> Wire:
    task = {"fromCluster": cluster, "purgeMode": purge}
    return binding("m2", gracefulEvictionTasks=[task])


ENDS = [
    pytest.param(binding("m2"), False, id="an old copy"),
    pytest.param(binding(), False, id="the last of an object that is wanted nowhere"),
    pytest.param(binding("m1", "m2"), True, id="the object is to be made anew there"),
    pytest.param(
        binding("m2", requiredBy=[{"name": "app", "clusters": [{"name": "m1"}]}]),
        True,
        id="something depends on it there",
    ),
    pytest.param(leaving("m1", "Immediately"), True, id="a purge"),
    pytest.param(leaving("m1", "Directly"), True, id="a purge, by its other name"),
    pytest.param(leaving("m1", "Graciously"), False, id="an eviction that waits for its copy"),
    pytest.param(leaving("m3", "Immediately"), False, id="a purge elsewhere"),
    pytest.param(
        binding("m2", resource=SET, atoll={"ordinals": {}}), True, id="ordinals that move"
    ),
    pytest.param(binding("m2", resource=SET), False, id="a StatefulSet that is not divided"),
]


@pytest.mark.parametrize(("wire", "waits"), ENDS)
def test_something_waits_for_a_work_to_end(wire: Wire, *, waits: bool) -> None:
    assert is_awaited(works.decode(work(going=True)), resource_bindings.decode(wire)) is waits
