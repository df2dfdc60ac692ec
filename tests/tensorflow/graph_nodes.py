"""Nodes of random graphs: KINDS are functions of a graph (graphs.py) that give one line's right side, as Python of TensorFlow.

What a line may use: tf, the values before it, W(name, v), a weight in the type of v, ft, the type of floats, and fused_norm. So the same
lines compute in float64, too.
"""
KINDS = []


def kind(weight=1):
    def add(f):
        KINDS.extend([f] * weight)
        return f
    return add


@kind(3)
def element(g):
    v = g.some()
    return g.r.choice([f"tf.tanh({v})", f"tf.nn.gelu({v}, approximate={g.r.random() < .5})", f"tf.nn.relu({v})", f"tf.sigmoid({v}) * 2",
                       f"tf.nn.silu({v})", f"{v} * .5 + 1", f"tf.exp(-tf.abs({v}))", f"tf.clip_by_value({v}, -1, 1.5)",
                       f"tf.sqrt(tf.abs({v}) + .1)", f"tf.nn.leaky_relu({v}, .2)", f"tf.nn.elu({v})", f"tf.floor({v})",
                       f"tf.square({v})", f"tf.math.erf({v})", f"tf.nn.relu6({v} * 3)", f"tf.nn.softplus({v})", f"tf.round({v} * 2)",
                       f"-tf.pow(tf.abs({v}), 1.5)", f"1 / (1 + tf.abs({v}))", f"tf.math.log1p(tf.abs({v}))", f"tf.math.rsqrt(tf.square({v}) + .5)",
                       f"tf.sin({v})", f"tf.sign({v})", f"tf.nn.selu({v})", f"tf.math.floormod({v}, .75)", f"tf.nn.crelu({v})"])


@kind(3)
def pair(g):
    v = g.some()
    w = g.some() if g.r.random() < .4 else g.like(v)
    return g.r.choice([f"{v} + {w}", f"{v} * {w}", f"{v} - {w}", f"tf.maximum({v}, {w})", f"tf.minimum({v}, {w})",
                       f"{v} / (tf.abs({w}) + 1)", f"tf.where({v} > 0, {v}, {w})", f"tf.where({v} > {w}, {v}, {w} * .5)",
                       f"tf.math.squared_difference({v}, {w})", f"tf.atan2({v}, tf.abs({w}) + 1)", f"tf.add_n([{v}, {w}, {v}])",
                       f"tf.where(tf.reduce_any({v} > {w}, -1, keepdims=True), {v}, 0)", f"tf.math.divide_no_nan({v}, tf.floor({w}))"])


@kind(2)
def layers(g):
    v = g.some(least=2)
    n, out = g.shape(v)[-1], g.r.choice([1, 3, 8, 8, 16])
    return g.r.choice([
        lambda: f"tf.nn.relu(tf.linalg.matmul({v}, {g.weight(v, n, out)}) + {g.weight(v, out)})" if g.rank(v) == 2
        else f"tf.tensordot({v}, {g.weight(v, n, out)}, 1) + {g.weight(v, out)}",
        lambda: f"tf.matmul({v}, {g.weight(v, out, n)}, transpose_b=True)",
        lambda: f"tf.einsum('...i,io->...o', {v}, {g.weight(v, n, out)})",
        lambda: f"tf.reshape(tf.matmul(tf.reshape({v}, [-1, {n}]), {g.weight(v, n, out)}), tf.concat([tf.shape({v})[:-1], [{out}]], 0))",
        lambda: f"tf.nn.bias_add({v}, {g.weight(v, n)})",
        lambda: f"({v} - tf.reduce_mean({v}, -1, keepdims=True)) * tf.math.rsqrt(tf.math.reduce_variance({v}, -1, keepdims=True) + .01)"
                f" * {g.weight(v, n)}",
        lambda: f"tf.nn.batch_normalization({v}, *tf.nn.moments({v}, [-1], keepdims=True), {g.weight(v, n)}, None, .01)"])()


