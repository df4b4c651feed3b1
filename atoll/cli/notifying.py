"""How a process in the background tells whoever started it that it is ready, or why it never is."""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from atoll.errors import AtollError

Notify = Callable[[dict[str, Any]], None]


@contextlib.contextmanager
def notifying(descriptor: int) -> Iterator[Notify]:
    """Tell one thing through a pipe: what the block says, else the error that ends it."""
    with open(descriptor, "w") as pipe:

        def notify(message: dict[str, Any]) -> None:
            # Whoever started us may be gone by now; that is no reason to stop.
            with contextlib.suppress(OSError), pipe:
                print(json.dumps(message), file=pipe)

        try:
            yield notify
        except AtollError as error:
            if not pipe.closed:
                notify({"error": str(error)})
            raise
