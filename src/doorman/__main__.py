"""`doorman`, and `python -m doorman`.

Whoever interrupts it while it is still being loaded ends it, and is told nothing: there is nothing to tell. From then
on an interruption is the command's own affair.
"""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)

import os  # noqa: E402  an interruption is quiet from here on
import sys  # noqa: E402

import click  # noqa: E402

from doorman.cli.main import main  # noqa: E402

INTERRUPTED = 128 + signal.SIGINT

# numpy is used without linear algebra; the threads that it starts for that would take a core while a server starts.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def start() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = main(prog_name="doorman", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stdout = None  # whoever read it has seen enough
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    start()
