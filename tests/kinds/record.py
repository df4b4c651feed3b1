"""Ask a real kube-apiserver what it makes of the samples, and write the answers down.

Run by hand when samples.yaml or the Kubernetes version changes; KUBERNETES_BIN names a folder with
etcd and kube-apiserver. Writes recorded/: the objects, their tables, and the discovery documents of
the groups we serve. Nothing the tests compare depends on when or where it was run.
"""

import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
PORT = 26597
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
GROUPS = (
    "apps",
    "events.k8s.io",
    "batch",
    "rbac.authorization.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "discovery.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiregistration.k8s.io",
    "autoscaling",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "resource.k8s.io",
    "ex.io",
)
_trusting = ssl._create_unverified_context()


class Refused(Exception):
    """The server said no; `status` is what it said."""

    def __init__(self, status: Any) -> None:
        super().__init__(status)
        self.status = status


def call(
    path: str, body: Any = None, *, method: str = "GET", accept: str = "application/json"
) -> tuple[Any, Any]:
    """The answer's body and headers; Refused if it is an error."""
    request = urllib.request.Request(
        f"https://127.0.0.1:{PORT}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": "Bearer secret",
            "Content-Type": "application/json",
            "Accept": accept,
        },
        method=method,
    )
    try:
        with urllib.request.urlopen(request, context=_trusting) as answer:
            return json.load(answer), answer.headers
    except urllib.error.HTTPError as error:
        raise Refused(json.load(error)) from None


def refused(path: str, body: Any, *, method: str) -> Any:
    """The Status that refuses this request; ends the run if it is accepted."""
    try:
        answer, _ = call(path, body, method=method)
    except Refused as refusal:
        return refusal.status
    sys.exit(f"{method} {path}: accepted: {answer}")


def samples() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((HERE / "samples.yaml").read_text()))


def record_objects() -> None:
    recorded = {}
    for sample in samples():
        created, _ = call(sample["resource"], sample["object"], method="POST")
        recorded[sample["id"]] = created
        if "status" in sample:
            path = f"{sample['resource']}/{created['metadata']['name']}/status"
            current, _ = call(path)
            call(path, {**current, "status": sample["status"]}, method="PUT")
    write("objects.json", recorded)


def record_mistakes() -> None:
    """What is said against each mistake, in the order it is said."""
    recorded = {}
    for mistake in yaml.safe_load_all((HERE / "mistakes.yaml").read_text()):
        resource, obj = mistake["resource"], mistake["object"]
        if "then" not in mistake:
            answer = refused(f"{resource}?dryRun=All", obj, method="POST")
        else:
            made, _ = call(resource, obj, method="POST")
            path = f"{resource}/{obj['metadata']['name']}"
            known = {"resourceVersion": made["metadata"]["resourceVersion"]}
            meta = {"metadata": {**obj["metadata"], **known}}
            answer = refused(path, {**obj, **mistake["then"], **meta}, method="PUT")
        recorded[mistake["id"]] = answer["message"]
    write("mistakes.json", recorded)


def record_tables() -> None:
    tables = {}
    names = {sample["object"]["metadata"]["name"] for sample in samples()}
    for path in sorted({sample["resource"] for sample in samples()}):
        objects, _ = call(path)
        table, headers = call(path, accept=TABLE)
        now = parsedate_to_datetime(headers["Date"]).isoformat()
        # The server makes objects of its own: flow schemas, roles, the range of its Services.
        objects["items"] = [i for i in objects["items"] if i["metadata"]["name"] in names]
        rows = table["rows"]
        table["rows"] = [r for r in rows if r["object"]["metadata"]["name"] in names]
        tables[path] = {"now": now, "list": objects, "table": table}
    write("tables.json", tables)


def record_discovery() -> None:
    documents = {
        "/api": call("/api")[0],
        "/apis": call("/apis")[0],
        "/api/v1": call("/api/v1")[0],
        "/api aggregated": call("/api", accept=AGGREGATED)[0],
        "/apis aggregated": call("/apis", accept=AGGREGATED)[0],
    }
    for group in GROUPS:
        documents[f"/apis/{group}"] = call(f"/apis/{group}")[0]
        documents[f"/apis/{group}/v1"] = call(f"/apis/{group}/v1")[0]
    documents["/apis/autoscaling/v2"] = call("/apis/autoscaling/v2")[0]
    listed = documents["/apis"]
    listed["groups"] = [g for g in listed["groups"] if g["name"] in GROUPS]
    aggregated = documents["/apis aggregated"]
    aggregated["items"] = [g for g in aggregated["items"] if g["metadata"]["name"] in GROUPS]
    write("discovery.json", documents)