@kind(3)
def sequence(g):
    v = g.some(rank=3, last=8)
    same = g.like(v)
    return g.r.choice([
        lambda: f"tf.nn.conv1d({v}, {g.weight(v, 3, 8, 8)}, {g.r.choice([1, 2])}, {g.r.choice(['SAME', 'VALID'])!r})",
        lambda: f"tf.nn.conv1d({v}, {g.weight(v, 2, 8, 4)}, 1, 'SAME', dilations=2)",
        lambda: f"tf.nn.conv1d_transpose({v}, {g.weight(v, 3, 4, 8)}, [tf.shape({v})[0], tf.shape({v})[1] * 2 - {g.r.choice([0, 1])}, 4], 2, 'SAME')",
        lambda: f"tf.nn.conv1d_transpose({v}, {g.weight(v, 3, 4, 8)}, [tf.shape({v})[0], tf.shape({v})[1] * 2 + {g.r.choice([1, 2])}, 4], 2, 'VALID')",
        lambda: f"tf.matmul(tf.nn.softmax(tf.matmul({v}, {v}, transpose_b=True) / 3), {same})",
        lambda: f"tf.transpose(tf.reshape({v}, [tf.shape({v})[0], tf.shape({v})[1], 2, 4]), [0, 2, 1, 3])",
        lambda: f"tf.reshape({v}, [tf.shape({v})[0], -1, 4])", lambda: f"tf.pad({v}, [[0, 0], [1, 2], [0, 0]])",
        lambda: f"tf.pad({v}, [[0, 0], [0, 0], [1, 1]], constant_values=.5)", lambda: f"tf.pad({v}, [[0, 0], [2, 1], [0, 1]], 'REFLECT')",
        lambda: f"tf.einsum('bld,bmd->blm', {v}, {same})", lambda: f"tf.reverse({v}, [1])", lambda: f"{v}[:, ::2]", lambda: f"{v}[:, -1]",
        lambda: f"{v}[:, :-1] - {v}[:, 1:]", lambda: f"tf.roll({v}, 1, 1)", lambda: f"{v}[:, ::-1, 1:6:2]", lambda: f"tf.nn.avg_pool1d({v}, 3, 2, 'SAME')",
        lambda: f"tf.nn.max_pool1d({v}, 2, 2, 'VALID')", lambda: f"tf.nn.moments({v}, [1])[1]",
        lambda: f"tf.reverse_sequence({v}, tf.ones_like(ids[:, 0]) + ids[:, 0] % 3, seq_axis=1, batch_axis=0)",
        lambda: f"{v} * tf.cast(tf.sequence_mask(ids[:, 0] % 4 + 1, tf.shape({v})[1]), ft)[..., None]",
        lambda: f"tf.linalg.band_part({v}, 0, -1)", lambda: f"tf.repeat({v}, 2, axis=1)", lambda: f"tf.gather({v}, tf.range(tf.shape({v})[1] // 2), axis=1)",
        lambda: f"tf.scan(lambda a, e: a * .5 + e, tf.transpose({v}, [1, 0, 2]))",
        lambda: f"tf.map_fn(lambda e: tf.reduce_max(e, 0) - e[0], {v})", lambda: f"tf.gather({v}, ids % 2, axis=1, batch_dims=1)",
        lambda: f"tf.slice({v}, [0, 1, 0], [tf.shape({v})[0], tf.shape({v})[1] - 2, 5])"])()


