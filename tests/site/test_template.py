"""Tests of the template for projects: what it makes, and that a project's own check passes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "template"


def new(*arguments, folder):
    command = [sys.executable, TEMPLATE / "new.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def made(*arguments, folder):
    done = new("my_kernels", *arguments, folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / "my_kernels"


@pytest.mark.parametrize(
    "arguments, dependency, requirement",
    [
        (["--version", "0.1.0"], 'version = "0.1.0"', "dlbridge==0.1.0"),
        (
            ["--git", "https://example.com/x", "--rev", "v1"],
            'git = "https://example.com/x", rev = "v1"',
            "dlbridge @ git+https://example.com/x@v1#subdirectory=python",
        ),
        (
            ["--git", "https://example.com/x"],
            'git = "https://example.com/x"',
            "dlbridge @ git+https://example.com/x#subdirectory=python",
        ),
        (["--path", str(ROOT)], f'path = "{ROOT}"', f"dlbridge @ file://{ROOT}/python"),
        ([], f'path = "{ROOT}"', f"dlbridge @ file://{ROOT}/python"),
    ],
    ids=["version", "revision", "git", "path", "default"],
)
def test_project_depends_on_the_given_dlbridge(tmp_path, arguments, dependency, requirement):
    project = made(*arguments, folder=tmp_path)
    assert f"dlbridge = {{ {dependency}, features" in (project / "Cargo.toml").read_text()
    assert requirement in (project / "requirements.txt").read_text().splitlines()


def test_project_has_no_placeholders_and_its_ci_calls_the_script(tmp_path):
    project = made(folder=tmp_path)
    files = {str(file.relative_to(project)) for file in project.rglob("*") if file.is_file()}
    assert {"check", "src/lib.rs", "my_kernels.pyi", "tests/test_my_kernels.py"} <= files
    assert not {"new.py", "cargo-generate.toml"} & files
    for file in files:
        assert not re.search(r"\{\{|\}\}", file + (project / file).read_text()) or ".yml" in file
        assert not file.endswith(".liquid")
    workflow = (project / ".github/workflows/ci.yml").read_text()
    assert re.findall(r"- (?:run|uses): (\S+)", workflow) == ["actions/checkout@v4", "./check"]
    assert os.access(project / "check", os.X_OK)


def test_placeholders_are_those_that_cargo_generate_knows():
    text = "".join(file.read_text() for file in TEMPLATE.rglob("*.liquid"))
    names = set(re.findall(r"\{\{(\w+)\}\}", text))
    asked = set(
        re.findall(
            r"^\[placeholders\.(\w+)\]",
            (TEMPLATE / "cargo-generate.toml").read_text(),
            re.MULTILINE,
        )
    )
    assert names == asked | {"crate_name"}


@pytest.mark.skipif(shutil.which("cargo-generate") is None, reason="cargo-generate isn't installed")
def test_cargo_generate_makes_the_same_project(tmp_path):
    ours = made("--version", "0.1.0", folder=tmp_path)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    template = shutil.copytree(TEMPLATE, tmp_path / "template")  # What is beside it is copied, too.
    command = ["cargo", "generate", "--silent", "--vcs", "none", "--name", ours.name]
    command += ["--path", template, "--destination", theirs]
    for name, value in (("dlbridge", 'version = "0.1.0"'), ("dlbridge_package", "dlbridge==0.1.0")):
        command += ["--define", f"{name}={value}"]
    subprocess.run(command, check=True)
    assert contents(ours) == contents(theirs / ours.name)


def contents(folder):
    """The files below a folder, with their modes and bytes."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {
        str(file.relative_to(folder)): (os.access(file, os.X_OK), file.read_bytes())
        for file in files
    }


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["My-Kernels"], "expected a name"),
        (["x", "--rev", "v1"], "--rev needs --git"),
        (["x", "--path", "."], "expected a checkout of dlbridge"),
        (["x", "--path", ".", "--version", "1"], "not allowed with"),
        (["there"], "there exists already"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path, arguments, message):
    (tmp_path / "there").mkdir()
    done = new(*arguments, folder=tmp_path)
    assert done.returncode == 2 and message in done.stderr
    assert [*tmp_path.iterdir()] == [tmp_path / "there"]


def test_check_of_a_project_builds_a_wheel_and_passes(tmp_path):
    project = made(folder=tmp_path)
    # It compiles faster without optimisation, and is called a few times.
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "CARGO_TARGET_DIR": str(ROOT / "target/template"),
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
    }
    done = subprocess.run(
        [project / "check"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
    (wheel,) = (project / "build/wheels").glob("my_kernels-*.whl")
    assert wheel.stat().st_size > 10_000
