"""The page about releases, of what was seen in each environment.

python table.py REPORTS...    # of the reports that run.py has kept
"""

import json
import sys
import textwrap
from pathlib import Path

HEAD = """# Compatibility

Releases of the frameworks with which dlbridge was tried. `python/compat/table.py` makes this page
of what `python/compat/check.py` found in the environment of each: every dtype of whole bytes and
every layout both ways, `explain` against `convert`, tensors that must be refused, ops with and
without `out=`, memory that stays flat, and times. `./dev compat --all` makes one environment after
another. PyTorch's CUDA builds ran on the CPU, without NVIDIA's libraries. A release that isn't here
wasn't tried.

## Ranges

- **Fast**: an exchange table, PyTorch's C functions, the struct of a NumPy array, the buffer
  protocol.
- **Fallback**: `__dlpack__`, or a function of the framework that gives or takes a capsule
  (`from_dlpack`, `from_buffers`), slower by the Python code that it runs.

The oldest release of a framework is the floor of its extra. Elements that a release doesn't take in
an order of its own are copied: JAX's releases but 0.5 and from 0.8 on, and MLX's without
`from_dlpack`, take row-major elements alone. Some of these JAX releases accept the others and read
wrong values, so dlbridge has each compute with a sample first.

One case isn't guarded: an array of 4-bit floats that was laid out column-major by an explicit
`Format` comes in with other values from JAX 0.7.1 to 0.8.0, whose descriptor doesn't match its
memory. JAX 0.12 is right.

{ranges}

{below}

## Releases

Counts are of tensors: shared, copied, and refused with a `BufferError`; in the column *out* they
agree with `explain`. Those that the framework itself doesn't have aren't counted.

{releases}

## Ways and times

Times are in nanoseconds, of four float32 elements, the shortest of three runs of 2,000 calls. The
*ratio* is of `ops.add(x, y, out=out)`, or `ops.add(x, y)` where tensors are immutable, to the
framework's own addition. A result is made by the way out, an `out=` argument by the way in. The
machine did other work meanwhile, so compare the times of one row alone.

{ways}
"""
BELOW = """Below the floors:

{}

"""
FAST = ("exchange table", "C functions", "array struct", "buffer")


def page(reports):
    within = [report for report in reports if not report["below"]]
    measured = [report for report in reports if "times" in report]
    return HEAD.format(
        ranges=ranges(within),
        below=below([report for report in reports if report["below"]]),
        releases=releases(reports),
        ways=ways(measured),
    )


def rows(heading, lines):
    rule = "|".join("---" for _ in heading)
    texts = [" | ".join(heading), *(" | ".join(map(str, line)) for line in lines)]
    return "\n".join([f"| {texts[0]} |", f"|{rule}|", *(f"| {text} |" for text in texts[1:])])


def key(release):
    return [int(part) for part in release.partition("+")[0].split(".") if part.isdigit()]


def title(report):
    release = report["release"].partition("+")[0]
    return release + (f" with {report['remark']}" if report["remark"] else "")


def ranges(reports):
    frameworks = {}
    for report in reports:
        frameworks.setdefault(report["framework"], []).append(report)
    lines = []
    for name, seen in frameworks.items():
        seen = sorted(seen, key=lambda report: key(report["release"]))
        failed = [title(report) for report in seen if report["failed"]]
        tried = f"{title(seen[0])} | {title(seen[-1])} | {len(seen)}"
        fast, fallback = paths(seen, True), paths(seen, False)
        lines.append((name, tried, fast, fallback, ", ".join(failed) or "none"))
    heading = ("framework", "oldest", "newest", "tried", "fast", "fallback", "failed")
    return rows(heading, lines)


def paths(reports, is_fast):
    """The fast ways in and out, or the others, and the releases that have them."""
    found = {}
    for report in reports:
        for direction, way in report["ways"].items():
            if (way in FAST) == is_fast:
                found.setdefault(f"{direction}: {way}", []).append(report)
    texts = []
    for text, having in found.items():
        first, last = title(having[0]), title(having[-1])
        within = first if first == last else f"{first} to {last}"
        texts.append(text if len(having) == len(reports) else f"{text} ({within})")
    return "; ".join(texts) or "none"


def below(reports):
    lines = [
        f"- **{report['framework']} {title(report)}**: {report['below']}." for report in reports
    ]
    return BELOW.format("\n".join(map(wrapped, lines))).strip() if lines else ""


def wrapped(line):
    return textwrap.fill(line, 100, subsequent_indent="  ", break_long_words=False)


def counts(seen):
    return "/".join(str(seen.get(outcome, 0)) for outcome in ("shared", "copied", "refused"))


def releases(reports):
    heading = ("framework", "release", "Python", "in", "out", "tests passed", "failed")
    lines = [
        (
            report["framework"],
            title(report),
            report["python"],
            counts(report["counts"]["in"]),
            counts(report["counts"]["out"]),
            report["passed"],
            "; ".join(report["failed"]) or "none",
        )
        for report in reports
    ]
    return rows(heading, lines)


def ways(reports):
    heading = ("framework", "release", "way in", "way out", "import", "export", "`add`")
    heading += ("`add` with `out=`", "own", "ratio")
    lines = []
    for report in reports:
        times = report["times"]
        ours, own = times.get("add out", times["add"]), times.get("own add out")
        own = own or times.get("own add")
        lines.append(
            (
                report["framework"],
                title(report),
                report["ways"]["in"],
                report["ways"]["out"],
                number(times["import"]),
                number(times["export"]),
                number(times["add"]),
                number(times.get("add out")),
                number(own),
                f"{ours / own:.1f}" if own else "",
            )
        )
    return rows(heading, lines)


def number(nanoseconds):
    return "" if nanoseconds is None else f"{nanoseconds:,.0f}"


if __name__ == "__main__":
    print(page([json.loads(Path(path).read_text()) for path in sys.argv[1:]]), end="")
