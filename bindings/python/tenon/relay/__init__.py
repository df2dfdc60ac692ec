"""Relay, the language of graphs: read, print, transform and build modules.

    from tenon import relay, transform
    mod, params = relay.frontend.from_onnx("model.onnx", shape={"x": (1, 3, 224, 224)})
    print(mod)
    mod = transform.FuseOps()(mod)
    module = relay.build(mod, target="llvm", params=params)     # tenon.Module: module(x)

docs/relay.md has the text and what it means.
"""
from . import frontend
from ._build import build, fromtext, load, optimize, parse
from .. import transform

__all__ = ["build", "frontend", "fromtext", "load", "optimize", "parse", "transform"]
