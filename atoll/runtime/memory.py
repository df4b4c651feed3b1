"""How a process that has loaded everything treats its memory from then on."""

import gc


def settle_memory() -> None:
    """What is loaded by now stays: it need not be looked through again and again."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
