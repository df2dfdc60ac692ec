"""Random models of one or a few layers: CASES has, by name, functions of (keras, a numpy Generator) that give a model.

`k` is the module keras or tf_keras, `k.layers` what both have; a case that one of them lacks raises AttributeError.
"""
import numpy as np

CASES = {}


def case(*names):
    def add(f):
        for name in names or (f.__name__,):
            CASES[name] = (lambda k, r, name=name: f(k, r, name)) if names else f
        return f
    return add


def pick(r, *values):
    return values[r.integers(len(values))]


def flag(r):
    return bool(r.integers(2))


def sequential(k, layer, shape, dtype="float32", batch=None):
    """The layer behind an Input, as a Functional or a Sequential model."""
    x = k.layers.Input(shape, batch_size=batch, dtype=dtype)
    return k.Model(x, layer(x))


def activation(r):
    return pick(r, None, "relu", "tanh", "sigmoid", "elu", "selu", "softplus", "softsign", "swish", "gelu", "exponential",
                "hard_sigmoid", "linear", "softmax")


def channels(r):
    return pick(r, "channels_last", "channels_last", "channels_first")


def image(r, dims, c, order, least=7, none=True):
    sizes = [int(r.integers(least, least + 6)) for _ in range(dims)]
    if none and order == "channels_last" and r.integers(4) == 0:
        sizes = [None] * dims
    return [*sizes, c] if order == "channels_last" else [c, *sizes]


@case("Dense")
def dense(k, r, name):
    shape = pick(r, [5], [4, 6], [None, 7], [2, 3, 4])
    return sequential(k, k.layers.Dense(int(r.integers(1, 9)), activation=activation(r), use_bias=flag(r)), shape)


@case("EinsumDense")
def einsum_dense(k, r, name):
    eq, out, bias, shape = pick(r, ("ab,bc->ac", 5, "c", [4]), ("abc,cd->abd", (None, 6), "d", [3, 4]),
                                ("abc,cde->abde", (3, 2, 5), "de", [3, 4]), ("abc,bd->adc", (7, 4), "c", [3, 4]),
                                ("...x,xy->...y", 4, None, [2, 3]))
    return sequential(k, k.layers.EinsumDense(eq, output_shape=out, bias_axes=bias, activation=activation(r)), shape)


@case("Embedding")
def embedding(k, r, name):
    return sequential(k, k.layers.Embedding(11, int(r.integers(1, 6)), mask_zero=flag(r)), pick(r, [4], [None], [2, 3]),
                      "int32")


@case("ReversibleEmbedding")
def reversible(k, r, name):
    layer = k.layers.ReversibleEmbedding(11, 4, tie_weights=flag(r))
    x = k.layers.Input([5], dtype="int32")
    return k.Model(x, layer(layer(x), reverse=True))


@case("Activation")
def activations(k, r, name):
    return sequential(k, k.layers.Activation(activation(r) or "mish"), [4, 5])


@case("ActivationNames")
def more_activations(k, r, name):
    names = ["relu6", "silu", "hard_silu", "leaky_relu", "celu", "log_softmax", "log_sigmoid", "hard_tanh", "tanh_shrink",
             "squareplus", "glu", "sparse_sigmoid", "sparse_plus", "mish", "hard_sigmoid"]
    return sequential(k, k.layers.Activation(names[r.integers(len(names))]), [4, 6])


@case("ReLU")
def relu(k, r, name):
    return sequential(k, k.layers.ReLU(pick(r, None, 0.8, 6.0), pick(r, 0.0, 0.1), pick(r, 0.0, 0.3)), [4, 5])


@case("LeakyReLU")
def leaky(k, r, name):
    return sequential(k, k.layers.LeakyReLU(float(r.uniform(0.05, 0.5))), [4, 5])


@case("ELU")
def elu(k, r, name):
    return sequential(k, k.layers.ELU(float(r.uniform(0.5, 2))), [4, 5])


@case("PReLU")
def prelu(k, r, name):
    return sequential(k, k.layers.PReLU(shared_axes=pick(r, None, [1], [1, 2])), [4, 5, 3])


@case("ThresholdedReLU")
def thresholded(k, r, name):
    return sequential(k, k.layers.ThresholdedReLU(float(r.uniform(0, 1))), [4, 5])


@case("Softmax")
def softmax(k, r, name):
    return sequential(k, k.layers.Softmax(axis=pick(r, -1, 1, 2, [1, 2])), [4, 5])


@case("Dropout", "GaussianDropout", "GaussianNoise", "AlphaDropout", "ActivityRegularization", "Identity")
def nothing(k, r, name):
    args = {"ActivityRegularization": {"l1": 0.1}, "Identity": {}, "GaussianNoise": {"stddev": 0.3}}.get(name, {"rate": 0.4})
    return sequential(k, getattr(k.layers, name)(**args), pick(r, [5], [3, 4]))


@case("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D")
def spatial_dropout(k, r, name):
    return sequential(k, getattr(k.layers, name)(0.3), [3] * int(name[-2]) + [4])


@case("SpectralNormalization")
def spectral(k, r, name):
    inner = pick(r, k.layers.Dense(4), k.layers.Dense(3, activation="tanh"), k.layers.Dense(2, use_bias=False))
    return sequential(k, k.layers.SpectralNormalization(inner), [5])


@case("Conv1D", "Conv2D", "Conv3D")
def conv(k, r, name):
    dims, order = int(name[4]), channels(r)
    groups = pick(r, 1, 1, 2)
    strides = pick(r, 1, 2, 3)
    dilation = pick(r, 1, 2) if strides == 1 else 1
    padding = pick(r, "valid", "same", *(["causal"] if dims == 1 and order == "channels_last" else []))
    filters, kernel = 2 * int(r.integers(1, 5)), int(r.integers(1, 4))
    if dims == 3 and padding == "same":  # of smaller ones TensorFlow begins elsewhere (docs/differences.md)
        kernel = max(kernel, strides - 1)
    layer = getattr(k.layers, name)(filters, kernel, strides=strides, padding=padding,
                                    dilation_rate=dilation, groups=groups, data_format=order, use_bias=flag(r),
                                    activation=pick(r, None, "relu", "tanh"))
    return sequential(k, layer, image(r, dims, 4, order))


