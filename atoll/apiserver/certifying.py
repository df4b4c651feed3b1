"""The program that makes a server's credentials, and ends: DIRECTORY NOW NAMES...

What makes certificates takes memory that a server would hold for the rest of its life. Why they
cannot be made is said on the standard output, as JSON.
"""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from atoll.apiserver.certificates import ensure_credentials
from atoll.errors import Damaged


def main(directory: str, now: str, *names: str) -> None:
    try:
        ensure_credentials(Path(directory), datetime.fromisoformat(now), more_names=names)
    except Damaged as error:
        _refuse({"damaged": str(error)})
    except OSError as error:
        _refuse({"system": [error.errno, error.strerror, str(error.filename)]})


def _refuse(why: dict[str, Any]) -> NoReturn:
    json.dump(why, sys.stdout)
    sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
