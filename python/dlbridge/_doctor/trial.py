"""One tensor on its way from one framework to another."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

from . import capsules, elements
from .adapters.base import AbsentError, Adapter
from .layouts import Layout
from .results import Verdict

Stage = Callable[[str], None]


def attempt(
    producer: Adapter, consumer: Adapter, route: str, dtype: str, layout: Layout, stage: Stage
) -> tuple[Verdict, Any]:
    """What becomes of a tensor, and the objects that are there, whose end is the caller's to watch.

    `stage` is told what is done next, so that a crash is known to be in it.
    """
    stage("make")
    before = elements.expected(dtype, layout)
    try:
        x = producer.make(dtype, layout)
        if (kind := producer.look(x).dtype) != dtype:
            return Verdict("absent", f"{producer.name} has {kind} for {dtype}"), None
        if producer.read(x, dtype) != before:
            return Verdict("absent", f"{producer.name} doesn't have it as it was made"), None
    except AbsentError as error:
        return Verdict("absent", sentence(error)), None
    except Exception as error:
        return Verdict("absent", f"{producer.name} can't make it: {described(error)}"), None
    stage("hand over")
    refusal, warned = None, False
    try:
        if route == "direct":
            y = consumer.take(producer.offer(x))
        else:
            y, refusal, warned = _convert(producer.offer(x), consumer.name)
    except Exception as error:
        return Verdict("refused", described(error)), x
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # Such as a panic, which doesn't count as a refusal.
        return Verdict("crashed", described(error)), x
    verdict = _judge(producer, x, consumer, y, dtype, before, stage)
    verdict.warned = warned
    if refusal is not None:
        verdict.reason = verdict.reason or refusal
    elif route == "dlbridge" and verdict.outcome == "copied":
        verdict = Verdict("wrong", "copy=False was accepted, and the memory isn't shared")
    return verdict, (x, y)


def _convert(x: Any, to: str) -> tuple[Any, str | None, bool]:
    """By way of dlbridge; why it isn't shared where a copy has to be requested; and whether there
    is a warning that it is read-only."""
    dlbridge: Any = importlib.import_module("dlbridge")
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always", dlbridge.ReadOnlyWarning)
        try:
            y = dlbridge.convert(x, to, copy=False)
            return y, None, any(warning.category is dlbridge.ReadOnlyWarning for warning in shown)
        except Exception as error:
            refusal = described(error)
    return dlbridge.convert(x, to, copy=None), refusal, False


def _judge(
    producer: Adapter,
    x: Any,
    consumer: Adapter,
    y: Any,
    dtype: str,
    before: list[int],
    stage: Stage,
) -> Verdict:
    stage("read")
    try:
        looks = producer.look(x), consumer.look(y)
        arrived = consumer.read(y, dtype) if looks[1].dtype == dtype else None
    except Exception as error:
        return Verdict("wrong", f"what arrives can't be read: {described(error)}")
    if looks[1].dtype != dtype:
        declared = capsules.declared(producer.offer(x))
        if declared and declared.dtype != dtype:
            return Verdict(
                "wrong", f"{producer.name} gives {dtype} away as {declared.dtype}", by_producer=True
            )
        return Verdict("wrong", f"{dtype} arrives as {looks[1].dtype}")
    if looks[0].shape != looks[1].shape:
        return Verdict("wrong", f"the shape {looks[0].shape} arrives as {looks[1].shape}")
    if arrived != before:
        return Verdict("wrong", "other values arrive")
    stage("compute")
    try:
        consumer.compute(y)
    except Exception:
        pass  # Not every operation is there for every type.
    if not before:
        return Verdict("empty")
    stage("write")
    after = elements.changed(before)
    write(producer, x, dtype, after)
    seen = consumer.read(y, dtype)
    verdict = Verdict({tuple(after): "shared", tuple(before): "copied"}.get(tuple(seen), "wrong"))
    if verdict.outcome == "wrong":
        verdict.reason = "a part of what is written is seen"
    pointers = looks[0].pointer, looks[1].pointer
    verdict.same_pointer = None if None in pointers else pointers[0] == pointers[1]
    if verdict.outcome == "copied" and verdict.same_pointer:
        verdict.reason = "the address is the same, and what is written isn't seen"
    stage("write back")
    verdict.writes_back = verdict.outcome == "shared" and _writes_back(
        producer, x, consumer, y, dtype, before
    )
    verdict.writes_readonly = verdict.writes_back and producer.is_readonly(x)
    return verdict


def write(adapter: Adapter, x: Any, dtype: str, patterns: list[int]) -> None:
    """Writes as the framework does, or else into the memory that it says that the tensor has."""
    try:
        adapter.own_write(x, dtype, patterns)
        if adapter.read(x, dtype) == patterns:
            return
    except Exception:
        pass
    adapter.look(x).write(elements.BITS[dtype], patterns)
    if adapter.read(x, dtype) != patterns:
        raise ValueError(
            f"{adapter.name} doesn't see what is written where it says that its memory is"
        )


def _writes_back(
    producer: Adapter, x: Any, consumer: Adapter, y: Any, dtype: str, patterns: list[int]
) -> bool:
    """Whether the consumer's own way of writing is there, and the producer sees it."""
    try:
        consumer.own_write(y, dtype, patterns)
    except Exception:
        return False
    return producer.read(x, dtype) == patterns


def described(error: BaseException) -> str:
    """An exception in one line."""
    text = sentence(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def sentence(error: BaseException) -> str:
    """What an exception says: where it is long, its line that tells the most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "Check failed" in line]
    return (telling[-1] if len(lines) > 3 and telling else " ".join(lines))[:200]