@case("DepthwiseConv1D", "DepthwiseConv2D")
def depthwise(k, r, name):
    dims, order = int(name[-2]), channels(r)
    strides = pick(r, 1, 2)
    layer = getattr(k.layers, name)(int(r.integers(1, 4)), strides=strides, padding=pick(r, "valid", "same"),
                                    depth_multiplier=int(r.integers(1, 3)), data_format=order, use_bias=flag(r),
                                    dilation_rate=pick(r, 1, 2) if strides == 1 else 1, activation=pick(r, None, "relu"))
    return sequential(k, layer, image(r, dims, 3, order))


@case("SeparableConv1D", "SeparableConv2D")
def separable(k, r, name):
    dims, order = int(name[-2]), channels(r)
    strides = pick(r, 1, 2)
    padding = pick(r, "valid", "same", *(["causal"] if dims == 1 and order == "channels_last" else []))
    layer = getattr(k.layers, name)(int(r.integers(1, 6)), int(r.integers(1, 4)), strides=strides, padding=padding,
                                    depth_multiplier=int(r.integers(1, 3)), data_format=order, use_bias=flag(r),
                                    dilation_rate=pick(r, 1, 2) if strides == 1 else 1)
    return sequential(k, layer, image(r, dims, 3, order))


@case("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")
def transposed(k, r, name):
    dims = int(name[4])
    strides = pick(r, 1, 2, 3)
    kernel = int(r.integers(1, 5))
    more = {}
    if flag(r) and strides > 1:
        more["output_padding"] = int(r.integers(0, strides))
    layer = getattr(k.layers, name)(int(r.integers(1, 6)), kernel, strides=strides, padding=pick(r, "valid", "same"),
                                    use_bias=flag(r), **more)
    return sequential(k, layer, image(r, dims, 3, "channels_last", 4))


@case("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D")
def pooling(k, r, name):
    dims, order = int(name[-2]), channels(r)
    layer = getattr(k.layers, name)(int(r.integers(1, 4)), strides=pick(r, None, 1, 2), padding=pick(r, "valid", "same"),
                                    data_format=order)
    return sequential(k, layer, image(r, dims, 3, order))


@case(*(f"Global{a}Pooling{d}D" for a in ("Max", "Average") for d in (1, 2, 3)))
def global_pooling(k, r, name):
    dims, order = int(name[-2]), channels(r)
    layer = getattr(k.layers, name)(data_format=order, keepdims=flag(r))
    return sequential(k, layer, image(r, dims, 3, order))


@case(*(f"Adaptive{a}Pooling{d}D" for a in ("Max", "Average") for d in (1, 2, 3)))
def adaptive_pooling(k, r, name):
    dims, order = int(name[-2]), channels(r)
    layer = getattr(k.layers, name)(int(r.integers(1, 5)), data_format=order)
    return sequential(k, layer, image(r, dims, 3, order, none=False))


@case("UpSampling1D", "UpSampling2D", "UpSampling3D")
def up_sampling(k, r, name):
    dims, more, order = int(name[-2]), {}, "channels_last"
    if dims > 1:
        more["data_format"] = order = channels(r)
    shape = image(r, dims, 3, order, 4)
    if dims == 2:
        filters = ["lanczos3", "lanczos5"] + (["area", "gaussian", "mitchellcubic"] if k.__name__.startswith("tf") else [])
        more["interpolation"] = pick(r, "nearest", "bilinear", "bicubic", *([] if None in shape else filters))
    return sequential(k, getattr(k.layers, name)(int(r.integers(1, 4)), **more), shape)


@case("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D", "Cropping1D", "Cropping2D", "Cropping3D")
def sides(k, r, name):
    dims = int(name[-2])
    two = lambda: (int(r.integers(0, 3)), int(r.integers(0, 3)))
    how = pick(r, int(r.integers(0, 3)), two() if dims == 1 else tuple(two() for _ in range(dims)))
    order = channels(r) if dims > 1 else "channels_last"
    more = {"data_format": order} if dims > 1 else {}
    return sequential(k, getattr(k.layers, name)(how, **more), image(r, dims, 3, order))


@case("Flatten")
def flatten(k, r, name):
    return sequential(k, k.layers.Flatten(data_format=channels(r)), pick(r, [4], [3, 4], [2, 3, 4]))


@case("Reshape")
def reshape(k, r, name):
    return sequential(k, k.layers.Reshape(pick(r, [4, 6], [-1], [2, -1, 3], [24, 1], [3, 8])), [2, 3, 4])


@case("Permute")
def permute(k, r, name):
    return sequential(k, k.layers.Permute(tuple(int(i) for i in r.permutation(3) + 1)), [2, 3, 4])


@case("RepeatVector")
def repeat(k, r, name):
    return sequential(k, k.layers.RepeatVector(int(r.integers(1, 5))), [4])


@case("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")
def merge(k, r, name):
    n = 2 if name == "Subtract" else int(r.integers(2, 5))
    x = [k.layers.Input(pick(r, [3, 4], [3, 4], [1, 4])) for _ in range(n)]
    return k.Model(x, getattr(k.layers, name)()(x))


@case("Concatenate")
def concatenate(k, r, name):
    x = [k.layers.Input([3, 4]) for _ in range(int(r.integers(2, 5)))]
    return k.Model(x, k.layers.Concatenate(axis=pick(r, -1, 1, 2))(x))