@kind(3)
def picture(g):
    v = g.some(rank=4)
    c = g.shape(v)[3]
    out, s, pad = g.r.choice([4, 8, 6]), g.r.choice([1, 2]), g.r.choice(["SAME", "VALID"])
    k = g.r.choice([1, 2, 3])
    flag = g.r.random() < .5
    return g.r.choice([
        lambda: f"tf.nn.conv2d({v}, {g.weight(v, k, 3, c, out)}, {s}, {pad!r})",
        lambda: f"tf.nn.conv2d({v}, {g.weight(v, 3, 3, c, out)}, 1, {pad!r}, dilations=2)",
        lambda: f"tf.nn.conv2d({v}, {g.weight(v, 3, 3, c, out)}, {s}, [[0, 0], [1, 2], [0, 1], [0, 0]])",
        lambda: f"tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d({v}, {g.weight(v, 3, 3, c, out)}, {s}, {pad!r}), {g.weight(v, out)}))",
        lambda: f"tf.nn.depthwise_conv2d({v}, {g.weight(v, 3, k, c, g.r.choice([1, 2]))}, [1, {s}, {s}, 1], {pad!r})",
        lambda: f"tf.nn.depthwise_conv2d({v}, {g.weight(v, 3, 3, c, 1)}, [1, 1, 1, 1], {pad!r}, dilations=[2, 2])",
        lambda: f"tf.nn.conv2d_transpose({v}, {g.weight(v, 3, 3, 4, c)}, tf.stack([tf.shape({v})[0], tf.shape({v})[1] * 2,"
                f" tf.shape({v})[2] * 2, 4]), 2, 'SAME')",
        lambda: f"tf.nn.conv2d_transpose({v}, {g.weight(v, 2, 3, 4, c)}, [tf.shape({v})[0], tf.shape({v})[1] + 1, tf.shape({v})[2] + 2, 4], 1, 'VALID')",
        lambda: f"tf.nn.separable_conv2d({v}, {g.weight(v, 3, 3, c, 1)}, {g.weight(v, 1, 1, c, out)}, [1, {s}, {s}, 1], {pad!r})",
        lambda: f"fused_norm({v}, {g.weight(v, c)}, {g.weight(v, c)}, {g.weight(v, c)}, {g.weight(v, c)} ** 2 + .5)",
        lambda: f"tf.nn.batch_normalization({v}, {g.weight(v, c)}, {g.weight(v, c)} ** 2 + .5, {g.weight(v, c)}, {g.weight(v, c)}, .01)",
        lambda: f"tf.nn.max_pool2d({v}, {k}, {s}, {pad!r})", lambda: f"tf.nn.avg_pool2d({v}, [{k}, 2], {s}, {pad!r})",
        lambda: f"tf.nn.avg_pool2d({v}, 3, {s}, {pad!r})", lambda: f"tf.nn.depth_to_space(tf.concat([{v}] * 4, 3), 2)",
        lambda: f"tf.nn.space_to_depth({v}[:, :4, :6], 2)", lambda: f"tf.space_to_batch({v}[:, :4, :6], [2, 3], [[0, 0], [0, 0]])",
        lambda: f"tf.pad({v}, [[0, 0], [1, 0], [2, 1], [0, 0]], 'SYMMETRIC')",
        lambda: f"tf.compat.v1.image.resize_bilinear({v}, [5, 6], align_corners={flag}, half_pixel_centers={not flag})",
        lambda: f"tf.compat.v1.image.resize_nearest_neighbor({v}, tf.shape({v})[1:3] * 2, half_pixel_centers={flag})",
        lambda: f"tf.reduce_mean({v}, [1, 2], keepdims={flag})", lambda: f"tf.reshape({v}, [tf.shape({v})[0], -1, {c}])",
        lambda: f"tf.transpose({v}, [0, 3, 1, 2])", lambda: f"tf.math.l2_normalize({v}, -1)", lambda: f"{v}[:, 1:-1, ::2]",
        lambda: f"tf.cast(tf.nn.local_response_normalization(tf.cast({v}, tf.float32), 1, 1., .5, .75), ft)", lambda: f"tf.image.extract_patches({v}, [1, 2, 2, 1], [1, 2, 2, 1], [1] * 4, {pad!r})",
        lambda: f"tf.nn.dilation2d({v}, {g.weight(v, 2, 2, c)}, [1, 1, 1, 1], {pad!r}, 'NHWC', [1, 1, 1, 1])",
        lambda: f"tf.image.flip_left_right({v})", lambda: f"tf.image.rot90({v})", lambda: f"tf.reshape({v}, tf.stack([tf.size({v}) // {c}, {c}]))"])()


