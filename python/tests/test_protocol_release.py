"""Tests of the release of hand-made tensors: by which thread, when, and during which calls."""

import sys
import threading
import time

import dlbridge_testing as ext
import pytest
from made import Made
from support import framework, in_new_process


def test_capsule_taken_by_many_threads_is_consumed_once():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for attempt in range(100):
            made = Made(versioned=attempt % 2 == 0)
            capsule, barrier, outcomes = made.capsule(), threading.Barrier(8), []

            def take():
                barrier.wait()
                try:
                    outcomes.append(ext.identity(capsule))
                except BufferError as error:
                    outcomes.append("already taken" in str(error))

            threads = [threading.Thread(target=take) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            won = [outcome for outcome in outcomes if outcome is not True]
            assert len(outcomes) == 8 and len(won) == 1 and won[0].data_ptr == made.data
            assert made.deleted == 0
            outcomes.clear(), won.clear()
            assert made.deleted == 1
    finally:
        sys.setswitchinterval(interval)


#: Seconds between two looks of the releaser thread at what threads without the GIL have released.
TICK = 0.001


@pytest.mark.parametrize("release", [ext.release, ext.release_detached, ext.release_on_thread])
def test_release_from_every_thread_runs_the_deleter_on_main(release):
    main, by = threading.get_ident(), []
    for _ in range(50):
        made = Made()
        made.when_deleted = lambda: by.append(threading.get_ident())
        key = ext.keep(made.capsule())
        began = time.perf_counter()
        assert release(key) and made.deleted == 1
        # A thread without the GIL leaves it to the main thread, which does it when the call
        # returns. Only in a call that takes as long as two looks may the releaser thread be first.
        is_long = release is not ext.release and time.perf_counter() - began >= TICK
        assert is_long or by[-1] == main
    assert main in by and len(by) == 50


@pytest.mark.parametrize(
    "thing", ["tensor", "ext.identity(tensor)", "ext.transposed(tensor)", "ext.to(tensor, 'numpy')"]
)
def test_deleter_that_runs_python_keeps_a_pending_exception(thing):
    # A value on the stack is dropped while the exception is on its way, which its destructor has
    # to leave as it is. In a process of its own, since a lost exception ends the process.
    if "numpy" in thing:
        framework("numpy")
    output = in_new_process(f"""
        import dlbridge_testing as ext
        from made import Made

        def two(*values): ...

        made = Made()
        tensor = ext.identity(made.capsule())
        things = [{thing}]
        del tensor
        try:
            two(things.pop(), 1 / 0)
        except ZeroDivisionError as error:
            print(error, made.deleted)
    """)
    assert output == "division by zero 1\n"
