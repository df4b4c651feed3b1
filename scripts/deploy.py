"""What of deploy/ follows from the product: definitions, rights, and plain manifests.

Nothing comes in but the product itself; files are written that the charts and `kubectl apply` use.
A test holds them up to date: `make deploy` writes them anew.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from atoll.hosting.definitions import host_definitions
from atoll.hosting.deploying import everything
from atoll.hosting.installation import Installation
from atoll.hosting.registering import roles
from atoll.hosting.rights import RIGHTS

Json = dict[str, Any]

TARGET = Path(__file__).parents[1] / "deploy"
_HEAD = "# Made by `make deploy`; do not edit.\n"


class _Plain(yaml.SafeDumper):
    """Writes a value that occurs twice twice: not every reader knows references."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def files() -> dict[str, str]:
    """What belongs into which file below deploy/."""
    rights = {"everywhere": list(RIGHTS.everywhere), "atHome": list(RIGHTS.at_home)}
    return {
        **{
            f"chart/crds/{each['metadata']['name']}.yaml": _text([each])
            for each in host_definitions()
        },
        "chart/files/rights.yaml": _text([rights]),
        "chart/files/roles.yaml": _text(wire for _, wire in roles()),
        "manifests/atoll.yaml": _text(everything(Installation())),
    }


def _text(documents: Iterable[Json]) -> str:
    written: str = yaml.dump_all(documents, Dumper=_Plain, sort_keys=False, allow_unicode=True)
    return _HEAD + written


def main() -> None:
    for name, text in files().items():
        path = TARGET / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
