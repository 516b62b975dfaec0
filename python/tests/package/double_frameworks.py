"""The frameworks on a GPU, made by hand, and how each of them gets a tensor of dlbridge's."""

from double_capsules import Numba, pose_as_cupy, pose_as_jax
from double_tables import Strange, pose_as_torch

torch, cupy, jax = pose_as_torch(), pose_as_cupy(), pose_as_jax()

KINDS = {
    "torch": torch.Tensor,
    "cupy": cupy.ndarray,
    "jax": jax.Array,
    "strange": Strange,
    "numba": Numba,
}


def given(name, tensor):
    """A tensor of dlbridge's as an array of a framework, ready on that one's stream."""
    if name in ("strange", "numba"):
        return KINDS[name].of(tensor)
    return tensor.to(name)


def handle_of(stream):
    """The handle of what a framework's work is done on."""
    return getattr(stream, "ptr", stream)
