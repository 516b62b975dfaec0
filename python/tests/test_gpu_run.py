"""Tests of `tests/gpu/run.py` with made-up steps: whatever a step does, all is reported."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

fcntl = pytest.importorskip("fcntl")

ROOT = Path(__file__).resolve().parents[2]
OWN = ["run.py", "processes.py", "outcomes.py"]
FILES = {
    "about.py": "print('a GPU')",
    "test_good.py": """
        import os, pytest
        def test_environment():
            assert os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
        @pytest.mark.skip(reason="there is no moon")
        def test_moon(): pass
        @pytest.mark.parametrize("x", [1, 2])
        def test_stars(x): pytest.skip("there are no stars")
    """,
    "test_bad.py": """
        import pytest
        @pytest.fixture
        def cleaned():
            yield
            raise RuntimeError("not clean")
        def test_first(): assert 1 == 2, "one is not two"
        def test_second(cleaned): pass
        def test_third(): pass
    """,
    "test_crash.py": """
        import os, signal
        def test_before(): pass
        def test_the_crash():
            os.kill(os.getpid(), signal.SIGKILL)
        def test_after(): pass
    """,
    "test_import.py": "import there_is_no_such_module",
    "test_hang.py": """
        import subprocess, sys, time
        CHILD = "import fcntl, sys, time; f = open('held', 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); time.sleep(60)"
        def test_before(): pass
        def test_the_hang():
            child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE)
            child.stdout.read(1)
            time.sleep(60)
    """,
    "figures.py": """
        import sys
        print("| a | b |")
        print("a part failed", file=sys.stderr)
        sys.exit(1)
    """,
    "sanitized.py": "import os; print('every op ran with', os.environ['DLBRIDGE_CUBLASLT'])",
    "examples/example.py": "print('it shines')",
    "examples/broken.py": "print('it began')\nraise ValueError('of no use')",
}
SANITIZER = """#!{python}
import subprocess, sys
given = sys.argv[1:]
assert given[given.index("--error-exitcode") + 1] == "1"
subprocess.run(given[-2:], check=True)
if given[1] == "memcheck":
    assert given[2:4] == ["--report-api-errors", "no"]
    print("========= ERROR SUMMARY: 0 errors")
else:
    print("========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)")
    sys.exit(1)
"""


@pytest.fixture
def folder(tmp_path):
    for name in OWN:
        shutil.copy(ROOT / "tests" / "gpu" / name, tmp_path)
    (tmp_path / "examples").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    tool = tmp_path / "toolkit" / "bin" / "compute-sanitizer"
    tool.parent.mkdir(parents=True)
    tool.write_text(SANITIZER.format(python=sys.executable))
    tool.chmod(0o755)
    return tmp_path


def run(folder, *arguments):
    """The status, what was added to the report, and the log."""
    report, log = folder / "out" / "report.md", folder / "out" / "log.txt"
    before = len(report.read_text()) if report.exists() else 0
    command = [
        sys.executable,
        "run.py",
        "--report",
        "out/report.md",
        "--examples",
        "examples",
        *arguments,
    ]
    # Without pytest's plugins, which take long to load.
    environment = dict(
        os.environ, CUDA_HOME=str(folder / "toolkit"), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"
    )
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    said = report.read_text()[before:] if report.exists() else ""
    assert said.strip() in done.stdout + done.stderr
    return done.returncode, said, log.read_text() if log.exists() else ""


def test_failed_tests_are_named_and_other_steps_run(folder):
    status, report, log = run(folder, "--only", "test_good.py,test_bad.py,test_import.py")
    assert status == 1
    assert "a GPU\n" in report
    assert "- test_bad.py: FAILED, 1 passed, 2 failed, 0 skipped (" in report
    assert "  - test_first: AssertionError: one is not two assert 1 == 2\n" in report
    assert "  - test_second: " in report and "not clean" in report
    assert "- test_good.py: ok, 1 passed, 0 failed, 3 skipped (" in report
    assert (
        "  - 2 skipped: there are no stars\n" in report
        and "  - 1 skipped: there is no moon\n" in report
    )
    assert "- test_import.py: FAILED, 0 passed, 1 failed, 0 skipped" in report
    assert "Steps: 1 ok, 2 FAILED, 0 not run." in report
    assert "== test_bad.py: FAILED" in log and 'assert 1 == 2, "one is not two"' in log
    assert "No module named 'there_is_no_such_module'" in log


def test_crash_report_names_the_running_test(folder):
    status, report, _ = run(folder, "--only", "test_crash.py,examples")
    assert status == 1
    assert (
        "- test_crash.py: FAILED, it was ended by SIGKILL; until then 1 passed, 0 failed ("
        in report
    )
    assert "  - it was in " in report and "test_crash.py::test_the_crash\n" in report
    assert "- examples/broken.py: FAILED, it ended with status 1 (" in report
    assert "  - ValueError: of no use\n" in report
    assert "- examples/example.py: ok, it shines (" in report


def test_step_over_its_limit_is_killed_with_its_children(folder):
    status, report, _ = run(folder, "--only", "test_hang.py,examples/example.py", "--limit", "4")
    assert status == 1
    assert (
        "- test_hang.py: FAILED, it took more than 4 s; until then 1 passed, 0 failed (4 s)\n"
        in report
    )
    assert "test_hang.py::test_the_hang\n" in report
    assert "- examples/example.py: ok" in report
    with (folder / "held").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # Its previous owner has exited.


def test_steps_after_the_deadline_are_reported_as_not_run(folder):
    status, report, _ = run(folder, "--deadline", "0", "--only", "test_good.py,figures")
    assert status == 1
    for name in ("test_good.py", "figures.py"):
        assert f"- {name}: not run, as the 0 s for all were over\n" in report
    assert "Steps: 0 ok, 0 FAILED, 2 not run." in report


def test_calls_append_to_one_report(folder):
    assert run(folder, "--only", "test_good.py")[0] == 0
    assert run(folder, "--only", "examples/example.py")[0] == 0
    report = (folder / "out" / "report.md").read_text()
    assert report.index("- test_good.py: ok") < report.index("- examples/example.py: ok")
    status, _, _ = run(folder, "--only", "test_godo.py")
    assert status == 2


def test_figures_are_shown_despite_failures(folder):
    status, report, _ = run(folder, "--only", "figures")
    assert status == 1
    assert "- figures.py: FAILED, it ended with status 1 (" in report
    assert "  - a part failed\n" in report and "\n| a | b |\n" in report


def test_sanitizer_errors_fail_the_step(folder):
    status, report, log = run(folder, "--only", "sanitizers")
    assert status == 1
    assert "- compute-sanitizer memcheck: ok, ERROR SUMMARY: 0 errors (" in report
    assert (
        "racecheck: FAILED, it ended with status 1: RACECHECK SUMMARY: 2 hazards displayed (2 errors"
        in report
    )
    assert "every op ran with none" in log


def test_failed_installation_of_wheels_is_reported(folder):
    (folder / "wheels").mkdir()
    (folder / "wheels" / "broken-1.0-py3-none-any.whl").write_text("no wheel")
    status, report, log = run(folder, "--wheels", "wheels")
    assert status == 1
    assert "- the wheels' installation: FAILED, it ended with status " in report
    assert "broken-1.0" in report and "broken-1.0" in log
