"""Layers of random graphs: LAYERS are functions of a graph (graphs.py) that give one line's right side, as Python of Keras.

What a line may use: L, the module of layers, K, Keras itself, and the tensors before it. The model is a functional one; the
same lines under floatx float64 are its exact judge. Without TimeDistributed, which Keras traces wrongly where the batch is not known.
"""
LAYERS = []


def layer(weight=1):
    def add(f):
        LAYERS.extend([f] * weight)
        return f
    return add


@layer(2)
def element(g):
    v = g.some()
    act = g.r.choice(["relu", "tanh", "sigmoid", "elu", "selu", "softplus", "softsign", "swish", "gelu", "exponential", "softmax"])
    return g.r.choice([f"L.Activation({act!r})({v})"] * 2 + [
        f"L.LeakyReLU()({v})", f"L.ReLU(6., .1, .25)({v})", f"L.Softmax()({v})", f"L.Dropout(.3)({v})", f"L.Rescaling(.5, 1.)({v})",
        f"L.PReLU(shared_axes={list(range(1, g.rank(v) - 1))})({v})" if g.rank(v) > 2 else f"L.PReLU()({v})"])


@layer(3)
def merge(g):
    v = g.some()
    w = g.like(v)
    which = g.r.choice(["Add", "Multiply", "Subtract", "Maximum", "Minimum", "Average"])
    return g.r.choice([f"L.{which}()([{v}, {w}])"] * 2 + [f"L.Concatenate(axis=-1)([{v}, {w}])", f"L.Dot({g.r.choice([1, -1])})([{v}, {w}])",
                                                          f"L.Concatenate(axis=1)([{v}, {w}])" if g.rank(v) > 2 else f"L.Add()([{v}, {v}, {w}])"])


@layer(3)
def dense(g):
    v = g.some()
    act = g.r.choice([None, "relu", "tanh", "gelu"])
    return g.r.choice([f"L.Dense({g.r.choice([1, 3, 8, 8])}, activation={act!r}, use_bias={g.r.random() < .7})({v})"] * 2 + [
        f"L.LayerNormalization()({v})", f"L.BatchNormalization()({v})", f"L.UnitNormalization()({v})", f"L.LayerNormalization(axis=[-1], center=False)({v})"])


@layer(3)
def sequence(g):
    v = g.some(rank=3, last=8)
    w, pad, back = g.like(v), g.r.choice(["same", "valid", "causal"]), g.r.random() < .5
    return g.r.choice([
        f"L.Conv1D({g.r.choice([4, 8])}, 3, padding={pad!r})({v})", f"L.Conv1D(8, 2, padding='causal', dilation_rate=2)({v})",
        f"L.SeparableConv1D(8, 3, padding='same')({v})", f"L.GRU(8, return_sequences=True, reset_after={back})({v})", f"L.LSTM(8, return_sequences=True)({v})",
        f"L.LSTM(4, go_backwards={back})({v})", f"L.SimpleRNN(8, return_sequences={back})({v})",
        f"L.Bidirectional(L.LSTM(4, return_sequences=True))({v})", f"L.Bidirectional(L.GRU(3))({v})", f"L.Attention()([{v}, {w}])",
        f"L.MultiHeadAttention(2, 4)({v}, {w}, use_causal_mask={back})", f"L.GlobalAveragePooling1D()({v})", f"L.GlobalMaxPooling1D(keepdims={back})({v})",
        f"L.MaxPooling1D(2)({v})", f"L.AveragePooling1D(3, 2, padding='same')({v})", f"L.ZeroPadding1D((1, 2))({v})", f"L.Cropping1D((1, 1))({v})",
        f"L.UpSampling1D(2)({v})", f"L.Conv1DTranspose(4, 3, strides=2, padding={pad if pad != 'causal' else 'same'!r})({v})",
        f"L.Permute((2, 1))({v})", f"L.Reshape((-1, 4))({v})", f"L.DepthwiseConv1D(3, padding='same')({v})",
        f"L.Embedding(10, 8)(ids)", f"L.Masking()({v})", f"L.AdditiveAttention()([{v}, {w}])"])


@layer(4)
def picture(g):
    v = g.some(rank=4)
    c, pad, s = g.shape(v)[3], g.r.choice(["same", "valid"]), g.r.choice([1, 2])
    k = g.r.choice([1, 2, 3])
    flag = g.r.random() < .5
    return g.r.choice([
        f"L.Conv2D({g.r.choice([4, 8])}, ({k}, 3), strides={s}, padding={pad!r}, use_bias={flag})({v})", f"L.Conv2D(8, 3, padding={pad!r}, dilation_rate=2)({v})",
        f"L.Conv2D(8, 3, padding='same', groups={g.r.choice([1, 2])}, activation='relu')({v})", f"L.DepthwiseConv2D(3, strides={s}, padding={pad!r})({v})",
        f"L.DepthwiseConv2D({k}, depth_multiplier=2, padding={pad!r})({v})", f"L.Conv2DTranspose(4, 3, strides={s}, padding={pad!r})({v})",
        f"L.SeparableConv2D(6, 3, strides={s}, padding={pad!r})({v})", f"L.BatchNormalization()({v})", f"L.MaxPooling2D({k}, {s}, padding={pad!r})({v})",
        f"L.AveragePooling2D({k}, {s}, padding={pad!r})({v})", f"L.GlobalAveragePooling2D(keepdims={flag})({v})", f"L.GlobalMaxPooling2D()({v})",
        f"L.ZeroPadding2D(((1, 0), (2, 1)))({v})", f"L.Cropping2D(1)({v})", f"L.UpSampling2D(2, interpolation={g.r.choice(['nearest', 'bilinear'])!r})({v})",
        f"L.Resizing(5, 6)({v})", f"L.Flatten()({v})", f"L.Reshape((-1, {c}))({v})", f"L.Permute((3, 1, 2))({v})", f"L.GroupNormalization(2)({v})",
        f"L.SpatialDropout2D(.2)({v})"])


@layer()
def flat(g):
    v = g.some(rank=2)
    return g.r.choice([f"L.RepeatVector(3)({v})", f"L.Reshape((1, -1))({v})", f"L.Dense(8, 'relu')({v})", f"L.Reshape((2, -1))({v})"])
