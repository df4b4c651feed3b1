"""The API of a plane or of a member as scenarios speak to it: objects in, objects out, in step.

An object says itself where it is found, by its apiVersion, kind, namespace and name; what the kind
is called in a path is asked once. Any thread may ask: each has a connection of its own.
"""

import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from atoll.client.collection import Collection
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.plain import MERGE, PlainClient
from atoll.client.refusals import Missing
from atoll.wire import Wire


@dataclass(frozen=True)
class Api:
    """One API server, as its administrator."""

    kubeconfig: Path
    _own: threading.local = field(default_factory=threading.local)
    _made: list[PlainClient] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _known: dict[tuple[str, str], Collection] = field(default_factory=dict)

    @property
    def client(self) -> PlainClient:
        """The connection of this thread; a server that moved is found by its file."""
        assert not self._over.is_set(), "the world is over"
        written = self.kubeconfig.read_bytes()
        if getattr(self._own, "written", None) != written:
            self._own.client = PlainClient(read_kubeconfig(self.kubeconfig))
            self._own.written = written
            self._made.append(self._own.client)
        found: PlainClient = self._own.client
        return found

    def close(self) -> None:
        """Whoever still waits for something here need not wait any longer."""
        self._over.set()
        for each in self._made:
            each.close()

    def collection(self, api_version: str, kind: str) -> Collection:
        """Where objects of a kind are; Missing if the server does not know it."""
        key = (api_version, kind)
        if key not in self._known:
            root = "/apis/" if "/" in api_version else "/api/"
            for each in self.client.get(root + api_version)["resources"]:
                if "/" not in each["name"]:
                    place = Collection(api_version, each["kind"], each["name"], each["namespaced"])
                    self._known.setdefault((api_version, each["kind"]), place)
        if key not in self._known:
            raise Missing(404, {"message": f"{self.kubeconfig} knows no {api_version} {kind}"})
        return self._known[key]

    def path(self, wire: Wire, subresource: str = "") -> str:
        return self.collection(wire["apiVersion"], wire["kind"]).path_of(wire, subresource)

    def find(self, wire: Wire) -> Wire | None:
        """The object of this kind and name as it is now; None if there is none."""
        try:
            return self.client.get(self.path(wire))
        except Missing:
            return None

    def list(self, api_version: str, kind: str, namespace: str = "", **query: str) -> list[Wire]:
        place = self.collection(api_version, kind)
        found: list[Wire] = self.client.get(place.path(namespace), urlencode(query))["items"]
        return found

    def create(self, wire: Wire) -> Wire:
        place = self.collection(wire["apiVersion"], wire["kind"])
        # Without spaces, as Go writes it: some fields are kept byte by byte.
        sent = json.dumps(wire, separators=(",", ":")).encode()
        path = place.path(wire["metadata"].get("namespace", ""))
        created: Wire = self.client.request("POST", path, body=sent).json()
        return created

    def patch(self, wire: Wire, changes: Any, subresource: str = "", kind: str = MERGE) -> Wire:
        return self.client.patch(self.path(wire, subresource), changes, kind)

    def delete(self, wire: Wire) -> None:
        """Delete an object; one that is gone already is fine."""
        try:
            self.client.delete(self.path(wire))
        except Missing:
            return
