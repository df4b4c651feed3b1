"""APIServices: those of the server itself, mistakes in them, and what stands in the way."""

import pytest
from backends import Backend
from registering import GROUP, SERVICES, definition, said, service, until

from atoll.wire import Wire


def test_every_version_that_is_served_has_a_service(api: Backend) -> None:
    groups = api.read("/apis")["groups"]
    served = {f"{v['version']}.{g['name']}" for g in groups for v in g["versions"]}
    names = {each["metadata"]["name"] for each in api.read(SERVICES)["items"]}
    local = {
        each["metadata"]["name"]
        for each in api.read(SERVICES)["items"]
        if "service" not in each["spec"]
    }
    assert {"v1.", "v1.apps", "v1.rbac.authorization.k8s.io"} <= local
    assert served - names <= {f"v1.{GROUP}"}


def test_a_service_of_what_is_served_here_is_available(api: Backend) -> None:
    apps = api.read(f"{SERVICES}/v1.apps")
    assert apps["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
    assert apps["spec"] == {
        "group": "apps",
        "version": "v1",
        "groupPriorityMinimum": 17800,
        "versionPriority": 15,
    }
    (available,) = apps["status"]["conditions"]
    assert available.pop("lastTransitionTime")
    assert available == {
        "type": "Available",
        "status": "True",
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


def test_services_of_custom_resources_come_and_go_with_them(api: Backend, unique: str) -> None:
    group = f"{unique}.example.com"
    name, path = f"v1.{group}", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    api.create(path, definition(group))
    until(lambda: api.request("GET", f"{SERVICES}/{name}").status == 200)
    kept = api.read(f"{SERVICES}/{name}")
    assert kept["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
    assert (kept["spec"]["groupPriorityMinimum"], kept["spec"]["versionPriority"]) == (1000, 100)
    api.delete(f"{SERVICES}/{name}")

    def made_anew() -> bool:
        answer = api.request("GET", f"{SERVICES}/{name}")
        return answer.status == 200 and answer.json()["metadata"]["uid"] != kept["metadata"]["uid"]

    until(made_anew)
    api.delete(f"{path}/reefs.{group}")
    until(lambda: api.request("GET", f"{SERVICES}/{name}").status == 404)


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        pytest.param(
            {"metadata": {"name": "bad"}, "spec": {"group": "ex.io", "version": "v1"}},
            'APIService.apiregistration.k8s.io "bad" is invalid: [metadata.name: Invalid value:'
            ' "bad": must be `spec.version+"."+spec.group`: "v1.ex.io",'
            " spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000,"
            " spec.versionPriority: Invalid value: 0: must be positive and less than 1000]",
            id="another name",
        ),
        pytest.param(
            service("ex.io", "", "", caBundle="aGk=", service={"port": 70000}),
            'APIService.apiregistration.k8s.io "v1.ex.io" is invalid: ['
            "spec.service.namespace: Required value, spec.service.name: Required value,"
            " spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and"
            " 65535, inclusive, spec.insecureSkipTLSVerify: Invalid value: true:"
            " may not be true if caBundle is present]",
            id="no service, and both kinds of trust",
        ),
        pytest.param(
            service("ex.io", "", "", caBundle="aGk=", service=None),
            'APIService.apiregistration.k8s.io "v1.ex.io" is invalid: [spec.caBundle: Invalid'
            ' value: "2 bytes": local APIServices may not have a caBundle,'
            " spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have"
            " insecureSkipTLSVerify]",
            id="trust where nobody is asked",
        ),
        pytest.param(
            {
                "metadata": {"name": "v2."},
                "spec": {"version": "v2", "groupPriorityMinimum": 10, "versionPriority": 10},
            },
            'APIService.apiregistration.k8s.io "v2." is invalid: spec.group: Required value:'
            " only v1 may have an empty group and it better be legacy kube",
            id="no group",
        ),
    ],
)
def test_mistakes_in_services_are_told(api: Backend, obj: Wire, message: str) -> None:
    api.request("POST", SERVICES, body=obj).refusal(422, "Invalid", message)


def test_a_service_cannot_be_replaced_blindly(api: Backend, unique: str) -> None:
    answer = api.request(
        "PUT", f"{SERVICES}/v1.apps", body={**service("apps", "x"), "spec": {"group": "apps"}}
    )
    assert answer.status == 422
    assert "must be specified for an update" in answer.json()["message"]


def test_a_server_whose_service_is_missing_is_unavailable(
    api: Backend, namespace: str, unregister: list[str]
) -> None:
    group = f"{namespace}.example.com"
    unregister.append(f"v1.{group}")
    made = api.create(SERVICES, service(group, namespace))
    assert made["status"] == {}
    assert made["spec"]["service"]["port"] == 443
    found = said(api, f"v1.{group}", "ServiceNotFound")
    assert found["status"] == "False"
    assert found["message"] == f'service/fish in "{namespace}" is not present'
    answer = api.request("GET", f"/apis/{group}/v1/fish")
    assert (answer.status, answer.body) == (503, b"service unavailable\n")
    assert group in [each["name"] for each in api.read("/apis")["groups"]]
    wide = "application/json;as=Table;g=meta.k8s.io;v=v1"
    cells = api.read(f"{SERVICES}/v1.{group}", wide)["rows"][0]["cells"]
    assert cells[:3] == [f"v1.{group}", f"{namespace}/fish", "False (ServiceNotFound)"]


def test_what_stands_in_the_way_to_a_server_is_told(
    api: Backend, namespace: str, unregister: list[str]
) -> None:
    group = f"{namespace}.example.com"
    name = f"v1.{group}"
    unregister.append(name)
    services = f"/api/v1/namespaces/{namespace}/services"
    kept = {"metadata": {"name": "fish"}, "spec": {"ports": [{"name": "tls", "port": 444}]}}
    api.create(services, kept)
    api.create(SERVICES, service(group, namespace))
    told = f'service/fish in "{namespace}"'
    assert said(api, name, "ServicePortError")["message"] == f"{told} is not listening on port 443"
    api.patch(f"{services}/fish", {"spec": {"ports": [{"name": "tls", "port": 443}]}})
    found = said(api, name, "EndpointsNotFound")
    assert found["message"] == f"cannot find endpointslices for {told}"
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    empty = {
        "metadata": {"name": "fish-1", "labels": {"kubernetes.io/service-name": "fish"}},
        "addressType": "IPv4",
        "endpoints": [],
        "ports": [{"name": "tls", "port": 1}],
    }
    api.create(slices, empty)
    found = said(api, name, "MissingEndpoints")
    assert found["message"] == (f'endpointslices for {told} have no addresses with port name "tls"')
