"""Kubeconfig files: where a cluster is, how to trust it, and as whom to speak.

Reads what certificates and tokens need: data or files, the current or a named context. Plug-ins and
proxies are refused by name rather than ignored. Writes the one file Atoll hands to its users.
"""

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from atoll.client.endpoint import Endpoint
from atoll.errors import UsageError

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NOT_SUPPORTED = ("exec", "auth-provider", "username", "password", "as", "as-groups")


def read_kubeconfig(path: Path, context: str | None = None) -> Endpoint:
    """The endpoint of a context, the current one by default; UsageError if it cannot be used."""
    try:
        document = yaml.load(path.read_bytes(), _Loader)  # noqa: S506 - a safe loader
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML") from error
    if not isinstance(document, Mapping):
        raise UsageError(f"{path} is not a kubeconfig")
    name = context or document.get("current-context") or ""
    chosen = _entry(document, "contexts", "context", name, path)
    cluster = _entry(document, "clusters", "cluster", chosen.get("cluster", ""), path)
    user = _entry(document, "users", "user", chosen["user"], path) if chosen.get("user") else {}
    return _endpoint(cluster, user, path)


def _entry(
    document: Mapping[str, Any], kind: str, key: str, name: str, path: Path
) -> Mapping[str, Any]:
    entries: Sequence[Any] = document.get(kind) or ()
    for entry in entries:
        if isinstance(entry, Mapping) and entry.get("name") == name:
            return entry.get(key) or {}
    raise UsageError(f'{path} has no {key} "{name}"')


def _endpoint(cluster: Mapping[str, Any], user: Mapping[str, Any], path: Path) -> Endpoint:
    for unknown in (*_NOT_SUPPORTED, "proxy-url"):
        if user.get(unknown) or cluster.get(unknown):
            raise UsageError(f"{path} uses {unknown}, which Atoll does not support")
    if not cluster.get("server"):
        raise UsageError(f"{path} names no server")
    token = user.get("token")
    if not token and user.get("tokenFile"):
        token = _file(path, user["tokenFile"]).decode().strip()
    return Endpoint(
        server=str(cluster["server"]).rstrip("/"),
        ca=_data(path, cluster, "certificate-authority"),
        certificate=_data(path, user, "client-certificate"),
        key=_data(path, user, "client-key"),
        token=token or None,
        server_name=cluster.get("tls-server-name"),
        skip_verification=bool(cluster.get("insecure-skip-tls-verify")),
    )


def _data(path: Path, entry: Mapping[str, Any], key: str) -> bytes | None:
    """What is given in the file itself, or in another one; the former wins, as in kubectl."""
    inline = entry.get(f"{key}-data")
    if inline:
        try:
            return base64.b64decode(inline, validate=True)
        except binascii.Error as error:
            raise UsageError(f"{path}: {key}-data is not base64") from error
    return _file(path, entry[key]) if entry.get(key) else None


def _file(path: Path, name: str) -> bytes:
    """The content of a file whose name is relative to the kubeconfig's place."""
    try:
        return (path.parent / name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path.parent / name}: {error.strerror}") from error


def write_kubeconfig(path: Path, name: str, endpoint: Endpoint) -> None:
    """Write a kubeconfig with this one context, in one step, readable by its owner only."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        os.fchmod(file.fileno(), 0o600)
        yaml.safe_dump(_document(name, endpoint), file, sort_keys=False)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _document(name: str, endpoint: Endpoint) -> dict[str, Any]:
    cluster = {"server": endpoint.server, **_encoded("certificate-authority-data", endpoint.ca)}
    user = {
        **_encoded("client-certificate-data", endpoint.certificate),
        **_encoded("client-key-data", endpoint.key),
        **({"token": endpoint.token} if endpoint.token else {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": f"{name}-admin", "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": f"{name}-admin"}}],
        "current-context": name,
    }


def _encoded(key: str, data: bytes | None) -> dict[str, str]:
    return {} if data is None else {key: base64.b64encode(data).decode()}
