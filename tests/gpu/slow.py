"""Work that takes a while, so that a missing order shows."""

SECONDS = 0.2


def torch_sleeps(torch, seconds=SECONDS):
    """Keeps the current stream busy."""
    # About 2 GHz; a little more or less doesn't matter.
    torch.cuda._sleep(int(seconds * 2e9))


def torch_writes_late(torch, tensor, value):
    """Writes a tensor on the current stream, later."""
    torch_sleeps(torch)
    tensor.fill_(value)
