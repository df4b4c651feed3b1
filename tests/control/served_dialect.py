"""Dialects of policies that live in tests: their kinds are brought by definitions, as any are."""

import subprocess
from pathlib import Path

from sites import until
from whole import Whole

ROOT = Path(__file__).parents[2]
GUIDE = "docs/howto/add-a-dialect.md"


async def serve(it: Whole, api_version: str, kind: str) -> None:
    """Have a plane serve a kind that takes whatever is written, with a status of its own."""
    group, _, version = api_version.partition("/")
    plural = f"{kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural}
    await it.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": names,
                "versions": [{**served, "schema": {"openAPIV3Schema": anything}}],
            },
        }
    )
    await until(lambda: it.hub.plane.mirrored(api_version, kind) is not None)


def warnings(it: Whole, reason: str) -> list[str]:
    """What was told of with this reason, and about what."""
    found = [each for each in it.hub.plane.all("v1", "Event") if each["reason"] == reason]
    return [f"{each['involvedObject']['kind']}: {each['message']}" for each in found]


def naming(*words: str) -> set[str]:
    """The folders of the repository, but for the guide, where a file has one of these words."""
    patterns = [word for each in words for word in ("-e", each)]
    found = subprocess.run(
        ["git", "grep", "-l", "-I", "--untracked", "-F", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {str(Path(each).parent) for each in found.stdout.splitlines() if each != GUIDE}
