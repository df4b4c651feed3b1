"""Which fleet an instance has: one of the presets or a file, remembered from the first start on.

A name or a path comes in, a fleet goes out. What is remembered is the whole description, so that an
instance stays what it is when the file it came from, or a preset, changes.
"""

import json
from pathlib import Path

from atoll.client.private_file import write_private
from atoll.config import Config
from atoll.errors import UsageError
from atoll.simulated.fleets import Fleet

PRESETS_DIR = Path(__file__).parent / "presets"
PRESETS = ("tiny", "hybrid", "gpu", "big")  # in the order of their size
FILE_BYTES_MAX = 4 * 1024 * 1024
_ENDINGS = (".yaml", ".yml", ".json")


def find_fleet(asked: str) -> Fleet:
    """The preset of this name, else the fleet in this file; UsageError if there is neither."""
    from atoll.simulated.fleet_file import read_fleet  # it loads what reads YAML

    return read_fleet(asked, fleet_text(asked), asked)


def fleet_text(asked: str) -> bytes:
    """What is written in a preset or a file."""
    if asked in PRESETS:
        return (PRESETS_DIR / f"{asked}.yaml").read_bytes()
    if "/" not in asked and not asked.endswith(_ENDINGS) and not Path(asked).is_file():
        known = ", ".join(PRESETS)
        raise UsageError(f'there is no fleet "{asked}"; try: one of {known}, or a file')
    try:
        with Path(asked).open("rb") as file:
            written = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot read the fleet in {asked}; {why}") from error
    if len(written) > FILE_BYTES_MAX:
        raise UsageError(f"{asked} is too large for a description of a fleet")
    return written


def remembered_fleet(config: Config) -> Fleet | None:
    """The fleet of simulated members that this instance has; None if it has none."""
    try:
        written = config.fleet_file.read_text()
    except FileNotFoundError:
        return None
    try:
        kept = json.loads(written)
        name, document = str(kept["name"]), kept["fleet"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{config.fleet_file} is damaged, so nobody knows what the members are like; "
            "try: write it anew from a copy of the data directory"
        ) from error
    from atoll.simulated.fleet_file import fleet_of

    return fleet_of(name, document, str(config.fleet_file))


def differs(asked: str, has: Fleet) -> str:
    """Why a fleet that is asked for is not the one that an instance has; nothing if it is."""
    if asked == has.name and asked in PRESETS:
        return ""
    if find_fleet(asked).document == has.document:
        return ""
    return f'an earlier content of "{asked}"' if asked == has.name else f'the fleet "{has.name}"'


def chosen_fleet(config: Config) -> Fleet | None:
    """The fleet that is asked for, else the one this instance had; from now on it has it."""
    has = remembered_fleet(config)
    if config.fleet is None:
        return has
    if has is None:
        fleet = find_fleet(config.fleet)
        kept = json.dumps({"name": fleet.name, "fleet": fleet.document}, indent=1)
        write_private(config.fleet_file, f"{kept}\n".encode())
        return fleet
    if other := differs(config.fleet, has):
        raise UsageError(
            f"the simulated members in {config.data_dir} are of {other}; "
            "try: another --data-dir, or atoll down --purge first"
        )
    return has
