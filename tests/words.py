"""Word list of the project: fails on words that readers have to guess at, with file and line. Run
by `./dev lint`.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = {".rs", ".py", ".pyi", ".md", ".cu", ".cuh", ".c", ".h", ".toml", ".yml", ""}

#: What to avoid, as a regular expression in small letters, and what to write instead.
WORDS = {
    r"(?<![a-z])(whoever|anybody|everybody|somebody|someone|nobody)(?![a-z])": "name who it is: the caller, the owner, the consumer",
    r"\banyone's\b": "of any framework",
    r"(?<![a-z])the[ _]processor(?![a-z])": "the CPU, the host",
    r"(?<!there )\b(is|are) none (of|that|for|to|yet|any)\b": "say what it is: expected X, got Y",
    r"\bnone that dlpack has\b": "has no DLPack equivalent",
    r"\bso many\b": "name the number: `count` rows, elements of `itemsize` bytes",
    r"\b(is|are|was|were|be|been|being) asked for\b": "is requested, is computed, or say who does it",
    r"\bas it were\b": "leave it out",
    r"(?<!there )\b(is|are) no (tensor|array|capsule|multiple|range|type|dtype|pointer|view|slice|op)s?\b": "isn't a ..., or: expected X, got Y",
    r"safety: as (of|for|many)\b": "name the precondition that holds, and why",
    r"(?<![a-z])what[ _]waits(?![a-z])": "pending releases",
    r"safety: as above\b": "name the precondition that holds, and why",
    r"\bcaller's promises?\b": "name the precondition that holds, and why",
    r"\bcaller vouches\b": "name the precondition that holds, and why",
}
#: This list, and the page that quotes from it.
EXEMPT = {"tests/words.py", "CONTRIBUTING.md"}
#: Pages that programs write.
MADE = {"docs/conformance.md"}


def tracked_files():
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [
        name for name in names.splitlines() if Path(name).suffix in SUFFIXES and name not in EXEMPT
    ]


def findings(text):
    """Line numbers, words found, and what to write instead."""
    text = text.lower()  # Several times as fast as patterns without regard to case.
    for pattern, instead in WORDS.items():
        for found in re.finditer(pattern, text):
            yield text.count("\n", 0, found.start()) + 1, found[0], instead


#: Comments and prose are at most this wide. Formatters see to code; tables, links and examples of
#: output may be wider.
WIDTH = 100
COMMENTS = {
    ".rs": "//",
    ".cu": "//",
    ".cuh": "//",
    ".c": "//",
    ".h": "//",
    ".py": "#",
    ".pyi": "#",
    ".toml": "#",
}


def too_wide(suffix, text):
    """Line numbers of comments, or lines of prose, that are wider than they may be."""
    inside_block = False
    for number, line in enumerate(text.splitlines(), 1):
        start = line.strip()
        if suffix == ".md":
            inside_block ^= start.startswith("```")
            prose = not inside_block and not start.startswith(("|", "[", "<", "#"))
        else:
            mark = COMMENTS.get(suffix)
            prose = mark is not None and start.startswith(mark)
            prose = prose and not start.lstrip("/!#: ").startswith(("|", "[", "`", "http"))
        if prose and len(line) > WIDTH:
            yield number


def test_patterns_find_forbidden_words_alone():
    """The patterns find what they should, and nothing else."""
    bad = "Whoever asks\n// SAFETY: as above.\nX is none of ours\nthe Processor\nso many rows"
    bad += "\na copy is asked for\nX is no tensor\n// SAFETY: as of runs"
    assert sorted(number for number, *_ in findings(bad)) == [*range(1, 9)]
    wide = "// " + "word " * 30
    assert list(too_wide(".rs", f"{wide}\nlet x = 1;\n// short")) == [1]
    assert list(too_wide(".md", f"{wide}\n```\n{wide}\n```\n| {wide} |")) == [1]
    assert not list(
        findings(
            "there is no op\nthere is none\nx is None\nas above, in the table\nthe preprocessor"
        )
    )


def main():
    test_patterns_find_forbidden_words_alone()
    count = 0
    for name in tracked_files():
        path = ROOT / name
        if not path.is_file() or path.is_symlink():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, found, instead in findings(text):
            print(f'{name}:{number}: "{found}": write instead: {instead}')
            count += 1
        for number in too_wide(path.suffix, text) if name not in MADE else ():
            print(f"{name}:{number}: wider than {WIDTH} characters")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
