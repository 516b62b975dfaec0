"""A process that has imported frameworks and used none, and forks one process for each task.

An import takes seconds, and a fork of a process that did it some milliseconds. Each task has a
process of its own as before. What they share is that other frameworks than the task's are imported
too.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

from .frameworks import adapter_class
from .process import ENVIRONMENT, Running, kill_group

_LONGEST = 1 << 20


class Nursery:
    """A nursery as its parent sees it."""

    def __init__(self, sock: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._socket, self._process = sock, process
        self._lock = threading.Lock()

    @classmethod
    def start(cls, adapters: list[str], limit: float) -> Nursery | None:
        """Returns a process that has imported these adapters' frameworks; None where it ends, or
        takes too long.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "dlbridge._doctor.nursery", str(theirs.fileno()), *adapters],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**ENVIRONMENT, **os.environ},
                start_new_session=True,
            )
        return cls(ours, process)._ready(limit)

    def grow(self, adapter: str, limit: float) -> Nursery | None:
        """Returns another nursery, a fork of this one that has imported one more framework."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._send({"grow": adapter}, [theirs.fileno()])
        return Nursery(ours)._ready(limit)

    def _ready(self, limit: float) -> Nursery | None:
        self._socket.settimeout(limit)
        try:
            if self._socket.recv(_LONGEST):
                self._socket.settimeout(None)
                return self
        except OSError:
            pass
        except BaseException:  # An interrupt, as imports take long.
            self.close()
            raise
        self.close()
        return None

    def _send(self, task: dict[str, Any], files: list[int]) -> None:
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(task).encode()], files)

    def run(self, task: dict[str, Any]) -> Running:
        """Starts a task in a process of its own. An `OSError` where the nursery has ended."""
        fork = _Fork()
        fork.start(self._send, task)
        return fork

    def close(self) -> None:
        """Ends the nursery, and those that were grown from it, which may hang in an import."""
        self._socket.close()
        if self._process is not None:
            kill_group(self._process)
            self._process.wait()


class _Fork(Running):
    """A task's process, which a nursery forked. What it ends with is told by its keeper, on
    a pipe.
    """

    def start(self, send: Any, task: dict[str, Any]) -> None:
        answers, answers_of_task = os.pipe()
        keeper, keeper_of_task = os.pipe()
        self._keeper = os.fdopen(keeper)
        self._status: int | None = None
        self._is_over = False
        try:
            send(task, [answers_of_task, self._errors.fileno(), keeper_of_task])
        except OSError:
            os.close(answers)
            raise
        finally:
            os.close(answers_of_task)
            os.close(keeper_of_task)
        # Nothing is there where the nursery ended meanwhile.
        self._pid = int(self._keeper.readline() or 0)
        threading.Thread(target=self._listen, args=[os.fdopen(answers)], daemon=True).start()

    def stop(self) -> None:
        try:
            if self._pid and not self._is_over:
                os.killpg(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def status(self) -> int | None:
        if self._is_over:
            return self._status
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            self.stop()

        patience = threading.Timer(60, give_up)
        patience.start()
        with self._keeper:
            # A keeper never ends without a word, unless it was killed too.
            self._status = int(self._keeper.readline() or -signal.SIGKILL)
        patience.cancel()
        self._is_over = True
        if is_late.is_set():
            self._status = None
        return self._status


def main() -> None:
    number, *adapters = sys.argv[1:]
    serve(socket.socket(fileno=int(number)), adapters)


def serve(sock: socket.socket, adapters: list[str]) -> None:
    """Imports frameworks and forks for tasks, until the runner closes the pipe. Forks return when
    they have done theirs.
    """
    _import(adapters)
    sock.send(b"ready")
    while True:
        # Keepers aren't waited for.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        data, files, _, _ = socket.recv_fds(sock, _LONGEST, 3)
        if not data:
            os._exit(0)
        task = json.loads(data)
        if os.fork() == 0:
            sock.close()
            if "grow" in task:
                sock, adapters = socket.socket(fileno=files[0]), [task["grow"]]
                _import(adapters)
                sock.send(b"ready")
                continue
            return _keep(task, *files)
        for file in files:
            os.close(file)


def _import(adapters: list[str]) -> None:
    for adapter in adapters:
        try:
            adapter_class(adapter)()
        except Exception:
            pass  # The processes of its pairs find the same, and say so.
    gc.collect()
    gc.freeze()  # What they loaded isn't looked through again in each fork.


def _keep(task: dict[str, Any], answers: int, errors: int, keeper: int) -> None:
    """Runs a task in another fork, and tells its number and how it ended. Only that one returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(keeper)
        os.dup2(answers, 1)
        os.dup2(errors, 2)
        os.close(answers)
        os.close(errors)
        from .child import run

        return run(task, may_watch=False)
    os.close(answers)
    os.write(keeper, f"{child}\n".encode())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(keeper, f"{status}\n".encode())
    os._exit(0)


if __name__ == "__main__":
    main()
