"""How Kubernetes' kinds are laid out in protobuf, read from the Go structs that define them.

In: the Go modules that the testenv is built from, and the OpenAPI definitions to describe. Out: per
definition its fields, each with its number, its JSON name and what becomes of its zero value. Wire
types are not among the facts: they follow from the OpenAPI type of a field.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testenv.build import MODULE, cache_directory, versions
from testenv.errors import Unavailable
from testenv.toolchain import find_go

Definition = Mapping[str, Any]
Field = list[int | str]  # [number, JSON name] or [number, JSON name, mark]

# Where OpenAPI's names lead to: a prefix of definitions to the module that has their Go types.
MODULES = {
    "io.k8s.api.": "k8s.io/api",
    "io.k8s.apimachinery.": "k8s.io/apimachinery",
    "io.k8s.apiextensions-apiserver.": "k8s.io/apiextensions-apiserver",
    "io.k8s.kube-aggregator.": "k8s.io/kube-aggregator",
}
# Where a struct has the names of its protobuf form and JSON another form entirely.
BY_HAND = frozenset(
    [
        "FieldsV1",
        "IntOrString",
        "JSON",
        "JSONSchemaPropsOrArray",
        "JSONSchemaPropsOrBool",
        "JSONSchemaPropsOrStringArray",
        "MicroTime",
        "Patch",
        "Quantity",
        "RawExtension",
        "Time",
    ]
)
# Read as JSON only: what a server says of itself.
NO_MESSAGE = frozenset(["io.k8s.apimachinery.pkg.version.Info"])

_struct = re.compile(r"^type (\w+) struct ?\{(?:\}|\n(.*?)^\})", re.MULTILINE | re.DOTALL)
_field = re.compile(r"^\t(?:(\w+)\s+)?([\w.*\[\]]+)\s+`([^`\n]*)`", re.MULTILINE)
_tag = re.compile(r'(\w+):"([^"]*)"')
_wrapped = re.compile(r"^// \+protobuf\.nullable=true\n(?://.*\n|\n)*type (\w+) \[\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Package:
    """The structs of one Go package by name, and its slices that are messages of their own."""

    structs: Mapping[str, str]
    wrapped: frozenset[str]


def messages(definitions: Mapping[str, Definition]) -> dict[str, list[Field]]:
    """The protobuf fields of each definition, and of the structs inlined into one."""
    directories = module_directories()
    packages: dict[str, Package] = {}
    found: dict[str, list[Field]] = {}
    waiting = [name for name in definitions if _has_message(name)]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        prefix, _, struct = name.rpartition(".")
        if prefix not in packages:
            packages[prefix] = _package(_directory(prefix, directories))
        found[name] = sorted(_fields(prefix, struct, packages[prefix]))
        waiting += [str(field[1]) for field in found[name] if field[2:] == ["inline"]]
    _compare(definitions, found)
    return found


def _has_message(name: str) -> bool:
    return name.rpartition(".")[2] not in BY_HAND and name not in NO_MESSAGE


def module_directories() -> dict[str, Path]:
    """Where the modules are, in the versions that the testenv pins; fetches what is missing."""
    go = find_go(cache_directory(), versions()["go"])
    command = [str(go), "mod", "download", "-json", *MODULES.values()]
    # A GOROOT that is set would be that of another Go.
    kept = {key: value for key, value in os.environ.items() if key != "GOROOT"}
    environment = kept | {"GOWORK": "off", "GOTOOLCHAIN": "local"}
    done = subprocess.run(
        command, cwd=MODULE, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Unavailable(f"the Go modules cannot be had: {done.stderr.strip()}")
    decoder, text, directories = json.JSONDecoder(), done.stdout, {}
    while text := text.lstrip():
        module, end = decoder.raw_decode(text)
        directories[module["Path"]] = Path(module["Dir"])
        text = text[end:]
    return {prefix: directories[path] for prefix, path in MODULES.items()}


def _directory(package: str, directories: Mapping[str, Path]) -> Path:
    for prefix, directory in directories.items():
        if package.startswith(prefix):
            return directory.joinpath(*package.removeprefix(prefix).split("."))
    sys.exit(f"{package} is in none of the Go modules")


def _package(directory: Path) -> Package:
    structs: dict[str, str] = {}
    wrapped: set[str] = set()
    for path in sorted(directory.glob("*.go")):
        if path.name.startswith(("generated.", "zz_generated.")) or path.name.endswith("_test.go"):
            continue
        text = path.read_text(encoding="utf-8")
        structs.update((match[1], match[2] or "") for match in _struct.finditer(text))
        wrapped.update(match[1] for match in _wrapped.finditer(text))
    return Package(structs, frozenset(wrapped))


def _fields(prefix: str, struct: str, package: Package) -> Iterator[Field]:
    for match in _field.finditer(package.structs[struct]):
        tags = dict(_tag.findall(match[3]))
        if "protobuf" not in tags:
            continue
        number = int(tags["protobuf"].split(",")[1])
        name, *options = tags["json"].split(",")
        if not name:
            yield [number, f"{prefix}.{match[2]}", "inline"]
            continue
        mark = _mark(match[2], options, package)
        yield [number, name, mark] if mark else [number, name]


def _mark(go_type: str, options: Iterable[str], package: Package) -> str:
    """What becomes of a zero: kept behind a pointer, else omitted where the JSON tag says so."""
    if go_type.rpartition("]")[2] in package.wrapped:
        return "wrapped"
    if go_type.startswith("*"):
        return "pointer"
    return next((option for option in ("omitzero", "omitempty") if option in options), "")


def _compare(definitions: Mapping[str, Definition], found: Mapping[str, list[Field]]) -> None:
    """Both sources must know the same fields, or one of them has been misread."""
    for name, definition in definitions.items():
        if not _has_message(name):
            continue
        known = set(definition.get("properties", ())) - {"kind", "apiVersion"}
        read = set(_names(name, found)) - {"kind", "apiVersion"}
        if known != read:
            sys.exit(f"{name}: OpenAPI and Go differ in {sorted(known ^ read)}")


def _names(name: str, found: Mapping[str, list[Field]]) -> Iterator[str]:
    for field in found[name]:
        if field[2:] == ["inline"]:
            yield from _names(str(field[1]), found)
        else:
            yield str(field[1])
