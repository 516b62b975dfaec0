"""`python -m dlbridge`, whose commands are in packages that nothing else imports."""

from __future__ import annotations

import argparse
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
        return command.run(parser.parse_args(), doctor)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
