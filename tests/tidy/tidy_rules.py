"""The house rules that no other tool checks: sources in, problems with their remedies out.

Rules about one file are functions of a Source; rules about the whole repository take what they
compare. Each has a bad example in `test_tidy`, so that a rule that cannot fail is noticed.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from tidy_source import Problem, Source

Found = Iterator[tuple[int, str]]

FUNCTION_LINES_MAX = 60
FILE_LINES_MAX = 500
POSITIONAL_MAX = 5
# What asserts on a test's behalf, besides check..., assert... and expect...: pytest's own, and the
# API suite's claim that an answer is a Status that says this and nothing else.
CHECKERS = {"raises", "warns", "refusal"}

PURE = (
    "atoll/model",
    "atoll/scheduling",
    "atoll/dialects",
    "atoll/control/*/decide",
    "atoll/control/patience.py",
    "atoll/hosting/leading.py",
    "atoll/interpreting",
    *(f"atoll/apiserver/{name}" for name in ("schemas", "patching", "applying", "kinds", "fields")),
)
VAGUE_NAMES = {"util", "utils", "helper", "helpers", "common", "misc", "base", "manager"}

OWNED = "every task has an owner; use atoll.runtime (Children.spawn, Supervisor.start)"
TASK_CALLS = {
    "asyncio.create_task": OWNED,
    "asyncio.ensure_future": OWNED,
    "asyncio.gather": OWNED,
    "asyncio.wait": "wait for owned tasks with Children.drain or a Supervisor",
    "asyncio.as_completed": "it walks a set of addresses; await owned tasks in order",
    "asyncio.shield": "a shielded task has no owner; give it to Children.spawn",
    "asyncio.to_thread": "only the store owns a thread",
    "asyncio.get_event_loop": "use asyncio.get_running_loop",
    "asyncio.Condition": "use asyncio.Event; state changes only in plain functions",
    "asyncio.TaskGroup": OWNED,
}
CLOCK = "the wall clock comes from effects.now; the loop's time is asyncio's own"
CHANCE = "chance comes from effects.chance"
CLOCK_CALLS = ("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today")
CLOCK_CALLS += ("datetime.date.today", "time.")
CHANCE_CALLS = ("random.", "secrets.", "uuid.uuid1", "uuid.uuid4", "os.urandom")


def function_length(source: Source) -> Found:
    for node in source.each(ast.FunctionDef, ast.AsyncFunctionDef):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > FUNCTION_LINES_MAX:
            most = FUNCTION_LINES_MAX
            yield node.lineno, f"{node.name} has {lines} lines; split it, {most} is the most"


def file_length(source: Source) -> Found:
    lines = source.text.count("\n")
    if lines > FILE_LINES_MAX:
        yield lines, f"{lines} lines; split the file by concept, {FILE_LINES_MAX} is the most"


def positional_parameters(source: Source) -> Found:
    for node in source.each(ast.FunctionDef, ast.AsyncFunctionDef):
        names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
        if len(names) - (names[:1] in (["self"], ["cls"])) > POSITIONAL_MAX:
            yield (
                node.lineno,
                f"{node.name}: group what travels together, or put a * before the rest",
            )


def task_calls(source: Source) -> Found:
    if not source.under("atoll") or source.under("atoll/runtime"):
        return
    for node in source.each(ast.Call):
        name = source.dotted(node.func)
        if name in TASK_CALLS:
            yield node.lineno, f"{name}: {TASK_CALLS[name]}"
        elif name.endswith((".create_task", ".ensure_future")):
            yield node.lineno, f"{name}: {OWNED}"
        elif name.endswith(".run_in_executor") and not source.under("atoll/store"):
            yield node.lineno, f"{name}: only the store owns a thread"


def clock_and_chance(source: Source) -> Found:
    if not source.under("atoll", "simulation") or source.under("atoll/effects.py"):
        return
    for node in source.each(ast.Call):
        name = source.dotted(node.func)
        if name.startswith(CLOCK_CALLS) and not source.under("atoll/cli"):
            yield node.lineno, f"{name}: {CLOCK}"
        elif name.startswith(CHANCE_CALLS):
            yield node.lineno, f"{name}: {CHANCE}"


def module_name(source: Source) -> Found:
    for part in source.path.removesuffix(".py").split("/"):
        if part in VAGUE_NAMES:
            yield 1, f"`{part}` says nothing; put each function with the noun it serves"


def swallowed_cancellation(source: Source) -> Found:
    remedy = "name the errors you expect; a caught cancellation makes a task immortal"
    for node in source.each(ast.ExceptHandler):
        if node.type is None or _names_cancellation(source, node.type):
            yield node.lineno, remedy
    for call in source.each(ast.Call):
        if source.dotted(call.func).endswith("suppress"):
            for argument in call.args:
                if _names_cancellation(source, argument):
                    yield call.lineno, remedy


def _names_cancellation(source: Source, node: ast.expr) -> bool:
    names = node.elts if isinstance(node, ast.Tuple) else [node]
    last = {source.dotted(name).rpartition(".")[2] for name in names}
    return bool(last & {"BaseException", "CancelledError", "BaseExceptionGroup"})


def unfinished(source: Source) -> Found:
    for number, line in enumerate(source.text.splitlines(), 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            yield number, "finish it, or delete the note"


def unordered_iteration(source: Source) -> Found:
    if not source.under(*PURE):
        return
    walked = [(node.lineno, node.iter) for node in source.each(ast.For)]
    walked += [(node.iter.lineno, node.iter) for node in source.each(ast.comprehension)]
    for call in source.each(ast.Call):
        name = source.dotted(call.func)
        if name in ("list", "tuple", "enumerate", "iter") or name.endswith(".join"):
            walked += [(call.lineno, argument) for argument in call.args[:1]]
    for line, walk in walked:
        called = source.dotted(walk.func) if isinstance(walk, ast.Call) else ""
        if isinstance(walk, ast.Set | ast.SetComp) or called in ("set", "frozenset"):
            yield line, "the order of a set differs from run to run; use sorted(...)"


def module_docstring(source: Source) -> Found:
    # An empty __init__.py only marks a folder as a package.
    if source.text and not ast.get_docstring(source.tree):
        yield 1, "say what comes in, what goes out and what the module does not know"


def printing(source: Source) -> Found:
    if source.under("atoll/cli", "bench", "scripts", "testenv", "examples"):
        return
    if source.path.endswith("__main__.py"):
        return
    for node in source.each(ast.Call):
        if source.dotted(node.func) == "print":
            yield node.lineno, "only commands print; return it, or log it in the shell"


def log_wording(source: Source) -> Found:
    """An event is a sentence without a full stop, and what it is about has names."""
    for node in source.each(ast.Call):
        if not re.fullmatch(r"log\.(debug|info|warning|error|exception)", source.dotted(node.func)):
            continue
        sentence = node.args[0]
        if isinstance(sentence, ast.Constant) and isinstance(sentence.value, str):
            text = sentence.value
            if re.search(r"%[sdrgf]", text):
                yield node.lineno, "a value has a name: %(cluster)s, and a mapping with it"
            if not re.match(r"[A-Z]|%\(", text) or text.endswith("."):
                yield node.lineno, "an event begins with a capital and ends without a full stop"


CODE_RULES = (
    *(function_length, file_length, positional_parameters, task_calls, clock_and_chance),
    *(module_name, swallowed_cancellation, unfinished, unordered_iteration, module_docstring),
    printing,
    log_wording,
)


def missing_assertion(source: Source) -> Found:
    for node in source.each(ast.FunctionDef, ast.AsyncFunctionDef):
        if node.name.startswith("test_") and not _asserts(node):
            yield node.lineno, f"{node.name} asserts nothing; it can only fail by accident"


def _asserts(function: ast.AST) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in CHECKERS or name.startswith(("check", "assert", "expect")):
                return True
    return False


def skip_without_reason(source: Source) -> Found:
    reasoned = set()
    for call in source.each(ast.Call):
        name = source.dotted(call.func)
        needs = 2 if name.endswith("skipif") else 1
        if any(keyword.arg == "reason" for keyword in call.keywords) or len(call.args) >= needs:
            reasoned.add(call.func)
    for node in source.each(ast.Attribute):
        name = source.dotted(node)
        if re.fullmatch(r"pytest\.(mark\.)?(skip|skipif|xfail)", name) and node not in reasoned:
            yield node.lineno, f"{name}: say why, in the words the next reader needs"


def dead_references(
    pages: Mapping[str, str], files: Iterable[str], targets: set[str]
) -> Iterator[Problem]:
    """Files that the documentation names and that do not exist, and make targets likewise."""
    known = set(files)
    known |= {"/".join(name.split("/")[:depth]) for name in files for depth in range(1, 9)}
    tops = {name.partition("/")[0] for name in known if "/" in name}
    for page, text in pages.items():
        for number, line in enumerate(text.splitlines(), 1):
            for name in _named_files(page, line, tops):
                if name not in known:
                    yield Problem(page, number, f"{name} does not exist; correct the name")
            for target in re.findall(r"(?:^\s*|`)\$?\s*make ([a-z][a-z-]*)", line):
                if target not in targets:
                    yield Problem(page, number, f"the Makefile has no target {target}")


def _named_files(page: str, line: str, tops: set[str]) -> Iterator[str]:
    folder = page.rpartition("/")[0]
    for link in re.findall(r"\]\(([^)#\s]+)", line):
        if "://" not in link and not link.startswith("mailto:"):
            parts: list[str] = []
            for part in f"{folder}/{link}".split("/"):
                if part == "..":
                    parts.pop()
                elif part not in ("", "."):
                    parts.append(part)
            yield "/".join(parts)
    for name in re.findall(r"`([\w./-]+)`", line):
        if name.partition("/")[0] in tops and "/" in name:
            yield name.rstrip("/")


def makefile_targets(text: str) -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", text, flags=re.MULTILINE))


MACHINE_PATH = re.compile(
    r"(?<![\w.:}\])/-])/(work|tmp|root|home)/\w|--(extra-)?index-url|--trusted-host"
)


def machine_paths(path: str, text: str) -> Iterator[Problem]:
    """Paths that exist only on the author's machine."""
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATH.search(line):
            yield Problem(path, number, "another machine does not have this; use a relative path")
