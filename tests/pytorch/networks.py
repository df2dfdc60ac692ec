#!/usr/bin/env python3
"""Compares Tenon with PyTorch on the networks of torchvision, without trained weights.

    tests/pytorch/networks.py [-k TEXT]... [--form trace|script|export|weights]... [--times] [--all] [-v]

    -k TEXT      only networks whose names contain TEXT
    --form NAME  one form of files: torch.jit.trace, torch.jit.script, torch.export, or a state dict that is read with
                 --architecture; may be repeated (all)
    --times      the time of a run through the traced file, and of the same network exported to ONNX
    --all        every size of each family, not only the small ones
    -v           a line for each file that is right, too

It needs the packages torch, torchvision and numpy (onnx for --times) and judges the package tenon of PYTHONPATH, by
default that of build/release. A difference is the largest one of any result, divided by the largest expected number;
it may be 1e-4, and that of detections, which are compared as a set, 1e-3. Exit 77: not installed.
"""
import argparse
import contextlib
import io
import os
import sys
import tempfile
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "build", "release", "python"))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import turns  # noqa: E402
warnings.simplefilter("ignore")

# Not ssdlite: its scores are equal before it is trained, and any of equal boxes may be kept.
SMALL = """alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_b5 efficientnet_v2_s googlenet inception_v3
maxvit_t mnasnet0_5 mnasnet1_0 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_400mf regnet_y_400mf
resnet18 resnet34 resnet50 resnext50_32x4d shufflenet_v2_x0_5 shufflenet_v2_x1_0 squeezenet1_0 squeezenet1_1 swin_t
swin_v2_t vgg11 vgg11_bn vgg13 vit_b_32 wide_resnet50_2 deeplabv3_mobilenet_v3_large fcn_resnet50
lraspp_mobilenet_v3_large fasterrcnn_mobilenet_v3_large_320_fpn""".split()
LARGE = """convnext_base convnext_large convnext_small densenet161 densenet169 densenet201 efficientnet_b1
efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_b6 efficientnet_b7 efficientnet_v2_l efficientnet_v2_m
mnasnet0_75 mnasnet1_3 regnet_x_16gf regnet_x_1_6gf regnet_x_32gf regnet_x_3_2gf regnet_x_800mf regnet_x_8gf
regnet_y_16gf regnet_y_1_6gf regnet_y_32gf regnet_y_3_2gf regnet_y_800mf regnet_y_8gf resnet101 resnet152
resnext101_32x8d resnext101_64x4d shufflenet_v2_x1_5 shufflenet_v2_x2_0 swin_b swin_s swin_v2_b swin_v2_s vgg13_bn
vgg16 vgg16_bn vgg19 vgg19_bn vit_b_16 vit_h_14 vit_l_16 vit_l_32 wide_resnet101_2 deeplabv3_resnet50 deeplabv3_resnet101
fcn_resnet101 fasterrcnn_resnet50_fpn fasterrcnn_mobilenet_v3_large_fpn retinanet_resnet50_fpn ssd300_vgg16
fcos_resnet50_fpn maskrcnn_resnet50_fpn keypointrcnn_resnet50_fpn""".split()
DETECTION = ("rcnn", "ssd", "retinanet", "fcos")
FORMS = ["trace", "script", "export", "weights"]


def size_of(name, full):
    if name.startswith("swin_v2"):
        return 256 if full else 128
    if name.startswith(("vit", "maxvit", "swin")):
        return 224
    if name.startswith(DETECTION) or "320" in name:
        return 320
    return (299 if name == "inception_v3" else 224) if full else 299 if name == "inception_v3" else 128


def network(name, torch, torchvision):
    """The network with statistics that are not those of a new one, so that normalisation does something."""
    torch.manual_seed(1)
    options = {"weights_backbone": None} if any(t in name for t in DETECTION + ("fcn", "deeplab", "lraspp")) else {}
    if name in ("googlenet", "inception_v3"):
        options["init_weights"] = True
    model = torchvision.models.get_model(name, weights=None, **options).eval()
    for w in model.parameters():
        if w.abs().max() < 1e-3:  # scales and layers that begin as nothing
            torch.nn.init.normal_(w, 0, 0.1)
    for m in model.modules():
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.5, 1.5)
    scale = 0.1 if name.startswith("keypointrcnn") else 300 if name.startswith("fasterrcnn_mobilenet") else 1
    for part, w in model.named_parameters():
        if "cls_score.weight" in part:
            w.data.mul_(scale)  # scores neither of 1, of which any may be kept, nor too small to be kept
    return model


