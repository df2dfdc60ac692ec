"""Cases of TensorFlow's branches, loops and lists."""
import numpy as np
from model import MAKES, case, floats, raw, shape_of, tf


@case("If")
def branches(r, op):
    return (lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: tf.tanh(x))), [floats(r, *shape_of(r, 2))]


@case("Case")
def numbered(r, op):
    n, shape = int(r.integers(1, 5)), shape_of(r, 2)
    nested, least = bool(r.random() < .5), float(r.uniform(-1, 1))

    def branch(k, i, x):
        if k == 1:  # does not read the data
            return tf.fill(tf.shape(x), 3.)
        if nested and k == 2:
            return tf.cond(tf.reduce_sum(x) > least, lambda: x * 2, lambda: tf.switch_case(i - 1, [lambda: x - 1, lambda: x / 3]))
        return tf.tanh(x) + k
    return (lambda i, x: tf.switch_case(i, [lambda k=k: branch(k, i, x) for k in range(n)])), [
        np.int32(r.integers(-1, n + 1)), floats(r, *shape)]


@case("While")
def loops(r, op):
    n = int(r.integers(0, 9))
    return (lambda x: tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, tf.tanh(a) + x), [0, x])[1]), [
        floats(r, *shape_of(r, 2))]


@case("While of the data")
def data_loops(r, op):
    return (lambda x: tf.while_loop(lambda a: tf.reduce_sum(a) < 50, lambda a: a * 2, [tf.abs(x) + 1])[0]), [
        floats(r, *shape_of(r, 2))]


@case("TensorList")
def lists(r, op):
    def run(x):
        array = tf.TensorArray("float32", size=4)
        last = tf.zeros_like(x[0])
        for i in tf.range(4):
            last = tf.tanh(last + x[i])
            array = array.write(i, last)
        return array.stack()
    return (tf.function(run) if MAKES else run), [floats(r, 4, 2, 3)]


@case("TensorList of parts")
def parts(r, op):
    """Elements whose extents the loop finds out: joined, read, set again, or all alike."""
    way, n = r.choice(["concat", "equal", "read", "again", "stack", "size", "split"]), int(r.integers(1, 5))

    def run(x):
        array = tf.TensorArray("float32", size=n, infer_shape=False, element_shape=[None, 3], clear_after_read=False)
        if way == "split":
            sizes = tf.concat([[tf.size(tf.where(x[:, 0] > 0))], tf.zeros([n - 1], "int32")], 0)
            array = array.split(x[:sizes[0]], sizes)
            return array.read(0) + 1.
        for i in tf.range(n - 1, -1, -1) if way == "read" else tf.range(n):
            least = tf.cast(i, "float32") * 0.2 - 0.3
            if way == "stack":
                least = 0.
            part = tf.boolean_mask(x, x[:, 0] > least) * (least + 2)
            if way == "equal":
                part = x[:2] * (least + 2)
            array = array.write(i, part)
        if way == "again":
            array = array.write(0, x)
        if way == "read":
            return array.read(0), array.read(n - 1)
        if way == "stack":
            return array.stack()
        return array.concat() * tf.cast(array.size() if way == "size" else 1, "float32")
    return (tf.function(run) if MAKES else run), [floats(r, 6, 3)]


@case("TensorList that grows")
def grown(r, op):
    """Elements behind the last one, of a list that begins with none or a few; some of them set again, or left out."""
    size, way = int(r.choice([0, 0, 1, 3])), r.choice(["rows", "sums", "some", "pairs"])
    known = bool(r.integers(2)) and way != "sums"

    def run(x):
        array = tf.TensorArray("float32", size=size, dynamic_size=True, element_shape=[3] if known else None,
                               clear_after_read=False)
        if way == "some" and size:
            array = array.write(size, x[0])
        for i in tf.range(tf.shape(x)[0]):
            if way == "some":
                if x[i, 0] > 0.:
                    array = array.write(array.size(), x[i] * 2)
            else:
                array = array.write(i // 2 if way == "pairs" else i, tf.reduce_sum(x[i]) if way == "sums" else x[i])
        return array.stack(), array.size()
    return (tf.function(run) if MAKES else run), [floats(r, 6, 3)]


@case("EmptyTensorList")
def pushed(r, op):
    n, ragged, more = int(r.integers(0, 5)), r.random() < 0.5, r.random() < 0.5
    shape = [-1, 3] if ragged else [6, 3]

    def run(x):
        raw = tf.raw_ops
        a = raw.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=tf.float32)
        if more or not n:
            a = raw.TensorListPushBack(input_handle=a, tensor=x)
        for i in tf.range(n):
            part = x[:i + 1] if ragged else x * tf.cast(i, "float32")
            a = raw.TensorListPushBack(input_handle=a, tensor=part)
        size = raw.TensorListLength(input_handle=a)
        if ragged:
            return raw.TensorListGetItem(input_handle=a, index=size - 1, element_shape=shape, element_dtype=tf.float32), size
        return raw.TensorListStack(input_handle=a, element_shape=shape, element_dtype=tf.float32), size
    return (tf.function(run) if MAKES else run), [floats(r, 6, 3)]


