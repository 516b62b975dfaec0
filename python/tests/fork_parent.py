"""Parent of test processes: imports frameworks once, then forks for each piece of code.

    parent = Parent("torch")
    status, output = parent.run("print(torch.ones(2))", timeout=300, variables={})

A forked process has imported the frameworks and nothing of dlbridge, so that all global state of
dlbridge is new in it. It exits like any other process of Python.
"""

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

# The code of the forked process runs in `__main__` and ends the program, as with `python -c`.
PROGRAM = "import fork_parent; exec(fork_parent.next_code())"


class Parent:
    def __init__(self, imports, environment):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, imports],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )

    def run(self, code, timeout, variables):
        """Runs code in a fork. Returns its exit status, negative for a signal, and its output."""
        with tempfile.NamedTemporaryFile() as output:
            request = {"code": code, "output": output.name, "cwd": os.getcwd()}
            request.update(timeout=timeout, variables=variables)
            print(json.dumps(request), file=self.process.stdin, flush=True)
            status = self.process.stdout.readline()
            assert status, f"the parent of forks ended with status {self.process.wait()}"
            return int(status), output.read().decode(errors="replace")


def next_code():
    """Serves requests from the standard input. Returns the code of each one in a fork."""
    for name in sys.argv[1].split(","):
        __import__(name)
    # What the imports made is not looked at by the collections of forks, before they end.
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)
    requests, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)
    with open(requests) as lines, open(answers, "w") as statuses:
        # `readline`, as an iteration over lines would read ahead.
        while line := lines.readline():
            request = json.loads(line)
            child = os.fork()
            if child == 0:
                break
            print(wait(child, request["timeout"]), file=statuses, flush=True)
        else:
            os._exit(0)
    output = os.open(request["output"], os.O_WRONLY | os.O_APPEND)
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    os.environ.update(request["variables"])
    os.chdir(request["cwd"])
    sys.argv = ["-c"]
    return compile(request["code"], "<string>", "exec")


def wait(child, timeout):
    """Returns the status of a process, which is killed after the timeout."""
    end, pause = time.monotonic() + timeout, 0.001
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
