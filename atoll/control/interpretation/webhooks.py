"""Users' interpreter webhooks, asked over HTTPS, for code that may not wait.

A webhook and a request come in; its response goes out once somebody has waited for it. One that
does not answer in time, cannot be trusted or answers nonsense is asked again after a pause, longer
each time; meanwhile the cause is the answer.
"""

import base64
from dataclasses import replace
from urllib.parse import urlsplit

import orjson

from atoll.client.api import Refused
from atoll.client.posting import Place, Posting
from atoll.client.transport import Unreachable
from atoll.control.hub import Hub
from atoll.errors import Invalid, UsageError
from atoll.interpreting import webhooks
from atoll.interpreting.webhooks import Hook
from atoll.runtime.asking import Asking, Question, Reply
from atoll.wire import Object

CONTEXT = {"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterContext"}
AT_ONCE = 4
TIMEOUT_S = 10
AGAIN_S = 30.0


class Webhooks:
    """Ways to the webhooks of a plane, and what they answer."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._asking = Asking(at_once=AT_ONCE)
        self._posting = Posting()

    def call(self, hook: Hook, request: Object) -> webhooks.Reply:
        """What a webhook responds to a request; raises Unanswered while that is not known."""
        content = orjson.dumps(request, option=orjson.OPT_SORT_KEYS)
        # One that was corrected is another one, and asked at once.
        asked = hook.name + orjson.dumps(hook.wire, option=orjson.OPT_SORT_KEYS).decode()
        question = Question(asked, content, lambda: self._ask(hook, request), lasting=False)
        response, error = orjson.loads(self._asking.answer(question))
        return webhooks.Reply(response, error)

    async def close(self) -> None:
        """Let go of all connections; from now on nobody can be asked."""
        await self._posting.close()

    async def _ask(self, hook: Hook, request: Object) -> Reply:
        try:
            response = await self._response(hook, request)
            problem = webhooks.problem_of(request["operation"], response)
        except (Unreachable, UsageError, Invalid, Refused) as error:
            return _reply({}, str(error), failed=True)
        # A webhook that says it failed means this object, and not that it is out of order.
        is_its_word = response.get("successful") is False
        return _reply(response, problem, failed=bool(problem) and not is_its_word)

    async def _response(self, hook: Hook, request: Object) -> Object:
        server, path, query, name = await self._address(hook)
        uid = self._hub.effects.chance.uuid("interpreters")
        body = orjson.dumps({**CONTEXT, "request": {"uid": uid, **request}})
        timeout_s = hook.wire.get("timeoutSeconds") or TIMEOUT_S
        query = f"{query}&timeout={timeout_s}s" if query else f"timeout={timeout_s}s"
        place = Place(server, _authority(hook), name)
        try:
            answer = await self._posting.post(place, path, query, body, timeout_s)
        except TimeoutError:
            raise Unreachable(f"{server} did not answer within {timeout_s} s") from None
        if not 200 <= answer.status < 300:
            raise Unreachable(f"{server} answered with status {answer.status}")
        return _read(answer.body, uid)

    async def _address(self, hook: Hook) -> tuple[str, str, str, str | None]:
        """Server, path and query, and the name its certificate must have if not the server's."""
        config = hook.wire["clientConfig"]
        if config.get("url"):
            url = urlsplit(config["url"])
            return f"{url.scheme}://{url.netloc}", url.path or "/", url.query, None
        service = config["service"]
        name, namespace = service["name"], service["namespace"]
        plane = self._hub.plane
        # Listed, as agents may not do otherwise.
        one = replace(plane.collection("v1", "Service"), within=namespace, named=name)
        listed, _ = await plane.api.list(one)
        found = listed[0] if listed else None
        host = _host(found, f"{name}.{namespace}.svc", service.get("port") or 443)
        path = "/" + (service.get("path") or "").removeprefix("/")
        return f"https://{host}", path, "", f"{name}.{namespace}.svc"


def _authority(hook: Hook) -> bytes | None:
    bundle = hook.wire["clientConfig"].get("caBundle") or ""
    try:
        return base64.b64decode(bundle, validate=True) or None
    except ValueError as error:
        raise Invalid("clientConfig.caBundle", bundle[:20], "must be base64") from error


def _host(service: Object | None, name: str, port: int) -> str:
    """Where a service is reached: as the plane knows it, else by its name."""
    if service is None:
        return f"{name}:{port}"
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return f"{spec.get('externalName')}:{port}"
    address = spec.get("clusterIP")
    if not address or address == "None":
        problem = "has no clusterIP; give the webhook a url, or remove the Service to use its name"
        raise Invalid("clientConfig.service", name, problem)
    if not any(each.get("port") == port for each in spec.get("ports") or ()):
        raise Invalid("clientConfig.service.port", port, f"is no port of Service {name}")
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _read(body: bytes, uid: str) -> Object:
    """The response in an answer to the request with this uid."""
    try:
        context = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Invalid("the answer", body[:60].decode(errors="replace"), "is no JSON") from error
    response = context.get("response") if isinstance(context, dict) else None
    if not isinstance(response, dict):
        raise Invalid("response", response, "must be an object")
    if response.get("uid") != uid:
        # Without the uids themselves: the same problem is told in the same words, and so once.
        raise Invalid("response.uid", "another", "must be the uid of the request")
    return response


def _reply(response: Object, error: str, *, failed: bool) -> Reply:
    again_in = AGAIN_S if error and not failed else None
    return Reply(orjson.dumps((response, error)), failed, again_in)
