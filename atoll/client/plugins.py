"""Programs that give credentials (client.authentication.k8s.io): how they are called and read.

A Plugin comes in, a command goes out; what the program printed comes in, a Credential goes out, or
an error of one line that names the program. `ask` runs it and waits.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from atoll.client.endpoint import Endpoint, Plugin
from atoll.client.identity import Credential
from atoll.errors import UsageError

# One may ask a person to log in, and then takes as long as that takes.
PATIENCE_S = 60.0
PERSONAL_PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class Call:
    """How a program is to be run; `is_personal` if it may speak with the user."""

    words: list[str]
    environment: dict[str, str]
    is_personal: bool
    patience_s: float


def ask(endpoint: Endpoint, patience_s: float | None = None) -> Credential:
    """What the plug-in of an endpoint says; UsageError if it says nothing that can be used."""
    plugin = plugin_of(endpoint)
    call = call_of(endpoint, plugin, patience_s)
    try:
        done = subprocess.run(
            call.words,
            env=call.environment,
            stdin=None if call.is_personal else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if call.is_personal else subprocess.PIPE,
            timeout=call.patience_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise too_late(endpoint, plugin, call) from error
    except OSError as error:
        raise not_there(endpoint, plugin, error) from error
    return read_answer(endpoint, plugin, done.returncode, done.stdout, done.stderr or b"")


def plugin_of(endpoint: Endpoint) -> Plugin:
    assert endpoint.plugin is not None
    return endpoint.plugin


def call_of(
    endpoint: Endpoint, plugin: Plugin, patience_s: float | None, *, is_alone: bool = False
) -> Call:
    """How to run a plug-in here and now; alone, where there is nobody it could ask."""
    is_terminal = not is_alone and sys.stdin is not None and sys.stdin.isatty()
    if plugin.interactive == "Always" and not is_terminal:
        raise _failed(endpoint, plugin, "needs a terminal to ask you something on")
    is_personal = is_terminal and plugin.interactive != "Never"
    spec: dict[str, Any] = {"interactive": is_personal}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    told = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    environment = {
        **os.environ,
        **plugin.environment,
        "KUBERNETES_EXEC_INFO": json.dumps(told),
    }
    usual_s = PERSONAL_PATIENCE_S if is_personal else PATIENCE_S
    words = [plugin.command, *plugin.arguments]
    return Call(words, environment, is_personal, patience_s or usual_s)


def read_answer(
    endpoint: Endpoint, plugin: Plugin, code: int, out: bytes, said: bytes
) -> Credential:
    """What a program meant that has ended."""
    if code != 0:
        last = said.decode(errors="replace").strip().splitlines()[-1:]
        raise _failed(endpoint, plugin, f"ended with exit code {code}", *last)
    try:
        answer = json.loads(out)
        version, status = answer["apiVersion"], answer["status"] or {}
        token, certificate = status.get("token"), status.get("clientCertificateData")
        key, until = status.get("clientKeyData"), status.get("expirationTimestamp")
        expires = datetime.fromisoformat(until) if until else None
        pair = (certificate.encode(), key.encode()) if certificate and key else None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _failed(endpoint, plugin, "did not print an ExecCredential") from error
    if version != plugin.api_version:
        raise _failed(endpoint, plugin, f"answered in {version}, not in {plugin.api_version}")
    if bool(certificate) != bool(key):
        raise _failed(endpoint, plugin, "gave one of certificate and key, without the other")
    if not token and pair is None:
        raise _failed(endpoint, plugin, "gave neither a token nor a certificate")
    if expires is not None and expires.tzinfo is None:
        raise _failed(endpoint, plugin, f"gave {until} for a time, which has no time zone")
    return Credential(token, pair, expires)


def not_there(endpoint: Endpoint, plugin: Plugin, error: OSError) -> UsageError:
    why = "is not installed" if isinstance(error, FileNotFoundError) else f"{error.strerror}"
    hint = " ".join(plugin.hint.split())
    return _failed(endpoint, plugin, why, *([hint] if hint else []))


def too_late(endpoint: Endpoint, plugin: Plugin, call: Call) -> UsageError:
    return _failed(endpoint, plugin, f"gave no answer within {call.patience_s:g} s")


def _failed(endpoint: Endpoint, plugin: Plugin, what: str, *more: str) -> UsageError:
    where = f" ({endpoint.origin})" if endpoint.origin else ""
    return UsageError(f"credential plug-in {plugin.command}{where}: {'; '.join([what, *more])}")
