"""What a client is told when something goes wrong: the Status object, in Kubernetes' own words.

Client libraries branch on `reason` and `code`, and tools parse some of the messages, so both are
part of the contract. One constructor per case; the texts are those of kube-apiserver.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from atoll.apiserver.fields.error import FieldError
from atoll.wire import Wire


class ApiError(Exception):
    """A request that ends in a Status of kind Failure. Raised anywhere behind the front door."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Wire | None = None,
        headers: Mapping[str, str] | None = None,
        metadata: Wire | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = dict(headers or {})
        self.metadata = metadata or {}

    def status(self) -> Wire:
        """The Status object as it goes over the wire."""
        body: Wire = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def _about(name: str, group: str, kind: str, **more: Any) -> Wire:
    named = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in named.items() if value} | more


def qualified(plural_or_kind: str, group: str) -> str:
    """`deployments.apps`, or just `configmaps` in the core group."""
    return f"{plural_or_kind}.{group}" if group else plural_or_kind


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(
    plural: str, group: str, name: str, why: str, causes: Sequence[Wire] = ()
) -> ApiError:
    subject = f'{qualified(plural, group)} "{name}"' if name else qualified(plural, group)
    more = {"causes": list(causes)} if causes else {}
    details = _about(name, group, plural, **more)
    return ApiError(403, "Forbidden", f"{subject} is forbidden: {why}", details=details)


def not_found(plural: str, group: str, name: str) -> ApiError:
    message = f'{qualified(plural, group)} "{name}" not found'
    return ApiError(404, "NotFound", message, details=_about(name, group, plural))


def unknown_resource() -> ApiError:
    message = "the server could not find the requested resource"
    return ApiError(404, "NotFound", message, details={})


def method_not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, details={})


def not_acceptable(accepted: Sequence[str], *, understood: bool) -> ApiError:
    """No form the client takes can be served; or, if understood, none in the shape it wants."""
    listed = ", ".join(accepted)
    if understood:
        message = f"only the following media types are accepted: {listed}"
        return ApiError(406, "NotAcceptable", message)
    message = f"406: Not Acceptable\n\nAvailable representations: {listed}"
    return ApiError(406, "NotAcceptable", message, details={})


def misshapen(shape: str, of: str) -> ApiError:
    """Metadata of many was asked of one object, or the other way round."""
    said = f"not a list (*{of})" if shape.endswith("List") else f"a list (*{of}List)"
    message = f"you requested {shape}, but the requested object is {said}"
    return ApiError(406, "NotAcceptable", message)


def already_exists(plural: str, group: str, name: str, *, deleting: bool = False) -> ApiError:
    prefix = "object is being deleted: " if deleting else ""
    message = f'{prefix}{qualified(plural, group)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, details=_about(name, group, plural))


def conflict(plural: str, group: str, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return ApiError(409, "Conflict", message, details=_about(name, group, plural))


MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def expired(message: str, *, metadata: Wire | None = None) -> ApiError:
    return ApiError(410, "Expired", message, metadata=metadata)


def too_large(message: str) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", message)


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
    )
    return ApiError(415, "UnsupportedMediaType", message)


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """422 for an object (or options) that breaks the rules; every broken rule is a cause."""
    texts = list(dict.fromkeys(map(str, errors)))  # causes repeat, the message does not
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    message = f'{qualified(kind, group)} "{name}" is invalid: {joined}'
    causes = [error.cause() for error in errors]
    return ApiError(422, "Invalid", message, details=_about(name, group, kind, causes=causes))


def unprocessable() -> ApiError:
    """A patch that cannot be carried out on the object as it is."""
    message = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", message, details={})


def internal_error(what: str) -> ApiError:
    message = f"Internal error occurred: {what}"
    return ApiError(500, "InternalError", message, details={"causes": [{"message": what}]})


def plain_500(message: str) -> ApiError:
    """Some mistakes of the client are answered 500 without a reason; clients expect just that."""
    return ApiError(500, "", message)


def _later(code: int, reason: str, message: str, after_s: int = 1, **more: Any) -> ApiError:
    """A refusal of now, which says when to come again."""
    headers = {"Retry-After": str(after_s)}
    details = {**more, "retryAfterSeconds": after_s}
    return ApiError(code, reason, message, details=details, headers=headers)


def unavailable(message: str, retry_after_s: int = 1) -> ApiError:
    return _later(503, "ServiceUnavailable", message, retry_after_s)


def too_many_requests() -> ApiError:
    return _later(429, "TooManyRequests", "Too many requests, please try again later.")


def timed_out() -> ApiError:
    """The request took longer than its client, or anybody, may wait."""
    message = "Timeout: request did not complete within the allotted timeout"
    return ApiError(504, "Timeout", message, details={})


def revision_too_large(asked: int, current: int) -> ApiError:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return _later(504, "Timeout", message, causes=[cause])


_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


def done(code: int) -> Wire:
    """The Status that answers a request which has no object to show for it."""
    return {**_SUCCESS, "metadata": {}, "code": code}


def success(plural: str, group: str, name: str, uid: str) -> Wire:
    """The Status that answers a deletion which is already complete."""
    return {**_SUCCESS, "metadata": {}, "details": _about(name, group, plural, uid=uid)}
