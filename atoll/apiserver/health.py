"""Whether the server is well: the whole answer, its parts, and each part alone.

A check says what is wrong, or nothing. Which checks there are is told by whoever puts the server
together; paths, words and the form with `verbose` are those of kube-apiserver.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from atoll.apiserver.options import parse_query
from atoll.apiserver.responding import PLAIN, text_response
from atoll.exchange import Response

Check = Callable[[], str]
"""What is wrong; nothing if nothing is."""

ENDPOINTS = ("healthz", "livez", "readyz")


def _well() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Health:
    """The checks of a server, by name, in the order in which they are told.

    `ready` are those that only say whether it can be used yet, or still.
    """

    checks: dict[str, Check]
    ready: Mapping[str, Check]

    def of(self, endpoint: str) -> dict[str, Check]:
        """The checks behind an endpoint."""
        alive = {"ping": _well, "log": _well, **self.checks}
        return {**alive, **self.ready} if endpoint == "readyz" else alive

    def respond(self, endpoint: str, query: str, name: str = "") -> Response | None:
        """The answer of an endpoint, or of one of its checks; None if there is no such check."""
        checks = self.of(endpoint)
        if not name:
            return _whole(endpoint, checks, query)
        check = checks.get(name)
        if check is None:
            return None
        wrong = check()
        if wrong:
            return text_response(f"internal server error: {wrong}\n", 500)
        return Response(200, PLAIN, b"ok")


def _whole(endpoint: str, checks: Mapping[str, Check], query: str) -> Response:
    asked = parse_query(query)
    excluded = {name for names in asked.get("exclude", ()) for name in names.split(",")}
    lines, failed = [], False
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        elif check():
            failed = True
            lines.append(f"[-]{name} failed: reason withheld")
        else:
            lines.append(f"[+]{name} ok")
    if unknown := sorted(excluded - checks.keys()):
        named = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {named}")
    if failed:
        return text_response("\n".join([*lines, f"{endpoint} check failed"]) + "\n", 500)
    if "verbose" not in asked:
        return Response(200, PLAIN, b"ok")
    return text_response("\n".join([*lines, f"{endpoint} check passed"]) + "\n")
