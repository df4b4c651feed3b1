"""`atoll token`: what a cluster shows once, to register with the plane by itself."""

from urllib.parse import urlsplit

import click

from atoll.cli.failing import CommandFailed
from atoll.cli.options import duration_option, listed
from atoll.cli.output import show_table
from atoll.cli.printing import seconds, show
from atoll.cli.reaching import Plane, plane_options
from atoll.cli.tables import Column
from atoll.effects import system_now
from atoll.members import tokens
from atoll.members.tokens import GROUP, USAGES, Token

_HELP = """Make, list or delete tokens with which clusters register by themselves.

\b
atoll token create --print-register-command
atoll token list
atoll token delete abcdef
"""
_COLUMNS = (
    Column("TOKEN"),
    Column("TTL"),
    Column("EXPIRES", 2),
    Column("USAGES", 3),
    Column("DESCRIPTION", 1),
    Column("EXTRA GROUPS", 4),
)


@click.group(help=_HELP)
def token() -> None:
    pass


@token.command(help="Make a token and print it, or the whole command that uses it.")
@duration_option("--ttl", "24h", "How long it is good for; 0: until it is deleted.")
@click.option("--description", default="", help="What it is for.")
@click.option(
    "--groups", multiple=True, callback=listed, default=[GROUP], help="To which its bearer belongs."
)
@click.option(
    "--usages", multiple=True, callback=listed, default=USAGES, help="What it may be used for."
)
@click.option(
    "--print-register-command", is_flag=True, help="Print the command that registers a cluster."
)
@plane_options
def create(
    plane: Plane,
    ttl: float,
    description: str,
    *,
    groups: tuple[str, ...],
    usages: tuple[str, ...],
    print_register_command: bool,
) -> None:
    # First of all, as it may not be possible.
    command = _register_command(plane) if print_register_command else ""
    made = tokens.create(
        plane.client, system_now(), ttl, usages=usages, groups=groups, description=description
    )
    show(command.format(token=made) if command else str(made))


@token.command("list", help="List the tokens there are.")
@plane_options
def list_(plane: Plane) -> None:
    show_table(_COLUMNS, [_row(each) for each in tokens.tokens_of(plane.client)])


@token.command(help="Delete tokens, each given whole or by its first six characters.")
@click.argument("written", metavar="TOKEN...", nargs=-1, required=True)
@plane_options
def delete(plane: Plane, written: tuple[str, ...]) -> None:
    for each in written:
        show(f'bootstrap token "{tokens.delete(plane.client, each)}" deleted')


def _row(each: Token) -> tuple[str, ...]:
    left = each.left_s(system_now())
    return (
        str(each),
        "<forever>" if left is None else seconds(max(left, 0.0)),
        each.ends or "<never>",
        ",".join(each.usages) or "<none>",
        each.description or "<none>",
        ",".join(each.groups) or "<none>",
    )


def _register_command(plane: Plane) -> str:
    endpoint = plane.client.endpoint
    if endpoint.ca is None:
        why = "its certificate is not checked by an authority of its own"
        raise CommandFailed(f"no hash can be given for {endpoint.server}", why)
    hashes = ",".join(tokens.hashes_of(endpoint.ca))
    where = urlsplit(endpoint.server).netloc
    return f"atoll register {where} --token {{token}} --discovery-token-ca-cert-hash {hashes}"
