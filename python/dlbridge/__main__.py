"""`python -m dlbridge`, whose commands are in packages that nothing else imports."""

from __future__ import annotations

import argparse
import os
import sys


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m dlbridge", description="Tensors between frameworks."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    text = "finds out what becomes of tensors between the frameworks that are installed"
    doctor = commands.add_parser("doctor", help=text, description=text)

    from ._doctor import command

    command.add_arguments(doctor)
    try:
        status = command.run(parser.parse_args(), doctor)
        if sys.stdout:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Who read it has gone, as `head` does: Python would say so once more as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
