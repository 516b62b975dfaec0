"""`python -m dlbridge doctor`: what it says of real frameworks, and how it says it."""

import json
import os
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support import framework

framework("numpy")
framework("torch")

from dlbridge._doctor import (  # noqa: E402
    elements,
    findings,
    frameworks,
    markdown,
    memory,
    nursery,
    page,
    process,
)
from dlbridge._doctor.layouts import LAYOUTS  # noqa: E402
from dlbridge._doctor.results import PairResult, Result, Survey, Verdict  # noqa: E402


def doctor(*arguments, status=0):
    command = [sys.executable, "-m", "dlbridge", "doctor", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_quick_run_of_numpy_and_torch_writes_all_reports(tmp_path):
    files = {kind: tmp_path / f"report.{kind}" for kind in ("json", "html", "markdown")}
    options = [word for kind, file in files.items() for word in (f"--{kind}", file)]
    done = doctor("--quick", "--frameworks", "numpy,torch", *options)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row for row in rows if row[1:] == ["3/0/0", "3/0/0"]] == [
        ["numpy", "3/0/0", "3/0/0"],
        ["torch", "3/0/0", "3/0/0"],
    ] * 2
    assert "[4/4]" in done.stderr

    said = json.loads(files["json"].read_text())
    assert set(said["versions"]) == {"numpy", "torch"} and all(said["versions"].values())
    assert len(said["results"]) == 2 * 2 * 3 * 2
    for result in said["results"]:
        assert (result["outcome"], result["same_pointer"], result["writes_back"]) == (
            "shared",
            True,
            True,
        ), result
    assert {pair["route"] for pair in said["pairs"]} == {"dlbridge", "direct"}

    text = files["html"].read_text()
    assert_well_formed(text)
    assert 'data-pair="numpy torch"' in text
    assert "http" not in text.replace("http-equiv", "")  # Nothing is fetched.
    assert "| numpy | 3/0/0 | 3/0/0 |" in files["markdown"].read_text()


def test_arguments_that_cannot_be_are_refused_before_the_survey(tmp_path):
    (tmp_path / "file").touch()
    for option, value, problem in (
        ("--json", tmp_path, "is a folder"),
        ("--html", tmp_path / "none" / "page.html", "there is no folder"),
        ("--markdown", tmp_path / "file" / "page.md", "there is no folder"),
        ("--step-limit", "0", "expected a number of seconds above 0, got '0'"),
        ("--step-limit", "nan", "expected a number of seconds above 0"),
        ("--start-limit", "inf", "expected a number of seconds above 0"),
        ("--start-limit", "soon", "expected a number of seconds above 0, got 'soon'"),
        ("--dtypes", ",", "expected names of dtypes"),
        ("--frameworks", "", "expected names of frameworks"),
        ("--layouts", "odd", "no odd among the layouts"),
    ):
        assert problem in doctor(option, value, status=2).stderr


