"""The program that runs the tests: which files share a process, and what it tells of a process that
crashes.
"""

import textwrap
from pathlib import Path

import groups
import run

TESTS = Path(__file__).resolve().parent


def outcomes_of(tmp_path, **sources):
    """Runs files of one group; returns the counts of passed, failed and ignored tests by file, and
    what is printed.
    """
    files = []
    for name, source in sources.items():
        files.append(tmp_path / f"test_{name}.py")
        files[-1].write_text(textwrap.dedent(source))
    outcomes = run.Runs(120, 0, {}).run(groups.Group("some", files))
    counts = [
        (Path(each.name).stem, each.passed, each.failed, len(each.ignored)) for each in outcomes
    ]
    return counts, "".join(each.output for each in outcomes)


GOOD = """
    import pytest
    def test_one(): pass
    def test_two(): pytest.skip("not here")
"""


def test_each_file_has_its_counts(tmp_path):
    skipped = "import pytest\npytest.skip('not on this system', allow_module_level=True)"
    failing = "def test_it(): assert 1 == 2, 'one is not two'"
    counts, output = outcomes_of(tmp_path, good=GOOD, skipped=skipped, failing=failing)
    assert counts[1:] == [
        ("test_good", 1, 0, 1),
        ("test_skipped", 0, 0, 1),
        ("test_failing", 0, 1, 0),
    ]
    assert "one is not two" in output


def test_crash_is_reported_for_its_file(tmp_path):
    counts, output = outcomes_of(
        tmp_path, good=GOOD, crashing="import os\ndef test_it(): os.abort()"
    )
    assert counts[0] == ("some", 0, 1, 0)
    assert ("test_good", 1, 0, 1) in counts and ("test_crashing", 0, 1, 0) in counts
    assert "ended by SIGABRT" in output


def test_uncollectable_file_fails_and_the_others_run(tmp_path):
    counts, output = outcomes_of(tmp_path, broken="import there_is_no_such_module", good=GOOD)
    assert counts[1:] == [("test_broken", 0, 1, 0), ("test_good", 1, 0, 1)]
    assert "there_is_no_such_module" in output


def test_imported_test_counts_for_the_importing_file(tmp_path):
    (tmp_path / "shared_tests.py").write_text("def test_shared(): pass")
    counts, _ = outcomes_of(tmp_path, importing="from shared_tests import *", good=GOOD)
    assert counts[1:] == [("test_importing", 1, 0, 0), ("test_good", 1, 0, 1)]


def test_failing_status_without_failed_tests_is_a_failure(tmp_path):
    # As of a process that fails after its last test.
    counts, _ = outcomes_of(
        tmp_path, ending="import atexit, os\natexit.register(os._exit, 3)\ndef test_it(): pass"
    )
    assert sum(failed for _, _, failed, _ in counts) == 1


def test_tensorflow_and_paddle_are_in_different_processes():
    work = groups.split(sorted(TESTS.rglob("test_*.py")))
    assert sorted(file for group in work for file in group.files) == sorted(
        TESTS.rglob("test_*.py")
    )
    for group in work:
        named = {name for file in group.files for name in groups.NEEDED.findall(file.read_text())}
        assert not {"tensorflow", "paddle"} <= named, group.name
        assert len(group.files) == 1 or not group.is_for_double
