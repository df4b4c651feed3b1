"""Files for their owner only, such as keys and kubeconfigs."""

import os
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step by one that only its owner may read."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
