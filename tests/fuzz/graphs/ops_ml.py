"""Operators of ai.onnx.ml: scalers, encoders, linear models, trees; and strings within the graph."""
import numpy as np
from onnx import helper

from graph import Cannot, fixed
from ops_move import same
from rows import row

ML = "ai.onnx.ml"


def features(g, most=9):
    """[rows, features] of floats, of a known number of features"""
    v = g.operand(("f4",), 2, low=1, want=lambda v: (fixed(v.shape[1]) or 99) <= most, reuse=0.6)
    return v, fixed(v.shape[1])


def grains(g, n, choices):
    return [g.r.pick(choices) for _ in range(n)]


@row(ML + ".Scaler", weight=0.3)
def scaler(g):
    v, n = features(g)
    m = max(abs(v.lo), abs(v.hi)) * 2 + 4
    g.emit("Scaler", [v], [("f4", v.shape, -m, m, v.grain and min(v.grain, 1.0) / 2)], domain=ML, offset=grains(g, n, [0.0, 1.0, -2.0]),
           scale=grains(g, n, [0.5, 1.0, 2.0]))


@row(ML + ".Binarizer", weight=0.2)
def binarizer(g):
    v = g.operand(("f4",), min_rank=1, exact=True)
    g.emit("Binarizer", [v], [("f4", v.shape, 0, 1, 1.0)], domain=ML, threshold=g.r.pick([0.0, 0.5]))


@row(ML + ".Normalizer", weight=0.2)
def normalizer(g):
    v, _ = features(g)
    v = g.within(v, 0.1, 100)
    g.emit("Normalizer", [v], [("f4", v.shape, 0, 1, None)], domain=ML, norm=g.r.pick(["MAX", "L1", "L2"]))


@row(ML + ".Imputer", weight=0.2)
def imputer(g):
    v, n = features(g)
    values = grains(g, g.r.pick([1, n]), [0.0, 1.0])
    grain = v.grain and min(v.grain, 1.0)
    if not v.exact or v.loose:
        raise Cannot
    g.emit("Imputer", [v], [("f4", v.shape, min(v.lo, 0), max(v.hi, 1), grain)], domain=ML, imputed_value_floats=values,
           replaced_value_float=g.r.pick([0.0, 2.0]))


@row(ML + ".ArrayFeatureExtractor", weight=0.2)
def array_feature_extractor(g):
    v, n = features(g)
    k = g.r.between(1, 4)
    at = g.fresh("i8", [g.dim(1), g.dim(k)], 0, n - 1, constant=True)
    g.emit("ArrayFeatureExtractor", [v, at], [same(v, [v.shape[0], g.dim(k)])], domain=ML)


@row(ML + ".FeatureVectorizer", weight=0.15)
def feature_vectorizer(g):
    v, n = features(g)
    w = g.fresh("f4", [v.shape[0], g.dim(g.r.between(1, 3))])
    grain = min(v.grain, w.grain) if v.exact and w.exact else None
    g.emit("FeatureVectorizer", [v, w], [("f4", [v.shape[0], g.dim(n + fixed(w.shape[1]))], min(v.lo, w.lo), max(v.hi, w.hi), grain)],
           domain=ML, inputdimensions=[n, fixed(w.shape[1])])


@row(ML + ".LinearRegressor", weight=0.2)
def linear_regressor(g):
    v, n = features(g)
    k = g.r.between(1, 3)
    m = max(abs(v.lo), abs(v.hi)) * n * 2 + 2
    g.emit("LinearRegressor", [v], [("f4", [v.shape[0], g.dim(k)], -m, m, v.grain and min(v.grain, 2.0) / 2)], domain=ML,
           coefficients=grains(g, n * k, [0.5, -1.0, 2.0, 0.0]), intercepts=grains(g, k, [0.0, 1.0, -0.5]), targets=k)


@row(ML + ".OneHotEncoder", weight=0.2)
def one_hot_encoder(g):
    v = g.fresh("i8", g.shape(g.r.between(1, 2), 1), 0, 4, constant=False)
    g.emit("OneHotEncoder", [v], [("f4", list(v.shape) + [g.dim(3)], 0, 1, 1.0)], domain=ML, cats_int64s=[0, 3, 1], zeros=1)


