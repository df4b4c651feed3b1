"""Which plane is meant, for a cluster that knows no more than an address, a token and a hash.

What a server at that address says of itself is believed if the token signed it and the hash is that
of its authority; only then is anything secret sent there. An invitation goes in, an Endpoint of a
plane that can be trusted comes out.
"""

import base64
import binascii
import hmac
import json
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import yaml

from atoll.client.collection import Collection
from atoll.client.endpoint import Endpoint
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing, Refused
from atoll.errors import UsageError
from atoll.members.patience import Pause, tries
from atoll.members.tokens import hashes_of, read_words

CONFIG_MAPS = Collection("v1", "ConfigMap", "configmaps", namespaced=True)
INFO = CONFIG_MAPS.path("kube-public", "cluster-info")
_SIGNATURE = "jws-kubeconfig-"
_AGAIN_S = 0.5
_ANOTHER = "make another one in the plane with: atoll token create --print-register-command"


@dataclass(frozen=True, slots=True)
class Invitation:
    """What its administrator gave: where the plane is, and how it is told from an impostor."""

    address: str
    token: str
    hashes: tuple[str, ...] = ()  # none: whoever has the token is believed
    wait_s: float = 5.0  # for the plane to sign what a new token vouches for

    @property
    def server(self) -> str:
        """The address as a URL; UsageError if it is none."""
        written = self.address.removeprefix("https://").rstrip("/")
        try:
            parts = urlsplit(f"https://{written}")
            is_good = bool(parts.hostname and parts.port) and parts.netloc == written
        except ValueError:
            is_good = False
        if not is_good:
            raise UsageError(f'"{self.address}" is no address of a plane; write HOST:PORT')
        return f"https://{written}"


def find_plane(invitation: Invitation, pause: Pause) -> Endpoint:
    """The plane that is meant, and by what it is known; UsageError if it cannot be trusted."""
    for each in invitation.hashes:
        kind, _, digits = each.partition(":")
        if kind != "sha256" or len(digits) != 64 or set(digits.lower()) - set("0123456789abcdef"):
            raise UsageError(f'"{each}" is no hash; it has the form sha256: and 64 hex digits')
    read_words(invitation.token)
    server = invitation.server
    content = _signed(invitation, Endpoint(server, skip_verification=True), pause)
    authority = _authority(content, server)
    if invitation.hashes and not set(hashes_of(authority)) & set(map(str.lower, invitation.hashes)):
        raise UsageError(
            f"{server} has another certificate authority than this hash says; nothing was sent "
            "there, as it may be an impostor; compare with: atoll token create "
            "--print-register-command"
        )
    known = Endpoint(server, ca=authority)
    # Once more by a connection that can be trusted: who answered first may have passed it on.
    if _signed(invitation, known, pause) != content:
        raise UsageError(f"{server} does not say the same twice; it cannot be trusted")
    return known


def _signed(invitation: Invitation, server: Endpoint, pause: Pause) -> str:
    """What a server says of itself, once the token vouches for it."""
    problem = ""
    for _ in tries(invitation.wait_s, _AGAIN_S, pause):
        data = _info(server)
        problem = _fault(data, invitation.token)
        if not problem:
            return data["kubeconfig"]
    raise UsageError(f"{server.server} {problem}; {_ANOTHER}")


def _info(server: Endpoint) -> dict[str, str]:
    try:
        with closing(PlainClient(server)) as client:
            found: dict[str, str] = client.get(INFO).get("data") or {}
    except Missing as error:
        raise UsageError(f"{server.server} is no plane; it has no cluster-info") from error
    except Refused as error:
        raise UsageError(f"{server.server} does not let clusters register: {error}") from error
    return found


def _fault(data: dict[str, str], token: str) -> str:
    """What is wrong with the token for what a server says; nothing if it signed it."""
    public, secret = read_words(token)
    signature = data.get(_SIGNATURE + public)
    content = data.get("kubeconfig", "")
    if not signature or not content:
        return f'does not know the token "{public}", or its time is up'
    head, _, rest = signature.partition(".")
    between, _, given = rest.rpartition(".")
    said = head.encode() + b"." + _encoded(content.encode())
    expected = _encoded(hmac.digest(secret.encode(), said, "sha256"))
    is_signed = not between and hmac.compare_digest(expected, given.encode())
    if not is_signed or _algorithm(head) != "HS256":
        return f'has another token "{public}" than this one, or is an impostor'
    return ""


def _encoded(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _algorithm(head: str) -> Any:
    try:
        return json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))).get("alg")
    except (binascii.Error, ValueError, AttributeError):
        return None


def _authority(content: str, server: str) -> bytes:
    """The certificate authority in a kubeconfig that tells of one server."""
    try:
        (cluster,) = yaml.safe_load(content)["clusters"]
        return base64.b64decode(cluster["cluster"]["certificate-authority-data"], validate=True)
    except (yaml.YAMLError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"{server} does not say by which authority it is known") from error