@case("Dot")
def dot(k, r, name):
    a, b, axes = pick(r, ([4], [4], 1), ([3, 4], [5, 4], 2), ([3, 4], [4, 5], (2, 1)), ([3, 4], [4], (2, 1)))
    x = [k.layers.Input(a), k.layers.Input(b)]
    return k.Model(x, k.layers.Dot(axes=axes, normalize=flag(r))(x))


@case("BatchNormalization")
def batch_norm(k, r, name):
    layer = k.layers.BatchNormalization(axis=pick(r, -1, 1), center=flag(r), scale=flag(r), epsilon=pick(r, 1e-3, 1e-5))
    return sequential(k, layer, pick(r, [5], [4, 5], [3, 4, 5]))


@case("LayerNormalization")
def layer_norm(k, r, name):
    more = {"rms_scaling": True} if hasattr(k, "ops") and r.random() < 0.3 else {}
    layer = k.layers.LayerNormalization(axis=pick(r, -1, 1, [1, 2]), center=flag(r), scale=flag(r), **more)
    return sequential(k, layer, [4, 6])


@case("RMSNormalization")
def rms_norm(k, r, name):
    return sequential(k, k.layers.RMSNormalization(epsilon=pick(r, 1e-6, 1e-3)), pick(r, [6], [4, 6]))


@case("GroupNormalization")
def group_norm(k, r, name):
    layer = k.layers.GroupNormalization(groups=pick(r, 1, 2, 3, -1), axis=pick(r, -1, 1), center=flag(r), scale=flag(r))
    return sequential(k, layer, pick(r, [6, 6], [6, 3, 6]))


@case("UnitNormalization")
def unit_norm(k, r, name):
    return sequential(k, k.layers.UnitNormalization(axis=pick(r, -1, 1, [1, 2])), [4, 6])


def cell_activation(r):
    return {"activation": pick(r, "tanh", "tanh", "relu", "linear", "gelu"),
            "recurrent_activation": pick(r, "sigmoid", "sigmoid", "hard_sigmoid")}


@case("SimpleRNN", "GRU", "LSTM")
def recurrent(k, r, name):
    more = cell_activation(r)
    if name == "SimpleRNN":
        more.pop("recurrent_activation")
    if name == "GRU":
        more["reset_after"] = flag(r)
    layer = getattr(k.layers, name)(int(r.integers(1, 7)), use_bias=flag(r), return_sequences=flag(r), return_state=flag(r),
                                    go_backwards=flag(r), **more)
    return sequential(k, layer, [pick(r, None, 4, 12), 3])


@case("MaskedRNN")
def masked(k, r, name):
    x = k.layers.Input([pick(r, None, 4, 11)], dtype="int32")
    y = k.layers.Embedding(4, 3, mask_zero=True)(x)
    kind = pick(r, "SimpleRNN", "GRU", "LSTM")
    layer = getattr(k.layers, kind)(4, return_sequences=flag(r), go_backwards=flag(r))
    if flag(r):
        layer = k.layers.Bidirectional(getattr(k.layers, kind)(4, return_sequences=flag(r)))
    y = layer(y)
    return k.Model(x, k.layers.Dense(2)(y))


@case("MaskedMerge")
def masked_merge(k, r, name):
    """From Keras 3.4 on, products, maxima and minima heed masks."""
    x = [k.layers.Input([4], dtype="int32") for _ in range(3)]
    y = [k.layers.Embedding(4, 2, mask_zero=flag(r))(v) for v in x]
    ways = [k.layers.Add(), k.layers.Multiply(), k.layers.Maximum(), k.layers.Minimum(), k.layers.Average()]
    return k.Model(x, [w(y) for w in ways])


@case("MaskDropped")
def mask_dropped(k, r, name):
    """Layers that pass masks on, and others, which drop them; so do functions."""
    o = getattr(k, "ops", None)
    n = k.layers
    x = n.Input([5], dtype="int32")
    y = n.Embedding(4, 6, mask_zero=True)(x)
    ways = [n.Conv1D(3, 2, padding="same"), n.EinsumDense("abc,cd->abd", (None, 3)), n.SeparableConv1D(2, 2, padding="same"),
            n.SpectralNormalization(n.Dense(3)), n.Rescaling(2.0), n.Identity(), n.LayerNormalization(), n.Dense(3),
            n.Normalization(mean=0.5, variance=2.0), lambda y: y * 2.0 + 1.0, lambda y: y[:, ::-1]]
    ways += [o.relu, n.RMSNormalization()] if o else []
    return k.Model(x, n.LSTM(2)(pick(r, *ways)(y)))


@case("Masking")
def masking(k, r, name):
    m = [k.layers.Masking(mask_value=pick(r, 0.0, 1.0)), k.layers.LSTM(3, return_sequences=flag(r))]
    x = k.layers.Input([pick(r, 5, 9), 2])
    return k.Model(x, m[1](m[0](x)))


@case("InitialState")
def initial_state(k, r, name):
    kind = pick(r, "SimpleRNN", "GRU", "LSTM")
    x, h, c = k.layers.Input([6, 3]), k.layers.Input([4]), k.layers.Input([4])
    states = [h, c] if kind == "LSTM" else [h]
    y = getattr(k.layers, kind)(4, return_state=flag(r))(x, initial_state=states)
    return k.Model([x, *states], y)


@case("Bidirectional")
def bidirectional(k, r, name):
    kind = pick(r, "SimpleRNN", "GRU", "LSTM")
    inner = getattr(k.layers, kind)(int(r.integers(1, 5)), return_sequences=flag(r), return_state=flag(r))
    mode = pick(r, "concat", "sum", "ave", "mul", None)
    return sequential(k, k.layers.Bidirectional(inner, merge_mode=mode), [pick(r, None, 4, 9), 3])


