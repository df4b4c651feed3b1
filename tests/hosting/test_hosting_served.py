"""What a replica serves behind a real host: to whom, in which form, and for how long."""

import base64
import json
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from planes import CLUSTERS, JSON, asked, cluster, serving, write
from replicas import Host, Setting, wait_for

from atoll.client.refusals import Refused
from atoll.hosting.installation import NAME, NAMESPACE, SERVING_SECRET

pytestmark = pytest.mark.testenv

SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/{SERVING_SECRET}"
GROUP = "/apis/cluster.karmada.io/v1alpha1"


@pytest.fixture(scope="module")
def served(setting: Setting) -> Iterator[tuple[Host, str]]:
    """A host, and where a replica serves it."""
    with serving(setting) as (_, url):
        yield setting.host, url


@pytest.mark.parametrize(
    "path",
    [
        *("/healthz", "/livez", "/readyz", "/version"),
        *(
            "/livez/event-loop",
            "/readyz/serving",
            "/readyz/controllers",
            "/readyz/shutdown",
            "/readyz?verbose",
        ),
    ],
)
def test_anybody_may_ask_how_it_is(served: tuple[Host, str], path: str):
    host, url = served
    assert asked(host, f"{url}{path}") == 200


def test_its_numbers_are_for_those_whom_the_host_lets_read_them(
    served: tuple[Host, str], setting: Setting
):
    host, url = served
    metrics = f"{url}/metrics"
    account = json.loads(host.account(setting.directory).read_text())["users"][0]["user"]
    claims = {"x_remote_user": "admin", "x_remote_group": "system:masters"}
    assert asked(host, metrics, **claims) == 401
    assert asked(host, metrics, authorization="Bearer nobody's") == 401
    assert asked(host, metrics, authorization="Basic YTpi") == 401
    assert asked(host, metrics, authorization=f"Bearer {account['token']}") == 403
    assert asked(host, f"{metrics}/more", authorization=f"Bearer {account['token']}") == 404
    rbac = "rbac.authorization.k8s.io"
    reader = {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "numbers"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "atoll-metrics"},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    }
    host.apply(f"/apis/{rbac}/v1/clusterrolebindings/numbers", reader)
    may = {"authorization": f"Bearer {account['token']}"}
    wait_for("the right", lambda: asked(host, metrics, **may) == 200)


@pytest.mark.parametrize("path", ["/apis", GROUP, CLUSTERS, "/openapi/v3", f"{CLUSTERS}/m/proxy/"])
def test_nobody_is_let_in_but_the_host(served: tuple[Host, str], path: str):
    host, url = served
    claims = {"x_remote_user": "admin", "x_remote_group": "system:masters"}
    assert asked(host, f"{url}{path}", **claims) == 401
    assert asked(host, f"{url}{path}", authorization=f"Bearer {host.cluster.token}") == 401
    # One of the host's own users is no front proxy: that ends in the handshake.
    assert isinstance(asked(host, f"{url}{path}", host.cluster.administrator, **claims), str)


def test_the_front_proxy_is_let_in_for_those_it_names(served: tuple[Host, str]):
    host, url = served
    front = host.cluster.front_proxy
    assert asked(host, f"{url}{CLUSTERS}", front, x_remote_user="ada") == 200
    assert asked(host, f"{url}{CLUSTERS}", front) == 401


def test_what_is_no_review_and_no_path_of_ours_is_refused(served: tuple[Host, str]):
    host, url = served
    assert asked(host, f"{url}/admission/rules") == 404
    assert asked(host, f"{url}/anything") == 404


def test_the_host_discovers_clusters_and_the_way_to_them(served: tuple[Host, str]):
    host, _ = served
    listed = host.client.get(GROUP)
    assert [each["name"] for each in listed["resources"]] == [
        "clusters",
        "clusters/status",
        "clusters/proxy",
    ]

    def found() -> list[Any]:
        form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        document = host.client.request("GET", "/apis", headers={"accept": form}).json()
        (group,) = (
            each for each in document["items"] if each["metadata"]["name"] == "cluster.karmada.io"
        )
        return [
            [sub["subresource"] for sub in resource["subresources"]]
            for version in group["versions"]
            if version["freshness"] == "Current"
            for resource in version["resources"]
        ]

    assert wait_for("aggregated discovery", found) == [["status", "proxy"]]


