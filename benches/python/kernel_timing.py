"""Timing of the rows of `kernel_rows` in interleaved rounds."""

import importlib.util
import sys
import time

#: A round is long enough for the clock, and short enough to end before something disturbs it.
ROUND_SECONDS = 0.001
#: Rounds of each call, whatever time they take, and the most.
LEAST_ROUNDS, MOST_ROUNDS = 4, 100
#: Threads of other libraries look for work for a while after each call, and would take the CPU
#: from the next one.
PAUSE_SECONDS = 0.006
#: From this number of seconds on a call uses several threads, or may.
LONG_SECONDS = 5e-6
#: Calls that take so long need no call before them that isn't timed.
VERY_LONG_SECONDS = 0.02
#: Of larger results the package's alone is compared with PyTorch's.
LARGE_RESULT = 2 * 10**7


def extension(folder):
    """The benchmark's extension, which measures the machine."""
    path = next(folder.glob("dlbridge_bench*.so"), None)
    if path is None:
        raise SystemExit(f"{folder} has no dlbridge_bench: run build.py first")
    spec = importlib.util.spec_from_file_location("dlbridge_bench", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure_all(given):
    """Measures all rows, or those that are wanted. Returns what the report prints."""
    import torch

    import dlbridge
    from kernel_rows import all_rows
    from kernel_rows.inputs import Inputs

    threads = given.child
    torch.set_num_threads(threads)
    dlbridge.set_num_threads(threads)
    ours = extension(given.peers)
    measured, missing = [], []
    for make in all_rows(Inputs()):
        row = make()
        text = f"{row.table}: {row.name}, {row.size}"
        if given.only and given.only not in text:
            continue
        print(text, file=sys.stderr, flush=True)
        if row.calls["dlbridge"] is None:
            missing.append(text)
            continue
        check(row)
        measured.append(measure(row, ours, threads, given))
    peaks = {kind: max(ours.peak_flops(kind, threads) for _ in range(5)) for kind in ours.peaks()}
    return {"threads": threads, "rows": measured, "missing": missing, "peaks": peaks}


def check(row):
    """Compares each library's result with PyTorch's."""
    from kernel_rows.inputs import as_torch, is_close

    expected = as_torch(row.calls["torch"].once()).clone()
    for name, call in row.calls.items():
        if name == "torch" or name != "dlbridge" and expected.numel() > LARGE_RESULT:
            continue
        result = call.once()
        # A function that changes its argument returns nothing, or that.
        if result is None:
            continue
        if not is_close(as_torch(result), expected, row.rtol, row.atol):
            raise SystemExit(f"{row.name}, {row.size}: wrong result of {name}")


def measure(row, ours, threads, given):
    """Returns the fastest time of each call, in seconds, and of copies of its memory."""
    import torch

    from kernel_rows.row import COPIES, Call

    calls = dict(row.calls)
    if row.memory is not None and row.nbytes >= 10**6:
        source, target = (tensor.reshape(-1).view(torch.uint8) for tensor in row.memory)
        copied = min(source.numel(), target.numel())
        for name in COPIES:
            copy = getattr(ours, name)
            calls[name] = Call(copy, source[:copied], target[:copied], threads)
    clock = time.process_time if given.cpu_time else time.perf_counter
    timers = {name: call.timer(clock) for name, call in calls.items()}
    counts = {name: calls_per_round(timer) for name, timer in timers.items()}
    least = dict.fromkeys(timers, float("inf"))
    begin, rounds = time.perf_counter(), 0
    turns = list(timers.items())
    while rounds < MOST_ROUNDS:
        if rounds >= LEAST_ROUNDS and time.perf_counter() - begin > given.seconds:
            break
        # Back and forth, so that no call always follows the same neighbour.
        for name, timer in turns if rounds % 2 == 0 else reversed(turns):
            if threads > 1 and least[name] > LONG_SECONDS:
                time.sleep(PAUSE_SECONDS)
                if least[name] < VERY_LONG_SECONDS:
                    timer.timeit(1)
            least[name] = min(least[name], timer.timeit(counts[name]) / counts[name])
        rounds += 1
    bandwidth = None
    if "memcpy" in least:
        bandwidth = 2 * copied / min(least.pop(name) for name in COPIES)
    return {
        "table": row.table,
        "name": row.name,
        "size": row.size,
        "seconds": least,
        "bars": row.bars,
        "nbytes": row.nbytes,
        "bandwidth": bandwidth,
        "flops": row.flops,
        "peak": row.peak,
        "curve": row.curve,
    }


def calls_per_round(timer):
    timer.timeit(1)
    number = 1
    while (seconds := timer.timeit(number)) < ROUND_SECONDS / 4:
        number *= 4
    return max(1, round(number * ROUND_SECONDS / seconds))
