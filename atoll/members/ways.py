"""The way to a member cluster: a Cluster and its Secret come in, a transport goes out.

Whoever reads a Cluster wrongly would send a token to the wrong place, so nothing is guessed: what
is missing is said, with what to do. Nothing is sent here.
"""

import base64
import binascii
from collections.abc import Callable

from atoll.client.endpoint import Endpoint
from atoll.client.transport import Transport
from atoll.dialects.karmada.cluster_access import secret_of
from atoll.errors import UsageError
from atoll.wire import Object

Reach = Callable[[Object, Object | None], Transport]
"""From a Cluster, and its Secret if that is there, to a transport; UsageError if there is none."""


def over_network(cluster: Object, secret: Object | None) -> Transport:
    """The way to a cluster at the address and with the credentials that its Cluster names."""
    from atoll.client.https import Https  # which a plane without members does not need

    return Https(endpoint(cluster, secret))


def endpoint(cluster: Object, secret: Object | None) -> Endpoint:
    """Where a cluster is and as whom to speak to it; UsageError if its Cluster does not say."""
    name, spec = cluster["metadata"]["name"], cluster.get("spec") or {}
    named = secret_of(cluster)
    if not spec.get("apiEndpoint"):
        raise UsageError(f"Cluster {name} has no spec.apiEndpoint; join it again, or set it")
    if named is None:
        raise UsageError(f"Cluster {name} names no Secret with its token in spec.secretRef")
    if secret is None:
        raise UsageError(f"{named}, which has the token of cluster {name}, is not there")
    ca = _data(secret, "caBundle", name)
    is_trusted = bool(spec.get("insecureSkipTLSVerification"))
    if ca is None and not is_trusted:
        raise UsageError(
            f"{named} of cluster {name} has no caBundle; "
            "add it, or set spec.insecureSkipTLSVerification"
        )
    token = _data(secret, "token", name)
    if token is None:
        raise UsageError(f"{named} of cluster {name} has no token")
    written = token.decode(errors="replace").strip()
    if not written.isascii() or not written.isprintable():
        raise UsageError(f"{named} of cluster {name} has a token with characters it may not have")
    return Endpoint(
        server=str(spec["apiEndpoint"]).rstrip("/"),
        ca=None if is_trusted else ca,
        token=written,
        skip_verification=is_trusted,
        proxy=spec.get("proxyURL") or None,
        proxy_headers=spec.get("proxyHeader") or {},
        origin=f"Cluster {name}",
    )


def _data(secret: Object, key: str, cluster: str) -> bytes | None:
    written = (secret.get("data") or {}).get(key)
    if not written:
        return None
    try:
        return base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"{key} in the Secret of cluster {cluster} is not base64") from error
