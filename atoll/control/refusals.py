"""Writes that the plane refuses: told where the owner of a template looks, and tried again."""

from collections.abc import Callable

from atoll.client.api import Refused
from atoll.control.hub import Hub
from atoll.model.action import PLANE, Action, Create, Ref, Tell, Update
from atoll.wire import Object


def tell_owner(
    hub: Hub, reason: str, template_behind: Callable[[Object], Ref | None]
) -> Callable[[Action, Refused], bool]:
    """Have a refusal told on the template for which something was to be written."""

    def refused(action: Action, refusal: Refused) -> bool:
        if not isinstance(action, Create | Update) or action.at != PLANE:
            return False
        ref = template_behind(action.object)
        template = None if ref is None else hub.plane.find(ref)
        if template is not None:
            message = f"the plane refused {Ref.of(action.object)}: {refusal}"
            hub.performer.tell_later(Tell(template, reason, message, warning=True))
        return False

    return refused
