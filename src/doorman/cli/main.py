"""`doorman`: commands are loaded when they are used, so that starting one does not pay for the others."""

import importlib
from typing import Final

import click

from doorman.base.process_memory import loading
from doorman.version import __version__

_COMMANDS: Final = {
    "up": ("doorman.cli.up", "Start a control plane of your own."),
    "status": ("doorman.cli.servers.server_commands:status_command", "Show clusters that run in the background."),
    "down": ("doorman.cli.servers.server_commands:down_command", "Stop a cluster that runs in the background."),
    "logs": ("doorman.cli.servers.server_commands:logs_command", "Print what its server said."),
    "kubeconfig": ("doorman.cli.servers.server_commands:kubeconfig_command", "Print its kubeconfig."),
    "scheduler": ("doorman.cli.attached.scheduler_command", "Run the scheduler against an API server."),
    "controllers": ("doorman.cli.attached.controllers_command", "Run controllers against an API server."),
    "nodes": ("doorman.cli.attached.nodes_command", "Run simulated nodes of an API server."),
    "taint": ("doorman.cli.taint", "Update the taints on one or more nodes, as kubectl taint does."),
    "plan": ("doorman.cli.planning.plan_command", "Ask before you act: what a taint, a drain or a lost zone will do."),
    "failover": ("doorman.cli.planning.failover_command", "Say how long a workload is not whole when a node dies."),
    "snapshot": ("doorman.cli.planning.snapshot_command", "Save a cluster as it is, to plan with it or take it up."),
    "get": ("doorman.cli.objects.get", "Show nodes, pods and everything else that is served."),
    "describe": ("doorman.cli.describe.describe_command", "Show everything there is to know of objects."),
    "events": ("doorman.cli.objects.events_command", "List events."),
    "wait": ("doorman.cli.objects.wait_command", "Wait until objects are as you want them."),
    "apply": ("doorman.cli.objects.apply", "Create or update objects from a file."),
    "node": ("doorman.cli.nodes.node", "Add, fail, recover, press or remove simulated nodes."),
    "cordon": ("doorman.cli.nodes.drain_command:cordon_command", "Let no new pods onto nodes."),
    "uncordon": ("doorman.cli.nodes.drain_command:uncordon_command", "Let new pods onto nodes again."),
    "drain": ("doorman.cli.nodes.drain_command:drain_command", "Cordon nodes and evict their pods."),
    "clock": ("doorman.cli.move_clock", "Show or move the clock of `doorman up --clock=virtual`."),
    "device": ("doorman.cli.nodes.simulated_device", "Taint, untaint, fail or recover devices of simulated nodes."),
    "why": ("doorman.cli.why", "Say why a pod is where it is, is not placed, or is gone."),
    "lint": ("doorman.cli.lint.lint_command", "Find tolerations, taints and budgets that do not do what they say."),
    "delete": ("doorman.cli.objects.delete", "Delete objects by name or from a file."),
    "backup": ("doorman.cli.storage.backup_command:backup_command", "Copy what a server keeps to a file."),
    "restore": ("doorman.cli.storage.backup_command:restore_command", "Make a data directory of a backup."),
    "certs": ("doorman.cli.servers.certs_command", "Check or renew a server's certificates."),
    "completion": ("doorman.cli.shell_completion", "Print the completion of a shell."),
    "version": ("doorman.cli.print_versions", "Print the versions of client and server."),
    "store": ("doorman.cli.storage.store_command", "Move what is stored between a directory and etcd."),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        found = _COMMANDS.get(cmd_name)
        if found is None:
            return None
        with loading():
            module, _, name = found[0].partition(":")
            command: click.Command = getattr(importlib.import_module(module), name or "command")
        _hide_empty_defaults(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


def _hide_empty_defaults(command: click.Command) -> None:
    """What is not given is nothing: help need not say `[default: ""]`."""
    for option in command.params:
        if isinstance(option, click.Option) and option.default == "":
            option.show_default = False
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _hide_empty_defaults(each)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="doorman")
def main() -> None:
    """Kubernetes' taints and tolerations as a system of its own.

    \b
    doorman up                 start a control plane; kubectl works with it
    doorman taint nodes node-1 key1=value1:NoSchedule
    doorman get pods -o wide
    doorman up --help          what it can be told
    """


if __name__ == "__main__":
    main()
