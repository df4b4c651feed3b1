"""Where a host reaches us: at a Service of its own, or, outside of it, at a URL.

Out: what is registered with it for webhooks and for our API, and the names a certificate must have.
Data only; nobody is asked.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from atoll.errors import UsageError
from atoll.hosting.installation import NAME
from atoll.wire import Wire

OUTSIDE = f"{NAME}-outside"
_HTTPS = 443


@dataclass(frozen=True, slots=True)
class Place:
    """Where we are: in a namespace of the host, and maybe at a URL outside of it."""

    namespace: str
    url: str = ""  # https://HOST:PORT, if the host cannot use the Service

    def __post_init__(self) -> None:
        if not self.url:
            return
        try:
            parts = urlsplit(self.url)
            is_good = parts.scheme == "https" and parts.hostname and parts.port != 0
        except ValueError:
            is_good = False
        if not is_good or parts.path.strip("/") or parts.query:
            raise UsageError(f'"{self.url}" is no place to serve at; write https://HOST:PORT')

    def __str__(self) -> str:
        return self.url or f"Service {self.namespace}/{self.service}"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or _HTTPS

    @property
    def service(self) -> str:
        return OUTSIDE if self.url else NAME

    @property
    def names(self) -> list[str]:
        """What a certificate must be for."""
        inside = f"{self.service}.{self.namespace}.svc"
        return [inside, f"{inside}.cluster.local", *([self.host] if self.url else [])]

    def client_config(self, path: str, bundle: str) -> Wire:
        """How a webhook at this path is called."""
        if self.url:
            return {"url": f"https://{self._authority}{path}", "caBundle": bundle}
        place = {"namespace": self.namespace, "name": self.service, "path": path, "port": _HTTPS}
        return {"service": place, "caBundle": bundle}

    def api_service(self) -> Wire:
        """How our API is reached."""
        return {"namespace": self.namespace, "name": self.service, "port": self.port}

    def objects(self) -> list[Wire]:
        """What the host needs to know a place outside of it by: a name for it."""
        if not self.url:
            return []
        return [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"namespace": self.namespace, "name": self.service},
                "spec": {"type": "ExternalName", "externalName": self.host},
            }
        ]

    @property
    def _authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"