@kind(2)
def reduce(g):
    v = g.some(least=1)
    d = g.axis(v)
    keep = g.r.random() < .4
    return g.r.choice([f"tf.reduce_sum({v}, {d}, keepdims={keep})", f"tf.reduce_mean({v}, {d}, keepdims={keep})", f"tf.reduce_max({v}, {d})",
                       f"tf.argmax({v}, {d}, output_type=tf.int32)", f"tf.nn.softmax({v}, {d})", f"tf.nn.log_softmax({v}, {d})",
                       f"tf.cumsum({v}, {d}, exclusive={keep}, reverse={g.r.random() < .5})", f"tf.math.reduce_std({v}, {d})",
                       f"tf.reduce_logsumexp({v}, {d})", f"tf.norm({v}, axis={d})", f"tf.reduce_min({v}, {d}, keepdims={keep})",
                       f"tf.clip_by_value(tf.reduce_prod({v}, {d}), -9, 9)", f"tf.reduce_sum({v})", f"tf.reduce_mean({v})",
                       f"tf.cast(tf.reduce_any({v} > 0, {d}), ft)", f"tf.reduce_all({v} > -1, {d})", f"tf.argmin({v}, {d}, output_type=tf.int32)",
                       f"tf.math.count_nonzero({v} > 0, {d}, dtype=tf.int32)", f"tf.reduce_euclidean_norm({v}, {d})",
                       f"tf.reduce_sum({v}, [0, -1])" if g.rank(v) > 1 else f"tf.reduce_max({v})"])


@kind(4)
def move(g):
    v = g.some(least=2, kind=g.r.choice("fffi"))
    d, n = g.axis(v), g.rank(v)
    order = list(range(n))
    g.r.shuffle(order)
    pads = [[0, 0]] * (n - 1) + [[1, 2]]
    first = ", ".join(["2"] + ["1"] * (n - 1))
    return g.r.choice([
        f"tf.transpose({v}, {order})", f"tf.expand_dims({v}, {d})", f"tf.reshape({v}, [-1])", f"tf.reshape({v}, [-1, tf.shape({v})[-1]])",
        f"tf.concat([{v}, {g.like(v)}], {d})", f"tf.stack([{v}, {g.like(v)}], {d})", f"tf.split({v}, 2, {d})[-1]",
        f"tf.split({v}, [1, -1], {d})[1]", f"tf.squeeze({v})" if g.r.random() < .2 else f"tf.squeeze({v}[:, :1], 1)",
        f"tf.tile({v}, [{first}])", f"tf.tile({v}, tf.concat([[2], tf.ones([{n - 1}], tf.int32)], 0))",
        f"tf.broadcast_to({v}, tf.concat([[2], tf.shape({v})], 0))", f"{v}[..., 0]", f"{v}[..., tf.newaxis, :]", f"{v}[0]", f"{v}[..., 1:]",
        f"{v}[..., -2:]", f"{v}[:, :tf.shape({v})[1] // 2]", f"{v}[tf.shape({v})[0] - 1:]", f"{v}[-1, ..., ::-1]", f"tf.unstack({v}, 8, {n - 1})[-1]",
        f"tf.reverse({v}, [{d}])", f"tf.roll({v}, [1, -1], [0, 1])", f"tf.reshape({v}, [tf.shape({v})[0], -1])", f"tf.pad({v}, {pads})",
        f"tf.reshape({v}, [tf.shape({v})[0], tf.shape({v})[1], -1])", f"tf.gather({v}, [0, 0], axis={d})", f"tf.slice({v}, [0] * {n}, [-1] * {n - 1} + [1])",
        f"tf.reshape({v}, tf.concat([tf.shape({v})[:1] * tf.shape({v})[1:2], tf.shape({v})[2:]], 0))", f"tf.gather({v}, tf.range(tf.shape({v})[0])[::-1])",
        f"tf.strided_slice({v}, [0, 1], [0, -1], [1, 1], begin_mask=1, end_mask=1)", f"tf.strided_slice({v}, [-1, 0], [0, 3], shrink_axis_mask=1)",
        f"tf.cast(tf.rank({v}), ft) + tf.cast(tf.size({v}), ft)", f"tf.cast(tf.shape({v}), ft) * .25", f"tf.stop_gradient(tf.identity({v}))",
        f"tf.meshgrid(tf.range(tf.shape({v})[0]), tf.range(3))[0]", f"tf.reshape({v}, tf.where(tf.range({n}) < 1, tf.shape({v}), [-1] * {n})[:2])"])