@row(ML + ".LabelEncoder", weight=0.25)
def label_encoder(g):
    v = g.fresh("i8", g.shape(g.r.between(1, 3), 1), 0, 5, constant=False)
    if g.r.chance(0.5):
        g.emit("LabelEncoder", [v], [("f4", v.shape, -2, 2, 0.5)], domain=ML, keys_int64s=[1, 0, 4], values_floats=[0.5, 2.0, -1.5],
               default_float=-2.0)
    else:
        g.emit("LabelEncoder", [v], [("i8", v.shape, -9, 40, None)], domain=ML, keys_int64s=[1, 0, 4], values_int64s=[40, 3, 0],
               default_int64=-9)


def tree(g, n_features):
    """Nodes of one binary tree as lists of attributes, by number; leaves hold multiples of 1/4."""
    nodes, leaves = [], []

    def grow(depth):
        at = len(nodes)
        nodes.append(None)
        if depth == 3 or (depth and g.r.chance(0.3)):
            nodes[at] = ("LEAF", 0, 0.0, 0, 0)
            leaves.append((at, g.r.between(-8, 8) / 4))
            return at
        split = (g.r.below(n_features), g.r.between(-6, 6) / 2)
        yes = grow(depth + 1)
        no = grow(depth + 1)
        nodes[at] = ("BRANCH_LEQ", *split, yes, no)
        return at
    grow(0)
    return nodes, leaves


@row(ML + ".TreeEnsembleRegressor", weight=0.3)
def tree_regressor(g):
    v, n = features(g)
    if not v.exact or v.loose:
        raise Cannot
    a = {k: [] for k in ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes", "nodes_truenodeids",
                         "nodes_falsenodeids", "target_treeids", "target_nodeids", "target_ids", "target_weights")}
    trees, targets = g.r.between(1, 4), g.r.between(1, 2)
    for t in range(trees):
        nodes, leaves = tree(g, n)
        for i, (mode, feature, value, yes, no) in enumerate(nodes):
            for key, x in zip(("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes", "nodes_truenodeids",
                               "nodes_falsenodeids"), (t, i, feature, value, mode, yes, no)):
                a[key].append(x)
        for i, x in leaves:
            for key, y in zip(("target_treeids", "target_nodeids", "target_ids", "target_weights"), (t, i, g.r.below(targets), x)):
                a[key].append(y)
    g.emit("TreeEnsembleRegressor", [v], [("f4", [v.shape[0], g.dim(targets)], -8, 8, 0.25)], domain=ML, n_targets=targets, **a)


# ---- strings: made from numbers, and numbers again ----

@row("StringConcat", since=20, weight=0.3)
def strings(g):
    r = g.r
    v = g.fresh("i8", g.shape(r.between(1, 2), 1), 0, 3, constant=False)
    words = ["", "a", "bb", "\u00e9"]
    text = string_node(g, "LabelEncoder", [v.name], ML, keys_int64s=[0, 1, 2, 3], values_strings=words)
    both = text
    if r.chance(0.7):
        both = string_node(g, "StringConcat", [text, text])
    if r.chance(0.3):
        both = string_node(g, "Identity", [both])
    keys = [w + w for w in words] if r.chance(0.7) else words
    g.block.nodes.append(helper.make_node("LabelEncoder", [both], [f"{both}n"], domain=ML, keys_strings=keys, values_int64s=[5, 6, 7, 8],
                                          default_int64=-1))
    g.used[ML + ".LabelEncoder"] += 1
    g.emit("Identity", [Name(f"{both}n")], [("i8", v.shape, -1, 8, None)])


class Name:
    """A value of which only the name is known."""
    loose, dtype = False, ""

    def __init__(self, name):
        self.name = name


def string_node(g, op, inputs, domain="", **attributes):
    name = g.name("t")
    g.used[(domain + "." if domain else "") + op] += 1
    g.read.update(inputs)
    g.domains.add(domain)
    g.block.nodes.append(helper.make_node(op, inputs, [name], domain=domain, **attributes))
    return name
