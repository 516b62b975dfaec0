"""Waits on the double of NVIDIA's driver until what was dropped is released."""

import gc
import sys
import time

import dlbridge
import double_driver as driver


def settle(until=lambda: True):
    """Has all work done and all that was dropped released, until something is true. A release that
    needs Python may come from another thread, which waits for this one to give the GIL up; what
    never comes true is seen by what is checked afterwards.
    """
    end = time.monotonic() + 60
    while True:
        gc.collect()
        # Pending releases are drained once the work is done, and that may bring more to release.
        for _ in range(3):
            for device in range(driver.devices()):
                dlbridge.cuda.synchronize(device)
                if extension := sys.modules.get("dlbridge_cuda_testing"):
                    extension.synchronize(device)  # It has its own memory that waits.
        if until() or time.monotonic() > end:
            return
        time.sleep(0.001)