def flat(result):
    if isinstance(result, dict):
        return [t for v in result.values() for t in flat(v)]
    if isinstance(result, (list, tuple)):
        return [t for v in result for t in flat(v)]
    return [result.detach().numpy()]


def saved(form, name, model, x, folder, torch):
    """The file, and what tenon.compile needs with it."""
    path = os.path.join(folder, f"m.{form}.pt")
    shape = {"x": tuple(x.shape)}
    if form == "trace":
        torch.jit.trace(model, x, strict=False, check_trace=False).save(path)
    elif form == "script":
        torch.jit.script(model).save(path)
    elif form == "export":
        torch.export.save(torch.export.export(model, (x,)), path + "2")
        return path + "2", {}
    else:
        torch.save(model.state_dict(), path)
        return path, {"input_shapes": shape, "architecture": name}
    inputs = list(torch.jit.load(path).graph.inputs())[1:]
    taken = inputs[0].debugName().split(".")[0]
    if any(t in name for t in DETECTION):
        return path, {"input_shapes": {taken + ".0": tuple(x.shape[1:])}}
    return path, {"input_shapes": {taken: tuple(x.shape)}}


def difference(want, got):
    import numpy as np
    if len(want) != len(got):
        return float("inf")
    worst = 0.0
    for w, g in zip(want, got):
        g = np.asarray(g)
        if w.shape != g.shape:
            return float("inf")
        worst = max(worst, np.abs(w.astype("f8") - g).max() / max(np.abs(w).max(), 1e-6) if w.size else 0.0)
    return worst


def detections(want, got):
    """The largest distance of a detection to the nearest one of the other: the order of scores that are nearly equal is open."""
    import numpy as np
    if [w.shape for w in want] != [np.asarray(g).shape for g in got] or not len(want[0]):
        return float("inf")
    a, b = (np.concatenate([np.asarray(v, "f8").reshape(len(v), -1) / max(np.abs(w).max(), 1e-6) for v, w in zip(of, want)], 1)
            for of in (want, got))
    apart = np.abs(a[:, None] - b[None]).max(2)
    return max(apart.min(0).max(), apart.min(1).max())


def through_onnx(model, x, folder, torch):
    import tenon
    path = os.path.join(folder, "m.onnx")
    torch.onnx.export(model, (x,), path, dynamo=False, opset_version=18)
    return tenon.compile(path)


def one(form, name, model, x, want, folder, torch, times):
    import tenon
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        path, options = saved(form, name, model, x, folder, torch)  # torch prints graphs that it cannot export
    module = tenon.compile(path, **options)
    detects = any(t in name for t in DETECTION)
    worst = (detections if detects else difference)(want, list(module.run([x.numpy()[0] if detects else x.numpy()])))
    text = f"{worst:.1e}"
    if times and form == "trace":
        feed = [x.numpy()]
        ours, onnx = turns.best_times([(module, feed), (through_onnx(model, x, folder, torch), feed)])
        text += f" {ours:.2f} ms, through ONNX {onnx:.2f} ms: {ours / onnx:.3f}"
    return worst, text


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("-k", action="append")
    p.add_argument("--form", action="append", choices=FORMS)
    p.add_argument("--times", action="store_true")
    p.add_argument("--all", action="store_true")
    p.add_argument("-v", action="store_true")
    args = p.parse_args()
    try:
        import numpy  # noqa: F401
        import torch
        import torchvision
    except ImportError as e:
        print(f"not run: {e}")
        return 77
    counts = dict.fromkeys(("right", "wrong", "refused", "not run"), 0)
    for name in SMALL + (LARGE if args.all else []):
        if args.k and not any(t in name for t in args.k):
            continue
        model = network(name, torch, torchvision)
        x = torch.rand(1, 3, size_of(name, args.times), size_of(name, args.times))
        with torch.no_grad():
            want = flat(model([x[0]] if any(t in name for t in DETECTION) else x))
        for form in args.form or FORMS:
            with tempfile.TemporaryDirectory() as folder, torch.no_grad():
                kind, text = "right", ""
                try:
                    worst, text = one(form, name, model, x, want, folder, torch, args.times)
                    kind = "right" if worst <= (1e-3 if any(t in name for t in DETECTION) else 1e-4) else "wrong"
                except Exception as e:  # noqa: BLE001 (torch and tenon refuse with many types)
                    kind = "refused" if "tenon" in type(e).__module__ else "not run"
                    text = f"{type(e).__name__}: {(str(e).strip() or '?').splitlines()[0][:300]}"
            counts[kind] += 1
            if args.v or kind != "right" or args.times:
                print(f"{kind:7} {name} {form}: {text}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()))
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
