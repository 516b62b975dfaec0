"""Tests of the crates' metadata: what crates.io and docs.rs show of them."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
TEXT = subprocess.run(COMMAND, cwd=ROOT, check=True, capture_output=True, text=True).stdout
PACKAGES = {package["name"]: package for package in json.loads(TEXT)["packages"]}
PUBLISHED = {name: each for name, each in PACKAGES.items() if each["publish"] != []}


def test_the_two_crates_alone_can_be_published():
    assert set(PUBLISHED) == {"dlbridge", "dlbridge-dlpack"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_metadata_is_complete(name):
    package = PUBLISHED[name]
    for field in ["description", "license", "rust_version", "readme"]:
        assert package[field], field
    assert 1 <= len(package["keywords"]) <= 5 and 1 <= len(package["categories"]) <= 5
    assert all(re.fullmatch(r"[a-z0-9][\w+-]{0,19}", word) for word in package["keywords"])
    assert (Path(package["manifest_path"]).parent / package["readme"]).is_file()


@pytest.mark.parametrize("name", PUBLISHED)
def test_docs_rs_shows_all_features_with_badges(name):
    package = PUBLISHED[name]
    docs = package["metadata"]["docs"]["rs"]
    assert docs["all-features"] is True and docs["rustdoc-args"] == ["--cfg", "docsrs"]
    library = Path(package["manifest_path"]).parent / "src/lib.rs"
    assert "cfg_attr(docsrs, feature(doc_cfg))" in library.read_text()


@pytest.mark.parametrize("name", PUBLISHED)
def test_package_has_what_its_sources_include_and_no_tests(name):
    command = ["cargo", "package", "--list", "--allow-dirty", "--package", name]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = set(listed.split())
    folder = Path(PUBLISHED[name]["manifest_path"]).parent
    assert {"Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs"} <= files
    assert not [file for file in files if file.startswith(("tests/", "benches/", "fuzz/"))]
    assert {str(file.relative_to(folder)) for file in (folder / "src").rglob("*.rs")} <= files
    for source in (folder / "src").rglob("*.rs"):
        for path in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', source.read_text()):
            included = (source.parent / path).resolve()
            assert str(included.relative_to(folder)) in files, f"{source} includes {path}"


def test_versions_agree_with_the_package_for_python():
    versions = {each["version"] for each in PUBLISHED.values()}
    project = (ROOT / "python/pyproject.toml").read_text()
    assert versions == set(re.findall(r'^version = "(.*)"', project, re.MULTILINE))