@pytest.mark.parametrize("stream, status", [("stdout", 1), ("stderr", 0)])
def test_reader_that_goes_is_no_traceback(tmp_path, stream, status):
    command = [sys.executable, "-m", "dlbridge", "doctor", "--quick", "--frameworks", "numpy"]
    command += ["--json", str(tmp_path / "all.json")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        getattr(process, stream).close()
        said = (process.stderr if stream == "stdout" else process.stdout).read()
        assert process.wait(300) == status
    assert "Traceback" not in said and "BrokenPipe" not in said
    assert json.loads((tmp_path / "all.json").read_text())["pairs"]


ADAPTERS = """
import os
from dlbridge._doctor.adapters.numpy import NumPy

class Odd(NumPy):
    name = "odd"
    def __init__(self):
        raise ImportError("can't load " + os.fsdecode(b"caf\\xe9") + "\\x1b[31m")

class Ends(NumPy):
    name = "ends"
    def __init__(self):
        os._exit(0)

class Nameless(NumPy):
    name = None

class Spaced(NumPy):
    name = "two words"
"""


def test_what_adapters_of_users_say_and_do_is_reported(tmp_path):
    (tmp_path / "mine.py").write_text(ADAPTERS)
    (tmp_path / "broken.py").write_text("x y z")
    with_path = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*arguments):
        command = [sys.executable, "-m", "dlbridge", "doctor", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, env=with_path)

    options = ("--dtypes", "float32", "--layouts", "contiguous")
    for name, words in (
        ("odd", r"can't load caf\udce9\x1b[31m"),
        ("ends", "its import ends the process: exit status 0"),
    ):
        done = run("--also", f"mine:{name.title()}", "--pair", "numpy", name, *options)
        assert done.returncode == 1 and f"{name} can't be used" in done.stdout, done.stderr
        assert words in done.stdout
    for path, words in (
        ("mine:Nameless", "expected a string as its name"),
        ("mine:Spaced", "expected letters, digits and any of ._- as its name, got 'two words'"),
        ("broken:X", "SyntaxError"),
        ("mine:None", "expected package.module:Class"),
    ):
        done = run("--also", path)
        assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


HANGS = """
import os, time
from dlbridge._doctor.adapters.numpy import NumPy

class Hangs(NumPy):
    name = "hangs"
    def __init__(self):
        super().__init__()
        with open(os.environ["PIDS"], "a") as file:
            file.write(f"{os.getpid()}\\n")
        time.sleep(600)
"""