@kind(2)
def pick(g):
    v = g.some(least=2)
    d, n, last = g.axis(v), g.rank(v), g.shape(v)[-1]
    return g.r.choice([
        lambda: f"tf.nn.embedding_lookup({g.weight(v, 10, 8)}, ids)", lambda: f"tf.math.top_k({v}, 2)[0]", lambda: f"tf.math.top_k({v}, 1)[1]",
        lambda: f"tf.sort({v}, -1)", lambda: f"tf.sort({v}, -1, 'DESCENDING')", lambda: f"tf.gather({v}, tf.argsort({v}, -1, stable=True), batch_dims={n - 1})",
        lambda: f"tf.one_hot(ids, 10, on_value=.75, off_value=-.25, dtype=ft)", lambda: f"tf.one_hot(ids % 4, 4, axis=1, dtype=ft)",
        lambda: f"tf.one_hot(tf.argmax({v}, -1), {last}, dtype=ft)", lambda: f"tf.gather({v}, tf.argmax({v}, -1), batch_dims={n - 1}, axis={n - 1})",
        lambda: f"tf.gather_nd({v}, tf.stack([tf.range(tf.shape({v})[0]), tf.zeros_like(tf.range(tf.shape({v})[0]))], 1))",
        lambda: f"tf.tensor_scatter_nd_add({v}, [[0], [0]], tf.stack([{v}[0], {g.like(v)}[0]]))",
        lambda: f"tf.tensor_scatter_nd_update({v}, [[0, 0]], tf.expand_dims({v}[0, 1], 0))",
        lambda: f"tf.scatter_nd(tf.constant([[2], [0]]), tf.stack([{v}[0], {v}[0]]), tf.concat([[3], tf.shape({v})[1:]], 0))",
        lambda: f"tf.math.segment_sum({v}, tf.range(tf.shape({v})[0]) // 2)", lambda: f"tf.math.unsorted_segment_sum({v}, tf.range(tf.shape({v})[0]) % 2, 2)",
        lambda: f"tf.cast(tf.range(tf.shape({v})[{d}]), ft) * .5 + tf.reduce_mean({v})", lambda: f"tf.fill([tf.shape({v})[0], 3], tf.reduce_max({v}))",
        lambda: f"tf.linspace(tf.constant(0., ft), 1, 5) + tf.reduce_sum({v})", lambda: f"tf.zeros([tf.shape({v})[0], 2], ft)",
        lambda: f"tf.eye(3, dtype=ft) * tf.reduce_max({v})", lambda: f"tf.ones_like({v}) * tf.reduce_min({v}, -1, keepdims=True)",
        lambda: f"tf.boolean_mask({v}, tf.reduce_max({v}, list(range(1, {n}))) > 0)", lambda: f"tf.where({v}[:, 0] > 0)[:, 0]",
        lambda: f"tf.linalg.band_part({v}, 1, 0)", lambda: f"tf.linalg.diag({v})", lambda: f"tf.linalg.diag_part({v})",
        lambda: f"tf.cast(tf.searchsorted(tf.sort({v}, -1), {v}), ft)", lambda: f"tf.math.in_top_k(ids[:, 0] % 2, tf.cast(tf.reshape({v}, [tf.shape({v})[0], -1]), tf.float32), 1)",
        lambda: f"tf.unique(tf.reshape(ids, [-1]))[0]", lambda: f"tf.cast(tf.unique(tf.reshape(ids, [-1]))[1], ft)", lambda: f"tf.dynamic_partition({v}, tf.range(tf.shape({v})[0]) % 2, 2)[0]"])()


