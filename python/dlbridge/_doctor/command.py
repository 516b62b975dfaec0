"""The command `doctor`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from . import elements, frameworks, layouts, markdown, page, table
from .results import Survey
from .runner import ROUTES, Limits, Runner

EPILOG = """The exit status is 0 unless something crashed or was wrong on dlbridge's own route, or
one of a pair can't be used."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    def names(what: str, known: Sequence[str]) -> None:
        help = f"only these, with commas between them, of {', '.join(known)}"
        parser.add_argument(f"--{what}", type=_names_of(what, known), metavar="NAMES", help=help)

    parser.epilog = EPILOG
    names("frameworks", list(frameworks.ADAPTERS))
    names("dtypes", list(elements.BITS))
    names("layouts", list(layouts.LAYOUTS))
    parser.add_argument("--route", choices=ROUTES, help="only this one; both, if not given")
    parser.add_argument("--quick", action="store_true", help=QUICK)
    parser.add_argument("--pair", nargs=2, metavar=("FROM", "TO"), help="only this pair, in detail")
    parser.add_argument("--also", action="append", default=[], metavar="MODULE:CLASS", help=ALSO)
    parser.add_argument("--json", type=_file, metavar="FILE", help="writes all results there")
    parser.add_argument("--html", type=_file, metavar="FILE", help="writes a page to look at")
    parser.add_argument(
        "--markdown", type=_file, metavar="FILE", help="writes what docs/conformance.md is"
    )
    parser.add_argument(
        "--start-limit",
        type=_seconds,
        default=Limits().start,
        metavar="SECONDS",
        help="for imports",
    )
    parser.add_argument(
        "--step-limit",
        type=_seconds,
        default=Limits().step,
        metavar="SECONDS",
        help="for each step",
    )


QUICK = "float32 alone, in three layouts; frameworks are imported once, and each pair is tried in a fork"
ALSO = (
    "another framework: a subclass of dlbridge._doctor.adapters.base.Adapter that can be imported"
)


def _names_of(what: str, known: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        # Which others there are is not known yet.
        if what != "frameworks" and (unknown := [name for name in names if name not in known]):
            raise argparse.ArgumentTypeError(
                f"no {unknown[0]} among the {what}: there are {', '.join(known)}"
            )
        if not names:
            raise argparse.ArgumentTypeError(f"expected names of {what}, got {text!r}")
        return names

    return parse


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    # Not NaN either.
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, got {text!r}")
    return seconds


def _file(text: str) -> Path:
    """A path that can be written, as far as is known before the survey, which takes long."""
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a folder")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text!r} can't be written")
    return path


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    try:
        known = frameworks.known(arguments.also)
    except Exception as error:  # Of a user's own module, any.
        parser.error(f"--also: {type(error).__name__}: {error}")
    wanted = list(arguments.pair or arguments.frameworks or known)
    if unknown := [name for name in wanted if name not in known]:
        parser.error(f"no framework is called {unknown[0]}: there are {', '.join(known)}")
    here = {
        name: path for name, path in known.items() if name in wanted and frameworks.is_here(path)
    }
    if missing := [
        name for name in wanted if name not in here and (arguments.pair or arguments.frameworks)
    ]:
        parser.error(f"{missing[0]} is not installed")
    _raise_when_terminated()
    limits = Limits(arguments.start_limit, arguments.step_limit)
    survey = Runner(here, limits, shares_imports=arguments.quick).survey(
        [arguments.route] if arguments.route else ROUTES,
        arguments.dtypes or (["float32"] if arguments.quick else list(elements.BITS)),
        arguments.layouts or (layouts.QUICK if arguments.quick else list(layouts.LAYOUTS)),
        (arguments.pair[0], arguments.pair[1]) if arguments.pair else None,
        progress,
    )
    report(survey, arguments)
    if arguments.pair and (unusable := [name for name in wanted if name in survey.unusable]):
        print(f"{unusable[0]} can't be used: {survey.unusable[unusable[0]]}")
        return 1
    return 0 if survey.is_well() else 1


def _raise_when_terminated() -> None:
    """Has the signals that end a program raise instead, so that it leaves no process behind."""

    def terminated(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, terminated)


def progress(line: str) -> None:
    if sys.stderr is None:
        return
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        pass  # Who read it has gone, and the reports are written all the same.


def report(survey: Survey, arguments: argparse.Namespace) -> None:
    # Before the table, whose reader may have gone.
    if arguments.json:
        arguments.json.write_text(json.dumps(survey.to_json(), indent=1) + "\n", encoding="utf-8")
    if arguments.html:
        arguments.html.write_text(page.page(survey), encoding="utf-8")
    if arguments.markdown:
        arguments.markdown.write_text(markdown.page(survey), encoding="utf-8")
    if arguments.pair:
        print("\n\n".join(table.details(pair, survey.layouts) for pair in survey.pairs))
    else:
        print(table.overview(survey))
