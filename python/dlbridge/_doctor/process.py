"""A pair's process as its parent sees it: what it says, how long it is silent, and how it ends."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import IO, Any

#: What keeps frameworks quiet, and from taking all the cores.
ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


class Running:
    """A process that runs one task, and is iterated for what is said of it."""

    def __init__(self) -> None:
        # Not through a pipe, which no code reads meanwhile.
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        self._errors_read = 0
        self._lines: queue.Queue[str | None] = queue.Queue()

    def _listen(self, answers: IO[str]) -> None:
        with answers:
            for line in answers:
                self._lines.put(line)
        self._lines.put(None)

    def messages(self, first_limit: float, limit: float) -> Iterator[dict[str, Any]]:
        """What it says, until it ends. A `TimeoutError` where it is silent for longer than the
        limit.
        """
        seconds = first_limit
        while True:
            try:
                line = self._lines.get(timeout=seconds)
            except queue.Empty:
                self.stop()
                raise TimeoutError(f"it was silent for {seconds:g} seconds") from None
            if line is None:
                return
            yield json.loads(line)
            seconds = limit

    def stop(self) -> None:
        raise NotImplementedError

    def status(self) -> int | None:
        """The exit status, waited for; None if it doesn't exit and was killed."""
        raise NotImplementedError

    def status_in_words(self, status: int) -> str:
        """A status, and what was written since this was last asked."""
        # By its own position, which the process's way of writing doesn't share.
        data = (
            os.pread(self._errors.fileno(), 1 << 20, self._errors_read)
            if hasattr(os, "pread")
            else b""
        )
        self._errors_read += len(data)
        words = last_words(data.decode(errors="replace"))
        return f"{status_name(status)}: {words}" if words else status_name(status)

    @property
    def was_ended_from_outside(self) -> bool:
        return is_from_outside(self.status() or 0)

    def ending(self) -> str | None:
        """How it ended, in words, if that wasn't well."""
        status = self.status()
        if status is None:
            return "it doesn't exit"
        return self.status_in_words(status) if status else None


class Process(Running):
    """An interpreter of its own, which imports what the task needs."""

    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dlbridge._doctor.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**ENVIRONMENT, **os.environ},
            text=True,
            encoding="utf-8",
            # In a group of its own, to be ended with all that it started.
            start_new_session=True,
        )
        assert self._process.stdout
        try:
            threading.Thread(target=self._listen, args=[self._process.stdout], daemon=True).start()
            assert self._process.stdin
            with self._process.stdin as stdin:
                stdin.write(json.dumps(task))
        except BrokenPipeError:
            pass  # It has ended, as is found out soon.
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        kill_group(self._process)

    def status(self) -> int | None:
        try:
            return self._process.wait(60)
        except subprocess.TimeoutExpired:
            self.stop()
            self._process.wait()
            return None


def kill_group(leader: subprocess.Popen[Any]) -> None:
    """Ends a process that leads a group, and all that it started."""
    try:
        os.killpg(leader.pid, signal.SIGKILL)
    except AttributeError:  # Windows has no groups.
        leader.kill()
    except ProcessLookupError:
        pass


#: Whose signals come from outside, and say nothing of the frameworks.
_FROM_OUTSIDE = [
    -getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)
]


def is_from_outside(status: int) -> bool:
    """Whether a process was ended by an external signal."""
    return status in _FROM_OUTSIDE


def status_name(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


_TELLING = re.compile(
    r"Check failed|[Ee]rror|terminate called|what\(\)|panicked|corrupt|free\(\)|Fatal|Assert"
)


def last_words(text: str) -> str:
    """The line of what a process wrote that tells the most about its end, without paths, times and
    addresses.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [
        line
        for line in lines
        if _TELLING.search(line) and not line.startswith("Fatal Python error")
    ]
    if not telling:
        return ""
    line = re.sub(r"^[FEWI]\d{4} \S+\s+\d+ ([\w.]+:\d+\])", r"\1", telling[-1])
    return without_paths(line)[:200]


def without_paths(text: str) -> str:
    """A text that reads the same wherever things are installed, and that can be printed."""
    text = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
    text = re.sub(r"(?<![\w.])(?:/[\w.+-]+)+/(?=[\w.+-])", "", text)
    return re.sub(r"0x[0-9a-f]{5,}", "0x…", text)
