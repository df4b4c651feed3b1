"""Records what kubectl sends: `python tests/protobuf/recorder.py` writes recorded/kubectl.json.

Each command runs twice: against a server on loopback that keeps the body (and has a real one answer
what else it is asked), and as a dry run that prints the same object as JSON.
"""

import base64
import json
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from testenv.build import versions
from testenv.cluster import Cluster, kubernetes

TARGET = Path(__file__).with_name("recorded") / "kubectl.json"
COMMANDS = (
    "namespace team-a",
    "configmap empty",
    "configmap settings --from-literal=key=value --from-literal=empty="
    " --from-literal=text='ß € 😀'",
    "configmap binary --from-file=BINARY",
    "secret generic login --from-literal=user=admin --from-literal=password=hunter2",
    "secret generic typed --type=example.com/thing --from-file=BINARY",
    "secret docker-registry pull --docker-server=r.example --docker-username=u"
    " --docker-password=p --docker-email=e@example.com",
    "serviceaccount robot",
    "role reader --verb=get,list,watch --resource=pods,deployments.apps --resource-name=a",
    "clusterrole readers --verb=get --resource=nodes,pods/log",
    "clusterrole paths --verb=get --non-resource-url=/logs/*",
    "clusterrole sum --aggregation-rule=example.com/aggregate=true",
    "rolebinding readers --role=reader --user=jane --group=team --serviceaccount=default:robot",
    "clusterrolebinding readers --clusterrole=readers --group=team",
    "deployment web --image=nginx:1.29 --replicas=3 --port=80",
    "deployment none --image=nginx --image=busybox --replicas=0",
    "deployment run --image=busybox -- sleep 3600",
    "job once --image=busybox -- date",
    "cronjob nightly --image=busybox --schedule='0 3 * * *' --restart=Never -- date",
    "quota plain",
    "quota limits --hard=cpu=1500m,memory=2Gi,pods=10 --scopes=NotTerminating",
    "service clusterip plain --tcp=80",
    "service clusterip headless --clusterip=None --tcp=80:web --tcp=53:5353",
    "service nodeport node --tcp=80:8080 --node-port=30080",
    "service loadbalancer balanced --tcp=443:https",
    "service externalname elsewhere --external-name=example.com",
)


@contextmanager
def receiving(bodies: list[bytes], cluster: Cluster) -> Iterator[str]:
    """A server that keeps what is posted to it, and says it has created something."""

    class Receiver(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = cluster.request("GET", self.path, headers={"Accept": self.headers["Accept"]})
            self._answer(answer.status, answer.headers["Content-Type"], answer.body)

        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            made = b'{"kind":"Status","apiVersion":"v1","status":"Success"}'
            self._answer(201, "application/json", made)

        def _answer(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing of each request."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def record(command: str, kubectl: list[str], bodies: list[bytes]) -> dict[str, Any]:
    words = [*kubectl, "create", *shlex.split(command)]
    at = words.index("--") if "--" in words else len(words)
    dry = [*words[:at], "--dry-run=client", "--output=json", *words[at:]]
    printed = subprocess.run(dry, capture_output=True, check=True).stdout
    bodies.clear()
    # What it makes of the answer is its own business.
    subprocess.run(words, capture_output=True, check=False)
    (body,) = bodies
    return {"object": json.loads(printed), "body": base64.b64encode(body).decode()}


def main() -> None:
    bodies: list[bytes] = []
    with (
        kubernetes() as cluster,
        tempfile.TemporaryDirectory() as home,
        receiving(bodies, cluster) as url,
    ):
        binary = Path(home) / "binary"
        binary.write_bytes(bytes(range(256)))
        kubectl = [str(cluster.kubectl), f"--server={url}", f"--cache-dir={home}/cache"]
        recorded = {
            command: record(command.replace("BINARY", f"bytes={binary}"), kubectl, bodies)
            for command in COMMANDS
        }
    lines = [f"{json.dumps(key)}:{json.dumps(value)}" for key, value in recorded.items()]
    head = f'"kubernetes":"{versions()["kubernetes"]}",\n"commands":'
    TARGET.write_text(f"{{{head}{{\n" + ",\n".join(lines) + "\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
