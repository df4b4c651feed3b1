"""Where an API server is and as whom to speak to it, as one plain value.

Kubeconfigs, Clusters and the instance's own files are read into this; both clients take it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Plugin:
    """A program that gives credentials: how to call it, and what to say if it is not there."""

    command: str
    api_version: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    interactive: str = "IfAvailable"
    cluster: Mapping[str, Any] | None = None  # what it is to know of the cluster, if anything
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Somebody else to act as, for those who may."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an API server is and as whom to speak to it. Certificates and keys are PEM."""

    server: str
    ca: bytes | None = None
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    server_name: str | None = None
    skip_verification: bool = False
    token_file: Path | None = None  # read again when it changes; wins over the token
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    plugin: Plugin | None = None
    acting_as: Impersonation | None = None
    proxy: str | None = field(default=None, repr=False)  # a URL: http, https or socks5
    proxy_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    origin: str = field(default="", compare=False)
    """Where this was read, for those who have to mend it."""

    def __str__(self) -> str:
        return f"{self.server} ({self.origin})" if self.origin else self.server
