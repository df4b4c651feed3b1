"""The entries of a kubeconfig: a cluster and a user come in, the Endpoint they mean goes out.

Every field that kubectl knows is understood, or refused by name with what to do instead; never
ignored. Files are named relative to the kubeconfig they are named in.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from atoll.client.endpoint import Endpoint, Impersonation, Plugin
from atoll.client.proxies import read_proxy, usual_proxy
from atoll.errors import UsageError

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_FOR_PLUGINS = "client.authentication.k8s.io/exec"


@dataclass(frozen=True, slots=True)
class Entry:
    """A named cluster, user or context, and the file it is in."""

    path: Path
    kind: str
    name: str
    fields: Mapping[str, Any]

    def __str__(self) -> str:
        return f'{self.path}: {self.kind} "{self.name}"'

    def wrong(self, problem: str) -> UsageError:
        """What to tell of this entry."""
        return UsageError(f"{self}: {problem}")

    def text(self, key: str) -> str:
        """A field that is text; empty if it is not there."""
        value = self.fields.get(key)
        if value is not None and not isinstance(value, str):
            raise self.wrong(f"{key} must be text; put it in quotes")
        return value or ""

    def is_set(self, key: str) -> bool:
        value = self.fields.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(f"{key} must be true or false")
        return bool(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A field that is a list of texts."""
        value = self.fields.get(key) or []
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.wrong(f"{key} must be a list of texts")
        return tuple(value)

    def file(self, key: str) -> Path | None:
        """The file that a field names."""
        name = self.text(key)
        return self.path.parent / name if name else None

    def data(self, key: str) -> bytes | None:
        """What is given in the entry itself, or in a file; the former wins, as in kubectl."""
        inline = self.text(f"{key}-data")
        if inline:
            try:
                return base64.b64decode(inline, validate=True)
            except (binascii.Error, ValueError) as error:
                raise self.wrong(f"{key}-data is not base64") from error
        file = self.file(key)
        if file is None:
            return None
        try:
            return file.read_bytes()
        except OSError as error:
            raise self.wrong(f"{key}: cannot read {file}: {error.strerror}") from error


def endpoint_of(
    context: str, cluster: Entry, user: Entry | None, environment: Mapping[str, str]
) -> Endpoint:
    """The endpoint that a cluster and a user mean together."""
    server = _server(cluster)
    own = user or Entry(cluster.path, "user", "", {})
    ca, is_trusted = (
        cluster.data("certificate-authority"),
        cluster.is_set("insecure-skip-tls-verify"),
    )
    if ca is not None and is_trusted:
        raise cluster.wrong(
            "insecure-skip-tls-verify and a certificate authority exclude each other; drop one"
        )
    certificate, key = own.data("client-certificate"), own.data("client-key")
    if (certificate is None) != (key is None):
        raise own.wrong("client-certificate and client-key go together; one of them is missing")
    _check_methods(own)
    return Endpoint(
        server=server,
        ca=ca,
        certificate=certificate,
        key=key,
        token=own.text("token").strip() or None,
        server_name=cluster.text("tls-server-name") or None,
        skip_verification=is_trusted,
        token_file=own.file("tokenFile"),
        username=own.text("username") or None,
        password=own.text("password") or None,
        plugin=_plugin(own, cluster, server, ca),
        acting_as=_impersonation(own),
        proxy=_proxy(cluster) or usual_proxy(server, environment),
        origin=f'{cluster.path}, context "{context}"',
    )


def _server(cluster: Entry) -> str:
    server = cluster.text("server").rstrip("/")
    if not server:
        raise cluster.wrong("it names no server")
    # As in kubectl, a mere address is one to be spoken to without TLS.
    whole = server if "://" in server else f"http://{server}"
    try:
        parts = urlsplit(whole)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise cluster.wrong(f'"{server}" is no URL of a server; it must be like https://HOST:PORT')
    return whole


def _proxy(cluster: Entry) -> str | None:
    url = cluster.text("proxy-url")
    if not url:
        return None
    try:
        read_proxy(url)
    except UsageError as error:
        raise cluster.wrong(f"proxy-url: {error}") from error
    return url


def _check_methods(user: Entry) -> None:
    provider = user.fields.get("auth-provider")
    if provider:
        name = provider.get("name", "") if isinstance(provider, Mapping) else ""
        raise user.wrong(
            f'auth-provider "{name}" is no longer a way to log in; use an exec plug-in, such as '
            "gke-gcloud-auth-plugin or kubelogin"
        )
    has_token = bool(user.text("token") or user.text("tokenFile"))
    if has_token and user.text("username"):
        raise user.wrong("it has both a token and a user name; drop one")


def _impersonation(user: Entry) -> Impersonation | None:
    name, uid = user.text("as"), user.text("as-uid")
    groups, extra = user.texts("as-groups"), user.fields.get("as-user-extra") or {}
    if not name:
        if uid or groups or extra:
            raise user.wrong("as-uid, as-groups and as-user-extra need an as")
        return None
    if not isinstance(extra, Mapping):
        raise user.wrong("as-user-extra must have fields")
    values = {str(key): Entry(*_of(user), extra).texts(key) for key in extra}
    return Impersonation(name, uid, groups, values)


def _plugin(user: Entry, cluster: Entry, server: str, ca: bytes | None) -> Plugin | None:
    written = user.fields.get("exec")
    if not written:
        return None
    if not isinstance(written, Mapping):
        raise user.wrong("exec must have fields")
    entry = Entry(*_of(user), written)
    command, version = entry.text("command"), entry.text("apiVersion")
    if not command:
        raise user.wrong("exec names no command")
    if version not in _VERSIONS:
        raise user.wrong(
            f'exec has the apiVersion "{version}"; set {" or ".join(_VERSIONS)}, '
            "and update the plug-in if it does not know it"
        )
    interactive = entry.text("interactiveMode") or "IfAvailable"
    if interactive not in ("Never", "IfAvailable", "Always"):
        raise user.wrong("exec.interactiveMode must be Never, IfAvailable or Always")
    # A mere name is looked up in PATH; a path is relative to the kubeconfig.
    found = str(user.path.parent / command) if "/" in command else command
    return Plugin(
        found,
        version,
        entry.texts("args"),
        _environment(entry),
        interactive,
        _told(cluster, server, ca) if entry.is_set("provideClusterInfo") else None,
        entry.text("installHint"),
    )


def _of(entry: Entry) -> tuple[Path, str, str]:
    return entry.path, entry.kind, entry.name


def _environment(entry: Entry) -> dict[str, str]:
    listed = entry.fields.get("env") or []
    try:
        return {str(each["name"]): str(each["value"]) for each in listed}
    except (TypeError, KeyError) as error:
        raise entry.wrong("exec.env must be a list of names and values") from error


def _told(cluster: Entry, server: str, ca: bytes | None) -> dict[str, Any]:
    """What a plug-in is told of its cluster."""
    told: dict[str, Any] = {
        "server": server,
        "tls-server-name": cluster.text("tls-server-name"),
        "insecure-skip-tls-verify": cluster.is_set("insecure-skip-tls-verify"),
        "certificate-authority-data": base64.b64encode(ca).decode() if ca is not None else "",
        "proxy-url": cluster.text("proxy-url"),
    }
    listed = cluster.fields.get("extensions")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, Mapping) and each.get("name") == _FOR_PLUGINS:
            told["config"] = each.get("extension")
    return {key: value for key, value in told.items() if value}
