"""Services get an address of their own, and keep it until they are gone or need none."""

from ipaddress import ip_address
from typing import Any

import pytest
from backends import Backend

from atoll.wire import Wire

WIDE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture
def services(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/services"


def service(name: str, **spec: Any) -> Wire:
    ports = [{"name": "http", "port": 80}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": "web"}, "ports": ports, **spec},
    }


def test_a_service_is_given_an_address_that_no_other_has(api: Backend, services: str) -> None:
    given = [api.create(services, service(f"a{number}"))["spec"] for number in range(5)]
    assert len({str(ip_address(spec["clusterIP"])) for spec in given}) == 5
    assert all(spec["clusterIPs"] == [spec["clusterIP"]] for spec in given)
    assert {(*spec["ipFamilies"], spec["ipFamilyPolicy"]) for spec in given} == {
        ("IPv4", "SingleStack")
    }


def test_nobody_owns_the_address(api: Backend, services: str) -> None:
    made = api.create(services, service("a"))
    (entry,) = made["metadata"]["managedFields"]
    assert {"f:clusterIP", "f:clusterIPs"}.isdisjoint(entry["fieldsV1"]["f:spec"])


def test_an_update_that_does_not_name_the_address_keeps_it(api: Backend, services: str) -> None:
    made = api.create(services, service("a"))
    more = [{"name": "http", "port": 80}, {"name": "more", "port": 81}]
    updated = api.update(f"{services}/a", service("a", ports=more))
    applied = api.apply(f"{services}/a", service("a"), "me", "&force=true").object()
    addresses = {spec["clusterIP"] for spec in (made["spec"], updated["spec"], applied["spec"])}
    assert addresses == {made["spec"]["clusterIP"]}


@pytest.mark.parametrize(
    ("spec", "address"),
    [
        pytest.param({"clusterIP": "None"}, "None", id="headless"),
        pytest.param({"type": "ExternalName", "externalName": "a.example.com"}, None, id="a name"),
    ],
)
def test_who_needs_no_address_is_given_none(
    api: Backend, services: str, spec: Wire, address: str | None
) -> None:
    made = api.create(services, service("a", **spec))
    assert made["spec"].get("clusterIP") == address


def test_a_change_of_type_gives_and_takes_the_address(api: Backend, services: str) -> None:
    api.create(services, service("a"))
    name = {"type": "ExternalName", "externalName": "a.example.com"}
    named = api.patch(f"{services}/a", {"spec": name})
    gone = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}
    assert gone.isdisjoint(named["spec"])
    back = {"type": "ClusterIP", "externalName": None}
    again = api.patch(f"{services}/a", {"spec": back})
    assert ip_address(again["spec"]["clusterIP"])


def test_a_service_that_is_open_no_more_loses_its_node_port(
    api: Backend, services: str, unique: str
) -> None:
    port = {"name": "http", "port": 80, "nodePort": 30000 + int(unique.rpartition("-")[2]) % 2000}
    made = api.create(services, service("a", type="NodePort", ports=[port]))
    assert made["spec"]["externalTrafficPolicy"] == "Cluster"
    kept = api.update(f"{services}/a", service("a", type="NodePort"))
    assert kept["spec"]["ports"][0]["nodePort"] == port["nodePort"]
    closed = api.patch(f"{services}/a", {"spec": {"type": "ClusterIP"}})
    assert "nodePort" not in closed["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in closed["spec"]
    assert closed["spec"]["clusterIP"] == made["spec"]["clusterIP"]


def test_the_address_is_shown_and_selected_by(api: Backend, services: str) -> None:
    made = api.create(services, service("a"))
    api.create(services, service("b"))
    address = made["spec"]["clusterIP"]
    found = api.read(f"{services}?fieldSelector=spec.clusterIP={address}")
    assert [each["metadata"]["name"] for each in found["items"]] == ["a"]
    table = api.read(f"{services}/a", WIDE)
    names = [column["name"] for column in table["columnDefinitions"]]
    assert dict(zip(names, table["rows"][0]["cells"], strict=True))["Cluster-IP"] == address
