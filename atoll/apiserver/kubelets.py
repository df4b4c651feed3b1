"""What only a node can answer (logs, commands, ways into pods), where no node is reached.

A plane has no kubelets, and of simulated members only some answers; the rest are refused here, in
the words of a Kubernetes whose nodes do not answer. A pod without a node has nothing in its log.
"""

from dataclasses import dataclass

import orjson

from atoll.apiserver.kinds.reading import parts, text
from atoll.apiserver.options import first, parse_query
from atoll.apiserver.resource import Branch, Errand
from atoll.apiserver.status import ApiError, bad_request, not_found, plain_500, unavailable
from atoll.exchange import Response
from atoll.store.store import Store
from atoll.wire import Wire

_BOTH = ("create", "get")
_ALL = ("create", "delete", "get", "patch", "update")
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


@dataclass(frozen=True, slots=True)
class Unreached:
    """Answers for the nodes of a store."""

    store: Store

    def branches(self) -> dict[tuple[str, str], tuple[Branch, ...]]:
        """What would be asked of nodes, by the group and plural of who it is about."""
        proxies = {
            ("", "nodes"): ("NodeProxyOptions", self._node),
            ("", "services"): ("ServiceProxyOptions", self._service),
        }
        found: dict[tuple[str, str], tuple[Branch, ...]] = {
            place: (Branch("proxy", kind, serve, _ALL, goes_on=True),)
            for place, (kind, serve) in proxies.items()
        }
        found["", "pods"] = (
            Branch("attach", "PodAttachOptions", self._enter, _BOTH),
            Branch("exec", "PodExecOptions", self._enter, _BOTH),
            Branch("log", "Pod", self._log),
            Branch("portforward", "PodPortForwardOptions", self._enter, _BOTH),
            Branch("proxy", "PodProxyOptions", self._pod, _ALL, goes_on=True),
        )
        return found

    async def _log(self, errand: Errand) -> Response:
        pod = self._found("pods", errand, errand.name)
        names = [text(one, "name") for kind in _CONTAINERS for one in parts(pod, "spec", kind)]
        wanted = first(parse_query(errand.request.query), "container")
        if wanted and wanted not in names:
            raise bad_request(f"container {wanted} is not valid for pod {errand.name}")
        if not wanted and len(parts(pod, "spec", "containers")) > 1:
            listed = " ".join(names)
            raise bad_request(
                f"a container name must be specified for pod {errand.name}, choose one of:"
                f" [{listed}]"
            )
        if text(pod, "spec", "nodeName"):
            raise self._out_of_reach("pods", text(pod, "spec", "nodeName"))
        return Response(204)

    async def _enter(self, errand: Errand) -> Response:
        node = text(self._found("pods", errand, errand.name), "spec", "nodeName")
        if not node:
            raise bad_request(f"pod {errand.name} does not have a host assigned")
        raise self._out_of_reach("pods", node)

    async def _node(self, errand: Errand) -> Response:
        raise self._out_of_reach("nodes", _named(errand))

    async def _pod(self, errand: Errand) -> Response:
        if not text(self._found("pods", errand, _named(errand)), "status", "podIP"):
            raise bad_request("address not allowed")
        raise unavailable("error trying to reach service: no traffic is carried to pods from here")

    async def _service(self, errand: Errand) -> Response:
        name = _named(errand)
        if self.store.get("endpoints", f"{errand.namespace}/{name}") is None:
            raise not_found("services", "", name)
        raise unavailable(f'no endpoints available for service "{name}"')

    def _found(self, plural: str, errand: Errand, name: str) -> Wire:
        record = self.store.get(plural, f"{errand.namespace}/{name}")
        if record is None:
            raise not_found(plural, "", name)
        found: Wire = orjson.loads(record.value)
        return found

    def _out_of_reach(self, plural: str, node: str) -> ApiError:
        """Kubernetes names whom it was asked about as what it did not find."""
        record = self.store.get("nodes", node)
        if record is None:
            return not_found(plural, "", node)
        if not parts(orjson.loads(record.value), "status", "addresses"):
            return plain_500("no preferred addresses found; known addresses: []")
        return plain_500(
            f"node {node} does not answer: there is no kubelet to be reached from here"
        )


def _named(errand: Errand) -> str:
    """Whom a way leads to, which may be written with a scheme and a port: `https:web:80`."""
    pieces = errand.name.split(":")
    return pieces[1] if len(pieces) == 3 else pieces[0]
