"""Cases of quantised operators, one node each, and of whole networks as mxnet.contrib.quantization writes them.

MXNet's kernels on processors without VNNI add two products of bytes in 16 bits, which a sum of two large ones does not fit,
and halve int8 weights for int8 data. So that its results are those of all processors, every other weight along the
reduction is 0, and weights for int8 data are even numbers of steps. Whole numbers must be MXNet's, all of them.
"""
import logging
import warnings

import numpy as np
import mxnet as mx
from mxnet.contrib.quantization import quantize_model

S = mx.sym


def real(r, *shape, low=-1.0, high=1.0):
    return r.r.uniform(low, high, shape)


def numbers(r, kind, *shape):
    return r.r.randint(0, 256, shape) if kind == "uint8" else r.r.randint(-128, 128, shape)


def span(r, kind, top=3.0):
    """Least and largest number, as calibration finds them."""
    high = r.r.uniform(.5, top)
    return [np.array([0 if kind == "uint8" else -high * r.one(1, .8)]), np.array([high])]


def even_steps(r, *shape):
    """Weights of even numbers of steps, -127.5 the largest of each channel; every other one along axis 1 is 0."""
    w = 2.0 * r.r.randint(-63, 64, shape)
    w[:, 1::2] = 0
    w.reshape(shape[0], -1)[:, 0] = -127.5
    return w * 2.0 ** r.number(-8, -6)


def byte_weights(r, *shape):
    w = 2 * r.r.randint(-63, 64, shape)
    w[:, 1::2] = 0
    return w


