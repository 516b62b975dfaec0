"""Private functions of TensorFlow's, by which the generated wrappers of its own ops call them."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import tensorflow as tf

from ..._errors import with_fields


@functools.cache
def private() -> SimpleNamespace:
    """The functions by which TensorFlow's own wrappers call ops."""
    try:
        from tensorflow.python import pywrap_tfe
        from tensorflow.python.eager import context, core, execute
        from tensorflow.python.framework import op_def_library, ops
        from tensorflow.python.types.core import Tensor

        return SimpleNamespace(
            context=context.context,
            execute=pywrap_tfe.TFE_Py_FastPathExecute,
            gradient_types=pywrap_tfe.TFE_Py_TapeSetPossibleGradientTypes,
            failure=core._NotOkStatusException,
            fallback=core._FallbackException,
            must_record=execute.must_record_gradient,
            record=execute.record_gradient,
            add_node=op_def_library._apply_op_helper,
            fail=ops.raise_from_not_ok_status,
            eager=ops.EagerTensor,
            tensor=Tensor,
        )
    except (ImportError, AttributeError) as error:
        text = f"TensorFlow {tf.__version__} lacks a function that its ops are called by: {error}"
        raise with_fields(
            RuntimeError(text),
            "name",
            found=tf.__version__,
            remedy="install another release",
        ) from error
