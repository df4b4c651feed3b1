"""What of an answer must be the same on both servers: all but identities, versions and times.

Left aside are also what the real server itself says in any order or more than once, and where it
shows its inside: keys of its store, and the order of keys in a patched object that was refused.
"""

import json
import re
from typing import Any

from backends import Answer

UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
VERSION = re.compile(r'"resourceVersion": "\d+"')
STORAGE_ERROR = re.compile(r"StorageError: invalid object, Code: 4, .*?AdditionalErrorMsg: ")
# The whole object, as text within text.
PATCHED = re.compile(r'(patch: |^)Invalid value: "\{.*\}": ', re.DOTALL)


def comparable(answer: Answer) -> tuple[int, str, Any]:
    body = answer.json()
    if body.get("kind") == "Status":
        _settle_refusal(body)
    for obj in (body, *body.get("items", [])):
        _settle_owners(obj.get("metadata", {}).get("managedFields", []))
    text = json.dumps(body, sort_keys=True)
    for pattern, plain in ((UID, "UID"), (TIME, "TIME"), (VERSION, '"resourceVersion": "1"')):
        text = pattern.sub(plain, text)
    return answer.status, answer.warnings, json.loads(text)


def _settle_owners(entries: list[Any]) -> None:
    """Entries are in order of time, and a second may pass on one server only."""
    keys = [(one["operation"], one.get("time", ""), one.get("manager", "")) for one in entries]
    assert keys == sorted(keys)
    entries.sort(
        key=lambda one: [one.get(key, "") for key in ("operation", "manager", "subresource")]
    )


def _settle_refusal(status: Any) -> None:
    status["message"] = STORAGE_ERROR.sub("", PATCHED.sub("", status.get("message", "")))
    causes = status.get("details", {}).get("causes", [])
    for cause in causes:
        cause["message"] = PATCHED.sub("", cause["message"])
    if not causes:
        return
    once = {json.dumps(cause, sort_keys=True): cause for cause in causes}
    if causes[0].get("reason") == "FieldManagerConflict":
        # The managers in conflict are named in any order.
        once = dict(sorted(once.items()))
        status["message"] = sorted(status["message"].split("\n"))
    status["details"]["causes"] = list(once.values())
