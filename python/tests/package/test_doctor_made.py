"""`python -m dlbridge doctor`: what it says of frameworks that crash, copy and lie."""

from pathlib import Path

import pytest
from support import framework

framework("numpy")

from dlbridge._doctor import frameworks, markdown, table  # noqa: E402
from dlbridge._doctor.runner import Limits, Runner  # noqa: E402

TWO = ("contiguous", "transposed")


@pytest.fixture(params=[False, True], ids=["imports of its own", "shared imports"])
def made(monkeypatch, request):
    """Surveys of one of the made frameworks and NumPy, with either way to start the processes of
    pairs.
    """
    here = str(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", here)  # For the processes of pairs.
    monkeypatch.syspath_prepend(here)

    def survey(
        name, *only, routes=("direct",), dtypes=("float32", "int8"), layouts=TWO, limits=Limits()
    ):
        known = frameworks.known([f"doctor_frameworks:{name}"])
        made = list(known)[-1]
        adapters = {"numpy": known["numpy"], made: known[made]}
        runner = Runner(adapters, limits, shares_imports=request.param)
        return runner.survey(routes, dtypes, layouts, only or ("numpy", made))

    return survey


def outcomes(pair):
    return {(result.dtype, result.layout): result.verdict.outcome for result in pair.results}


def test_crash_is_reported_for_its_case_alone(made):
    survey = made("Crashes")
    assert outcomes(survey.pair("numpy", "crashes", "direct")) == {
        ("float32", "contiguous"): "shared",
        ("float32", "transposed"): "crashed",
        ("int8", "contiguous"): "shared",
        ("int8", "transposed"): "crashed",
    }
    crash = survey.pairs[0].results[1].verdict
    assert crash.reason.startswith("SIGABRT") and "(hand over)" in crash.reason
    assert survey.is_well()  # It wasn't on our route.
    text = table.details(survey.pairs[0], survey.layouts)
    assert "CRASHED 1" in text and "2/0/0 !2" in table.overview(survey)


def test_crash_is_reported_for_its_step(made):
    survey = made("CrashesLater", routes=["dlbridge", "direct"])
    # By way of dlbridge there is no framework of this name to go to.
    assert set(outcomes(survey.pair("numpy", "crashes_later", "dlbridge")).values()) == {"refused"}
    verdicts = {
        result.dtype: result.verdict
        for result in survey.pair("numpy", "crashes_later", "direct").results
    }
    assert verdicts["float32"].outcome == "shared"
    assert verdicts["int8"].outcome == "crashed" and verdicts["int8"].reason.endswith("(compute)")
    assert verdicts["int8"].reason.startswith("SIGSEGV")


def test_crash_of_producer_marks_case_absent(made):
    survey = made("CrashesMaking", "crashes_making", "numpy", layouts=["offset", "contiguous"])
    assert outcomes(survey.pairs[0]) == {
        ("float32", "offset"): "absent",
        ("float32", "contiguous"): "shared",
        ("int8", "offset"): "absent",
        ("int8", "contiguous"): "shared",
    }
    assert "ends the process as it makes it" in survey.pairs[0].results[0].verdict.reason


def test_crash_at_exit_is_reported_for_its_route(made):
    survey = made("CrashesAtExit", routes=["dlbridge", "direct"])
    ours, direct = (
        survey.pair("numpy", "crashes_at_exit", route) for route in ("dlbridge", "direct")
    )
    assert set(outcomes(direct).values()) == {"shared"} and direct.at_exit.startswith("SIGABRT")
    assert ours.at_exit is None and survey.is_well()
    assert "when all is done" in table.details(direct, survey.layouts)
    survey = made("CrashesAtExit", "crashes_at_exit", "numpy", routes=["dlbridge"])
    assert survey.pairs[0].at_exit is None  # Nothing is computed by a producer.


def test_framework_that_fails_to_import_is_unusable(made):
    survey = made("CrashesOnImport")
    assert list(survey.versions) == ["numpy"] and "SIGABRT" in survey.unusable["crashes_on_import"]
    assert "crashes_on_import can't be used" in table.overview(survey)
    survey = made("Broken")
    assert "ModuleNotFoundError" in survey.unusable["broken"]


def test_copy_is_detected_despite_equal_address(made):
    for name in ("Copies", "LiesOfAddress"):
        survey = made(name)
        assert set(outcomes(survey.pairs[0]).values()) == {"copied"}, name
        verdict = survey.pairs[0].results[0].verdict
        assert verdict.same_pointer is (name == "LiesOfAddress")
        assert bool(verdict.reason) is (name == "LiesOfAddress")


@pytest.mark.parametrize(
    "name, reason",
    [
        ("OtherValues", "other values arrive"),
        ("OtherType", "float32 arrives as float64"),
        ("OtherShape", "the shape (3, 4) arrives as (1, 3, 4)"),
    ],
)
def test_altered_tensor_is_reported_wrong(made, name, reason):
    verdict = made(name, dtypes=["float32"]).pairs[0].results[0].verdict
    assert (verdict.outcome, verdict.reason, verdict.by_producer) == ("wrong", reason, False)


def test_mislabelled_dtype_is_blamed_on_producer(made):
    survey = made(
        "Mislabelled",
        "mislabelled",
        "numpy",
        dtypes=["bool", "int8"],
        routes=["dlbridge", "direct"],
    )
    for pair in survey.pairs:
        verdicts = {result.dtype: result.verdict for result in pair.results}
        assert verdicts["int8"].outcome == "absent"
        assert (verdicts["bool"].outcome, verdicts["bool"].by_producer) == ("wrong", True)
        assert verdicts["bool"].reason == "mislabelled gives bool away as uint8"
    assert survey.is_well()  # No consumer can know.


def test_slow_case_is_reported_as_timeout(made):
    survey = made("Slow", limits=Limits(step=2))
    assert outcomes(survey.pairs[0]) == {
        ("float32", "contiguous"): "shared",
        ("float32", "transposed"): "timeout",
        ("int8", "contiguous"): "shared",
        ("int8", "transposed"): "timeout",
    }
    assert "silent for 2 seconds (hand over)" in survey.pairs[0].results[1].verdict.reason


def test_panic_is_reported_as_crash(made):
    verdict = made("Panics").pairs[0].results[0].verdict
    assert (verdict.outcome, verdict.reason) == ("crashed", "BaseException: it panicked")


def test_writes_to_read_only_memory_are_reported(made):
    survey = made("Immutable", "immutable", "numpy")
    assert all(result.verdict.writes_readonly for result in survey.pairs[0].results)
    assert "shared *" in table.details(survey.pairs[0], survey.layouts)
    assert "holds to be read-only" in markdown.page(survey)
    # An array that NumPy holds to be read-only stays so where NumPy takes it.
    survey = made("Copies", "numpy", "numpy", layouts=["broadcast"])
    verdict = survey.pairs[0].results[0].verdict
    assert (verdict.outcome, verdict.writes_readonly) in [("shared", False), ("refused", False)]


@pytest.mark.parametrize("name", ["EndedByOthers", "WatcherEndedByOthers"])
def test_external_signal_does_not_count_as_crash(made, monkeypatch, tmp_path, name):
    monkeypatch.setenv("DOCTOR_TEST_FILE", str(tmp_path / "once"))
    pair = made(name, dtypes=["float32"]).pairs[0]
    assert outcomes(pair) == {
        ("float32", "contiguous"): "shared",
        ("float32", "transposed"): "shared",
    }
    # But for one that comes each time.
    monkeypatch.setenv("DOCTOR_TEST_FILE", str(tmp_path / "never"))
    monkeypatch.setenv("DOCTOR_TEST_ALWAYS", "1")
    pair = made(name, dtypes=["float32"]).pairs[0]
    assert set(outcomes(pair).values()) == {"crashed"} and len(pair.results) == 2
    assert pair.results[0].verdict.reason.startswith("SIGTERM")
