"""`atoll completion`: what a shell needs in order to complete commands, kinds and names."""

import click
from click.shell_completion import get_completion_class

from atoll.cli.printing import show

_HELP = """Print the completion script of a shell.

\b
  bash:  source <(atoll completion bash)          in ~/.bashrc
  zsh:   source <(atoll completion zsh)           in ~/.zshrc
  fish:  atoll completion fish > ~/.config/fish/completions/atoll.fish
"""


@click.command(help=_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    found = get_completion_class(shell)
    assert found is not None, "click knows the shells it may be asked for"
    show(found(context.find_root().command, {}, "atoll", "_ATOLL_COMPLETE").source().strip("\n"))
