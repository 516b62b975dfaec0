"""Processes that end in time, with all that they started; what they said until then is kept."""

import os
import signal
import subprocess
import tempfile
import time
from typing import NamedTuple


class Ended(NamedTuple):
    status: int
    is_late: bool
    said: str
    complained: str  # What came by stderr.
    seconds: float

    @property
    def is_well(self):
        return self.status == 0

    def how(self):
        """How it ended, in words."""
        if self.is_late:
            return f"took more than {self.seconds:.0f} s"
        if self.status < 0:
            return f"was ended by {signal.Signals(-self.status).name}"
        return f"ended with status {self.status}"

    def last_line(self):
        lines = (self.said.strip() or self.complained.strip()).splitlines()
        return lines[-1] if lines else "it said nothing"


def attempt(command, environment, limit):
    """Runs a command with a time limit in seconds."""
    # Not through pipes, which a process that such a process started could hold open.
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        begin = time.monotonic()
        # In a group of its own, to be ended with all that it started.
        process = subprocess.Popen(
            command, env=environment, stdout=said, stderr=complained, start_new_session=True
        )
        is_late = False
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            is_late = True
        finally:
            end(process)
        return Ended(
            process.wait(), is_late, text(said), text(complained), time.monotonic() - begin
        )


def end(process):
    """Ends a process, and also what is left of its group when it has ended itself."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def text(file):
    file.seek(0)
    return file.read().decode(errors="replace")
