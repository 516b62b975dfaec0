"""Messages of MPI from and into our tensors, between two processes."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support import REQUIRE_ALL, framework

framework("mpi4py")

START = """
import gc, os, sys
import numpy as np
from mpi4py import MPI
import dlbridge

comm = MPI.COMM_WORLD
rank, other = comm.Get_rank(), 1 - comm.Get_rank()
assert comm.Get_size() == 2

def send_and_receive(sent, received, tag=0):
    if rank == 0:
        comm.Send(sent, dest=1, tag=tag)
    else:
        comm.Recv(received, source=0, tag=tag)
"""


def two_processes(code):
    """Runs code in two of them; each says that it came to its end."""
    beside = Path(sys.executable).parent / "mpiexec"
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        if REQUIRE_ALL:
            raise FileNotFoundError("mpiexec")
        pytest.skip("there is no mpiexec")
    # In one piece, as both write to the same pipe.
    code = (
        START
        + textwrap.dedent(code)
        + "\nsys.stdout.flush()\nos.write(1, b'rank %d is done\\n' % rank)\n"
    )
    command = [mpiexec, "-n", "2", sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, env=dict(os.environ), timeout=240
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert sorted(line for line in done.stdout.splitlines() if line.endswith("is done")) == [
        "rank 0 is done",
        "rank 1 is done",
    ]


def test_messages_of_every_dtype_are_received():
    two_processes("""
    names = '''int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 float8_e4m3fn
        complex64 complex128 bool'''.split()
    for tag, name in enumerate(names):
        numbers = np.arange(24).reshape(4, 6) % 2 if name == "bool" else np.arange(24).reshape(4, 6)
        sent = dlbridge.asarray(numbers, name)
        received = dlbridge.zeros((4, 6), name)
        where = received.data_ptr
        send_and_receive(sent, received, tag)
        assert rank == 0 or received.tolist() == sent.tolist(), name
        assert received.data_ptr == where
    """)


def test_messages_of_every_view_are_received():
    two_processes("""
    numbers = np.arange(24, dtype="f8")
    ours = dlbridge.from_dlpack(numbers)
    for tag, view in enumerate([
        lambda x: x, lambda x: x[3:9], lambda x: x[5], lambda x: x[:0], lambda x: x.reshape(2, 3, 1, 2, 1, 2, 1, 1),
    ]):
        received = dlbridge.zeros(24, "float64")
        send_and_receive(view(ours), view(received), tag)
        assert rank == 0 or view(received).tolist() == view(ours).tolist()
        assert rank == 0 or sum(received.tolist()) == view(ours).to("numpy").sum()
    # What has gaps is refused, by name.
    for gaps in (ours[::2], ours[::-1], ours.reshape(4, 6)[:, 1:3]):
        try:
            comm.Send(gaps, dest=other)
        except BufferError as error:
            assert "dlpack: buffer is not contiguous" in str(error) or "dlpack: strides item is negative" in str(error)
        else:
            raise SystemExit("it was sent")
    """)


def test_messages_of_framework_tensors_are_received():
    framework("torch")
    two_processes("""
    import torch
    if rank == 0:
        x = torch.arange(12.0).reshape(3, 4)
        comm.Send(dlbridge.from_dlpack(x), dest=1)
    else:
        x = torch.zeros(3, 4)
        comm.Recv(dlbridge.from_dlpack(x), source=0)
        assert x.tolist() == torch.arange(12.0).reshape(3, 4).tolist()
        # And into ours, seen from the framework.
    ours = dlbridge.zeros((3, 4), "float32")
    seen = ours.to("torch")
    send_and_receive(dlbridge.from_dlpack(x), ours, tag=1)
    assert rank == 0 or torch.equal(seen, x)
    """)


def test_receive_into_read_only_memory_is_refused():
    two_processes("""
    numbers = np.zeros(4)
    numbers.flags.writeable = False
    ours = dlbridge.from_dlpack(numbers)
    assert ours.readonly
    if rank == 1:
        try:
            comm.Recv(ours, source=0)
        except BufferError as error:
            assert str(error) == "dlpack: buffer is not writable"
        else:
            raise SystemExit("it was written")
        writable = dlbridge.from_dlpack(numbers, copy=True)
        comm.Recv(writable, source=0)
        assert writable.tolist() == [0, 0, 0, 0] and not numbers.any()
    else:
        comm.Send(ours, dest=1)  # It may be read.
    """)


def test_collective_operations_write_tensors():
    two_processes("""
    mine = dlbridge.full((2, 3), float(rank + 1))
    total = dlbridge.zeros((2, 3), "float64")
    comm.Allreduce(mine, total, op=MPI.SUM)
    assert total.tolist() == [[3.0] * 3] * 2
    everyone = dlbridge.zeros((2, 2, 3), "float64")
    comm.Allgather(mine, everyone)
    assert everyone.tolist() == [[[1.0] * 3] * 2, [[2.0] * 3] * 2]
    comm.Bcast(mine, root=1)
    assert mine.tolist() == [[2.0] * 3] * 2
    request = comm.Isend(mine, dest=other) if rank == 0 else comm.Irecv(total, source=0)
    request.Wait()
    assert total.tolist() == ([[3.0] * 3] if rank == 0 else [[2.0] * 3]) * 2
    """)


def test_dtype_without_mpi_datatype_is_refused():
    two_processes("""
    try:
        comm.Send(dlbridge.zeros(4, "complex32"), dest=other)
    except KeyError as error:
        assert "MPI datatype" in str(error)
    else:
        raise SystemExit("it was sent")
    """)


def test_messages_in_a_loop_release_memory_once():
    two_processes("""
    import weakref
    numbers = np.zeros(16)
    gone, ours = weakref.ref(numbers), dlbridge.from_dlpack(numbers)
    del numbers
    for _ in range(3):
        comm.Sendrecv(ours, dest=other, recvbuf=dlbridge.zeros(16, "float64"), source=other)
    assert gone() is not None
    del ours
    gc.collect()
    assert gone() is None

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    sent, received = dlbridge.zeros(16, "float32"), dlbridge.zeros(16, "float32")
    def repeat(rounds):
        for _ in range(rounds):
            comm.Sendrecv(sent, dest=other, recvbuf=received, source=other)
    repeat(5_000)
    gc.collect()
    blocks, memory = sys.getallocatedblocks(), resident()
    repeat(100_000)
    gc.collect()
    more, grown = sys.getallocatedblocks() - blocks, resident() - memory
    assert more < 2_000 and grown < 1 << 20, (more, grown)
    """)
