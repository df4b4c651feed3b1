"""The CEL rules of a schema, which has the language loaded only if it has rules."""

import orjson

from atoll.apiserver.validations.rules import Part
from atoll.wire import Wire


def compiled_rules(schema: Wire) -> Part | None:
    """All rules of a whole object's schema; None if there are none."""
    written = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    if b'"x-kubernetes-validations"' not in written:
        return None
    from atoll.apiserver.validations.compiling import compiled

    return compiled(written)