@case("TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3", "TensorArrayGatherV3", "TensorArrayScatterV3",
      "TensorArraySizeV3", "TensorArraySplitV3", "TensorArrayConcatV3")
def arrays(r, op):
    n, t = int(r.integers(2, 5)), tf.float32
    places = [int(i) for i in r.permutation(n)]
    sizes = [int(i) for i in r.integers(1, 4, n)] if op == "TensorArraySplitV3" else [2] * n

    def run(x):
        a = raw.TensorArrayV3(size=n, dtype=t, element_shape=[2, 3] if sizes == [2] * n else [None, 3])
        h, flow = a.handle, a.flow
        rows = tf.reshape(x[:2 * n], [n, 2, 3])
        if op == "TensorArrayScatterV3":
            flow = raw.TensorArrayScatterV3(handle=h, indices=places, value=rows, flow_in=flow)
        elif op in ("TensorArraySplitV3", "TensorArrayConcatV3"):
            flow = raw.TensorArraySplitV3(handle=h, value=x[:sum(sizes)], lengths=tf.constant(sizes, tf.int64), flow_in=flow)
        else:
            for i in range(n):
                flow = raw.TensorArrayWriteV3(handle=h, index=places[i], value=rows[i], flow_in=flow)
        if op == "TensorArrayConcatV3":
            return raw.TensorArrayConcatV3(handle=h, flow_in=flow, dtype=t, element_shape_except0=[3]).value
        if op == "TensorArrayGatherV3":
            return raw.TensorArrayGatherV3(handle=h, indices=places[1:] + places[:1], flow_in=flow, dtype=t, element_shape=[2, 3])
        size = raw.TensorArraySizeV3(handle=h, flow_in=flow)
        return raw.TensorArrayReadV3(handle=h, index=places[-1], flow_in=flow, dtype=t) * 2., size
    return run, [floats(r, 16, 3)]


@case("TensorListFromTensor", "TensorListGather", "TensorListConcat", "TensorListConcatV2", "TensorListSplit")
def whole_lists(r, op):
    n, t = int(r.integers(2, 5)), tf.float32
    places = [int(i) for i in r.integers(0, n, int(r.integers(1, 6)))]
    sizes = [int(i) for i in r.integers(1, 4, n)]

    def run(x):
        if op == "TensorListSplit":
            a = raw.TensorListSplit(tensor=x[:sum(sizes)], element_shape=[-1, 3], lengths=tf.constant(sizes, tf.int64))
            return [raw.TensorListGetItem(input_handle=a, index=i, element_shape=[-1, 3], element_dtype=t) for i in range(n)]
        a = raw.TensorListFromTensor(tensor=tf.reshape(x[:2 * n], [n, 2, 3]), element_shape=[2, 3])
        if op == "TensorListGather":
            return raw.TensorListGather(input_handle=a, indices=places, element_shape=[2, 3], element_dtype=t)
        if op == "TensorListConcat":
            return raw.TensorListConcat(input_handle=a, element_dtype=t, element_shape=[2, 3]).tensor
        if op == "TensorListConcatV2":
            return raw.TensorListConcatV2(input_handle=a, element_shape=[-1, 3], leading_dims=tf.constant([2] * n, tf.int64),
                                          element_dtype=t).tensor
        return raw.TensorListStack(input_handle=a, element_shape=[2, 3], element_dtype=t), raw.TensorListLength(input_handle=a)
    return run, [floats(r, 16, 3)]


@case("StatelessCase", "StatelessIf", "StatelessWhile")
def stateless(r, op):
    def choice(fn, *given):
        return tf.function(fn).get_concrete_function(*(tf.TensorSpec(a.shape, a.dtype) for a in given))

    def run(i, x):
        if op == "StatelessCase":
            return raw.StatelessCase(branch_index=i, input=[x], Tout=[x.dtype],
                                     branches=[choice(f, x) for f in (lambda x: x * 2, tf.tanh, lambda x: x - 1)])
        if op == "StatelessIf":
            return raw.StatelessIf(cond=i > 0, input=[x], Tout=[x.dtype], then_branch=choice(lambda x: x * 2, x),
                                   else_branch=choice(tf.tanh, x))
        return raw.StatelessWhile(input=[i, x], cond=choice(lambda i, x: i < 5, i, x),
                                  body=choice(lambda i, x: (i + 1, tf.tanh(x) * 2), i, x))
    return run, [np.int32(r.integers(-1, 4)), floats(r, *shape_of(r, 2))]


@case("Assert", "PrintV2")
def effects(r, op):
    def run(x):
        if op == "Assert":
            told = [raw.Assert(condition=tf.reduce_all(x < 9), data=[x], summarize=2)]
        else:
            told = [raw.PrintV2(input="a line", output_stream="log(info)")]
        with tf.control_dependencies(told):
            return tf.tanh(x)
    return run, [floats(r, *shape_of(r, 2))]


FLOW = (branches, numbered, loops, data_loops, lists, parts, grown, pushed, stateless)
