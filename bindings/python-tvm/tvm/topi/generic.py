"""tvm.topi.generic: schedules, which are made by the compiler's own rules for the machine."""
from __future__ import annotations

from typing import Any

from tenon import te

from .. import _missing


def schedule(outs: Any) -> te.Schedule:
    """The loops of these tensors, scheduled as the compiler does for a model."""
    many = outs if isinstance(outs, (list, tuple)) else [outs]
    made = te.create_schedule([t.op for t in many])
    made.rule()
    return made


schedule_injective = schedule_reduce = schedule_softmax = schedule_dense = schedule_conv2d_nchw = schedule
schedule_elemwise = schedule_broadcast = schedule_batch_matmul = schedule_extern = schedule
__path__: list = []
__getattr__ = _missing.attributes(__name__)