def test_the_host_explains_clusters(served: tuple[Host, str]):
    host, _ = served

    def found() -> bool:
        document = host.client.get("/openapi/v3/apis/cluster.karmada.io/v1alpha1")
        return CLUSTERS in document["paths"]

    assert wait_for("OpenAPI", found)


def test_a_watch_tells_of_clusters_as_they_come_change_and_go(served: tuple[Host, str]):
    host, _ = served
    version = host.client.get(CLUSTERS)["metadata"]["resourceVersion"]
    query = f"watch=1&resourceVersion={version}&fieldSelector=metadata.name%3Dwatched"
    with host.client.stream(CLUSTERS, query, silence_s=60) as lines:
        write(host, "POST", CLUSTERS, cluster("watched"))
        write(host, "PUT", f"{CLUSTERS}/watched", cluster("watched", region="eu"))
        host.client.delete(f"{CLUSTERS}/watched")
        events = [json.loads(next(lines)) for _ in range(3)]
    told = [(each["type"], each["object"]["kind"], each["object"]["spec"]) for each in events]
    assert [(kind, what) for kind, what, _ in told] == [
        ("ADDED", "Cluster"),
        ("MODIFIED", "Cluster"),
        ("DELETED", "Cluster"),
    ]
    assert told[1][2]["region"] == "eu"
    managed = events[0]["object"]["metadata"]["managedFields"]
    assert {each["apiVersion"] for each in managed} == {"cluster.karmada.io/v1alpha1"}


@pytest.fixture(scope="module")
def through(served: tuple[Host, str], setting: Setting) -> Iterator[str]:
    """The way to a cluster, as a path of the host."""
    host, _ = served
    host.enrol("reached", setting.members["m1"])
    yield f"{CLUSTERS}/reached/proxy"
    host.client.delete(f"{CLUSTERS}/reached")


def test_a_member_is_asked_through_the_host(served: tuple[Host, str], through: str):
    host, _ = served
    assert host.client.get(f"{through}/api")["versions"] == ["v1"]
    space = host.client.get(f"{through}/api/v1/namespaces/default")
    assert space["metadata"]["name"] == "default"
    with pytest.raises(Refused) as refused:
        host.client.get(f"{through}/api/v1/namespaces/nowhere")
    assert str(refused.value) == 'namespaces "nowhere" not found'


def test_a_member_is_asked_as_the_caller(served: tuple[Host, str], through: str):
    host, _ = served
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = f"{through}/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = host.client.request("POST", path, "", json.dumps(review).encode(), JSON).json()
    who = answer["status"]["userInfo"]
    mine = host.client.request(
        "POST", path.removeprefix(through), "", json.dumps(review).encode(), JSON
    ).json()["status"]["userInfo"]
    assert who["username"] == mine["username"]
    assert "system:masters" in who["groups"]


def test_a_cluster_that_is_not_there_is_not_reached(served: tuple[Host, str]):
    host, _ = served
    with pytest.raises(Refused) as refused:
        host.client.get(f"{CLUSTERS}/nobody/proxy/api")
    assert str(refused.value) == 'clusters.cluster.karmada.io "nobody" not found'


def test_a_connection_through_the_host_can_leave_http_behind(
    served: tuple[Host, str], through: str
):
    host, _ = served
    server = host.cluster.url.removeprefix("https://")
    tls = ssl.create_default_context(cafile=host.cluster.authority)
    name, _, port = server.partition(":")
    head = [
        f"GET {through}/api/v1/namespaces?watch=1 HTTP/1.1",
        f"Host: {server}",
        f"Authorization: Bearer {host.cluster.token}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        f"Sec-WebSocket-Key: {base64.b64encode(b'sixteen bytes...').decode()}",
        "Sec-WebSocket-Version: 13",
        f"Origin: {host.cluster.url}",
    ]
    with (
        socket.create_connection((name, int(port)), timeout=60) as plain,
        tls.wrap_socket(plain, server_hostname=name) as line,
    ):
        line.sendall("\r\n".join([*head, "", ""]).encode())
        said = b""
        while b'"kind":"Namespace"' not in said:
            piece = line.recv(65536)
            assert piece, said
            said += piece
    assert said.startswith(b"HTTP/1.1 101 ")
