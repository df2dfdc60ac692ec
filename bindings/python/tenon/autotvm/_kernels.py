"""Tasks of kernels: those of a model, and TVM's built-in templates by name.

A template of TVM here is a row: the operator that it computes, and TVM's arguments of it. Its space is that of the built-in
rules for the kernel that the compiler makes of the operator, as `tenon tune` searches it, and the knobs are the rules' choices."""
from __future__ import annotations

import array
import json
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .. import _core, _module, relay
from .._errors import Error, UnsupportedError
from .._ir import IRModule
from ..relay import _table
from ..relay._build import _checked
from ..relay.ty import TensorType
from ..transform import PassContext
from ._space import ConfigEntity, ConfigSpace, OtherOptionEntity, SplitEntity, words_of
from .measure import MeasureResult
from .task import Made, Task, with_prior

Arguments = Dict[str, Any]


class Operator(NamedTuple):
    """A call of an operator: its operands' types, and its attributes with defaults."""

    name: str
    types: Sequence[Any]
    attrs: _table.Attrs


# ---- templates of TVM ----


def _pair(x: Any, n: int) -> Tuple[Any, ...]:
    return tuple(x) if isinstance(x, (list, tuple)) else (x,) * n


def _padding(x: Any, n: int) -> List[Any]:
    """All sides, of one number, of one for each axis, or of all."""
    given = _pair(x, n)
    return list(given) * 2 if len(given) == n else list(given)


def _tensor(x: Any) -> Tuple[Tuple[int, ...], str]:
    if not (isinstance(x, (list, tuple)) and len(x) == 3 and x[0] == "TENSOR"):
        raise TypeError(f'a tensor is ("TENSOR", shape, dtype) or a te.placeholder, not {x!r}')
    return tuple(x[1]), x[2]


_CODES = {"float32": "f", "float64": "d", "float16": "H", "int8": "b", "uint8": "B", "int32": "i", "int64": "q"}


