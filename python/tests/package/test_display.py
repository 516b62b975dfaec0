"""Tests of printing: tensors as text, and in notebooks."""

import random
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import dlbridge
import pytest
from arrays import some_array
from support import framework

np = framework("numpy")
import ml_dtypes  # noqa: E402

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


def some_numbers(generator, name, shape):
    """Numbers as they come: whole ones, tiny and huge ones, and NaN."""
    dtype = np.dtype(name)
    if dtype.kind in "biu":
        return generator.integers(0, 2 if name == "bool" else 100, shape).astype(name)
    parts = [generator.normal(size=shape) * 10.0 ** generator.integers(-4, 4) for _ in range(2)]
    if generator.random() < 0.3:
        parts = [np.round(part) for part in parts]
    x = parts[0].astype(name) if dtype.kind == "f" else (parts[0] + 1j * parts[1]).astype(name)
    if x.size and generator.random() < 0.3:
        x.flat[generator.integers(x.size)] = generator.choice([np.nan, np.inf, -np.inf])
    return x


# What stands for numbers that Python has no literals for.
WORDS = {"nan": np.nan, "inf": np.inf, "nanj": complex(0, np.nan), "infj": complex(0, np.inf)}


@pytest.mark.parametrize("name", NAMES)
def test_text_reads_back_to_4_digits(name):
    generator = np.random.default_rng(NAMES.index(name))
    for _ in range(40):
        # Of rank 0 NumPy makes scalars, which are read-only.
        x = np.array(
            some_numbers(generator, name, generator.integers(0, 5, generator.integers(0, 4)))
        )
        t = dlbridge.from_dlpack(x)
        assert str(t) == f"{t}"
        text, rest = repr(t).removeprefix("Tensor(").split("dtype=")
        assert rest == f"{name})" and all(len(line) <= 75 for line in repr(t).splitlines())
        assert str(t).split() == text.split("shape=")[0].replace(",", "").split()
        elements = eval(text.split("shape=")[0].rstrip(", \n"), WORDS)
        assert ("shape=" in text) == (x.size == 0 and x.ndim > 1)
        if x.size == 0:
            assert elements == []
        elif x.dtype.kind in "biu":
            assert elements == x.tolist()
        else:
            np.testing.assert_allclose(
                np.array(elements, x.dtype), x, rtol=1e-3 if name == "float16" else 1e-4, atol=6e-5
            )


def one_line(text):
    return " ".join(text.split())


@pytest.mark.parametrize("seed", range(5))
def test_text_of_any_layout(seed):
    choose = random.Random(seed)
    for _ in range(20):
        x = some_array(choose)
        assert str(dlbridge.from_dlpack(x)) == str(x)


def test_long_text_is_shortened():
    for shape in [(1001,), (2000,), (40, 40), (5, 300), (300, 5), (11, 11, 11), (2, 2, 2, 2, 100)]:
        x = np.arange(np.prod(shape)).reshape(shape)
        t = dlbridge.from_dlpack(x)
        assert (
            one_line(str(t)) == one_line(str(x))
            and f"shape={list(shape)}" in repr(t)
            and "..." in repr(t)
            and len(repr(t)) < 5000
        )
    x = np.arange(1000)
    assert one_line(str(dlbridge.from_dlpack(x))) == one_line(str(x)) and "..." not in repr(
        dlbridge.from_dlpack(x)
    )


def test_repr_names_dtype_shape_and_read_only():
    assert repr(dlbridge.from_dlpack(b"ab")) == "Tensor([97, 98], dtype=uint8, read-only)"
    assert repr(dlbridge.asarray([1, -2, 3], "int4")) == "Tensor([ 1, -2,  3], dtype=int4)"
    assert repr(dlbridge.zeros((0, 3), "float32")) == "Tensor([], shape=[0, 3], dtype=float32)"
    assert repr(dlbridge.zeros(2, "handle")) == "Tensor([0x0, 0x0], dtype=handle)"
    assert repr(dlbridge.asarray([1.5, 2], "bfloat16")) == "Tensor([1.5, 2.0], dtype=bfloat16)"
    assert repr(dlbridge.asarray(5)) == "Tensor(5, dtype=int64)"
    assert repr(dlbridge.asarray([0.1], "float32")) == "Tensor([0.1], dtype=float32)"
    x = np.array([1, 0, 1]).astype(ml_dtypes.int4)
    assert "[1, 0, 1]" in repr(dlbridge.from_dlpack(x))
    assert repr(dlbridge.explain(dlbridge.zeros(2), "dlbridge")) == (
        "Explanation(to='dlbridge', outcome='shared', reason=None, remedy=None, remark=None)"
    )