def record_definitions() -> None:
    """A custom kind in two versions: how it is discovered, documented and printed."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for definition in yaml.safe_load_all((HERE / "definitions.yaml").read_text()):
        call(path, definition, method="POST")
    time.sleep(5)
    widgets = "/apis/ex.io/v1/namespaces/demo/widgets"
    kind = {"apiVersion": "ex.io/v1", "kind": "Widget"}
    free = {"flag": True, "map": {"a": "b", "c": [1]}, "fraction": 2.5}
    spec = {"size": 3, "colour": "red", "born": "2020-01-01T00:00:00Z", "free": free}
    spec["many"] = [{"k": "x"}, {"k": "y"}]
    call(widgets, kind | {"metadata": {"name": "full"}, "spec": spec}, method="POST")
    call(widgets, kind | {"metadata": {"name": "empty"}}, method="POST")
    write(
        "custom.json",
        {
            "now": parsedate_to_datetime(call(widgets)[1]["Date"]).isoformat(),
            "list": call(widgets)[0],
            "table": call(widgets, accept=TABLE)[0],
            "bare": call("/apis/ex.io/v1beta1/namespaces/demo/widgets", accept=TABLE)[0],
            "openapi": call("/openapi/v3/apis/ex.io/v1")[0],
        },
    )


def record_openapi() -> None:
    write("openapi.json", {"openapi": call("/openapi/v3/apis/coordination.k8s.io/v1")[0]})


def write(name: str, value: Any) -> None:
    (RECORDED / name).write_text(json.dumps(scrubbed(value), indent=1) + "\n")


def scrubbed(value: Any) -> Any:
    """Without what differs from run to run and that no test looks at."""
    if isinstance(value, dict):
        return {
            k: scrubbed(v) for k, v in value.items() if k not in ("managedFields", "description")
        }
    if isinstance(value, list):
        return [scrubbed(item) for item in value]
    return value


def start(folder: str, *command: str) -> subprocess.Popen[bytes]:
    with Path(folder, f"{Path(command[0]).name}.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)


def serve(folder: str) -> list[subprocess.Popen[bytes]]:
    binaries = os.environ["KUBERNETES_BIN"]
    store = f"http://127.0.0.1:{PORT + 1}"
    key = Path(folder, "key")
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    Path(folder, "tokens").write_text("secret,admin,admin,system:masters\n")
    etcd = start(
        folder,
        f"{binaries}/etcd",
        "--data-dir=etcd",
        f"--listen-client-urls={store}",
        f"--advertise-client-urls={store}",
        f"--listen-peer-urls=http://127.0.0.1:{PORT + 2}",
    )
    api = start(
        folder,
        f"{binaries}/kube-apiserver",
        f"--etcd-servers={store}",
        "--service-account-issuer=https://localhost",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--token-auth-file=tokens",
        "--authorization-mode=AlwaysAllow",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--secure-port={PORT}",
        "--bind-address=127.0.0.1",
        "--cert-dir=certs",
        # What acts on objects beyond their own defaults is not compared here.
        "--disable-admission-plugins=ServiceAccount,DefaultTolerationSeconds,Priority,LimitRanger,"
        "ResourceQuota,StorageObjectInUseProtection,TaintNodesByCondition",
    )
    return [etcd, api]


def wait() -> None:
    for _ in range(120):
        try:
            urllib.request.urlopen(
                urllib.request.Request(
                    f"https://127.0.0.1:{PORT}/readyz", headers={"Authorization": "Bearer secret"}
                ),
                context=_trusting,
            ).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
        else:
            return
    sys.exit("kube-apiserver did not become ready")


def main() -> None:
    RECORDED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        servers = serve(folder)
        try:
            wait()
            record_objects()
            record_tables()
            record_mistakes()
            record_definitions()
            record_discovery()
            record_openapi()
        finally:
            for server in reversed(servers):
                server.terminate()
                server.wait()


if __name__ == "__main__":
    main()