def _weight(x: Any) -> relay.Constant:
    """A constant of that shape. What it holds does not matter, but it is not the same everywhere."""
    shape, dtype = _tensor(x)
    count = 1
    for n in shape:
        count *= n
    if dtype not in _CODES:
        raise UnsupportedError(f"a weight of {dtype}; there are {', '.join(_CODES)}")
    few = (0x3800, 0x3A00, 0x3400) if dtype == "float16" else (1, 2, 3, 1, 3)
    data = array.array(_CODES[dtype], few) * (count // len(few) + 1)
    return relay.const(_core.Tensor.over(data[:count], dtype, shape))


def _conv(n: int, data_layout: str, kernel_layout: str) -> Callable[[Arguments], relay.Expr]:
    def make(a: Arguments) -> relay.Expr:
        kernel, _ = _tensor(a["kernel"])
        deep = a.get("depthwise", False)
        attrs = {"strides": _pair(a["strides"], n), "padding": _padding(a["padding"], n), "dilation": _pair(a["dilation"], n),
                 "data_layout": data_layout, "kernel_layout": kernel_layout, "groups": a.get("groups", 1)}
        weight = a["kernel"]
        if deep:  # (channels, multiplier, ...)
            attrs["groups"] = kernel[0]
            weight = ("TENSOR", (kernel[0] * kernel[1], 1, *kernel[2:]), a["kernel"][2])
        if a.get("out_dtype") and a["out_dtype"] != a["data"][2]:
            attrs["out_dtype"] = a["out_dtype"]
        return relay.Call(relay.Op(f"nn.conv{n}d"), [_var("data", a["data"]), _weight(weight)], attrs)

    return make


def _transpose(a: Arguments) -> relay.Expr:
    attrs = {"strides": _pair(a["strides"], 2), "padding": _padding(a["padding"], 2),
             "output_padding": _pair(a.get("output_padding") or 0, 2)}
    return relay.Call(relay.Op("nn.conv2d_transpose"), [_var("data", a["data"]), _weight(a["kernel"])], attrs)


def _dense(a: Arguments) -> relay.Expr:
    made: relay.Expr = relay.Call(relay.Op("nn.dense"), [_var("data", a["data"]), _weight(a["weight"])], _out_dtype(a))
    return made if a.get("bias") is None else made + _weight(a["bias"])


def _batch_matmul(a: Arguments) -> relay.Expr:
    attrs = {"transpose_a": a.get("transpose_a", False), "transpose_b": a.get("transpose_b", True), **_out_dtype(a)}
    return relay.Call(relay.Op("nn.batch_matmul"), [_var("data", a["data"]), _var("weight", a["weight"])], attrs)


def _out_dtype(a: Arguments) -> Arguments:
    return {"out_dtype": a["out_dtype"]} if a.get("out_dtype") not in (None, a["data"][2]) else {}


def _var(name: str, x: Any) -> relay.Var:
    shape, dtype = _tensor(x)
    return relay.var(name, shape=shape, dtype=dtype)


def _text_of(t: TensorType) -> Tuple[str, Tuple[Any, ...], str]:
    return ("TENSOR", t.shape, t.dtype)


def _conv_args(names: Sequence[str]) -> Callable[[Operator], Tuple[Any, ...]]:
    def args(o: Operator) -> Tuple[Any, ...]:
        data, kernel = o.types[:2]
        if "depthwise" in names:
            groups = o.attrs.groups
            kernel = TensorType((groups, kernel.shape[0] // groups, *kernel.shape[2:]), kernel.dtype)
        layout = o.attrs.data_layout or "NCHW"
        known = {"data": _text_of(data), "kernel": _text_of(kernel), "layout": layout, "out_layout": layout,
                 "out_dtype": _result_dtype(o)}
        return tuple(known[n] if n in known else _tuple(getattr(o.attrs, n)) for n in names if n != "depthwise")

    return args


def _result_dtype(o: Operator) -> str:
    return o.attrs.out_dtype or o.types[0].dtype


def _tuple(x: Any) -> Any:
    return tuple(x) if isinstance(x, list) else x


def _dense_args(o: Operator) -> Tuple[Any, ...]:
    return (_text_of(o.types[0]), _text_of(o.types[1]), None, _result_dtype(o))


def _batch_matmul_args(o: Operator) -> Tuple[Any, ...]:
    return (_text_of(o.types[0]), _text_of(o.types[1]), None, _result_dtype(o), o.attrs.transpose_a, o.attrs.transpose_b)


def _transpose_args(o: Operator) -> Tuple[Any, ...]:
    a = o.attrs
    return (_text_of(o.types[0]), _text_of(o.types[1]), tuple(a.strides), tuple(a.padding), o.types[0].dtype, tuple(a.output_padding))


class Template(NamedTuple):
    """One of TVM's. parameters: names of its arguments in order, of which the first `least` must be given; make: Relay of
    them; args: those of a call in a model."""

    operator: str
    parameters: Tuple[str, ...]
    least: int
    make: Callable[[Arguments], relay.Expr]
    args: Callable[[Operator], Tuple[Any, ...]]
    sizes: Sequence[Tuple[str, str, bool]] = ()  # TVM's knob, the role of our choice, is it of elements that are vectors here?
    axes: str = ""  # what the built-in schedule says of itself where these are the same axes


_CONV = ("data", "kernel", "strides", "padding", "dilation")
_LAYOUTS = (*_CONV, "layout", "out_layout", "out_dtype")
_GROUPS = (*_CONV, "groups", "out_dtype")
_ROWS = (("tile_y", "rows", False), ("tile_x", "vectors", True))
_PIXELS = (("tile_ow", "pixels", False), ("tile_oc", "vectors", True))
_DENSE = Template("nn.dense", ("data", "weight", "bias", "out_dtype"), 2, _dense, _dense_args, _ROWS, "rule gemm/")


def _row(n: int, names: Sequence[str], data: str, kernel: str, depthwise: bool = False) -> Template:
    make, marked = _conv(n, data, kernel), (*names, "depthwise") if depthwise else names
    return Template(f"nn.conv{n}d", tuple(names), 5, lambda a: make({**a, "depthwise": depthwise}), _conv_args(marked),
                    _PIXELS if names is _LAYOUTS else (), "/channels:")


TEMPLATES: Mapping[str, Template] = {
    "conv1d_ncw.x86": _row(1, (*_CONV, "out_dtype"), "NCW", "OIW"),
    "conv2d_NCHWc.x86": _row(2, _LAYOUTS, "NCHW", "OIHW"),
    "conv2d_NCHWc_int8.x86": _row(2, _LAYOUTS, "NCHW", "OIHW"),
    "conv2d_nchw.x86": _row(2, (*_CONV, "out_dtype"), "NCHW", "OIHW"),
    "conv2d_nhwc.x86": _row(2, (*_CONV, "out_dtype"), "NHWC", "HWIO"),
    "depthwise_conv2d_NCHWc.x86": _row(2, _LAYOUTS, "NCHW", "OIHW", depthwise=True),
    "depthwise_conv2d_nchw.x86": _row(2, (*_CONV, "out_dtype"), "NCHW", "OIHW", depthwise=True),
    "group_conv2d_nchw.x86": _row(2, _GROUPS, "NCHW", "OIHW"),
    "conv3d_ncdhw.x86": _row(3, _GROUPS, "NCDHW", "OIDHW"),
    "conv3d_ndhwc.x86": _row(3, _GROUPS, "NDHWC", "DHWIO"),
    "conv2d_transpose_nchw.x86": Template("nn.conv2d_transpose", (*_CONV[:4], "out_dtype", "output_padding"), 4, _transpose,
                                          _transpose_args),
    "dense_nopack.x86": _DENSE,
    "dense_pack.x86": _DENSE,
    "batch_matmul.x86": Template("nn.batch_matmul", ("data", "weight", "out_shape", "out_dtype", "transpose_a", "transpose_b"), 2,
                                 _batch_matmul, _batch_matmul_args, _ROWS, "rule gemm/"),
}
_ALIASES = {"conv2d_nchw": "conv2d_nchw.x86", "conv2d_NCHWc": "conv2d_NCHWc.x86", "conv2d": "conv2d_nchw.x86"}


def find_template(name: str) -> Optional[Template]:
    return TEMPLATES.get(_ALIASES.get(name, name))


def _name_of_conv2d(o: Operator) -> str:
    data, kernel = o.types[:2]
    if (o.attrs.data_layout or "NCHW") != "NCHW":
        return "conv2d_nhwc.x86"
    if o.attrs.groups == 1:
        return "conv2d_NCHWc_int8.x86" if data.dtype in ("int8", "uint8") else "conv2d_NCHWc.x86"
    return "depthwise_conv2d_NCHWc.x86" if o.attrs.groups == data.shape[1] and kernel.shape[1] == 1 else "group_conv2d_nchw.x86"


# The operators whose kernels are tasks of a model, and which template TVM has for a call.
_NAMES: Mapping[str, Callable[[Operator], str]] = {
    "nn.conv1d": lambda o: "conv1d_ncw.x86", "nn.conv2d": _name_of_conv2d,
    "nn.conv3d": lambda o: "conv3d_ndhwc.x86" if o.attrs.data_layout == "NDHWC" else "conv3d_ncdhw.x86",
    "nn.conv2d_transpose": lambda o: "conv2d_transpose_nchw.x86", "nn.dense": lambda o: "dense_pack.x86",
    "nn.batch_matmul": lambda o: "batch_matmul.x86"}


# ---- spaces ----


def _value(word: str) -> Any:
    return int(word) if word.lstrip("-").isdigit() else word


class KernelSpace(ConfigSpace):
    """The schedules of a kernel. space_map has the choices of the built-in schedule; others may come with other choices, so the
    number of points is about that, where not `exact`, and their numbers are not dense: any number is some point."""

    def __init__(self, task: "KernelTask", points: float, exact: bool, choices: Sequence[Any]):
        super().__init__()
        self._task, self._points, self.exact = task, max(1, round(points)), exact
        for name, words, at in choices:
            self.space_map[name] = [OtherOptionEntity(_value(w)) for w in words]
            self._entity_map[name] = self.space_map[name][at]

    def __len__(self) -> int:
        return self._points

    def get(self, index: int) -> ConfigEntity:
        """The point of that number; 0 is the built-in schedule. Where fewer choices are left to make, the point has a lower one, too,
        which is its index."""
        if not 0 <= index < 2 ** 64:
            raise IndexError(f"points have numbers from 0 on, and {index} is none")
        found = self._task.point(index)
        number = 0
        for _, words, at in reversed(found):
            number = number * len(words) + at
        return ConfigEntity(number, {name: OtherOptionEntity(_value(words[at])) for name, words, at in found})

    def entity(self, picks: str, number: int) -> ConfigEntity:
        return ConfigEntity(number, {n: OtherOptionEntity(_value(w)) for n, w in words_of(picks).items()})


# ---- tasks ----


class KernelTask(Task):
    """A kernel of a program: an operator of TVM's `name` and `args`, with what is computed in one go with it. Two kernels that
    differ in the latter alone have the same `workload`; kwargs says which one it is."""

    has_records = True

    def __init__(self, name: str, args: Sequence[Any], target: Any, program: _core.Program, options: Mapping[str, Any],
                 number: int, found: Sequence[Mapping[str, Any]]):
        fields = found[number]
        self.name, self.args = name, tuple(args)
        self.kwargs = {"kernel": fields["name"], "workload": f"{fields['workload']:016x}"}
        self.target = None if target is None else str(target)
        self.flop = fields["operations"]
        self.func: Any = None
        self.prior: List[Mapping[str, Any]] = []
        self.workloads = [f"{f['workload']:016x}" for f in found]
        self.near: Optional[Tuple[float, str]] = None  # seconds and tile sizes of the fastest line of TVM
        self._built_in = fields["built_in"]
        self._program, self._options, self._number = program, {**options, "no_records": True}, number
        self.config_space = KernelSpace(self, fields["points"], bool(fields["exact"]), fields["pick"])

    def point(self, number: int) -> List[Any]:
        return self._program.tune_point(dict(self._options), {"tasks": str(self._number)}, number)

    def run(self, config: ConfigSpace) -> Made:
        raise UnsupportedError("the kernel of a built-in template has no te.Schedule; `tenon dump --stage schedule` shows the steps of "
                               "a model's kernels")

    def instantiate(self, config: ConfigEntity) -> Made:
        return self.run(self.config_space)

    def learn(self, workload: Tuple[Any, ...], config: ConfigEntity, result: MeasureResult) -> bool:
        """Begin near the tile sizes of a line that TVM wrote of this operator and these shapes. False: it is another line, or
        cannot be told which of its sizes are of which axes here."""
        template = find_template(self.name)
        same = template is not None and find_template(workload[0]) is template and tuple(workload[1:]) == self.args
        if not same or not result.costs or result.error_no != 0 or template.axes not in self._built_in:  # type: ignore[union-attr]
            return False
        lanes = _lanes(dict(zip(template.parameters, self.args)).get("out_dtype") or "float32")  # type: ignore[union-attr]
        found = [(role, config._entity_map.get(knob), wide) for knob, role, wide in template.sizes]  # type: ignore[union-attr]
        if not found or not all(isinstance(e, SplitEntity) and e.size and e.size[-1] > 0 for _, e, _ in found):
            return False
        text = ",".join(f"{role}={max(e.size[-1] // lanes, 1) if wide else e.size[-1]}" for role, e, wide in found)  # type: ignore[union-attr]
        cost = sum(result.costs) / len(result.costs)
        if not 0 < cost < float("inf"):
            return False
        self.near = min(self.near or (cost, text), (cost, text))
        return True

    def search(self, asked: Mapping[str, Any], has_begun: Callable[[], bool]) -> Mapping[str, Any]:
        """Calls asked["progress"] for each trial and each gain; the task as it stands then."""
        asked = {**asked, "tasks": str(self._number), **({"near": self.near[1]} if self.near else {})}
        return with_prior(self.prior, asked, lambda given: self._program.tune(dict(self._options), given)[self._number])


def _lanes(dtype: str) -> int:
    """Elements of a vector of this machine."""
    bits = json.loads(_core.Session().about()[1])["vector_bits"]
    return max(bits // int(dtype.lstrip("abcdefghijklmnopqrstuvwxyz") or 32), 1)


def _operators(fields: Mapping[str, Any]) -> List[Operator]:
    return [Operator(name, [None if t is None else relay.ty.parse(t) for t in types],
                     _table.Attrs(name, _table.read_attributes(name, attributes)))
            for name, attributes, types in fields["operators"]]


def _found(mod: Any, params: Any, target: Any) -> Tuple[_core.Program, Dict[str, Any], List[Dict[str, Any]]]:
    program = _checked(mod, params)._program
    options = {**PassContext.current().options(), **_module.compile_options(None if target is None else str(target), None, None, {})}
    found = program.tune_list(dict(options), {})
    _module.tell(program.session.diagnostics())
    return program, options, found


def _direct(name: str) -> PassContext:
    """The current context; a template of a convolution is the loop over its taps, whatever else would take less time."""
    now = PassContext.current()
    left_out = ["ChooseAlgorithm"] if name.startswith("conv2d") and "int8" not in name else []
    return PassContext(now.opt_level, now.required_pass, [*now.disabled_pass, *left_out], config=now.config)


def create(name: str, args: Sequence[Any], target: Any) -> KernelTask:
    """A task of one operator, whose weights are constants."""
    t = find_template(name)
    assert t is not None
    if not t.least <= len(args) <= len(t.parameters):
        raise TypeError(f"{name} takes ({', '.join(t.parameters)}), of which the first {t.least} must be given, not {len(args)} arguments")
    given = dict(zip(t.parameters, args))
    if name.startswith("conv3d") and isinstance(given.get("groups"), str):  # before TVM 0.8
        given["out_dtype"] = given.pop("groups")
    with _direct(name):
        program, options, found = _found(IRModule.from_expr(t.make(given)), None, target)
    number = max(range(len(found)), key=lambda i: found[i]["operations"])
    return KernelTask(name, args, target, program, options, number, found)


def _operator_name(op: Any) -> str:
    name = op if isinstance(op, str) else getattr(op, "op_name", None) or getattr(op, "name", None)
    if not isinstance(name, str):
        raise TypeError(f"ops are operators, as relay.op.get(\"nn.conv2d\") is, not {op!r}")
    return name


def extract_from_program(mod: Any, params: Optional[Mapping[str, Any]] = None, target: Any = None, target_host: Any = None,
                         ops: Optional[Sequence[Any]] = None) -> List[KernelTask]:
    """The tasks of a model: a kernel each that holds a convolution or a product of matrices, as relay.build makes it with this
    target inside of the current PassContext. ops: those of these operators alone."""
    if target_host is not None and str(target_host) != str(target):
        raise Error("target_host is not supported; code for the CPU is all there is")
    wanted = set(_NAMES) if ops is None else set(map(_operator_name, ops))
    program, options, found = _found(mod, params, target)
    tasks = []
    for i, fields in enumerate(found):
        anchor = next((o for o in _operators(fields) if o.name in _NAMES and o.name in wanted), None)
        if anchor:
            name = _NAMES[anchor.name](anchor)
            tasks.append(KernelTask(name, TEMPLATES[name].args(anchor), target, program, options, i, found))
    return tasks


def extract_from_multiple_program(mods: Sequence[Any], params: Sequence[Any], target: Any = None, target_host: Any = None,
                                  ops: Optional[Sequence[Any]] = None) -> List[KernelTask]:
    """The tasks of several models, each kernel once."""
    tasks: Dict[str, KernelTask] = {}
    for mod, given in zip(mods, params):
        for t in extract_from_program(mod, given, target, target_host, ops):
            tasks.setdefault(t.kwargs["workload"], t)
    return list(tasks.values())
