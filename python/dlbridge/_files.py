"""Tensors of any framework in files (safetensors, .npy, .npz) and messages (TensorProto)."""

from __future__ import annotations

import os

from . import _core
from ._errors import with_fields

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeAlias

    from typing_extensions import Buffer

    from ._core import TensorFile
    from .typing import DeviceLike, TensorLike

    Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    Tensors: TypeAlias = Mapping[str, TensorLike] | TensorLike


class Loaded(dict):  # type: ignore[type-arg]
    """Tensors by name, in the order of the file.

    `copied` says which of them couldn't share the file's memory, and why; `metadata` is that of the
    file, or None.
    """

    def __init__(
        self, tensors: dict[str, Any], copied: dict[str, str], metadata: dict[str, str] | None
    ) -> None:
        super().__init__(tensors)
        self.copied = copied
        self.metadata = metadata

    @property
    def only(self) -> Any:
        """Returns the only tensor, of formats that hold one."""
        if len(self) != 1:
            error = ValueError(f"expected 1 tensor, got {len(self)}")
            raise with_fields(error, "value", found=len(self), wanted=1)
        return next(iter(self.values()))


def open_file(
    path: Path, *, format: str | None = None, to: str | None = None, writable: bool | None = None
) -> TensorFile:
    """Opens a file of tensors, and reads their descriptions only.

    `TensorFile.load(names, to, device)` gives tensors of a framework, by name. They share the
    file's memory, so that programs must not change or truncate the file while they are used; `save`
    never does.

    `writable=True` gives tensors that may be written. The file stays as it is; the other tensors of
    this `TensorFile` change. By default those of frameworks without read-only tensors, as PyTorch
    and Paddle, may be written, and others are read-only. `to` names the framework of all loads,
    whose tensors then decide for all. Read-only tensors become those of such frameworks by the
    policy of `dlbridge.readonly`, where "refuse" makes copies.
    """
    return _core._open_file(os.fsdecode(path), format, to, writable)


def load(
    path: Path,
    to: str = "dlbridge",
    *,
    device: DeviceLike | None = None,
    names: Iterable[str] | None = None,
    format: str | None = None,
    writable: bool | None = None,
) -> Loaded:
    """Loads tensors of a file as those of a framework, and returns them by name as `Loaded`.

    Nothing is copied where the framework can use the file's bytes as they are; `.copied` of the
    result names those that were copied. `names` loads some of the tensors and reads no others. The
    format is that of the file's name or first bytes; messages need `format="tf_proto"` or
    `format="onnx_proto"`, and their tensor is called as the message or the file is.

    Programs must not change or truncate the file while its tensors are used; `save` never does. See
    `open_file` for `writable`.
    """
    file = open_file(path, format=format, to=to, writable=writable)
    return _load(file, to, device, names)


def loads(
    data: Buffer,
    to: str = "dlbridge",
    *,
    device: DeviceLike | None = None,
    names: Iterable[str] | None = None,
    format: str | None = None,
) -> Loaded:
    """Loads tensors of bytes as `load` does, of any object with a buffer, and shares them.

    They are read-only. Frameworks without read-only tensors write to what may be written, as a
    bytearray, and get other bytes by the policy of `dlbridge.readonly`, where "refuse" makes copies.
    """
    return _load(_core._open_bytes(data, format), to, device, names)


def save(
    path: Path,
    tensors: Tensors,
    *,
    format: str | None = None,
    align: int | None = None,
    metadata: Mapping[str, str] | None = None,
    external: str | None = None,
) -> list[str]:
    """Saves tensors of any framework by name to a file.

    Returns the names of those that couldn't be aligned.

    Without `align` the bytes are those that safetensors, NumPy, TensorFlow and ONNX write. With
    `align=64` JAX and TensorFlow can share all tensors of the file, or all but those that are
    returned. `metadata` are texts by name, which safetensors has. The formats that hold one tensor
    take that tensor, too. `external` names another file for the elements of ONNX's message, in or
    below its folder.

    The file appears under its name when it is complete.
    """
    return _core._save_file(
        os.fsdecode(path),
        _named(tensors, path),
        format,
        1 if align is None else align,
        _items(metadata),
        external,
    )


def dumps(
    tensors: Tensors,
    format: str,
    *,
    align: int | None = None,
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """Returns the bytes of a file or message, as `save` writes them.

    A single tensor in place of tensors by name has no name.
    """
    return _core._save_bytes(
        _named(tensors, ""), format, 1 if align is None else align, _items(metadata)
    )


def _load(
    file: TensorFile, to: str, device: DeviceLike | None, names: Iterable[str] | None
) -> Loaded:
    tensors, copied = file.load(names, to, device)
    return Loaded(tensors, copied, file.metadata)


def _named(tensors: Tensors, path: Path) -> list[tuple[str, TensorLike]]:
    if hasattr(tensors, "items"):
        return list(tensors.items())
    stem, _ = os.path.splitext(os.path.basename(path))
    name = os.fsdecode(stem)
    try:
        name.encode()
    except UnicodeEncodeError:
        # The name of those that have none, as when the file is read.
        name = "tensor"
    return [(name, tensors)]


def _items(metadata: Mapping[str, str] | None) -> list[tuple[str, str]] | None:
    return None if metadata is None else list(metadata.items())
