"""Runs the tests in a process that the address sanitizer watches from its start, as it must."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import on_cpu


def pytest_cmdline_main(config):
    if "DLBRIDGE_SANITIZED" in os.environ:
        return None
    runtime = subprocess.run(
        [on_cpu.COMPILER, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.suspend_global_capture(in_=True)
    with tempfile.TemporaryDirectory() as folder:
        # Pytest keeps what a test prints, so a report has to go to a file. Python leaves memory
        # behind.
        report = Path(folder) / "report"
        environment = {
            **os.environ,
            "DLBRIDGE_SANITIZED": "1",
            "LD_PRELOAD": runtime,
            "ASAN_OPTIONS": f"detect_leaks=0:log_path={report}",
            "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={report}",
        }
        command = [sys.executable, "-m", "pytest", *config.invocation_params.args]
        status = subprocess.run(
            command, env=environment, cwd=config.invocation_params.dir
        ).returncode
        for file in sorted(Path(folder).iterdir()) if status else ():
            print(file.read_text(errors="replace"), file=sys.stderr)
    return status
