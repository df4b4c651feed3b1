"""Where an API server is and as whom to speak to it, as one plain value.

Kubeconfigs, Clusters and the instance's own files are read into this; both clients take it.
"""

from dataclasses import dataclass, field


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
