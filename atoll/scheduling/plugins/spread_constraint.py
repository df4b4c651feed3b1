"""SpreadConstraint: a cluster must have every field the work is to be spread over."""

from dataclasses import dataclass

import numpy as np

from atoll.model.intent import Field
from atoll.scheduling.columns import Mask
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Judge
from atoll.scheduling.question import Question
from atoll.scheduling.traits import Traits
from atoll.scheduling.verdicts import Verdicts

PROPERTY = {Field.PROVIDER: "provider", Field.REGION: "region", Field.ZONE: "zones"}


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """Of several missing fields the first in the order of the constraints is the reason."""

    name: str = "SpreadConstraint"
    spares_placed: bool = False
    shared: bool = True

    def compile(self, question: Question) -> Judge | None:
        fields = [each.field for each in question.intent.spread if each.field in PROPERTY]
        if not fields:
            return None

        def judge(fleet: Fleet) -> Verdicts:
            codes = np.zeros(len(fleet), np.uint16)
            for code, field in reversed(list(enumerate(fields, start=1))):
                codes[_lacking(field, fleet.traits)] = code
            reasons = (f"cluster(s) did not have {PROPERTY[each]} property" for each in fields)
            return Verdicts(codes, tuple(reasons))

        return judge


def _lacking(field: Field, traits: Traits) -> Mask:
    if field is Field.ZONE:
        return traits.zones.where(lambda zones: not zones)
    column = traits.provider if field is Field.PROVIDER else traits.region
    return column.holding(("",))
