"""Ask a real kube-apiserver what it makes of the cases, and write its answers down.

Run by hand when cases or the Kubernetes version change: KUBERNETES_URL is a running server (say,
one that the testenv started), KUBERNETES_TOKEN an administrator's token for it. Everything but the
one definition is a dry run. Writes recorded/: statuses, sentences, and what was made of the values.
"""

import json
import os
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from schemas_cases import JSON, PATHS, bodies
from schemas_definitions import DEFINITIONS
from schemas_gadgets import CRD, make_gadget, specs

Json = dict[str, Any]

RECORDED = Path(__file__).parent / "recorded"
TRUSTING = ssl._create_unverified_context()
SHOWN = ("data", "binaryData", "immutable", "spec")


def post(path: str, body: bytes, media_type: str = JSON) -> tuple[int, Json]:
    headers = {
        "Authorization": f"Bearer {os.environ['KUBERNETES_TOKEN']}",
        "Content-Type": media_type,
        "Accept": JSON,
    }
    request = urllib.request.Request(os.environ["KUBERNETES_URL"] + path, body, headers)
    try:
        with urllib.request.urlopen(request, context=TRUSTING) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as refusal:
        text = refusal.read()
        return refusal.code, json.loads(text) if text.startswith(b"{") else {"message": ""}


def ask(kind: str, body: bytes, media_type: str = JSON, validation: str = "Strict") -> Json:
    """The answer without anything that depends on when and where it was given."""
    path = f"{PATHS[kind]}?dryRun=All&fieldValidation={validation}"
    status, answer = post(path, body, media_type)
    if status == 201:
        return {"status": status, **{key: answer[key] for key in SHOWN if key in answer}}
    causes = answer.get("details", {}).get("causes", [])
    return {
        "status": status,
        "message": answer["message"],
        **({"causes": causes} if causes else {}),
    }


def write(name: str, answers: Json) -> None:
    text = json.dumps(answers, indent=1, sort_keys=True, ensure_ascii=True)
    (RECORDED / f"{name}.json").write_text(text + "\n")


def main() -> None:
    post(PATHS["CustomResourceDefinition"], json.dumps(CRD).encode())
    gadget = json.dumps(make_gadget({"req": "r"})).encode()
    while ask("Gadget", gadget)["status"] != 201:
        time.sleep(1)
    sent = bodies().items()
    write("bodies", {name: ask(kind, body.encode(), form) for name, (kind, form, body) in sent})
    specified = {name: json.dumps(make_gadget(spec)).encode() for name, spec in specs().items()}
    for validation in ("Strict", "Ignore"):
        answers = {
            name: ask("Gadget", body, validation=validation) for name, body in specified.items()
        }
        write(f"specs-{validation.lower()}", answers)
    defined = {name: json.dumps(one).encode() for name, one in DEFINITIONS.items()}
    kind = "CustomResourceDefinition"
    answers = {name: ask(kind, body, validation="Warn") for name, body in defined.items()}
    write("definitions", {name: {**one, "spec": None} for name, one in answers.items()})


if __name__ == "__main__":
    main()
