"""`doorman controllers`: the controllers against an API server, with kube-controller-manager's flags."""

from pathlib import Path
from typing import Any, Final

import click

from doorman.base.process_memory import loading
from doorman.cli.attached.component_flags import component_flags, component_settings, run_or_check, set_up_logging
from doorman.cli.attached.known_flags import CONTROLLERS_SWITCHES, CONTROLLERS_VALUES, check_rest
from doorman.cli.control_plane_flags import check_names, controller_flags, controller_settings

NAME: Final = "controllers"
PORT: Final = 10257
_PATH: Final = click.Path(path_type=Path)


@click.command(
    NAME,
    context_settings={
        "show_default": True,
        "max_content_width": 100,
        "ignore_unknown_options": True,
        "allow_extra_args": True,
    },
)
@controller_flags
@click.option(
    "--use-service-account-credentials",
    is_flag=False,
    flag_value=True,
    type=bool,
    default=False,
    help="Each controller acts as its own service account in kube-system.",
)
@click.option("--root-ca-file", type=_PATH, help="Published to every namespace; without it that controller is off.")
@click.option("--cluster-signing-cert-file", type=_PATH, help="Signs certificates; without it that controller is off.")
@click.option("--cluster-signing-key-file", type=_PATH, help="Its key.")
@component_flags(qps=20.0, burst=30, port=PORT, lease="kube-controller-manager")
@click.pass_context
def command(ctx: click.Context, /, **flags: Any) -> None:  # click hands flags over by name
    """Run controllers against an API server, as kube-controller-manager does.

    When everything they need to know has been read, one line on standard output says so. SIGTERM or Ctrl-C stops them.

    \b
    doorman controllers --kubeconfig admin.conf
    doorman controllers --kubeconfig admin.conf --controllers=taint-eviction-controller
    """
    set_up_logging(flags["verbosity"])
    check_rest(ctx.args, CONTROLLERS_VALUES, CONTROLLERS_SWITCHES)
    component = component_settings(NAME, flags)
    settings = controller_settings(flags)
    check_names(settings)
    if (flags["cluster_signing_cert_file"] is None) != (flags["cluster_signing_key_file"] is None):
        raise click.UsageError(
            "--cluster-signing-cert-file and --cluster-signing-key-file go together\nhint: give both"
        )
    with loading():
        from doorman.attached.controllers_component import ControllerFiles, ControllersComponent, controllers_client

    files = ControllerFiles(
        root_ca=_content("--root-ca-file", flags["root_ca_file"]),
        signing_certificate=_content("--cluster-signing-cert-file", flags["cluster_signing_cert_file"]),
        signing_key=_content("--cluster-signing-key-file", flags["cluster_signing_key_file"]),
    )
    uses_accounts = flags["use_service_account_credentials"]
    run_or_check(
        component,
        controllers_client,
        lambda around: ControllersComponent(around, component, settings, files, uses_accounts=uses_accounts),
        checks_access=flags["check_access"],
    )


def _content(flag: str, file: Path | None) -> bytes:
    if file is None:
        return b""
    try:
        return file.read_bytes()
    except OSError as error:
        raise click.UsageError(f"{flag} {file}: {error.strerror}\nhint: is the path right?") from error
