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


FLOW = (branches, numbered, loops, data_loops, lists, parts, pushed)
