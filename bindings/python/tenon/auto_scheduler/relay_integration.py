"""Tasks of models."""
from __future__ import annotations

import json
from typing import Any, List, Mapping, Optional, Tuple

from .. import _core, te
from .._errors import UnsupportedError
from .._tuning import TuningResult
from ..autotvm._kernels import _found
from ..transform import PassContext
from .measure import TuningOptions
from .search_task import SearchTask


class KernelTask(SearchTask):
    """A kernel of a model."""

    def __init__(self, target: Any, program: _core.Program, options: Mapping[str, Any], number: int, fields: Mapping[str, Any]):
        self.workload_key = json.dumps([f"{fields['workload']:016x}"])
        self.target = None if target is None else str(target)
        self.desc, self.flop, self.weight = fields["name"], fields["operations"], int(fields["calls"])
        self.prior = []
        self._program, self._options, self._number, self._fields = program, {**options, "no_records": True}, number, fields

    @property
    def compute_dag(self) -> str:
        return "\n".join(f"{name}({', '.join(map(str, types))}){' ' + attributes if attributes else ''}"
                         for name, attributes, types in self._fields["operators"]) + "\n"

    def schedule(self) -> te.Schedule:
        raise UnsupportedError("the kernel of a model has no te.Schedule; builds inside of ApplyHistoryBest take what was found, and "
                               "`tenon dump --stage schedule` shows the steps")

    def tune(self, tuning_options: TuningOptions, search_policy: Any = None, adaptive_training: bool = False) -> TuningResult:
        from .task_scheduler import TaskScheduler

        return TaskScheduler([self]).tune(tuning_options, search_policy)


def extract_tasks(mod: Any, params: Optional[Mapping[str, Any]], target: Any, target_host: Any = None, hardware_params: Any = None,
                  include_simple_tasks: bool = False, dump_workload_to_dag_log: Any = None, opt_level: Optional[int] = None,
                  other_targets: Any = None) -> Tuple[List[KernelTask], List[int]]:
    """The tasks of a model, as relay.build makes its kernels with this target inside of the current PassContext (opt_level: inside of
    one of that level), and how often each is called in a run. include_simple_tasks: without it, kernels without a convolution or a
    product of matrices are left out."""
    if target_host is not None and str(target_host) != str(target) or other_targets or dump_workload_to_dag_log:
        raise UnsupportedError("target_host, other_targets and dump_workload_to_dag_log are not supported; code for the CPU is all "
                               "there is")
    with PassContext.current() if opt_level is None else PassContext(opt_level=opt_level):
        program, options, found = _found(mod, params, target)
    tasks = [KernelTask(target, program, options, i, fields) for i, fields in enumerate(found)
             if include_simple_tasks or _is_complex(fields)]
    return tasks, [t.weight for t in tasks]


_COMPLEX = ("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose", "nn.dense",
            "nn.matmul", "nn.batch_matmul", "nn.contrib_conv2d_NCHWc")


def _is_complex(fields: Mapping[str, Any]) -> bool:
    return any(name in _COMPLEX for name, _, _ in fields["operators"])
