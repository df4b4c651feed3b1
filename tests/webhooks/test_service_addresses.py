"""Where a Service is reached: its ready endpoints, its cluster IP, or another name."""

from typing import Any

import pytest

from atoll.apiserver.objects.addresses import addresses_of
from atoll.wire import Wire


def service(**spec: Any) -> Wire:
    ports = [{"name": "web", "port": 443}, {"port": 80}]
    return {"metadata": {"name": "s"}, "spec": {"clusterIP": "10.0.0.1", "ports": ports, **spec}}


def slice_of(*endpoints: Wire, name: str = "web", port: int = 8443) -> Wire:
    return {"ports": [{"name": name, "port": port}], "endpoints": list(endpoints)}


def endpoint(address: str, **conditions: bool) -> Wire:
    return {"addresses": [address, "10.9.9.9"], "conditions": conditions}


CASES = {
    "nobody behind it": (service(), [], [("10.0.0.1", 443)]),
    "one that is ready": (
        service(),
        [slice_of(endpoint("10.1.0.1", ready=True))],
        [("10.1.0.1", 8443)],
    ),
    "one that does not say": (
        service(),
        [slice_of(endpoint("10.1.0.1"))],
        [("10.1.0.1", 8443)],
    ),
    "only some are ready": (
        service(),
        [slice_of(endpoint("10.1.0.1", ready=False), endpoint("10.1.0.2", ready=True))],
        [("10.1.0.2", 8443)],
    ),
    "none is ready": (
        service(),
        [slice_of(endpoint("10.1.0.1", ready=False))],
        'no endpoints available for service "s"',
    ),
    "another port's": (
        service(),
        [slice_of(endpoint("10.1.0.1"), name="other")],
        'no endpoints available for service "s"',
    ),
    "no address of its own": (
        service(clusterIP="None"),
        [],
        'no endpoints available for service "s"',
    ),
    "no such port": (
        service(ports=[{"port": 80}]),
        [],
        'no service port 443 found for service "s"',
    ),
    "another name": (
        service(type="ExternalName", externalName="hooks.example.io"),
        [],
        [("hooks.example.io", 443)],
    ),
}


@pytest.mark.parametrize(("found", "slices", "expected"), CASES.values(), ids=CASES)
def test_a_service_is_reached_where_somebody_answers(
    found: Wire, slices: list[Wire], expected: list[tuple[str, int]] | str
) -> None:
    assert addresses_of(found, slices, 443) == expected
