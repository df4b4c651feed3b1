"""Where in a YAML file something is wrong: at which line, for the field that an error names."""

import re

import yaml

_STEP = re.compile(r"[^.\[\]]+")


def line_of(source: str, field: str) -> int:
    """The line of a field such as `rules[0].level`, or of the nearest thing around it."""
    near = yaml.compose(source, Loader=yaml.SafeLoader)
    for step in _STEP.findall(field):
        inner = _inside(near, step)
        if inner is None:
            break
        near = inner
    return int(near.start_mark.line) + 1


def _inside(node: yaml.Node, step: str) -> yaml.Node | None:
    match node:
        case yaml.MappingNode():
            return next((value for key, value in node.value if key.value == step), None)
        case yaml.SequenceNode() if step.isdecimal() and int(step) < len(node.value):
            found: yaml.Node = node.value[int(step)]
            return found
    return None


def fault(error: yaml.YAMLError) -> str:
    """What the reader of YAML says, in one line, with the line of the file."""
    match error:
        case yaml.MarkedYAMLError(problem=str(problem), problem_mark=yaml.Mark(line=line)):
            return f"line {line + 1}: {problem}"
    return " ".join(str(error).split())
