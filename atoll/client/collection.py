"""Where the objects of a resource are found on an API server: a kind comes in, paths go out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

AGGREGATED = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    for version in ("v2", "v2beta1")
)
"""The form in which a server tells all of its resources in two answers."""


@dataclass(frozen=True, slots=True)
class Collection:
    """All objects of one resource; or only those within a namespace, or the one of a name."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    within: str = ""
    named: str = ""

    @property
    def selecting(self) -> dict[str, str]:
        """What a list or a watch asks for beside its path."""
        return {"fieldSelector": f"metadata.name={self.named}"} if self.named else {}

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        root = "/api" if "/" not in self.api_version else "/apis"
        parts = [root, self.api_version]
        namespace = namespace or self.within
        if namespace and self.namespaced:
            parts += ["namespaces", quote(namespace, safe="")]
        parts += [self.plural]
        parts += [quote(each, safe=":") for each in (name, subresource) if each]
        return "/".join(parts)

    def path_of(self, wire: Mapping[str, Any], subresource: str = "") -> str:
        """The path of one object."""
        metadata = wire["metadata"]
        return self.path(metadata.get("namespace", ""), metadata["name"], subresource)
