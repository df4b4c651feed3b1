"""Upkeep of bootstrap tokens: those whose time is up go, those that sign vouch for cluster-info.

The ConfigMap `cluster-info` in kube-public says to everybody where this server is and by which CA
it is known. Whoever has a token can tell by its signature there that this was not made up.
"""

import hmac
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence

import orjson

from atoll.apiserver.access.bootstrap_tokens import TYPE, BootstrapToken, read_token
from atoll.apiserver.access.signing import encoded
from atoll.apiserver.bodies.encoding import encode_yaml
from atoll.apiserver.housekeeping.acting import Upkeep, call_on, delete_one, ensure, revise
from atoll.apiserver.housekeeping.graph import node_of
from atoll.apiserver.objects.view import secret_type
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Event, Record
from atoll.wire import Wire

SECRETS, CONFIG_MAPS = "secrets", "configmaps"
INFO = "kube-public/cluster-info"
SIGNATURE = "jws-kubeconfig-"
KUBECONFIG = "kubeconfig"


def kubeconfig(ca: bytes, url: str) -> str:
    """Where the server is and how it is known, as a kubeconfig without any user."""
    cluster = {"certificate-authority-data": b64encode(ca).decode(), "server": url}
    clusters = [{"cluster": cluster, "name": ""}]
    return encode_yaml({"apiVersion": "v1", "clusters": clusters, "kind": "Config"}).decode()


def signed(data: Mapping[str, str], tokens: Iterable[BootstrapToken]) -> dict[str, str]:
    """The data of cluster-info with just the signatures of these tokens."""
    kept = {key: value for key, value in data.items() if not key.startswith(SIGNATURE)}
    content = kept.get(KUBECONFIG)
    if content:
        kept |= {SIGNATURE + one.id: signature(content, one) for one in tokens}
    return kept


def signature(content: str, token: BootstrapToken) -> str:
    """A JSON Web Signature (HS256) without the content itself."""
    head = encoded(orjson.dumps({"alg": "HS256", "kid": token.id}))
    said = head + b"." + encoded(content.encode())
    return (head + b".." + encoded(hmac.digest(token.secret.encode(), said, "sha256"))).decode()


class Tokens(Upkeep):
    """Follows bootstrap tokens and cluster-info."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, "bootstrap tokens")

    def load(self) -> None:
        for record in self._api.store.page(SECRETS, "kube-system/").records:
            self._note(record)
        self._work.add(INFO)

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.collection == SECRETS:
                self._note(event.after)
            elif event.after.collection == CONFIG_MAPS and event.after.name == INFO:
                self._work.add(INFO)

    def _note(self, record: Record) -> None:
        if record.name.startswith("kube-system/") and secret_type(record) == TYPE:
            self._work.add(record.name)
            self._work.add(INFO)

    async def _look(self, key: str) -> None:
        if key == INFO:
            await self._sign()
            return
        record = self._api.store.get(SECRETS, key)
        token = None if record is None else read_token(orjson.loads(record.value))
        if record is None or token is None or token.ends is None:
            return
        if token.is_over(self._api.now()):
            await delete_one(self._api, node_of(record), "Background")
        else:
            self._work.add_later(key, (token.ends - self._api.now()).total_seconds())

    async def _sign(self) -> None:
        """Have cluster-info, right and signed by whoever may; it is left alone where it is not."""
        namespace, _, name = INFO.partition("/")
        signing = self._api.signing
        ours = {KUBECONFIG: kubeconfig(signing.ca, signing.url)} if signing.url else {}
        if ours:
            meta = {"name": name, "namespace": namespace}
            await ensure(self._api, CONFIG_MAPS, {"metadata": meta, "data": ours})
        records = self._api.store.page(SECRETS, "kube-system/").records
        found = [read_token(orjson.loads(record.value)) for record in records]
        now = self._api.now()
        tokens = [one for one in found if one is not None and one.signs and not one.is_over(now)]

        def right(info: Wire) -> Wire:
            return {**info, "data": signed({**(info.get("data") or {}), **ours}, tokens)}

        await revise(self._api, call_on(self._api, CONFIG_MAPS, namespace, name), right)