@kind()
def product(g):
    v = g.some(least=2)
    w = g.some(least=2)
    return g.r.choice([f"tf.matmul({v}, {w})", f"tf.matmul({v}, {w}, transpose_b=True)", f"tf.matmul({v}, {g.like(v)}, transpose_a=True)",
                       f"tf.einsum('...i,...j->...ij', {v}, {v})", f"tf.matmul({v}, tf.nn.softmax({w}), transpose_b=True)",
                       f"tf.tensordot({v}, {w}, [[-1], [-1]])", f"tf.reduce_sum({v}[..., None] * {w}[..., None, :], -2)"])


@kind()
def whole(g):
    v = g.some(kind="i")
    return g.r.choice([f"{v} + 1", f"{v} * {v} % 7", f"{v} // 2", f"tf.cast({v}, ft) * .25", f"tf.cast({v} > 3, ft)", f"tf.clip_by_value({v}, 1, 5)",
                       f"tf.bitwise.bitwise_and({v}, 3)", f"({v} - 4) // 3", f"tf.where({v} > 4, {v}, -{v})", f"tf.reduce_sum({v}, -1)",
                       f"({v} - 5) % 3", f"tf.cumsum({v}, -1)", f"tf.truncatemod({v} - 5, 4)", f"tf.reduce_max(tf.abs({v}), -1)",
                       f"tf.cast({v} == 2, tf.int32)", f"tf.maximum({v}, {g.like(v)})", f"tf.truncatediv({v} - 4, 3)", f"tf.cast(tf.cast({v}, tf.int64) * 3, tf.int32)"])


@kind(2)
def flow(g):
    v = g.some(least=2)
    w = g.like(v)
    to = g.r.choice([2, f"tf.shape({v})[0]", "tf.reduce_max(ids) % 4 + 1"])
    return g.r.choice([
        f"tf.cond(tf.reduce_sum({v}) > 0, lambda: {v} * 2, lambda: tf.tanh({w}))",
        f"tf.cond(tf.reduce_max({v}) > {g.r.choice([.5, 1, 2])}, lambda: {v} - tf.reduce_mean({v}), lambda: {w})",
        f"tf.cond(tf.shape({v})[0] > 2, lambda: {v}[:2], lambda: {w})",
        f"tf.cond(tf.shape({v})[0] > 1, lambda: tf.reduce_sum({v}), lambda: tf.reduce_max({w}))",
        f"tf.switch_case(ids[0, 0] % 3, [lambda: {v} + 1, lambda: {w} * .5, lambda: tf.nn.relu({v})])",
        f"tf.while_loop(lambda i, a: i < {to}, lambda i, a: (i + 1, tf.tanh(a * .5 + {w})), (0, {v}))[1]",
        f"tf.while_loop(lambda a: tf.reduce_max(tf.abs(a)) > .7, lambda a: (a * .5,), ({v},))[0]",
        f"tf.while_loop(lambda i, a: i < tf.shape({v})[0], lambda i, a: (i + 1, a * .5 + {v}[i]), (0, tf.zeros_like({v}[0])))[1]",
        f"tf.while_loop(lambda i, a: i < {to}, lambda i, a: (i + 1, tf.cond(tf.reduce_sum(a) > 0, lambda: a * .5 - 1, lambda: a + .25)), (0, {v}))[1]",
        f"tf.while_loop(lambda i, a: i < {to}, lambda i, a: (i + 1, tf.concat([a, {v}[:1] * .5], 0)), (0, {v}),"
        f" shape_invariants=(tf.TensorShape([]), tf.TensorShape([None] + {g.known(v)[1:]})))[1]"])
