"""Kubeconfig files as kubectl reads them: several merged into one, and the endpoints in them.

Paths come in, Endpoints go out; whatever is wrong is an error of one line that says in which file,
in which entry, and what to do. Also writes the one file Atoll hands to its users.
"""

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from atoll.client.endpoint import Endpoint
from atoll.client.entries import Entry, endpoint_of
from atoll.client.private_file import write_private
from atoll.errors import UsageError

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KINDS = {"clusters": "cluster", "users": "user", "contexts": "context"}


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """What some files say together; of several entries of one name the first counts."""

    files: tuple[Path, ...]
    clusters: Mapping[str, Entry] = field(default_factory=dict)
    users: Mapping[str, Entry] = field(default_factory=dict)
    contexts: Mapping[str, Entry] = field(default_factory=dict)
    current: str = ""

    @property
    def title(self) -> str:
        """The files, as the user named them."""
        return os.pathsep.join(map(str, self.files))

    def endpoint(
        self, context: str | None = None, environment: Mapping[str, str] | None = None
    ) -> Endpoint:
        """The endpoint of a context, the current one by default; UsageError if it is unusable.

        What the kubeconfig says of no proxy, the environment may.
        """
        name, known = context or self.current, ", ".join(self.contexts)
        if not known:
            raise UsageError(f"{self.title} has no contexts; it is no kubeconfig, or an empty one")
        if not name:
            raise UsageError(f"{self.title} has no current-context; name one of {known}")
        entry = self.contexts.get(name)
        if entry is None:
            raise UsageError(f'{self.title} has no context "{name}"; there is {known}')
        cluster = self._linked(self.clusters, entry, "cluster")
        if cluster is None:
            raise UsageError(f"{entry} names no cluster")
        user = self._linked(self.users, entry, "user")
        return endpoint_of(name, cluster, user, environment or {})

    def _linked(self, entries: Mapping[str, Entry], context: Entry, kind: str) -> Entry | None:
        name = context.text(kind)
        if name and name not in entries:
            raise UsageError(f'{context} names the {kind} "{name}", which {self.title} has not')
        return entries[name] if name else None


def usual_files(environment: Mapping[str, str]) -> str:
    """The files that kubectl would read, as $KUBECONFIG names them."""
    return environment.get("KUBECONFIG") or "~/.kube/config"


def read_kubeconfigs(files: str) -> Kubeconfig:
    """What files say together, named as in $KUBECONFIG; of several, some may not be there."""
    paths = [Path(name).expanduser() for name in files.split(os.pathsep) if name]
    if not paths:
        raise UsageError("no kubeconfig is named; give one with --kubeconfig or in $KUBECONFIG")
    there = [path for path in paths if path.exists()] if len(paths) > 1 else paths
    if not there:
        raise UsageError(f"none of {files} is there")
    found = [_read(path) for path in there]
    merged: dict[str, dict[str, Entry]] = {kind: {} for kind in _KINDS}
    for one in found:
        for kind, entries in merged.items():
            for name, entry in getattr(one, kind).items():
                entries.setdefault(name, entry)
    current = next((one.current for one in found if one.current), "")
    return Kubeconfig(tuple(there), current=current, **merged)


def read_kubeconfig(path: Path, context: str | None = None) -> Endpoint:
    """The endpoint of a context of one file, whatever the environment says."""
    return read_kubeconfigs(str(path)).endpoint(context)


def _read(path: Path) -> Kubeconfig:
    try:
        document = yaml.load(path.read_bytes(), _Loader)  # noqa: S506 - a safe loader
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise UsageError(f"{path} is not YAML{where}") from error
    if document is None:
        return Kubeconfig((path,))
    if not isinstance(document, Mapping):
        raise UsageError(f"{path} is not a kubeconfig: it has no contexts, clusters and users")
    if document.get("kind") not in (None, "Config"):
        raise UsageError(f"{path} is not a kubeconfig: it is a {document['kind']}")
    entries = {kind: _entries(path, document, kind) for kind in _KINDS}
    return Kubeconfig((path,), current=str(document.get("current-context") or ""), **entries)


def _entries(path: Path, document: Mapping[str, Any], kind: str) -> dict[str, Entry]:
    listed = document.get(kind)
    if listed is None:
        return {}
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise UsageError(f"{path}: {kind} must be a list")
    found: dict[str, Entry] = {}
    for number, one in enumerate(listed):
        if not isinstance(one, Mapping) or not isinstance(one.get("name"), str):
            raise UsageError(f"{path}: {kind}[{number}] has no name")
        name, content = one["name"], one.get(_KINDS[kind])
        if not isinstance(content, Mapping | None):
            raise UsageError(f'{path}: {_KINDS[kind]} "{name}" must have fields')
        if name in found:
            raise UsageError(f'{path} has two {kind} called "{name}"; delete one')
        found[name] = Entry(path, _KINDS[kind], name, content or {})
    return found


def write_kubeconfig(path: Path, name: str, endpoint: Endpoint) -> None:
    """Write a kubeconfig with this one context, in one step, readable by its owner only."""
    text = kubeconfig_text(name, f"{name}-admin", name, endpoint)
    write_private(path, text.encode())


def kubeconfig_text(name: str, user: str, context: str, endpoint: Endpoint) -> str:
    """A kubeconfig with one context, by these names."""
    cluster = {
        "server": endpoint.server,
        **_encoded("certificate-authority-data", endpoint.ca),
        **({"tls-server-name": endpoint.server_name} if endpoint.server_name else {}),
        **({"insecure-skip-tls-verify": True} if endpoint.skip_verification else {}),
    }
    credentials = {
        **_encoded("client-certificate-data", endpoint.certificate),
        **_encoded("client-key-data", endpoint.key),
        **({"token": endpoint.token} if endpoint.token else {}),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": context, "context": {"cluster": name, "user": user}}],
        "current-context": context,
    }
    written: str = yaml.safe_dump(document, sort_keys=False)
    return written


def _encoded(key: str, data: bytes | None) -> dict[str, str]:
    return {} if data is None else {key: base64.b64encode(data).decode()}