@case("RNN")
def rnn(k, r, name):
    cells = [pick(r, k.layers.LSTMCell, k.layers.GRUCell, k.layers.SimpleRNNCell)(int(r.integers(1, 5)))
             for _ in range(int(r.integers(1, 4)))]
    cell = cells[0] if len(cells) == 1 else pick(r, cells, k.layers.StackedRNNCells(cells))
    return sequential(k, k.layers.RNN(cell, return_sequences=flag(r), return_state=flag(r)), [pick(r, 4, 9), 3])


@case("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
def conv_lstm(k, r, name):
    dims = int(name[-2])
    strides = pick(r, 1, 2)
    layer = getattr(k.layers, name)(int(r.integers(1, 4)), int(r.integers(1, 4)), strides=strides,
                                    padding=pick(r, "valid", "same"), return_sequences=flag(r), use_bias=flag(r),
                                    return_state=flag(r))
    return sequential(k, layer, [pick(r, 3, 9), *([6] * dims), 2])


@case("Stateful")
def stateful(k, r, name):
    kind = pick(r, "SimpleRNN", "GRU", "LSTM", "ConvLSTM1D", "RNN", "Masked", "Shared")
    x = k.layers.Input([4, 5, 2] if kind == "ConvLSTM1D" else [4, 3], batch_size=2)
    how = {"stateful": True, "return_sequences": flag(r), "go_backwards": flag(r)}
    if kind == "ConvLSTM1D":
        return k.Model(x, k.layers.ConvLSTM1D(3, 2, **how)(x))
    if kind == "RNN":
        return k.Model(x, k.layers.RNN([k.layers.LSTMCell(2), k.layers.GRUCell(3)], **how)(x))
    if kind == "Masked":
        return k.Model(x, k.layers.GRU(3, **how)(k.layers.Masking()(x)))
    if kind == "Shared":
        layer = k.layers.LSTM(3, stateful=True, return_sequences=True)
        return k.Model(x, layer(layer(x)))
    layer = getattr(k.layers, kind)(3, **how)
    if flag(r):
        layer = k.layers.Bidirectional(getattr(k.layers, kind)(3, stateful=True, return_sequences=flag(r)))
    return k.Model(x, layer(x))


@case("BidirectionalConvLSTM")
def bidirectional_conv(k, r, name):
    inner = k.layers.ConvLSTM2D(2, 2, strides=pick(r, 1, 2), padding=pick(r, "valid", "same"), return_sequences=flag(r))
    return sequential(k, k.layers.Bidirectional(inner), [3, 5, 5, 2])


@case("InvertedLookup")
def inverted_lookup(k, r, name):
    return sequential(k, k.layers.StringLookup(vocabulary=["a", "b"], invert=True, mask_token=pick(r, None, "")), [2], "int64")


@case("TimeDistributed")
def time_distributed(k, r, name):
    inner, shape = pick(r, (k.layers.Dense(3, activation="relu"), [4, 5]), (k.layers.Conv2D(2, 3), [3, 6, 6, 2]),
                        (k.layers.LSTM(3), [3, 4, 2]), (k.layers.BatchNormalization(), [4, 5]),
                        (k.layers.GlobalAveragePooling2D(), [None, 4, 4, 2]))
    return sequential(k, k.layers.TimeDistributed(inner), shape)


@case("Attention", "AdditiveAttention")
def attention(k, r, name):
    more = {"use_scale": flag(r)}
    if name == "Attention":
        more["score_mode"] = pick(r, "dot", "concat")
    x = [k.layers.Input([5, 4]), k.layers.Input([6, 4]), k.layers.Input([6, 4])][:int(r.integers(2, 4))]
    return k.Model(x, getattr(k.layers, name)(**more)(x, use_causal_mask=flag(r), return_attention_scores=flag(r)))


@case("MaskedAttention")
def masked_attention(k, r, name):
    ids = [k.layers.Input([5], dtype="int32"), k.layers.Input([6], dtype="int32")]
    table = k.layers.Embedding(4, 6, mask_zero=True)
    q, v = table(ids[0]), table(ids[1])
    y = pick(r, lambda: k.layers.Attention()([q, v]), lambda: k.layers.AdditiveAttention()([q, v]),
             lambda: k.layers.MultiHeadAttention(2, 3)(q, v), lambda: k.layers.MultiHeadAttention(2, 3)(q, v, use_causal_mask=True))()
    return k.Model(ids, k.layers.GlobalAveragePooling1D()(y))


@case("MultiHeadAttention")
def multi_head(k, r, name):
    layer = k.layers.MultiHeadAttention(int(r.integers(1, 4)), int(r.integers(1, 5)), value_dim=pick(r, None, 3),
                                        use_bias=flag(r), output_shape=pick(r, None, 7))
    q, v = k.layers.Input([pick(r, None, 5), 6]), k.layers.Input([4, 6])
    how = pick(r, 0, 1, 2, 3)
    if how == 0:
        return k.Model(q, layer(q, q, use_causal_mask=flag(r)))
    if how == 1:
        return k.Model([q, v], layer(q, v))
    if how == 2:
        kk = k.layers.Input([4, 3])
        return k.Model([q, v, kk], layer(q, v, kk, return_attention_scores=True))
    q = k.layers.Input([5, 6])
    m = k.layers.Input([5, 4], dtype="bool")
    return k.Model([q, v, m], layer(q, v, attention_mask=m))


@case("GroupQueryAttention", "GroupedQueryAttention")
def grouped(k, r, name):
    layer = k.layers.GroupQueryAttention(int(r.integers(1, 5)), pick(r, 2, 4), pick(r, 1, 2), use_bias=flag(r))
    q, v = k.layers.Input([5, 6]), k.layers.Input([4, 6])
    return k.Model(q, layer(q, q, use_causal_mask=flag(r))) if flag(r) else k.Model([q, v], layer(q, v))


@case("Normalization")
def normalization(k, r, name):
    if flag(r):
        layer = k.layers.Normalization(axis=-1, mean=pick(r, 0.3, [0.1, 0.2, 0.3, 0.4]), variance=pick(r, 2.0, [1.0, 2.0, 3.0, 0.0]),
                                       **({"invert": True} if flag(r) else {}))
    else:
        layer = k.layers.Normalization(axis=pick(r, -1, 1, None))
        layer.adapt(r.normal(size=(9, 3, 4)).astype("f4"))
    return sequential(k, layer, [3, 4])


@case("Rescaling")
def rescaling(k, r, name):
    return sequential(k, k.layers.Rescaling(float(r.uniform(0, 2)), offset=pick(r, 0.0, -1.0)), pick(r, [4], [3, 4, 2]))


@case("Resizing")
def resizing(k, r, name):
    newer = hasattr(k.layers.Resizing(1, 1), "antialias")  # Keras 3
    others = ["lanczos3", "lanczos5"] if newer else ["lanczos3", "lanczos5", "gaussian", "mitchellcubic", "area"]
    how = {"interpolation": pick(r, "bilinear", "nearest", "bicubic", *others)}
    how.update(pick(r, {}, {}, {"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True} if newer else {}))
    if how["interpolation"] != "nearest" and newer:
        how["antialias"] = pick(r, False, True)
    layer = k.layers.Resizing(int(r.integers(3, 12)), int(r.integers(3, 12)), **how)
    return sequential(k, layer, [7, 5, 3], pick(r, "float32", "uint8") if newer else "float32")


@case("CenterCrop")
def center_crop(k, r, name):
    return sequential(k, k.layers.CenterCrop(int(r.integers(3, 12)), int(r.integers(3, 12))), [9, 8, 3])


@case("Discretization")
def discretization(k, r, name):
    mode = pick(r, "int", "one_hot", "multi_hot", "count")
    return sequential(k, k.layers.Discretization(bin_boundaries=[-1.0, 0.0, 0.5], output_mode=mode), [4])


@case("CategoryEncoding")
def category_encoding(k, r, name):
    mode = pick(r, "one_hot", "multi_hot", "count")
    return sequential(k, k.layers.CategoryEncoding(num_tokens=5, output_mode=mode), [1 if mode == "one_hot" else 3], "int32")


@case("Hashing")
def hashing(k, r, name):
    how = {"num_bins": int(r.integers(2, 9)), "output_mode": pick(r, "int", "multi_hot", "count")}
    how.update(pick(r, {}, {"salt": 133}, {"salt": [133, 137]}))
    text = flag(r)
    how.update(pick(r, {}, {"mask_value": "a" if text else 2}))
    return sequential(k, k.layers.Hashing(**how), [3], "string" if text else pick(r, "int32", "int64"))


@case("HashedCrossing")
def hashed_crossing(k, r, name):
    x = [k.layers.Input([1], dtype=pick(r, "string", "int64")) for _ in range(int(r.integers(2, 4)))]
    return k.Model(x, k.layers.HashedCrossing(int(r.integers(2, 9)), output_mode=pick(r, "int", "one_hot"))(x))


@case("IntegerLookup")
def integer_lookup(k, r, name):
    how = {"output_mode": pick(r, "int", "int", "multi_hot", "one_hot", "count")}
    how.update(pick(r, {}, {"num_oov_indices": 2}, {"mask_token": 0}, {"max_tokens": 9, "pad_to_max_tokens": True}))
    if flag(r):
        layer = k.layers.IntegerLookup(**how)
        layer.adapt(np.array([3, 1, 1, 12, 2]))
    else:
        layer = k.layers.IntegerLookup(vocabulary=[7, 3, 1, 12], invert=how["output_mode"] == "int" and flag(r), **how)
    return sequential(k, layer, [1], "int64")


@case("StringLookup")
def string_lookup(k, r, name):
    how = {"output_mode": pick(r, "int", "int", "multi_hot", "count", "tf_idf")}
    how.update(pick(r, {}, {"num_oov_indices": 3}, {"mask_token": "bc"}, {"mask_token": ""},
                    {"max_tokens": 9, "pad_to_max_tokens": True}))
    words = pick(r, ["a", "d"], ["d", "a", "x"])
    if how["output_mode"] == "int" and r.integers(3) == 0:
        return sequential(k, k.layers.StringLookup(vocabulary=words, invert=True, **how), [3], "int64")
    if how["output_mode"] == "tf_idf":
        how["idf_weights"] = [float(v) for v in r.uniform(0.1, 2, size=len(words))]
    elif flag(r):
        layer = k.layers.StringLookup(**how)
        layer.adapt(np.array(["a", "a", "d", "x"]))
        return sequential(k, layer, [3], "string")
    return sequential(k, k.layers.StringLookup(vocabulary=words, **how), [3], "string")


@case("TextVectorization")
def text_vectorization(k, r, name):
    how = {"output_mode": pick(r, "int", "int", "multi_hot", "count")}
    if how["output_mode"] == "int":
        how["output_sequence_length"] = pick(r, None, 2, 7)
    how["standardize"] = pick(r, "lower_and_strip_punctuation", "lower", "strip_punctuation", None)
    how["ngrams"] = pick(r, None, None, 2, 3, (2,), (3, 1))
    if flag(r):
        how["vocabulary"] = ["a", "hello", "bc"] + (["b a", "hello world", "a bc a"] if how["ngrams"] else [])
    layer = k.layers.TextVectorization(**how)
    if "vocabulary" not in how:
        layer.adapt(np.array(["a b, B", "Hello world!", "bc"]))
    return sequential(k, layer, pick(r, [1], []), "string")


@case("AutoContrast")
def auto_contrast(k, r, name):
    return sequential(k, k.layers.AutoContrast(value_range=pick(r, (0, 255), (0, 1), (-1, 1))), [5, 6, 3])


@case("Pipeline")
def pipeline(k, r, name):
    return sequential(k, k.layers.Pipeline([k.layers.RandomFlip(), k.layers.Rescaling(0.5), k.layers.CenterCrop(4, 3)]), [6, 6, 3])


RANDOM = {
    "AugMix": {}, "CutMix": {}, "MixUp": {}, "RandAugment": {}, "Solarization": {}, "MaxNumBoundingBoxes": {"max_number": 3},
    "RandomFlip": {}, "RandomRotation": {"factor": 0.2}, "RandomZoom": {"height_factor": 0.1}, "RandomContrast": {"factor": 0.2},
    "RandomTranslation": {"height_factor": 0.1, "width_factor": 0.1}, "RandomBrightness": {"factor": 0.2}, "RandomShear": {},
    "RandomHue": {"factor": 0.2}, "RandomSaturation": {"factor": 0.3}, "RandomSharpness": {"factor": 0.3}, "RandomGrayscale": {},
    "RandomPosterization": {"factor": 3}, "RandomColorJitter": {"brightness_factor": 0.2},
    "RandomColorDegeneration": {"factor": 0.3}, "RandomErasing": {}, "RandomGaussianBlur": {}, "RandomInvert": {},
    "RandomPerspective": {}, "RandomElasticTransform": {}, "RandomHeight": {"factor": 0.2}, "RandomWidth": {"factor": 0.2},
}


@case(*RANDOM)
def random_picture(k, r, name):
    return sequential(k, getattr(k.layers, name)(**RANDOM[name]), [int(r.integers(5, 9)), int(r.integers(5, 9)), 3])


@case("RandomCrop")
def random_crop(k, r, name):
    return sequential(k, k.layers.RandomCrop(int(r.integers(3, 6)), int(r.integers(3, 6))), [6, 7, 3])


@case("LocallyConnected1D", "LocallyConnected2D")
def locally_connected(k, r, name):
    dims, order = int(name[-2]), channels(r)
    layer = getattr(k.layers, name)(int(r.integers(1, 4)), int(r.integers(1, 4)), strides=pick(r, 1, 2), data_format=order,
                                    use_bias=flag(r), activation=pick(r, None, "relu"))
    return sequential(k, layer, image(r, dims, 2, order, none=False))


@case("STFTSpectrogram")
def stft_spectrogram(k, r, name):
    layer = k.layers.STFTSpectrogram(pick(r, "log", "magnitude", "psd", "real", "imag", "angle", "stft"), 8, pick(r, None, 3),
                                     expand_dims=flag(r), padding=pick(r, "valid", "same"))
    return sequential(k, layer, [20, pick(r, 1, 2)])


@case("MelSpectrogram")
def mel_spectrogram(k, r, name):
    how = {"fft_length": pick(r, 16, 30, 64), "sequence_stride": pick(r, 5, 16), "window": pick(r, "hann", "hamming", None),
           "num_mel_bins": pick(r, 4, 9), "sampling_rate": pick(r, 8000, 16000), "power_to_db": flag(r), "mag_exp": pick(r, 1.0, 2.0, 1.5)}
    how.update(pick(r, {}, {"sequence_length": 12}, {"min_freq": 300.0, "max_freq": 3000.0}, {"top_db": 20.0, "ref_power": 0.1}))
    return sequential(k, k.layers.MelSpectrogram(**how), [pick(r, 100, 131)])


@case("SimpleRNNCell", "GRUCell", "LSTMCell")
def cells(k, r, name):
    return sequential(k, k.layers.RNN(getattr(k.layers, name)(3, use_bias=flag(r)), return_sequences=flag(r)), [4, 2])


# ---- models ----

@case("Sequential")
def plain_sequential(k, r, name):
    return k.Sequential([k.layers.Input([8, 8, 3]), k.layers.Conv2D(4, 3, activation="relu"), k.layers.MaxPooling2D(),
                         k.layers.BatchNormalization(trainable=flag(r)), k.layers.Flatten(), k.layers.Dropout(0.5),
                         k.layers.Dense(5, activation="softmax")])


@case("NestedShared")
def nested(k, r, name):
    inner = k.Sequential([k.layers.Input([6]), k.layers.Dense(4, activation="relu"), k.layers.BatchNormalization(),
                          k.layers.Dense(3)])
    if flag(r):
        inner.layers[0].trainable = False
    if r.integers(4) == 0:
        inner.trainable = False
    a, b = k.layers.Input([6]), k.layers.Input([6])
    two = k.layers.Input([3])
    functional = k.Model(two, [k.layers.Dense(2)(two), k.layers.Activation("tanh")(two)])
    y = k.layers.Concatenate()([inner(a), inner(b), *functional(inner(a))])
    return k.Model([a, b], [k.layers.Dense(2)(y), y])


@case("NestedEnds")
def nested_ends(k, r, name):
    """Results of models inside are those of the model."""
    def inner(n):
        x = k.layers.Input([5])
        return k.Model(x, k.layers.Dense(5, activation="tanh", name=n + "_dense")(x), name=n)
    first, second = inner("first"), inner("second")
    a, b = k.layers.Input([5]), k.layers.Input([5])
    y, z = first(a), first(b)
    if flag(r):
        x = k.layers.Input([5])
        second = k.Model(x, second(second(x)), name="around")
    return k.Model([a, b], pick(r, [y, k.layers.Dense(2)(z)], [z, y], [second(z), first(second(y))], [k.layers.Dense(2)(y), z]))


@case("MixedTypes")
def mixed_types(k, r, name):
    """Which Keras 2 does not merge."""
    types = [str(t) for t in r.choice(["int8", "uint8", "int32", "int64", "bool", "float32"], 2, replace=False)]
    x = [k.layers.Input([3, 4], dtype=t) for t in types]
    ways = [k.layers.Add(), k.layers.Subtract(), k.layers.Multiply(), k.layers.Maximum(), k.layers.Average(),
            k.layers.Concatenate(axis=1)]
    return k.Model(x, [w(x) for w in ways] + [x[0] + x[1], k.ops.where(x[0] > 1, *x), x[0] * 2.0])


@case("SharedLayer")
def shared(k, r, name):
    layer = k.layers.Dense(5, activation="tanh")
    x = k.layers.Input([5])
    y = layer(layer(x))
    return k.Model(x, k.layers.Add()([layer(y), y, x]))


@case("Residual")
def residual(k, r, name):
    x = k.layers.Input([None, None, 3])
    y = k.layers.Conv2D(4, 3, padding="same", use_bias=False)(x)
    y = k.layers.BatchNormalization()(y)
    z = k.layers.Activation("relu")(y)
    z = k.layers.DepthwiseConv2D(3, padding="same")(z)
    y = k.layers.Add()([y, z])
    y = k.layers.GlobalAveragePooling2D()(y)
    return k.Model(x, k.layers.Dense(3)(y))


@case("MixedPrecision")
def mixed(k, r, name):
    x = k.layers.Input([6, 6, 3])
    y = k.layers.Conv2D(4, 3, dtype="mixed_float16", activation="relu")(x)
    y = k.layers.Flatten(dtype="mixed_float16")(y)
    return k.Model(x, k.layers.Dense(3, dtype="float32")(y))


@case("Operations")
def operations(k, r, name):
    x, z = k.layers.Input([4, 6]), k.layers.Input([4, 6])
    if not hasattr(k, "ops"):
        import tensorflow as tf
        y = pick(r, lambda: tf.nn.relu(x) * 2 + 1, lambda: x / (1 + tf.exp(-z)), lambda: tf.reduce_mean(x - z, axis=-1),
                 lambda: tf.concat([x, z], axis=1)[:, 1:3], lambda: tf.matmul(x, z, transpose_b=True),
                 lambda: tf.reshape(tf.transpose(x, [0, 2, 1]), [-1, 24]), lambda: tf.stack([x, z], axis=1),
                 lambda: tf.clip_by_value(x, -0.5, 0.5) - tf.maximum(z, 0.1), lambda: tf.expand_dims(tf.sqrt(tf.abs(x)), 1),
                 lambda: tf.nn.softmax(x) * tf.sigmoid(z), lambda: tf.split(x, 2, axis=-1)[1], lambda: tf.cast(x > z, "float32"))()
        return k.Model([x, z], [y, k.layers.Flatten()(z)])
    o = k.ops
    y = pick(r, lambda: o.relu(x) * 2 + 1, lambda: x / (1 + o.exp(-z)), lambda: o.mean(x - z, axis=-1),
             lambda: o.concatenate([x, z], axis=1)[:, 1:3], lambda: o.matmul(x, o.transpose(z, [0, 2, 1])),
             lambda: o.reshape(o.transpose(x, [0, 2, 1]), [-1, 24]), lambda: o.stack([x, z], axis=1),
             lambda: o.clip(x, -0.5, 0.5) - o.maximum(z, 0.1), lambda: o.expand_dims(o.sqrt(o.abs(x)), 1),
             lambda: o.softmax(x) * o.sigmoid(z), lambda: o.split(x, 2, axis=-1)[1], lambda: o.cast(x > z, "float32"),
             lambda: o.where(x > 0, x, z), lambda: o.einsum("abc,adc->abd", x, z), lambda: o.sum(x, axis=[1, 2], keepdims=True),
             lambda: o.argmax(x, axis=-1), lambda: o.squeeze(o.max(x, axis=1, keepdims=True), 1), lambda: o.power(o.abs(x), 1.5),
             lambda: o.pad(x, [[0, 0], [1, 2], [0, 1]]), lambda: o.repeat(x, 2, axis=1), lambda: o.tile(x, [1, 2, 1]))()
    return k.Model([x, z], [y, k.layers.Flatten()(z)])


@case("MoreFunctions")
def more_functions(k, r, name):
    """Those of statistics, products, windows and pictures."""
    if not hasattr(k, "ops"):
        return operations(k, r, name)
    o, x, p = k.ops, k.layers.Input([4, 6]), k.layers.Input([7, 8, 3])
    f = lambda *s: r.normal(size=s).astype("f4")
    how = {"padding": pick(r, "valid", "same"), "strides": pick(r, 1, 2)}
    y = pick(r, lambda: o.median(x, axis=1), lambda: o.median(x, keepdims=True), lambda: o.quantile(x, [0.2, 0.9], axis=-1),
             lambda: o.average(x, axis=1, weights=f(4)), lambda: o.average(x), lambda: list(o.moments(x, axes=[1])),
             lambda: o.count_nonzero(o.relu(x), axis=1), lambda: o.ptp(x, axis=-1), lambda: o.arctan2(x, x[:, ::-1]),
             lambda: o.hypot(x, 2.0), lambda: o.trunc(x), lambda: o.exp2(x), lambda: o.deg2rad(x), lambda: o.nan_to_num(x / o.relu(x)),
             lambda: o.isposinf(x / 0), lambda: o.bitwise_and(o.cast(x * 9, "int32"), o.cast(x * 5, "int32")),
             lambda: o.soft_shrink(x, 0.3), lambda: o.hard_shrink(x, 0.3), lambda: o.celu(x, 0.4), lambda: o.threshold(x, 0.2, -2.0),
             lambda: o.glu(x, axis=1), lambda: o.tensordot(x, f(6, 2), axes=1), lambda: o.tensordot(x, x, [[1, 2], [1, 2]]),
             lambda: o.inner(x, x), lambda: o.vdot(x, x), lambda: o.append(x, x, axis=1), lambda: o.slice(x, (0, 1, 2), (1, 2, 3)),
             lambda: o.diff(x, n=2, axis=1), lambda: o.diagonal(x, 1, 1, 2), lambda: o.trace(x, -1, 1, 2),
             lambda: o.layer_normalization(x, f(6), f(6)), lambda: o.rms_normalization(x), lambda: o.mod(o.cast(x, "uint8"), 3),
             lambda: o.batch_normalization(x, f(6), o.abs(f(6)), -1), lambda: o.dot_product_attention(p, p, p, is_causal=flag(r)),
             lambda: o.dot_product_attention(p, p, p, bias=f(1, 1, p.shape[1], p.shape[1])),
             lambda: o.dot_product_attention(p, p, p, mask=np.tril(np.ones((1, 1, p.shape[1], p.shape[1]), bool))),
             lambda: o.layer_normalization(x, f(6), rms_scaling=True),
             lambda: o.conv(p, f(3, 3, 3, 4), **how), lambda: o.depthwise_conv(p, f(3, 2, 3, 2), **how),
             lambda: o.separable_conv(p, f(3, 3, 3, 2), f(1, 1, 6, 4), **how), lambda: o.conv_transpose(p, f(3, 3, 4, 3), **how),
             lambda: o.max_pool(p, (2, 3), **how), lambda: o.average_pool(p, 2, **how), lambda: o.adaptive_average_pool(p, 2),
             lambda: o.image.resize(p, (5, 9), interpolation=pick(r, "nearest", "bilinear", "bicubic"), antialias=flag(r)),
             lambda: o.image.crop_images(p, 1, 2, target_height=3, target_width=4), lambda: o.image.pad_images(p, 1, 2, 3, 4),
             lambda: o.image.rgb_to_grayscale(p))()
    return k.Model([x, p], y)


@case("Functions")
def functions(k, r, name):
    """Those of keras.ops that ops_function.c converts, constants of several dimensions, and what lacks an axis."""
    if not hasattr(k, "ops"):
        return operations(k, r, name)
    import numpy as np
    o, x = k.ops, k.layers.Input([4, 6])
    table, row = r.normal(size=[4, 6]).astype("f4"), r.normal(size=[6, 3]).astype("f4")
    y = pick(r, lambda: x + o.convert_to_tensor(table), lambda: o.where(x > 0, x, -np.inf), lambda: o.matmul(x, row),
             lambda: o.flip(x), lambda: o.argmax(x), lambda: o.cumsum(x), lambda: o.repeat(x, 2), lambda: o.take(x, [0, -1], axis=1),
             lambda: o.take_along_axis(x, o.argsort(x, axis=-1), axis=-1), lambda: o.var(x, axis=(1, 2), keepdims=True),
             lambda: o.std(x, axis=-1), lambda: o.logsumexp(x, axis=1), lambda: o.norm(x, ord=1, axis=-1), lambda: o.norm(x, axis=1),
             lambda: o.normalize(x, axis=1), lambda: o.top_k(x, 2)[0], lambda: o.sort(x, axis=1), lambda: o.full_like(x, 2.5),
             lambda: o.swapaxes(x, 1, 2), lambda: o.moveaxis(x, -1, 1), lambda: o.ravel(x), lambda: o.roll(x, (1, 2), axis=(1, 2)),
             lambda: o.unstack(x, axis=1)[2], lambda: o.triu(x, 1), lambda: o.tril(x), lambda: o.cumprod(x, axis=1),
             lambda: o.hstack([x, x]), lambda: o.vstack([x, x]), lambda: o.dot(x, row), lambda: o.divide_no_nan(x, o.relu(x)),
             lambda: o.log2(o.abs(x) + 1), lambda: o.log10(o.abs(x) + 1), lambda: o.expm1(x), lambda: o.isnan(x),
             lambda: o.isinf(x), lambda: o.isfinite(x), lambda: o.arctan(x), lambda: o.hard_tanh(x), lambda: o.squareplus(x, 3),
             lambda: o.one_hot(o.cast(x, "int32"), 4), lambda: o.segment_sum(x[0], o.convert_to_tensor([0, 0, 1, 2]), 4),
             lambda: o.segment_max(x[0], o.convert_to_tensor([0, 0, 1, 3]), 4), lambda: o.outer(x[0, 0], x[0, 1]),
             lambda: o.broadcast_to(x[:1], [2, 4, 6]), lambda: o.sum(x, axis=()), lambda: o.argmax(x, keepdims=True),
             lambda: o.max(x, axis=1, initial=0.5), lambda: o.cumsum(x, axis=1, dtype="int32"), lambda: o.zeros_like(x, dtype="int32"),
             lambda: o.full_like(x, 3.7, dtype="int32"), lambda: o.clip(x, 1.0, -1.0), lambda: o.softmax(x, axis=None),
             lambda: o.norm(x, ord=-np.inf, axis=1), lambda: o.norm(x, ord=3, axis=-1), lambda: o.norm(x, ord=1, axis=(1, 2)),
             lambda: o.floor(o.cast(x * 9, "int32")), lambda: o.logical_not(x), lambda: o.log1p(o.cast(o.abs(x), "int32")),
             lambda: o.repeat(x, [2, 0, 1, 3], axis=1), lambda: o.repeat(x, 0, axis=1), lambda: o.pad(x, [[0, 0], [1, 2], [3, 0]], mode="reflect"),
             lambda: o.take_along_axis(x, np.zeros([1, 1, 6], "i4"), axis=1), lambda: o.where(np.arange(6) % 2 == 0, x, -x),
             lambda: o.einsum("abc,cd->abd", x, row), lambda: o.matmul(o.cast(x, "int8"), np.ones([6, 2], "i1")))()
    return k.Model(x, y)
