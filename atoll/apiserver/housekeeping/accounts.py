"""Service accounts' upkeep: their Secrets get tokens, and go with them.

`plan` sees a Secret made for a token and the account it names, and says what is to become of it.
Every namespace has an account called `default`, which clients wait for, and pods where they run.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import Literal

import orjson

from atoll.apiserver.access.accounts import (
    ACCOUNT_NAME,
    ACCOUNT_UID,
    ACCOUNTS,
    TOKEN_SECRET,
    Account,
    secret_token,
)
from atoll.apiserver.access.signing import Signing
from atoll.apiserver.housekeeping.acting import Upkeep, delete_one, ensure, revise_one
from atoll.apiserver.housekeeping.graph import node_of
from atoll.apiserver.housekeeping.namespaces import COLLECTION as NAMESPACES
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.view import metadata_of, secret_type
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Event, Record
from atoll.wire import Wire

Plan = Literal["fill", "delete"] | None

DEFAULT = "default"
SECRETS = "secrets"


def plan(secret: Wire, account: Account | None, wanted: Sequence[str]) -> Plan:
    """What is to become of a Secret whose account is this one now."""
    known = (metadata(secret).get("annotations") or {}).get(ACCOUNT_UID)
    if account is None or known not in (None, account.uid):
        return "delete"
    data = secret.get("data") or {}
    return "fill" if known is None or any(not data.get(key) for key in wanted) else None


def filled(secret: Wire, account: Account, signing: Signing) -> Wire:
    """The Secret with a token for its account, and what else its users need."""
    meta, data = metadata(secret), secret.get("data") or {}
    fresh = {"namespace": account.namespace.encode(), "ca.crt": signing.ca}
    if not data.get("token"):
        fresh["token"] = secret_token(signing, account, meta["name"]).encode()
    encoded = {key: b64encode(value).decode() for key, value in fresh.items() if value}
    annotations = {**(meta.get("annotations") or {}), ACCOUNT_UID: account.uid}
    return {**secret, "metadata": {**meta, "annotations": annotations}, "data": {**data, **encoded}}


class Accounts(Upkeep):
    """Follows the store and keeps accounts and their Secrets together."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, "service accounts")
        self._wanted = ("token", "namespace", *(["ca.crt"] if api.signing.ca else []))

    def load(self) -> None:
        for record in self._api.store.page(NAMESPACES).records:
            self._work.add(f"{NAMESPACES}/{record.name}")
        for record in self._api.store.page(SECRETS).records:
            self._note_secret(record)

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            match event.after.collection:
                case "secrets":
                    if not event.removed:
                        self._note_secret(event.after)
                case "serviceaccounts":
                    if event.removed:
                        self._note_removed(event.after)
                case "namespaces":
                    if event.before is None:
                        self._work.add(f"{NAMESPACES}/{event.after.name}")

    def _note_secret(self, record: Record) -> None:
        if secret_type(record) == TOKEN_SECRET:
            self._work.add(f"{SECRETS}/{record.name}")

    def _note_removed(self, account: Record) -> None:
        namespace = metadata_of(account).namespace
        for record in self._api.store.page(SECRETS, f"{namespace}/").records:
            self._note_secret(record)
        if account.name == f"{namespace}/{DEFAULT}":
            self._work.add(f"{NAMESPACES}/{namespace}")

    async def _look(self, key: str) -> None:
        collection, _, name = key.partition("/")
        record = self._api.store.get(collection, name)
        if record is None or metadata_of(record).deletion_timestamp is not None:
            return
        if collection == NAMESPACES:
            await ensure(self._api, ACCOUNTS, {"metadata": {"name": DEFAULT, "namespace": name}})
        else:
            await self._look_at_secret(record)

    async def _look_at_secret(self, record: Record) -> None:
        secret: Wire = orjson.loads(record.value)
        account = self._account_of(secret)
        match plan(secret, account, self._wanted):
            case "delete":
                await delete_one(self._api, node_of(record), "Background")
            case "fill" if account is not None:
                signing = self._api.signing
                node = node_of(record)
                await revise_one(self._api, node, lambda old: filled(old, account, signing))

    def _account_of(self, secret: Wire) -> Account | None:
        meta = metadata(secret)
        namespace = meta["namespace"]
        name = (meta.get("annotations") or {}).get(ACCOUNT_NAME, "")
        record = self._api.store.get(ACCOUNTS, f"{namespace}/{name}")
        return None if record is None else Account(namespace, name, metadata_of(record).uid)
