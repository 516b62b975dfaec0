"""Frameworks for the doctor that stand on NumPy's arrays, and each do one thing that none
should.
"""

import os
import time

from dlbridge._doctor.adapters.base import AbsentError
from dlbridge._doctor.adapters.numpy import NumPy


class Crashes(NumPy):
    name = "crashes"

    def take(self, x):
        if not x.flags.c_contiguous:
            os.abort()
        return super().take(x)


class CrashesLater(NumPy):
    name = "crashes_later"

    def compute(self, x):
        if x.dtype == "int8":
            os.kill(os.getpid(), 11)


class CrashesAtExit(NumPy):
    name = "crashes_at_exit"

    def compute(self, x):
        import atexit

        atexit.register(os.abort)


class CrashesMaking(NumPy):
    name = "crashes_making"

    def make(self, dtype, layout):
        if layout.name == "offset":
            os.abort()
        return super().make(dtype, layout)


class CrashesOnImport(NumPy):
    name = "crashes_on_import"

    def __init__(self):
        os.abort()


class Copies(NumPy):
    name = "copies"

    def take(self, x):
        return super().take(x).copy()


class LiesOfAddress(Copies):
    name = "lies_of_address"

    def take(self, x):
        self.address = x.ctypes.data
        return super().take(x)

    def look(self, x):
        return (
            super()
            .look(x)
            ._replace(pointer=getattr(self, "address", None) or super().look(x).pointer)
        )


class OtherValues(NumPy):
    name = "other_values"

    def take(self, x):
        return super().take(x)[::-1]


class OtherType(NumPy):
    name = "other_type"

    def take(self, x):
        return super().take(x).astype("float64")


class OtherShape(NumPy):
    name = "other_shape"

    def take(self, x):
        return super().take(x)[None]


class Slow(NumPy):
    name = "slow"

    def take(self, x):
        if not x.flags.c_contiguous:
            time.sleep(600)
        return super().take(x)


class Panics(NumPy):
    name = "panics"

    def take(self, x):
        raise BaseException("it panicked")


class Immutable(NumPy):
    name = "immutable"
    immutable = True

    def is_readonly(self, x):
        return True


class Mislabelled(NumPy):
    name = "mislabelled"

    def make(self, dtype, layout):
        if dtype != "bool":
            raise AbsentError("only bool")
        return super().make(dtype, layout).view("uint8")

    def look(self, x):
        return super().look(x)._replace(dtype="bool")


class Broken(NumPy):
    name = "broken"
    module = "no_such_module"


class EndedByOthers(NumPy):
    """Gets a signal once, where the file is not there yet, and each time where it can't be made."""

    name = "ended_by_others"

    def take(self, x):
        file = os.environ["DOCTOR_TEST_FILE"]
        if not os.path.exists(file):
            if not os.environ.get("DOCTOR_TEST_ALWAYS"):
                open(file, "w").close()
            os.kill(os.getpid(), 15)
            time.sleep(600)
        return super().take(x)


class WatcherEndedByOthers(EndedByOthers):
    name = "watcher_ended_by_others"
    may_fork = False