class Page(HTMLParser):
    """What is in a piece of HTML, each element of which must be closed where it should."""

    VOID = {"br"}

    def __init__(self, html):
        super().__init__()
        self.open, self.facts, self.cells, self.text = [], {}, [], ""
        self.feed(html)
        self.close()
        assert not self.open, f"{self.open} are left open"

    def handle_starttag(self, tag, attributes):
        if tag == "th":
            self.cells.append(["", ""])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} is closed in another"
        if tag == "table":
            self.facts = dict(self.cells)

    def handle_data(self, data):
        if self.open[-1] in ("th", "td"):
            self.cells[-1][self.open[-1] == "td"] += data
        if self.open[-1] == "pre":
            self.text += data


def drawings(html):
    """The drawings, each of which is XML."""
    return [ElementTree.fromstring(svg) for svg in re.findall("<svg.*?</svg>", html, re.DOTALL)]


@pytest.mark.parametrize("seed", range(10))
def test_html_shows_shape_strides_dtype_and_owner(seed):
    choose = random.Random(seed)
    for _ in range(10):
        x = some_array(choose, largest=10, ranks=range(4))
        t = dlbridge.from_dlpack(x)
        html = t._repr_html_()
        facts = Page(html).facts
        assert (
            facts["shape"] == str(list(t.shape))
            and facts["strides"] == f"{list(t.strides)} elements"
        )
        assert (facts["dtype"], facts["device"], facts["owner"]) == (
            "int32",
            "cpu",
            "numpy.ndarray",
        )
        assert facts["memory"].startswith(f"{t.nbytes} bytes at {t.data_ptr:#x}")
        assert ("read-only" in facts.get("written", "")) == t.readonly
        assert Page(html).text == str(t)
        if x.size and x.ndim:
            check_grid(drawings(html)[0], t)
        else:
            assert "<text" not in html


def check_grid(svg, t):
    """The last two dimensions, each element with its place in memory, counted from the first."""
    rows, columns = (t.shape[-2] if t.ndim > 1 else 1, t.shape[-1])
    down = t.strides[-2] if t.ndim > 1 else 0
    drawn = [(row, column) for row in range(min(rows, 8)) for column in range(min(columns, 8))]
    texts = [text.text for text in svg.iter("text")]
    expected = [f"{row * down + column * t.strides[-1]:+}" for row, column in drawn]
    assert texts[: len(drawn)] == expected and len(list(svg.iter("rect"))) == len(drawn)
    across = f"{columns} across, {t.strides[-1]:+} each"
    assert texts[len(drawn)] == across + (", ..." if columns > 8 else "")
    if t.ndim > 1:
        assert texts[len(drawn) + 1 :] == [
            f"{rows} down,",
            f"{down:+} each" + (", ..." if rows > 8 else ""),
        ]
    # Nothing is drawn outside of the picture.
    for box in svg.iter("rect"):
        assert 0 <= float(box.get("x")) and float(box.get("x")) + float(box.get("width")) <= float(
            svg.get("width")
        )
        assert 0 <= float(box.get("y")) and float(box.get("y")) + float(box.get("height")) <= float(
            svg.get("height")
        )


@pytest.mark.parametrize(
    "part, begin, end",
    [
        (slice(None), 0, 1),
        (slice(25, 75), 0.25, 0.75),
        (slice(75, 24, -1), 0.25, 0.76),
        (slice(0, 50, 7), 0, 0.5),
        (slice(99, None), 0.99, 1),
    ],
)
def test_html_shows_the_part_of_the_memory(part, begin, end):
    t = dlbridge.arange(100)[part]
    html = t._repr_html_()
    whole, touched = drawings(html)[-1].iter("rect")
    width = float(whole.get("width"))
    assert float(touched.get("x")) == pytest.approx(begin * width)
    assert float(touched.get("width")) == pytest.approx((end - begin) * width)
    assert ("in 800 of its owner's" in Page(html).facts["memory"]) == (t.size != 100)


def test_html_shows_every_dtype_and_empty_tensors():
    for name in ("bool", "int4", "bfloat16", "complex64", "handle", "float32x2", "float6_e2m3fn"):
        t = dlbridge.empty((2, 4), name)
        assert Page(t._repr_html_()).facts["dtype"] == name
    for t in (dlbridge.zeros(0), dlbridge.zeros((0, 3)), dlbridge.asarray(1)):
        html = t._repr_html_()
        assert Page(html).facts["shape"] == str(list(t.shape)) and len(drawings(html)) == (
            t.size > 0
        )


def test_html_escapes_owner_names():
    kind = type('<b>&amp;"bold"</b>', (bytearray,), {})
    t = dlbridge.from_dlpack(kind(b"ab"))
    html = t._repr_html_()
    assert kind.__name__ in t.owner and "<b>" not in html and '"bold"' not in html
    assert Page(html).facts["owner"] == t.owner


def test_html_of_large_tensor_is_short():
    assert len(dlbridge.zeros((1000, 1000))._repr_html_()) < 20_000
    assert len(drawings(dlbridge.zeros((3,) * 12)._repr_html_())) == 2
