"""What is the same in all that webhooks are asked and answer, whatever the review is about."""

from collections.abc import Sequence

import orjson

from atoll.wire import Object

_VERSIONS = ("v1", "v1beta1")


class BadAnswer(Exception):
    """The answer of a webhook makes no sense; told in Kubernetes' words."""


def spoken_version(accepted: Sequence[str]) -> str | None:
    """The version of a review to send to one who understands these; None if there is none."""
    return next((version for version in accepted if version in _VERSIONS), None)


def read_answer(body: bytes) -> Object:
    """The review that comes back."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadAnswer(f"the answer is no JSON: {error}") from None
    if not isinstance(review, dict):
        raise BadAnswer("the answer is no object")
    return review


def check_uid(response: Object, uid: str) -> None:
    """BadAnswer if it answers another question."""
    given = response.get("uid", "")
    if given != uid:
        raise BadAnswer(f'expected response.uid="{uid}", got "{given}"')
