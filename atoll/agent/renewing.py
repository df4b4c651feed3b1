"""An agent's way to the plane, by a certificate that is renewed long before it ends.

The kubeconfig stays the place where the certificate is: it is replaced in one step, in its file and
in the Secret that registering made, and read again when somebody else replaced it. Requests that
are on their way when the certificate is exchanged are lost, and asked again by whoever asked.
"""

import asyncio
import base64
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import yaml
from cryptography import x509

from atoll.client.api import ApiClient, Refused
from atoll.client.endpoint import Endpoint
from atoll.client.https import Https
from atoll.client.kubeconfig import read_kubeconfigs
from atoll.client.private_file import write_private
from atoll.client.transport import Transport, Unreachable
from atoll.dialects.karmada import names
from atoll.errors import UsageError
from atoll.exchange import Request, Response
from atoll.members.agent_home import KUBECONFIG
from atoll.members.agent_rights import agent_user
from atoll.members.certifying import REQUESTS, STEP_S, WAIT_S, Asked, ask_for, issued, not_approved
from atoll.members.objects import SECRETS

log = logging.getLogger("atoll.agent")

CHECK_S = 300.0
LEFT = 0.2  # of its time, when a certificate is renewed
_SHORTEST_S = 600


class Way:
    """A transport whose endpoint may be exchanged. Make it inside a running event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._inner = Https(endpoint)

    async def send(self, request: Request) -> Response:
        return await self._inner.send(request)

    async def exchange(self, endpoint: Endpoint) -> None:
        """Speak as this endpoint says from now on."""
        before, self._inner, self.endpoint = self._inner, Https(endpoint), endpoint
        await before.close()

    async def close(self) -> None:
        await self._inner.close()


@dataclass(frozen=True, slots=True)
class Kept:
    """Where the kubeconfig is: in a file, and mostly in a Secret of the agent's own cluster too."""

    file: Path
    context: str | None = None
    space: str = names.SYSTEM_NAMESPACE

    def endpoint(self) -> Endpoint:
        """The plane, as the file says now; UsageError if it cannot be read."""
        return read_kubeconfigs(str(self.file)).endpoint(self.context)


@dataclass(frozen=True, slots=True)
class Renewal:
    """Renews the certificate of the agent of one cluster."""

    cluster: str
    kept: Kept
    way: Way
    member: Transport
    now: Callable[[], datetime]
    check_s: float = CHECK_S
    left: float = LEFT

    async def run(self) -> None:
        """Look now and then whether it is time, for ever."""
        while True:
            await asyncio.sleep(self.check_s)
            try:
                await self.look()
            except (Refused, Unreachable, UsageError) as problem:
                said = {"err": problem}
                log.warning("The certificate for the plane is renewed later: %(err)s", said)

    async def look(self) -> None:
        """Take what somebody else renewed; renew it if it is time."""
        written = self.kept.endpoint()
        if written.certificate is not None and written != self.way.endpoint:
            await self.way.exchange(written)
        if is_due(self.way.endpoint.certificate, self.now(), self.left):
            await self._renew()

    async def _renew(self) -> None:
        before = self.way.endpoint
        assert before.certificate is not None, "only a certificate is renewed"
        valid_s = max(_SHORTEST_S, round(_span_s(before.certificate)))
        asked = ask_for(agent_user(self.cluster), self.cluster, valid_s)
        certificate = await self._certified(asked)
        text = with_certificate(self.kept, certificate, asked.key)
        is_kept = [self._write_file(text), await self._write_secret(text)]
        if not any(is_kept):
            log.warning("The new certificate is kept nowhere, and lost when the agent ends")
        await self.way.exchange(replace(before, certificate=certificate, key=asked.key))
        ends = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
        said = {"until": ends.isoformat()}
        log.info("The certificate for the plane is renewed; it is good until %(until)s", said)

    async def _certified(self, asked: Asked) -> bytes:
        plane = ApiClient(self.way)
        await plane.create(REQUESTS, asked.wire)
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_S):
                while (found := issued(await plane.get(asked.path))) is None:
                    await asyncio.sleep(STEP_S)
                return found
        raise not_approved(asked)

    def _write_file(self, text: str) -> bool:
        try:
            write_private(self.kept.file, text.encode())
        except OSError as error:
            # In a pod the file is the Secret's, and follows it.
            said = {"file": self.kept.file, "err": error.strerror}
            log.info("%(file)s is left as it is: %(err)s", said)
            return False
        return True

    async def _write_secret(self, text: str) -> bool:
        member = ApiClient(self.member)
        data = {KUBECONFIG: base64.b64encode(text.encode()).decode()}
        try:
            there = await member.get(SECRETS.path(self.kept.space, KUBECONFIG))
            await member.replace(SECRETS, {**there, "data": data})
        except (Refused, Unreachable) as error:
            said = {"secret": f"{self.kept.space}/{KUBECONFIG}", "err": error}
            log.info("Secret %(secret)s is left as it is: %(err)s", said)
            return False
        return True


def is_due(certificate: bytes | None, now: datetime, left: float) -> bool:
    """Whether no more than this part of a certificate's time is left; one must be there."""
    if certificate is None:
        return False
    ends = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
    return (ends - now).total_seconds() <= left * _span_s(certificate)


def check_certificate(endpoint: Endpoint, now: datetime) -> None:
    """UsageError if the certificate of an endpoint cannot be used any more."""
    if endpoint.certificate is None:
        return
    try:
        ends = x509.load_pem_x509_certificate(endpoint.certificate).not_valid_after_utc
    except ValueError as error:
        raise UsageError(f"the client certificate for {endpoint} is not PEM") from error
    if ends <= now:
        raise UsageError(
            f"the certificate for {endpoint} ended at {ends.isoformat()}; "
            "register the cluster again: atoll register"
        )


def _span_s(certificate: bytes) -> float:
    found = x509.load_pem_x509_certificate(certificate)
    return (found.not_valid_after_utc - found.not_valid_before_utc).total_seconds()


def with_certificate(kept: Kept, certificate: bytes, key: bytes) -> str:
    """The kubeconfig with another certificate for the user it speaks as, and all else as it was."""
    document = yaml.safe_load(kept.file.read_text())
    context = kept.context or document["current-context"]
    chosen = next(each for each in document["contexts"] if each["name"] == context)
    entry = next(each for each in document["users"] if each["name"] == chosen["context"]["user"])
    rest = {
        name: value
        for name, value in entry["user"].items()
        if name not in ("client-certificate", "client-key")
    }
    entry["user"] = {
        **rest,
        "client-certificate-data": base64.b64encode(certificate).decode(),
        "client-key-data": base64.b64encode(key).decode(),
    }
    written: str = yaml.safe_dump(document, sort_keys=False)
    return written