def node_cases():
    out = {}

    def case(*names):
        def add(f):
            for name in names:
                out[name] = lambda r, name=name: f(r, name)
        return add

    @case("_contrib_quantize")
    def quantize(r, op):
        kind = r.one("int8", "uint8")
        low, high = span(r, kind)
        return r.node(op, [real(r, *r.shape(), low=low[0] * 1.1, high=high[0] * 1.1), low, high], n_out=3, out_type=kind)

    @case("_contrib_quantize_v2")
    def quantize_v2(r, op):
        kind = r.one("int8", "uint8", "auto")
        low, high = (float(v[0]) for v in span(r, r.one("int8", "uint8")))
        known = r.one({}, {"min_calib_range": low, "max_calib_range": high})
        x = real(r, *r.shape(), low=-2, high=3)
        return r.node(op, [np.abs(x) if kind != "int8" and not known else x], n_out=3, out_type=kind, **known)

    @case("_contrib_dequantize")
    def dequantize(r, op):
        kind = r.one("int8", "uint8")
        return r.node(op, [numbers(r, kind, *r.shape()), *span(r, kind)], dtypes={0: kind})

    @case("_contrib_requantize")
    def requantize(r, op):
        kind = r.one("int8", "uint8")
        known = r.one({}, {"min_calib_range": 0.0 if kind == "uint8" else -2.5, "max_calib_range": 2.5})
        x = r.r.randint(0 if kind == "uint8" else -90000, 90000, r.shape())
        return r.node(op, [x, np.array([-60000.0]), np.array([60000.0])], n_out=3, dtypes={0: "int32"}, out_type=kind, **known)

    @case("_contrib_quantized_conv")
    def conv(r, op):
        bias = r.one(True, False)
        k, stride, pad = r.number(1, 3), r.number(1, 2), r.number(0, 1)
        x = [numbers(r, "uint8", r.number(1, 2), 8, 7, 6), byte_weights(r, 4, 8, k, k)]
        x += [r.r.randint(-127, 128, 4)] if bias else []
        ranges = span(r, "uint8") + span(r, "int8") + (span(r, "int8") if bias else [])
        return r.node(op, x + ranges, n_out=3, dtypes={0: "uint8", 1: "int8"} | ({2: "int8"} if bias else {}), kernel=(k, k), num_filter=4,
                      stride=(stride, stride), pad=(pad, pad), no_bias=not bias)

    @case("_contrib_quantized_fully_connected")
    def dense(r, op):
        kind, bias, flat = r.one("int8", "uint8"), r.one(True, False), r.one(True, False)
        x = [numbers(r, kind, 3, *((2, 8) if flat else (16,))), byte_weights(r, 5, 16)]
        x += [r.r.randint(-127, 128, 5)] if bias else []
        ranges = span(r, kind) + span(r, "int8") + (span(r, "int8") if bias else [])
        return r.node(op, x + ranges, n_out=3, dtypes={0: kind, 1: "int8"} | ({2: "int8"} if bias else {}), num_hidden=5, no_bias=not bias)

    @case("_contrib_quantized_pooling")
    def pooling(r, op):
        kind, way = r.one("int8", "uint8"), r.one({"global_pool": True}, {"kernel": (2, 2), "stride": (2, 2)}, {
            "kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}, {"kernel": (2, 3), "pooling_convention": "full"})
        if "kernel" not in way:
            way["kernel"] = (1, 1)
        return r.node(op, [numbers(r, kind, 2, 3, 7, 6), *span(r, kind)], n_out=3, dtypes={0: kind}, pool_type=r.one("max", "avg"), **way)

    @case("_contrib_quantized_act")
    def act(r, op):
        """Of uint8 data MXNet gives the bytes as int8."""
        return r.node(op, [numbers(r, "int8", *r.shape(2)), *span(r, "int8")], n_out=3, dtypes={0: "int8"}, act_type="relu")

    @case("_contrib_quantized_flatten")
    def flatten(r, op):
        kind = r.one("int8", "uint8")
        return r.node(op, [numbers(r, kind, *r.shape(3, 4)), *span(r, kind)], n_out=3, dtypes={0: kind})

    @case("_contrib_quantized_embedding")
    def embedding(r, op):
        return r.node(op, [r.r.randint(0, 7, (2, 3)), numbers(r, "int8", 7, 4), *span(r, "int8")], n_out=3, dtypes={1: "int8"},
                      input_dim=7, output_dim=4)

    @case("_contrib_quantized_concat")
    def concat(r, op):
        n, axis, s = r.number(1, 3), r.number(1, 3), [r.number(1, 4) for _ in range(4)]
        kinds, parts = [r.one("int8", "uint8") for _ in range(n)], []
        for kind in kinds:
            s[axis] = r.number(1, 4)
            parts.append(numbers(r, kind, *s))
        ranges = sum((span(r, kind) for kind in kinds), [])
        return r.node(op, parts + ranges, n_out=3, dtypes=dict(enumerate(kinds)), dim=axis, num_args=n)

    @case("_contrib_quantized_elemwise_add")
    def add(r, op):
        known = r.one({}, {"min_calib_range": -4.0, "max_calib_range": 4.5})
        first = r.one("int8", "uint8")
        second = r.one("int8", "uint8") if known else first
        s = r.shape(2, 4)
        return r.node(op, [numbers(r, first, *s), numbers(r, second, *s), *span(r, first), *span(r, second)], n_out=3,
                      dtypes={0: first, 1: second}, **known)

    @case("_contrib_quantized_elemwise_mul")
    def mul(r, op):
        s, way = r.shape(2, 4), r.one({}, {"min_calib_range": -9.0, "max_calib_range": 9.0}, {"enable_float_output": True})
        return r.node(op, [numbers(r, "int8", *s), numbers(r, "int8", *s), *span(r, "int8"), *span(r, "int8")],
                      n_out=1 if "enable_float_output" in way else 3, dtypes={0: "int8", 1: "int8"}, **way)

    @case("_contrib_quantized_batch_norm")
    def batch_norm(r, op):
        kind, n = r.one("int8", "uint8"), r.number(1, 5)
        low, high = span(r, kind)
        return r.node(op, [numbers(r, kind, 2, n, 3, 4), *(real(r, n, low=.5, high=2) for _ in range(2)), real(r, n),
                           real(r, n, low=.5, high=2), low, high], n_out=3, dtypes={0: kind},
                      names={3: "aux_mean", 4: "aux_var"}, eps=.001, min_calib_range=-6.0, max_calib_range=5.0)

    return out


# ---- networks ----

def network(r, shape, inner, norm):
    """A symbol over x0; inner: with what oneDNN fuses; norm: weights are scaled, so not of even steps."""
    x = S.Variable("x0", shape=shape)

    def conv(y, name, k=3, stride=1, group=1):
        return S.Convolution(y, kernel=(k, k), num_filter=8, pad=(k // 2, k // 2), stride=(stride, stride), num_group=group, name=name,
                             no_bias=r.one(True, False))

    y = conv(x, "c1")
    y = S.BatchNorm(y, name="b1", fix_gamma=r.one(True, False)) if norm and r.one(True, False) else y
    signed = inner and not norm and r.one(True, False)
    y = a = S.LeakyReLU(y, slope=.25, name="a1") if signed else S.Activation(y, act_type="relu", name="a1")
    if inner and r.one(True, False):
        y = conv(y, "c2", k=r.one(1, 3))
        y = S.BatchNorm(y, name="b2", fix_gamma=False) if norm and r.one(True, False) else y
        if r.one(True, False):
            y = S.elemwise_add(*r.one((y, a), (a, y)), name="s")
            # MXNet computes such sums in the type of the operand that is added, which loses numbers of another one
            y = S.Activation(y, act_type="relu", name="a2") if not signed else y
        else:
            y = r.one(lambda: S.Activation(y, act_type="relu", name="a2"), lambda: S.clip(y, a_min=0, a_max=6, name="a2"),
                      lambda: S.LeakyReLU(y, slope=.1, name="a2"))()
    y = S.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type=r.one("max", "avg"), name="p1") if r.one(True, False) else y
    if r.one(True, False):
        z = S.Pooling(a, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p2") if "p1" in y.name else a
        y = S.concat(y, z, dim=1, name="cat")
    if r.one(True, False):
        y = S.FullyConnected(y, num_hidden=6, name="f1", no_bias=r.one(True, False))
        y = r.one(lambda: y, lambda: S.Activation(y, act_type="relu", name="fa"))()
    return y


def filled(r, symbol, shape):
    """Parameters by name."""
    args, _, states = symbol.infer_shape(x0=shape)
    arg, aux = {}, {}
    for name, s in zip(symbol.list_arguments(), args):
        if name.endswith("_weight"):
            w = even_steps(r, *s)
            arg[name] = mx.nd.array(np.sign(w) * real(r, *s) if f"b{name[1]}_gamma" in symbol.list_arguments() else w)
        elif name != "x0":
            arg[name] = mx.nd.array(real(r, *s, low=.5 if "gamma" in name else -.5, high=1.5 if "gamma" in name else .5))
    for name, s in zip(symbol.list_auxiliary_states(), states):
        aux[name] = mx.nd.array(real(r, *s, low=.5, high=1.5))
    return arg, aux


def quantised(r, symbol, shape, backend, mode, **how):
    data = real(r, 8, *shape[1:], low=0).astype("f4")
    arg, aux = filled(r, symbol, shape)
    quiet = logging.Logger("quiet", logging.CRITICAL)
    s = symbol.get_backend_symbol(backend) if backend else symbol
    it = mx.io.NDArrayIter(data=data, batch_size=shape[0], data_name="x0", label_name=None)
    s, arg, aux = quantize_model(sym=s, arg_params=arg, aux_params=aux, data_names=("x0",), label_names=None, ctx=mx.cpu(),
                                 calib_mode=mode, calib_data=it if mode != "none" else None, num_calib_examples=8, logger=quiet, **how)
    s = s.get_backend_symbol(backend) if backend else s
    r.feed = {"x0": data[:shape[0]]}
    r.feed.update({k: v.asnumpy() for k, v in arg.items()})
    r.feed.update({k: v.asnumpy() for k, v in aux.items()})
    r.states = set(aux)
    return s


def networks():
    def plain(r):
        """Operators one by one, as without oneDNN's fusion: only the first convolution has the uint8 data that it needs."""
        shape = (2, 4, 8, 8)
        return quantised(r, network(r, shape, False, False), shape, None, "naive", quantized_dtype="auto")

    def fused(r):
        shape = (2, 4, 8, 8)
        mode = r.one("naive", "none")
        each = "channel-wise" if mode == "naive" and r.one(True, False) else "tensor-wise"
        return quantised(r, network(r, shape, True, mode == "naive" and r.one(True, False)), shape, "MKLDNN_QUANTIZE", mode,
                         quantized_dtype="auto", quantize_granularity=each)

    def real_fused(r):
        """Fused, and not quantised."""
        shape = (2, 4, 8, 8)
        s = network(r, shape, True, True)
        r.feed = {"x0": real(r, *shape).astype("f4")}
        arg, aux = filled(r, s, shape)
        r.feed.update({k: v.asnumpy() for k, v in {**arg, **aux}.items()})
        r.states = set(aux)
        return s.get_backend_symbol("MKLDNN")
    return {"quantised_network": plain, "quantised_and_fused": fused, "fused_network": real_fused}


def cases():
    warnings.filterwarnings("ignore")
    return {**node_cases(), **networks()}
