"""Models over strings: operators of their own, others that move strings, conversions, labels."""
import unittest

try:
    import numpy
    import onnx
    from onnx import TensorProto as T
    from onnx import helper
except ImportError:
    onnx = None
import tenon

ML = "ai.onnx.ml"


def strings(values):
    return numpy.array(values, dtype=object)


def run(nodes, inputs, feeds, n_out=1, constants=(), opset=21):
    """The outputs "y0", "y1", ... of a graph; inputs: {name: (type, shape), or a type of ONNX}."""
    graph = helper.make_graph(
        [helper.make_node(*args[:3], **args[3]) for args in nodes], "graph",
        [helper.make_tensor_value_info(name, *of) if isinstance(of, tuple) else helper.make_value_info(name, of)
         for name, of in inputs.items()],
        [helper.make_tensor_value_info(f"y{i}", T.UNDEFINED, None) for i in range(n_out)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(ML, 4),
                                                     helper.make_opsetid("com.microsoft", 1)])
    result = tenon.compile(model.SerializeToString())(**feeds)
    return [result] if n_out == 1 else list(result)


@unittest.skipIf(onnx is None, "onnx is not installed")
class Texts(unittest.TestCase):
    def test_moves(self):
        x, of = strings([["a", "b", "c"], ["d", "", "f"]]), {"x": (T.STRING, ["n", 3])}
        at = numpy.array([[1, 1], [0, 2]])
        index = [onnx.numpy_helper.from_array(at, "at"), onnx.numpy_helper.from_array(numpy.array([2, 0]), "pick")]
        cases = [
            ([("Transpose", ["x"], ["y0"], {})], x.T),
            ([("Concat", ["x", "x"], ["y0"], {"axis": 1})], numpy.concatenate([x, x], 1)),
            ([("Gather", ["x", "pick"], ["y0"], {"axis": 1})], x[:, [2, 0]]),
            ([("GatherND", ["x", "at"], ["y0"], {})], strings(["", "c"])),
            ([("ArrayFeatureExtractor", ["x", "pick"], ["y0"], {"domain": ML})], x[:, [2, 0]]),
            ([("Shape", ["x"], ["y0"], {})], numpy.array([2, 3])),
            ([("Equal", ["x", "x"], ["c"], {}), ("Where", ["c", "x", "x"], ["y0"], {})], x),
        ]
        for nodes, want in cases:
            have = run(nodes, of, {"x": x}, constants=index)[0]
            self.assertEqual(numpy.asarray(have).tolist(), want.tolist(), nodes[-1][0])
        parts = run([("Split", ["x"], ["y0", "y1"], {"axis": 1, "num_outputs": 2})], of, {"x": x}, 2)
        self.assertEqual([p.tolist() for p in parts], [x[:, :2].tolist(), x[:, 2:].tolist()])

    def test_moves_in_space(self):
        x = strings([[f"{c}{k}" for k in range(6)] for c in "abcd"])
        image, of = x.reshape(1, 4, 2, 3), {"x": (T.STRING, [1, 4, "h", 3])}
        c = {"shape": numpy.array([3, 2]), "scales": numpy.array([1, 1, 2, 1], numpy.float32), "one": numpy.array(1),
             "row": numpy.array([["!"] * 6], dtype=object), "at": numpy.array([2])}
        more = [onnx.numpy_helper.from_array(v, k) for k, v in c.items() if v.dtype != object]
        more.append(helper.make_tensor("row", T.STRING, [1, 1, 6], ["!".encode()] * 6))
        cropped = numpy.full((3, 2), "", dtype=object)
        cropped[:2] = image[0, 0, :, :2]
        written = x[None].copy()
        written[0, 2] = "!"
        blocks = image.reshape(1, 2, 2, 1, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 4, 6)
        square = numpy.where(numpy.triu(numpy.ones((4, 6), bool), 1), x, "")
        cases = [
            ([("DepthToSpace", ["x"], ["y0"], {"blocksize": 2})], of, image, blocks),
            ([("SpaceToDepth", ["x"], ["y0"], {"blocksize": 2})], {"x": (T.STRING, [1, 1, "h", "w"])}, blocks, image),
            ([("CenterCropPad", ["x", "shape"], ["y0"], {"axes": [0, 1]})], {"x": (T.STRING, ["n", 3])}, image[0, 0], cropped),
            ([("Resize", ["x", "", "scales"], ["y0"], {"mode": "nearest"})], of, image, image.repeat(2, 2)),
            ([("Trilu", ["x", "one"], ["y0"], {})], {"x": (T.STRING, ["n", 6])}, x, square),
            ([("NonZero", ["x"], ["y0"], {})], {"x": (T.STRING, ["n", 6])}, square,
             numpy.stack(numpy.nonzero(square != ""))),
        ]
        for nodes, given, value, want in cases:
            have = run(nodes, given, {"x": value}, constants=more)[0]
            self.assertEqual(numpy.asarray(have).tolist(), want.tolist(), nodes[-1][0])
        have = run([("TensorScatter", ["x", "row", "at"], ["y0"], {"axis": 1})], {"x": (T.STRING, [1, "n", 6])},
                   {"x": x[None]}, constants=more, opset=24)[0]
        self.assertEqual(have.tolist(), written.tolist())
        have = run([("RandomUniformLike", ["x"], ["y0"], {"dtype": T.FLOAT})], of, {"x": image})[0]
        self.assertEqual(have.shape, image.shape)

    def test_squeeze_of_extents_that_only_the_run_knows(self):
        last = [onnx.numpy_helper.from_array(numpy.array([-1]), "last")]
        squeeze, wider = ("Squeeze", ["x"], ["s"], {}), ("Unsqueeze", ["s", "last"], ["w"], {})
        cases = [([("Squeeze", ["x"], ["y0"], {})], lambda x: x.squeeze()),
                 ([squeeze, ("Unsqueeze", ["s", "last"], ["y0"], {})], lambda x: x.squeeze()[..., None]),
                 ([squeeze, wider, ("Squeeze", ["w"], ["y0"], {})], lambda x: x.squeeze())]
        for nodes, of in cases:
            for shape in (1, 1, 3), (3, 1, 1), (2, 1, 3), (1, 1, 1):
                x = strings([f"t{i}" for i in range(numpy.prod(shape))]).reshape(shape)
                have = numpy.asarray(run(nodes, {"x": (T.STRING, ["n", 1, "m"])}, {"x": x}, constants=last)[0])
                want = numpy.asarray(of(x), dtype=object)
                self.assertEqual((have.shape, have.tolist()), (want.shape, want.tolist()), (nodes, shape))

    def test_pad(self):
        x, value = strings([["a", "b"], ["c", "d"]]), numpy.array("-", dtype=object)
        pads = numpy.array([1, 0, 0, 2])
        for mode, fill in (("constant", "-"), ("constant", ""), ("edge", None), ("wrap", None)):
            more = {"constant_values": fill} if mode == "constant" else {}
            want = numpy.pad(x, ((1, 0), (0, 2)), mode=mode, **more).tolist()
            for late in (False, True):
                of, feeds = {"x": (T.STRING, ["n", 2])}, {"x": x}
                if late:
                    of["p"], feeds["p"] = (T.INT64, [4]), pads
                if fill == "-":
                    of["v"], feeds["v"] = (T.STRING, []), value
                node = ("Pad", ["x", "p"] + (["v"] if fill == "-" else []), ["y0"], {"mode": mode})
                have = run([node], of, feeds, constants=[] if late else [onnx.numpy_helper.from_array(pads, "p")])[0]
                self.assertEqual(have.tolist(), want, (mode, fill, late))

    def test_one_hot(self):
        indices, feeds = numpy.array([[2, 0], [-1, 7]]), {}
        for late in (False, True):  # values and depth: constants or of the run
            feeds = {"i": indices, "d": numpy.array(3), "v": strings(["off", "on"])}
            of = {"i": (T.INT64, ["n", 2]), "d": (T.INT64, []), "v": (T.STRING, [2])}
            constants = [] if late else [onnx.helper.make_tensor("v", T.STRING, [2], [b"off", b"on"]),
                                         onnx.numpy_helper.from_array(feeds["d"], "d")]
            for c in constants:
                del of[c.name], feeds[c.name]
            have = run([("OneHot", ["i", "d", "v"], ["y0"], {"axis": 0})], of, feeds, constants=constants)[0]
            places = numpy.stack([(indices == k) | (indices == k - 3) for k in range(3)])
            self.assertEqual(have.tolist(), numpy.where(places, "on", "off").tolist(), late)

    def test_expand_dims(self):
        x, axis = strings([["a", "b"]]), onnx.numpy_helper.from_array(numpy.array(1, numpy.int32), "a")
        have = run([("ExpandDims", ["x", "a"], ["y0"], {"domain": "com.microsoft"})], {"x": (T.STRING, ["n", 2])}, {"x": x},
                   constants=[axis])[0]
        self.assertEqual(have.tolist(), [[["a", "b"]]])

    def test_loop_collects(self):
        """Texts that a Loop makes: written out, as a loop, none."""
        given = [helper.make_tensor_value_info("i", T.INT64, []), helper.make_tensor_value_info("c", T.BOOL, [])]
        nodes = [helper.make_node("Less", ["i", "limit"], ["go"]), helper.make_node("Cast", ["i"], ["t"], to=T.STRING),
                 helper.make_node("StringConcat", ["x", "t"], ["row"]), helper.make_node("StringConcat", ["s", "t"], ["next"])]
        made = [helper.make_tensor_value_info(name, of, None)
                for name, of in (("go", T.BOOL), ("next", T.STRING), ("row", T.STRING), ("i", T.INT64), ("t", T.STRING))]
        body = helper.make_graph(nodes, "body", given + [helper.make_tensor_value_info("s", T.STRING, None)], made)
        loop = [("Loop", ["n", "", "s"], ["y0", "y1", "y2", "y3"], {"body": body})]
        for count, limit, times in ((3, 9, 3), (0, 9, 0), (9, 3, 4), (300, 400, 300)):
            for late in (False, True):
                of = {"x": (T.STRING, ["k"]), "s": (T.STRING, []), "n": (T.INT64, []), "limit": (T.INT64, [])}
                feeds = {"x": strings(["a", "", "é"]), "s": numpy.array("", dtype=object), "n": numpy.array(count),
                         "limit": numpy.array(limit)}
                constants = [] if late else [onnx.numpy_helper.from_array(feeds[name], name) for name in ("n", "limit")]
                for c in constants:
                    del of[c.name], feeds[c.name]
                carried, rows, i, t = run(loop, of, feeds, 4, constants)
                self.assertEqual(carried.item(), "".join(map(str, range(times))))
                self.assertEqual(rows.tolist(), [[f"a{k}", f"{k}", f"é{k}"] for k in range(times)], (count, late))
                self.assertEqual((i.tolist(), t.tolist()), (list(range(times)), list(map(str, range(times)))))

    def test_scan(self):
        """Texts as state, elements and results, whose lengths are known or not."""
        body = helper.make_graph(
            [helper.make_node("StringConcat", ["s", "e"], ["row"]), helper.make_node("Identity", ["e"], ["last"])], "body",
            [helper.make_tensor_value_info(name, T.STRING, None) for name in ("s", "e")],
            [helper.make_tensor_value_info(name, T.STRING, None) for name in ("last", "row")])
        for length in (3, 1, 0, 300):
            for backward in (0, 1):
                x = strings([[f"{k}a", f"{k}b"] for k in range(length)]).reshape(length, 2)
                start, order = strings(["-", ""]), x[::-1] if backward else x
                before = numpy.concatenate([start[None], order])
                want, axis = before[:-1] + order, 1 if backward else 0
                scan = {"body": body, "num_scan_inputs": 1, "scan_input_directions": [backward],
                        "scan_output_axes": [axis]}
                for dims in ([length, 2], ["n", 2]):
                    last, rows = run([("Scan", ["s", "x"], ["y0", "y1"], scan)],
                                     {"s": (T.STRING, [2]), "x": (T.STRING, dims)}, {"s": start, "x": x}, 2)
                    self.assertEqual(last.tolist(), before[-1].tolist())
                    self.assertEqual((rows.shape, rows.tolist()), ((want.T if axis else want).shape,
                                                                   (want.T if axis else want).tolist()), (length, dims))

    def test_scan_of_a_batch(self):
        """Scan of operator set 8, where a sequence may end early: its state stays, its rows are empty texts."""
        named = lambda name, shape: helper.make_tensor_value_info(name, T.STRING, shape)
        body = helper.make_graph(
            [helper.make_node("Concat", ["s", "e"], ["row"], axis=0), helper.make_node("Identity", ["e"], ["last"])], "body",
            [named("s", [1]), named("e", [1])], [named("last", [1]), named("row", [2])])
        x, feeds = strings([[["a"], ["b"]], [["c"], ["d"]]]), {"s": strings([["p"], ["q"]]), "l": numpy.array([1, 2])}
        for dims in ([2, 2, 1], ["b", "t", 1]):
            last, rows = run([("Scan", ["l", "s", "x"], ["y0", "y1"], {"body": body, "num_scan_inputs": 1})],
                             {"s": (T.STRING, [dims[0], 1]), "x": (T.STRING, dims), "l": (T.INT64, [dims[0]])},
                             dict(feeds, x=x), 2, opset=8)
            self.assertEqual(last.tolist(), [["a"], ["d"]])
            self.assertEqual(rows.tolist(), [[["p", "a"], ["", ""]], [["q", "c"], ["c", "d"]]])

    def test_unique(self):
        x, of = strings(["b", "ab", "", "b", "ab", "é"]), {"x": (T.STRING, ["n"])}
        out = ["y0", "y1", "y2", "y3"]
        have = [y.tolist() for y in run([("Unique", ["x"], out, {})], of, {"x": x}, 4)]
        self.assertEqual(have, [["", "ab", "b", "é"], [2, 1, 0, 5], [2, 1, 0, 2, 1, 3], [1, 2, 2, 1]])
        have = [y.tolist() for y in run([("Unique", ["x"], out, {"sorted": 0})], of, {"x": x}, 4)]
        self.assertEqual(have, [["b", "ab", "", "é"], [0, 1, 2, 5], [0, 1, 2, 0, 1, 3], [2, 2, 1, 1]])
        rows = strings([["b", "a"], ["a", "c"], ["b", "a"]])
        have = run([("Unique", ["x"], out, {"axis": 0})], {"x": (T.STRING, ["n", 2])}, {"x": rows}, 4)
        self.assertEqual([y.tolist() for y in have], [[["a", "c"], ["b", "a"]], [1, 0], [1, 0, 1], [1, 2]])

    def test_conversions(self):
        x = numpy.array([1, 0.1, -2.5e9, numpy.inf, numpy.nan], numpy.float32)
        have = run([("Cast", ["x"], ["y0"], {"to": T.STRING})], {"x": (T.FLOAT, ["n"])}, {"x": x})[0]
        self.assertEqual(have.tolist(), ["1", "0.1", "-2.5e+09", "INF", "NaN"])
        for to, given, want in ((T.FLOAT16, ["1e3", "-inf"], [1000, -numpy.inf]), (T.INT8, ["-3", "2.9"], [-3, 2]),
                                (T.UINT64, ["18446744073709551615"], [2**64 - 1])):
            have = run([("Cast", ["x"], ["y0"], {"to": to})], {"x": (T.STRING, ["n"])}, {"x": strings(given)})[0]
            self.assertEqual(have.tolist(), want)
        with self.assertRaisesRegex(tenon.RunError, '"one" is not a number'):
            run([("Cast", ["x"], ["y0"], {"to": T.FLOAT})], {"x": (T.STRING, ["n"])}, {"x": strings(["one"])})

    def test_labels(self):
        x, of = strings(["b", "z", "a"]), {"x": (T.STRING, ["n"])}
        keys, i = {"domain": ML, "keys_strings": ["a", "b"]}, {"x": (T.INT64, ["n"])}
        cats = {"domain": ML, "cats_strings": ["a", "b"], "cats_int64s": [7, 9]}
        cases = [
            ("LabelEncoder", dict(keys, values_strings=["A", "B"]), of, x, ["B", "_Unused", "A"]),
            ("LabelEncoder", dict(keys, values_floats=[1.0, 2.0], default_float=-1.0), of, x, [2, -1, 1]),
            ("LabelEncoder", {"domain": ML, "keys_int64s": [4, 5], "values_strings": ["A", "B"]}, i,
             numpy.array([5, 6, 4]), ["B", "_Unused", "A"]),
            ("CategoryMapper", dict(cats, default_int64=-2), of, x, [9, -2, 7]),
            ("CategoryMapper", dict(cats, default_string="none"), i, numpy.array([9, 1, 7]), ["b", "none", "a"]),
            ("OneHotEncoder", {"domain": ML, "cats_strings": ["a", "b"]}, of, x, [[0, 1], [0, 0], [1, 0]]),
            ("TfIdfVectorizer", {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0,
                                 "ngram_counts": [0, 1], "ngram_indexes": [1, 0], "pool_strings": ["a", "b", "z"]},
             of, x, [1, 1]),
            ("LinearClassifier", {"domain": ML, "classlabels_strings": ["no", "yes"], "coefficients": [1.0, 0, 0, 1],
                                  "intercepts": [0.0, 0]}, {"x": (T.FLOAT, ["n", 2])},
             numpy.array([[2, 1], [1, 2]], numpy.float32), ["no", "yes"]),
        ]
        for op, attributes, inputs, feed, want in cases:
            names = ["y0", "p"] if op == "LinearClassifier" else ["y0"]
            have = run([(op, ["x"], names, attributes)], inputs, {"x": feed})[0]
            self.assertEqual(have.tolist(), want, op)

    def test_tokens(self):
        """Tokenizer of com.microsoft: results are ONNX Runtime's."""
        texts, of = ["The cat, sat", "", "un caf\u00e9"], {"x": (T.STRING, ["n"])}
        cases = [
            ({"tokenexp": "[a-zA-Z]+", "mincharnum": 1}, [["The", "cat", "sat"], ["#", "#", "#"], ["un", "caf", "#"]]),
            ({"tokenexp": r"\b\w\w\w+\b", "mark": 1}, [["\2", "The", "cat", "sat", "\3"], ["\2", "\3", "#", "#", "#"],
                                                        ["\2", "caf", "\3", "#", "#"]]),
            ({"tokenexp": "a|at", "mincharnum": 2}, [["at", "at"], ["#", "#"], ["#", "#"]]),
            ({"separators": [" ", "[,a]"], "mincharnum": 2}, [["The", "#"], ["#", "#"], ["un", "f\u00e9"]]),
            ({"separators": ["q"], "mincharnum": 20}, [[], [], []]),
        ]
        for attributes, want in cases:
            attributes = {"domain": "com.microsoft", "mark": 0, "mincharnum": 1, "pad_value": "#"} | attributes
            have = run([("Tokenizer", ["x"], ["y0"], attributes)], of, {"x": strings(texts)})[0]
            self.assertEqual(have.tolist(), want, attributes)
        for attributes in ({"separators": [""]}, {"tokenexp": "."}):
            attributes = dict(attributes, domain="com.microsoft", mark=1, mincharnum=1, pad_value="")
            have = run([("Tokenizer", ["x"], ["y0"], attributes)], {"x": (T.STRING, ["n", 1])},
                       {"x": strings([["\u00e9"], ["ab"]])})[0]
            self.assertEqual(have.tolist(), [[["\2", "\u00e9", "\3", ""]], [["\2", "a", "b", "\3"]]])

    def test_murmur_hash(self):
        """Numbers are scikit-learn's, murmurhash3_32."""
        x, of = strings(["", "foo", "abcd", "hello world", "\u00e9"]), {"x": (T.STRING, ["n"])}
        have = run([("MurmurHash3", ["x"], ["y0"], {"domain": "com.microsoft"})], of, {"x": x})[0]
        self.assertEqual((have.dtype, have.tolist()), (numpy.uint32, [0, 4138058784, 1139631978, 1586663183, 269551495]))
        have = run([("MurmurHash3", ["x"], ["y0"], {"domain": "com.microsoft", "positive": 0, "seed": 7})], of, {"x": x})[0]
        self.assertEqual((have.dtype, have.tolist()), (numpy.int32, [415870660, 977864409, 1425861819, -1049843560, 312290774]))

    def test_maps(self):
        def a_map(key, value, shape=()):
            return {"x": helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, shape))}
        whole, named = a_map(T.INT64, T.FLOAT), a_map(T.STRING, T.DOUBLE)
        x, rows = {5: 1.5, 2: 2.5, 0: -3.7}, numpy.array([[1, 2, 3], [4, 5, 6]], numpy.float32)
        sparse = {"map_form": "SPARSE", "max_map": 4}
        cases = [
            ("ZipMap", {"classlabels_strings": ["a", "b", "c"]}, {"x": (T.FLOAT, ["n", 3])}, rows,
             [{"a": 1, "b": 2, "c": 3}, {"a": 4, "b": 5, "c": 6}]),
            ("ZipMap", {"classlabels_int64s": [3, 1, 2]}, {"x": (T.FLOAT, [3])}, rows[0], [{3: 1, 1: 2, 2: 3}]),
            ("CastMap", {}, whole, x, numpy.array([[-3.7, 2.5, 1.5]], numpy.float32).tolist()),
            ("CastMap", {"cast_to": "TO_INT64"}, whole, x, [[-3, 2, 1]]),
            ("CastMap", {"cast_to": "TO_STRING"}, whole, x, [["-3.7", "2.5", "1.5"]]),
            ("CastMap", dict(sparse, cast_to="TO_INT64"), whole, x, [[-3, 0, 2, 0]]),
            ("CastMap", sparse, a_map(T.INT64, T.STRING), {1: "7", 3: "0.5"}, [[0, 7, 0, 0.5]]),
            ("CastMap", {"cast_to": "TO_STRING"}, a_map(T.INT64, T.STRING), {1: "b", 0: "a"}, [["a", "b"]]),
            ("DictVectorizer", {"string_vocabulary": ["a", "b", "a"]}, named, {"a": 4.0, "q": 8.0}, [[4, 0, 4]]),
            ("DictVectorizer", {"int64_vocabulary": [5, 2]}, a_map(T.INT64, T.STRING), {2: "y"}, [["", "y"]]),
            ("DictVectorizer", {"string_vocabulary": ["a", "b"]}, a_map(T.STRING, T.FLOAT, [1]), {"b": 4.0}, [[0, 4]]),
        ]
        for op, attributes, inputs, feed, want in cases:
            have = run([(op, ["x"], ["y0"], dict(attributes, domain=ML))], inputs, {"x": feed})[0]
            self.assertEqual(have if isinstance(have, list) else numpy.asarray(have).tolist(), want, op)
        with self.assertRaisesRegex(tenon.RunError, "a key of a sparse map is negative"):
            run([("CastMap", ["x"], ["y0"], dict(sparse, domain=ML))], whole, {"x": {-1: 2.0}})


if __name__ == "__main__":
    unittest.main()
