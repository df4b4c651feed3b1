"""The command line: one module per command, imported only when that command is used.

Parse, call, print. Whatever goes wrong on purpose ends as one line; only a bug shows a traceback.
"""

import importlib
import os
from functools import partial

import click
from click.shell_completion import CompletionItem

from atoll import __version__
from atoll.cli.failing import INTERRUPTED, exit_code
from atoll.cli.printing import tell, tell_error

# In the order in which a user meets them: the module of each, and what is said of it in a list, so
# that a list of all needs none of them.
COMMANDS = {
    "up": ("atoll.cli.up", "Start the server, or find it running, and say how to use it."),
    "status": ("atoll.cli.status", "Say if the instance is running; exit code 1 if it is not."),
    "down": ("atoll.cli.down", "Stop the server; data is kept, unless --purge is given."),
    "top": ("atoll.cli.top", "Show how full clusters are, or what workloads take."),
    "demo": ("atoll.cli.demo", "Apply a small example, shown as YAML, and see where it goes."),
    "get": ("atoll.cli.get", "Show objects of the plane, or of members with -C or -s."),
    "why": ("atoll.cli.why", "Say why an object is where it is, and not elsewhere."),
    "rebalance": (
        "atoll.cli.rebalance",
        "Propose what is worth placing anew, and do so with --apply.",
    ),
    "join": ("atoll.cli.join", "Make a cluster a member of the plane."),
    "unjoin": ("atoll.cli.leaving", "Have the plane forget a cluster."),
    "token": ("atoll.cli.token", "Make, list or delete tokens with which clusters register."),
    "register": (
        "atoll.cli.register",
        "Register a cluster that pulls, whose agent comes to the plane.",
    ),
    "agent": ("atoll.cli.agent", "Look after a cluster that pulls, until stopped."),
    "unregister": ("atoll.cli.leaving", "Have the plane forget a cluster that pulls."),
    "cordon": ("atoll.cli.taint", "Let nothing new be placed on clusters; what is there stays."),
    "uncordon": ("atoll.cli.taint", "Let clusters be used again that were cordoned."),
    "taint": ("atoll.cli.taint", "Set or remove taints of clusters."),
    "install": (
        "atoll.cli.install",
        "Install the control plane in a cluster, or bring it up to date.",
    ),
    "uninstall": ("atoll.cli.uninstall", "Take the control plane off a cluster."),
    "kubeconfig": ("atoll.cli.kubeconfig", "Show where the kubeconfig is, or what is in it."),
    "fleet": (
        "atoll.cli.fleet",
        "Show the fleets of simulated clusters, or check one of your own.",
    ),
    "chaos": ("atoll.cli.chaos", "Let simulated clusters fail, and heal them."),
    "backup": ("atoll.cli.backup", "Copy all objects to a file, while the server runs or not."),
    "restore": ("atoll.cli.backup", "Put a backup in the place of the instance's objects."),
    "estimator": ("atoll.cli.estimator", "Answer for one cluster how much fits into it, by gRPC."),
    "interpret": (
        "atoll.cli.interpret",
        "Run or check scripts of customizations on objects from files.",
    ),
    "replay": ("atoll.cli.replay", "Decide again what a recorded run decided, and compare."),
    "completion": ("atoll.cli.completion", "Print the completion script of a shell."),
    "run": ("atoll.cli.run", "Be a plane on a Kubernetes cluster, its host, until stopped."),
    "version": ("atoll.cli.version", "Show the version."),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        found = [CompletionItem(name, help=COMMANDS[name][1]) for name in names]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[name][0])
        found: click.Command = getattr(module, name)
        return found


@click.group(
    cls=_Commands,
    help="A multi-cluster control plane for Kubernetes. Start with: atoll up",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="atoll", message="%(prog)s %(version)s")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour: on a terminal (auto), always, or never. NO_COLOR is honoured.",
)
def app(color: str) -> None:
    """Say it the way every program understands, so that an error after all this knows it too."""
    if color != "auto":
        os.environ.pop("NO_COLOR", None)
        os.environ["NO_COLOR" if color == "never" else "CLICOLOR_FORCE"] = "1"


def run(arguments: list[str]) -> int:
    """Carry out a command line and give its exit code."""
    return exit_code(partial(_carry_out, arguments))


def _carry_out(arguments: list[str]) -> int:
    try:
        code = app.main(arguments, prog_name="atoll", standalone_mode=False)
    except click.exceptions.Abort:
        tell("")
        return INTERRUPTED
    except click.ClickException as error:
        _tell_usage(error, arguments)
        return error.exit_code
    return code if isinstance(code, int) else 0


def _tell_usage(error: click.ClickException, arguments: list[str]) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        tell(error.format_message())
        return
    context = getattr(error, "ctx", None)
    where = context.command_path if context else " ".join(["atoll", *_command(arguments)])
    tell_error(f"{error.format_message().rstrip('.')}; try: {where} --help")


def _command(arguments: list[str]) -> list[str]:
    return [each for each in arguments if each in COMMANDS][:1]