def is_running(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # One that has ended, and that nothing waits for.


def processes_in(file):
    """Those that have written their whole lines."""
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return [int(line) for line in lines if line.endswith("\n")]


def wait_until(is_so):
    end = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for as on Linux")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("options", [[], ["--quick"]], ids=["processes", "forks"])
def test_doctor_that_is_ended_leaves_no_process(tmp_path, name, options):
    (tmp_path / "mine.py").write_text(HANGS)
    pids = tmp_path / "pids"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PIDS": str(pids)}
    command = [sys.executable, "-m", "dlbridge", "doctor", "--also", "mine:Hangs", *options]
    command += ["--pair", "numpy", "hangs"]
    number, pipes = getattr(signal, name), {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # Jobs in the background ignore some, and what they start does.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        process = subprocess.Popen(command, text=True, env=environment, **pipes)
    finally:
        signal.signal(number, before)
    with process:
        try:
            wait_until(lambda: processes_in(pids))
            process.send_signal(number)
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 128 + number and "Traceback" not in said
    for other in processes_in(pids):
        wait_until(lambda other=other: not is_running(other))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has forks with frameworks")
def test_import_that_hangs_in_a_grown_nursery_ends_with_it(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(HANGS)
    pids = tmp_path / "pids"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PIDS", str(pids))
    known = nursery.Nursery.start([frameworks.ADAPTERS["numpy"]], 120)
    assert known is not None and known.grow("mine:Hangs", 5) is None
    wait_until(lambda: processes_in(pids))
    known.close()
    (process,) = processes_in(pids)
    wait_until(lambda: not is_running(process))


def test_pair_report_shows_unsupported_layouts_of_torch():
    layouts = "contiguous,negative,broadcast,empty"
    done = doctor("--pair", "numpy", "torch", "--dtypes", "float32,bfloat16", "--layouts", layouts)
    ours, direct = done.stdout.split("\n\n")
    cells = {
        line.split()[0]: line.split()
        for line in ours.splitlines()
        if line.startswith(("float", "bfloat"))
    }
    assert cells["float32"] == "float32 shared copied 1 shared + empty".split()
    assert cells["bfloat16"] == "bfloat16 shared copied 1 shared + empty".split()
    assert "1: BufferError: PyTorch has no negative strides" in ours
    assert "+: it is read-only, and a warning says that torch must not write to it" in ours
    assert "refused" in direct and "RuntimeError" in direct


def test_route_option_restricts_the_report():
    done = doctor("--quick", "--frameworks", "numpy", "--route", "direct")
    assert "by the consumer's own import" in done.stdout and "dlbridge.convert" not in done.stdout


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--dtypes", "float31"], "no float31 among the dtypes"),
        (["--layouts", "round"], "no round among the layouts"),
        (["--frameworks", "numbers"], "no framework is called numbers"),
        (["--also", "numpy:ndarray"], "can't be an adapter"),
        (["--also", "nothing.there:Class"], "nothing"),
        (["--also", "dlbridge._doctor.adapters.numpy:None"], "can't be an adapter"),
        (["--route", "around"], "invalid choice"),
    ],
)
def test_invalid_arguments_are_refused(arguments, words):
    assert words in doctor(*arguments, status=2).stderr


def test_also_option_adds_a_framework(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    options = [
        "--also",
        "doctor_frameworks:Copies",
        "--frameworks",
        "numpy,copies",
        "--quick",
        "--route",
        "direct",
    ]
    done = doctor(*options, "--json", tmp_path / "all.json")
    pairs = json.loads((tmp_path / "all.json").read_text())["pairs"]
    counts = {(pair["producer"], pair["consumer"]): pair["counts"] for pair in pairs}
    assert counts["numpy", "copies"] == {"copied": 3} and counts["copies", "numpy"] == {"shared": 3}
    assert "3/0/0" in done.stdout and "0/3/0" in done.stdout


def survey_of(*verdicts, route="dlbridge", at_exit=None):
    results = [
        Result("numpy", "torch", route, "float32", "contiguous", verdict) for verdict in verdicts
    ]
    survey = Survey(
        {"numpy": "1 <2>", "torch": "3"}, {"cupy": "no & GPU"}, [route], ["contiguous"], "here"
    )
    survey.pairs = [PairResult("numpy", "torch", route, results, at_exit=at_exit)]
    return survey


def test_status_depends_on_the_dlbridge_route_only():
    assert survey_of(Verdict("refused"), Verdict("copied")).is_well()
    for bad in ("wrong", "crashed", "timeout"):
        assert not survey_of(Verdict("shared"), Verdict(bad)).is_well()
        assert survey_of(Verdict(bad), route="direct").is_well()
    assert not survey_of(Verdict("shared"), at_exit="SIGSEGV").is_well()
    assert survey_of(Verdict("wrong", by_producer=True)).is_well()


def test_failure_on_the_dlbridge_route_sets_exit_status(monkeypatch):
    from dlbridge._doctor import command

    monkeypatch.setattr(command.Runner, "survey", lambda *arguments: survey_of(Verdict("wrong")))
    monkeypatch.setattr(sys, "argv", ["dlbridge", "doctor", "--frameworks", "numpy"])
    from dlbridge.__main__ import main

    assert main() == 1


def test_reasons_are_escaped_in_html_and_markdown():
    survey = survey_of(Verdict("refused", "</script><b>*x*</b> & $y |"))
    text = page.page(survey)
    assert_well_formed(text)
    assert "</script><b>" not in text and "1 &lt;2&gt;" in text and "no &amp; GPU" in text
    survey = survey_of(Verdict("crashed", "<b> | *x*\n~y~ &lt;"))
    assert "\\<b\\> \\| \\*x\\* \\~y\\~ \\&lt;" in markdown.page(survey)


def test_equal_findings_are_grouped():
    verdicts = [
        Verdict("crashed", f"SIGABRT at 0x{number}0000 with shape [{number}, 4]")
        for number in range(1, 4)
    ]
    groups = findings.groups(survey_of(*verdicts), "dlbridge", findings.KINDS[0])
    assert [(group.subject, len(group.results)) for group in groups] == [("torch", 3)]
    assert groups[0].reason == "SIGABRT at … with shape …"


def test_changes_between_routes_are_listed():
    survey = survey_of(Verdict("copied", "it is read-only"))
    survey.pairs += survey_of(Verdict("shared"), route="direct").pairs
    survey.routes.append("direct")
    assert findings.changes(survey) == [("shared", "copied", 1, "it is read-only")]
    assert "| shared | copied | 1 | it is read-only |" in markdown.page(survey)


def test_writable_view_of_read_only_memory_is_a_finding():
    said = survey_of(Verdict("shared", writes_readonly=True, warned=True))
    unsaid = survey_of(Verdict("shared", writes_readonly=True))
    for survey, title in [(said, "a warning says that writing"), (unsaid, "holds to be read-only")]:
        found = [
            kind.title for kind in findings.KINDS if findings.groups(survey, survey.routes[0], kind)
        ]
        assert len(found) == 1 and title in found[0] and found[0] in markdown.page(survey)


def test_last_words_are_stripped_of_addresses_and_paths():
    text = "loading\nF0000 00:00:1712.5   77 tensor.cc:899] Check failed: ptr = 0x7ffd1234\n@ 0x1 (unknown)"
    assert process.last_words(text) == "tensor.cc:899] Check failed: ptr = 0x…"
    assert process.last_words("all is well") == ""
    assert process.without_paths("/a/b-c/d.py:3 and 1/2 and /e") == "d.py:3 and 1/2 and /e"


@pytest.mark.parametrize("dtype", elements.BITS)
def test_elements_round_trip_through_memory(dtype):
    import numpy as np

    for layout in LAYOUTS.values():
        patterns = elements.expected(dtype, layout)
        assert len(patterns) == np.prod(layout.shape)
        assert elements.from_bytes(dtype, elements.to_bytes(dtype, patterns)) == patterns
        bits = elements.BITS[dtype]
        address = memory.aligned(bytes(64 * bits))
        look = memory.Look(dtype, layout.shape, layout.strides, address + 16 * bits, bits)
        look.write(bits, patterns)
        assert look.read(bits) == patterns
    rows = elements.expected(dtype, LAYOUTS["contiguous"])
    assert rows != elements.expected(dtype, LAYOUTS["negative"]), (
        "rows in another order are told apart"
    )
    assert rows != elements.expected(dtype, LAYOUTS["transposed"]) and rows != elements.changed(
        rows
    )


def test_doctor_tries_every_dtype():
    import dlbridge

    for dtype, bits in elements.BITS.items():
        seen = dlbridge.empty([2], dtype).dtype
        assert (str(seen), seen.bits * seen.lanes) == (dtype, bits)


def test_doctor_imports_only_the_standard_library():
    code = "import sys; before = set(sys.modules); import dlbridge; print('dlbridge._doctor' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
    code = """
import sys
from dlbridge._doctor import command
print([name for name in sys.modules if name.partition(".")[0] not in {*sys.stdlib_module_names, "dlbridge", "__main__"}
       and not name.startswith("_")])
"""
    package = Path(frameworks.__file__).parents[2]
    seen = subprocess.check_output([sys.executable, "-S", "-c", code], text=True, cwd=package)
    assert seen.strip() == "[]"


VOID = {"meta", "link", "br", "hr", "img", "input"}


def assert_well_formed(text):
    """Every element ends, in the order in which they began."""

    class Elements(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open, self.all = [], []

        def handle_starttag(self, tag, attrs):
            assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} is there twice"
            self.all.append(tag)
            if tag not in VOID:
                self.open.append(tag)

        def handle_startendtag(self, tag, attrs):
            assert tag in VOID

        def handle_endtag(self, tag):
            assert self.open.pop() == tag, self.getpos()

    parser = Elements()
    parser.feed(text)
    parser.close()
    assert not parser.open and parser.all.count("html") == 1 and "table" in parser.all
    data = text.split('id="data">')[1].split("</script>")[0]
    assert json.loads(data)["pairs"]
