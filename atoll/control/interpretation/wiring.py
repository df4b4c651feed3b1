"""What users say of their kinds: the interpreters follow it, and what it is about is looked at.

Customizations and webhook configurations come in from the plane; the hub's interpreters are put
together anew with each change. Scripts run in a pool of processes that starts with the first
question and ends with the plane.
"""

from collections.abc import Callable

from atoll.control.delivery.decide.plan import objects
from atoll.control.hub import WORK, Hub, meant_otherwise
from atoll.control.interpretation.webhooks import Webhooks
from atoll.interpreting import webhooks
from atoll.interpreting.customizing import layer, target
from atoll.interpreting.kinds import Kind, kind_of
from atoll.interpreting.operations import Interpreters
from atoll.lua.pool import Pool
from atoll.lua.scripts import Scripts
from atoll.wire import Wire

CONFIG = "config.karmada.io/v1alpha1"
CUSTOMIZATION = "ResourceInterpreterCustomization"
CONFIGURATION = "ResourceInterpreterWebhookConfiguration"


class Interpretation:
    """Keeps the hub's interpreters as the plane's objects say."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._behind = hub.interpreters.layers
        self._scripts = Scripts(Pool())
        self._webhooks = Webhooks(hub)
        hub.hear("interpretation", (CONFIG, CUSTOMIZATION), self._customization_changed)
        hub.hear("interpretation", (CONFIG, CONFIGURATION), self._configuration_changed)

    async def start(self) -> None:
        """Know what users say; the hub must know the plane already."""
        for kind in (CUSTOMIZATION, CONFIGURATION):
            await self._hub.plane.follow(CONFIG, kind)

    async def run(self) -> None:
        """Keep what is needed to ask, until the plane ends."""
        try:
            await self._scripts.keep()
        finally:
            await self._webhooks.close()

    def _customization_changed(self, before: Wire | None, after: Wire | None) -> None:
        if not meant_otherwise(before, after):
            return
        self._put_together()
        kinds = {target(each) for each in (before, after) if each is not None}
        self._look_again(kinds.__contains__)

    def _configuration_changed(self, before: Wire | None, after: Wire | None) -> None:
        if not meant_otherwise(before, after):
            return
        self._put_together()
        known = webhooks.hooks(each for each in (before, after) if each is not None)
        self._look_again(lambda kind: any(hook.is_for(kind) for hook in known))

    def _put_together(self) -> None:
        """First scripts, then webhooks, then what Atoll itself knows: the order of Karmada."""
        plane = self._hub.plane
        scripts = layer(plane.all(CONFIG, CUSTOMIZATION), self._scripts.run)
        asked = webhooks.hooks(plane.all(CONFIG, CONFIGURATION))
        behind = (webhooks.Webhooks(asked, self._webhooks.call), *self._behind)
        self._hub.interpreters = Interpreters((scripts, *behind))

    def _look_again(self, is_meant: Callable[[Kind], bool]) -> None:
        """Have all objects and Works of some kinds looked at again."""
        hub = self._hub
        for collection in hub.template_collections():
            if is_meant((collection.api_version, collection.kind)):
                for wire in hub.plane.all(collection.api_version, collection.kind):
                    hub.tell_again(wire)
        for wire in hub.plane.all(WORK, "Work"):
            if any(is_meant(kind_of(each)) for each in objects(hub.works.value(wire))):
                hub.tell_again(wire)
