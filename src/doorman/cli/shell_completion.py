"""`doorman completion bash|zsh|fish`: what a shell needs to complete commands, flags and names."""

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion of a shell.

    \b
    source <(doorman completion bash)
    doorman completion zsh > "${fpath[1]}/_doorman"
    doorman completion fish > ~/.config/fish/completions/doorman.fish
    """
    from doorman.cli.main import main

    found = get_completion_class(shell)
    assert found is not None, "click knows these"
    click.echo(found(main, {}, "doorman", "_DOORMAN_COMPLETE").source())
