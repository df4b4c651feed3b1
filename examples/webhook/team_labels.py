"""Two admission webhooks, as small as they can be: whoever creates something says which team it is.

`/default` gives objects without a team the team of their namespace; `/check` refuses a team that is
unknown. Run as: python team_labels.py CERTIFICATE KEY FILE; it listens at any free port, and writes
which one into the file.
"""

import base64
import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Object = dict[str, Any]

TEAMS = ("payments", "search", "shop")


def default(request: Object) -> Object:
    """Allow it, with a patch if it has no team yet."""
    labels = request["object"]["metadata"].get("labels") or {}
    if "team" in labels:
        return {"allowed": True}
    labels = {**labels, "team": request["namespace"]}
    patch = [{"op": "add", "path": "/metadata/labels", "value": labels}]
    text = base64.b64encode(json.dumps(patch).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": text}


def check(request: Object) -> Object:
    """Allow it if we know its team."""
    team = request["object"]["metadata"]["labels"]["team"]
    if team in TEAMS:
        return {"allowed": True}
    why = f"there is no team {team}; teams are {', '.join(TEAMS)}"
    return {"allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": why}}


class Handler(BaseHTTPRequestHandler):
    """An AdmissionReview comes in by POST, and goes out with a response."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = default if self.path.startswith("/default") else check
        request = review.pop("request")
        review["response"] = {"uid": request["uid"], **answer(request)}
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of what goes well."""


def main(certificate: str, key: str, port_file: str) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    Path(port_file).write_text(str(server.server_address[1]))
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:4])
