"""As whom a client speaks: an Endpoint comes in, headers and a certificate go out.

Keeps what a plug-in said until it expires, or until the server believes it no more, and reads a
token file again. Nothing is sent and no program is run here: whoever uses it does that, in its own
way of waiting, when `needs_plugin` says so.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote

from atoll.client.endpoint import Endpoint
from atoll.effects import system_now
from atoll.errors import UsageError

# What may stand in a header name as it is.
_NAME = "!#$&'*+-.^_`|~"


@dataclass(frozen=True, slots=True)
class Credential:
    """What a plug-in gave, and until when it is good; None: until it is refused."""

    token: str | None = field(default=None, repr=False)
    pair: tuple[bytes, bytes] | None = field(default=None, repr=False)
    until: datetime | None = None


class Identity:
    """What one client says of itself."""

    def __init__(self, endpoint: Endpoint, now: Callable[[], datetime] = system_now) -> None:
        self._endpoint = endpoint
        self._now = now
        self._credential: Credential | None = None
        self._token = endpoint.token

    @property
    def needs_plugin(self) -> bool:
        """Whether the plug-in is to be asked before the next request."""
        if self._endpoint.plugin is None or self._has_own:
            return False
        until = self._credential.until if self._credential is not None else None
        return self._credential is None or (until is not None and until <= self._now())

    @property
    def _has_own(self) -> bool:
        endpoint = self._endpoint
        return bool(endpoint.token or endpoint.token_file or endpoint.username)

    def learn(self, credential: Credential) -> None:
        """This is what the plug-in said."""
        self._credential = credential

    def doubt(self) -> bool:
        """The server did not believe it; gives whether there may be something better to say."""
        had, self._credential = self._credential, None
        return had is not None

    def pair(self) -> tuple[bytes, bytes] | None:
        """The certificate to show, and its key."""
        endpoint, credential = self._endpoint, self._credential
        if endpoint.certificate is not None and endpoint.key is not None:
            return endpoint.certificate, endpoint.key
        return credential.pair if credential is not None else None

    def headers(self) -> list[tuple[str, str]]:
        """What goes with every request; names may occur more than once."""
        said = [*self._authorization(), *self._impersonation()]
        for name, value in said:
            if not value.isascii() or not value.isprintable():
                what = "token" if name == "authorization" else name
                raise UsageError(f"{self._endpoint}: the {what} has characters it may not have")
        return said

    def _authorization(self) -> list[tuple[str, str]]:
        endpoint = self._endpoint
        if endpoint.token_file is not None:
            self._read_token(endpoint)
        token = self._token or (self._credential.token if self._credential else None)
        if token:
            return [("authorization", f"Bearer {token}")]
        if endpoint.username:
            both = f"{endpoint.username}:{endpoint.password or ''}".encode()
            return [("authorization", f"Basic {base64.b64encode(both).decode()}")]
        return []

    def _read_token(self, endpoint: Endpoint) -> None:
        assert endpoint.token_file is not None
        try:
            self._token = endpoint.token_file.read_text().strip() or self._token
        except (OSError, UnicodeDecodeError) as error:
            # While a file is exchanged, what was read last still counts.
            if not self._token:
                why = getattr(error, "strerror", None) or "it is not text"
                raise UsageError(
                    f"cannot read the token file {endpoint.token_file}: {why}"
                ) from error

    def _impersonation(self) -> list[tuple[str, str]]:
        acting = self._endpoint.acting_as
        if acting is None:
            return []
        said = [("impersonate-user", acting.user)]
        said += [("impersonate-uid", acting.uid)] if acting.uid else []
        said += [("impersonate-group", group) for group in acting.groups]
        for key, values in acting.extra.items():
            name = f"impersonate-extra-{quote(key.lower(), safe=_NAME)}"
            said += [(name, value) for value in values]
        return said
