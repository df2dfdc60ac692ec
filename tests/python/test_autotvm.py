"""tenon.autotvm: knobs, templates, tuners, logs; tvm.autotvm, which is the same."""
import array
import contextlib
import importlib.util
import io
import json
import math
import pathlib
import tempfile
import unittest
import warnings
from unittest import mock

import tenon
from tenon import autotvm, te
from tenon.autotvm import callback, record, task, tuner

N = 32


@autotvm.template("test.matmul")
def matmul(n, depth, m, dtype="float32"):
    a = te.placeholder((n, depth), name="A", dtype=dtype)
    b = te.placeholder((depth, m), name="B", dtype=dtype)
    k = te.reduce_axis((0, depth), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    y, x = s[c].op.axis
    cfg = autotvm.get_config()
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", cfg.axis(x), num_outputs=2, filter=lambda e: e.size[-1] <= 16)
    cfg.define_annotate("ann", [x], policy="try_vec")
    cfg.define_knob("inside", ["rows first", "columns"])
    cfg.add_flop(2 * n * depth * m)
    yo, yi = cfg["tile_y"].apply(s, c, y)
    xo, xi = cfg["tile_x"].apply(s, c, x)
    s[c].reorder(yo, xo, k, yi, xi) if cfg["inside"].val == "columns" else s[c].reorder(yo, xo, yi, k, xi)
    cfg["ann"].apply(s, c, [xi], vec_size=[8, 16])
    return s, [a, b, c]


@autotvm.template("test.another")
def another(n):
    """Computes something else where the knob says so."""
    a = te.placeholder((n,), name="A")
    cfg = autotvm.get_config()
    cfg.define_knob("plus", [1, 2])
    c = te.compute((n,), lambda i: a[i] + float(cfg["plus"].val), name="C")
    return te.create_schedule(c.op), [a, c]


@autotvm.template("test.alike")
def alike(n):
    """Values that are written alike, and are tuples."""
    a = te.placeholder((n,), name="A")
    cfg = autotvm.get_config()
    cfg.define_knob("k", [(1, "a b"), (1, "a_b")])
    c = te.compute((n,), lambda i: a[i] + 1.0, name="C")
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], 4 if "_" in cfg["k"].val[1] else 8)
    return s, [a, c]


@autotvm.template("test.impossible")
def impossible(n):
    autotvm.get_config().raise_error("there is no such kernel")


@autotvm.template("test.wrong")
def wrong(n):
    autotvm.get_config().define_knob("a", [1, 2])
    raise KeyError("a fault of the template")


class Stage:
    """What entities do to a stage."""

    def __init__(self):
        self.steps = []

    def __getitem__(self, op):
        return self

    def split(self, axis, factor):
        self.steps.append((axis, factor))
        return f"{axis}o", f"{axis}i"

    def reorder(self, *axes):
        self.steps.append(axes)

    def unroll(self, axis):
        self.steps.append(("unroll", axis))

    def vectorize(self, axis):
        self.steps.append(("vec", axis))


class Knobs(unittest.TestCase):
    def sizes(self, **how):
        cfg = autotvm.ConfigSpace()
        cfg.define_split("s", 12, **how)
        return [e.size for e in cfg.space_map["s"]]

    def test_splits(self):
        self.assertEqual(self.sizes(), [[-1, f] for f in (1, 2, 3, 4, 6, 12)])
        three = self.sizes(num_outputs=3)
        self.assertEqual(three[:4], [[-1, 1, 1], [-1, 2, 1], [-1, 3, 1], [-1, 4, 1]])
        self.assertTrue(all(12 % (a * b) == 0 for _, a, b in three))
        self.assertEqual(self.sizes(policy="power2"), [[-1, 1], [-1, 2], [-1, 4], [-1, 8]])
        self.assertEqual(self.sizes(policy="power2", no_tail=True), [[-1, 1], [-1, 2], [-1, 4]])
        self.assertEqual(self.sizes(policy="verbose", max_factor=4), [[-1, 1], [-1, 2], [-1, 3], [-1, 4]])
        self.assertEqual(self.sizes(policy="candidate", candidate=[[2, 6]]), [[2, 6]])
        self.assertEqual(self.sizes(filter=lambda e: e.size[1] == 6), [[-1, 6]])
        with self.assertRaisesRegex(tenon.UnsupportedError, 'no policy "best"; there are factors, power2, verbose, candidate'):
            self.sizes(policy="best")
        with self.assertRaisesRegex(autotvm.InstantiationError, "knob s has no candidate"):
            self.sizes(filter=lambda e: False)

    def test_orders_and_annotations(self):
        cfg = autotvm.ConfigSpace()
        cfg.define_reorder("all", ["a", "b", "c"], policy="all")
        cfg.define_reorder("run", ["a", "b", "c"], policy="interval_all")
        cfg.define_reorder("given", ["a", "b"], policy="candidate", candidate=[[1, 0]])
        cfg.define_annotate("roll", ["a", "b"], policy="try_unroll")
        cfg.define_annotate("both", ["a", "b"], policy="try_unroll_vec")
        self.assertEqual(len(cfg.space_map["all"]), 6)
        self.assertEqual(sorted(map(str, cfg.space_map["run"])),
                         ["[0, 1, 2]", "[0, 2, 1]", "[1, 0, 2]", "[1, 2, 0]", "[2, 0, 1]"])
        self.assertEqual(cfg["given"].perm, [1, 0])
        self.assertEqual([e.anns for e in cfg.space_map["roll"]],
                         [["none", "none"], ["none", "unroll"], ["unroll", "none"], ["unroll", "unroll"]])
        self.assertEqual([e.anns for e in cfg.space_map["both"]][4:], [["none", "vec"], ["unroll", "vec"]])
        s = Stage()
        autotvm.SplitEntity([-1, 4, 2]).apply(s, None, "x")
        autotvm.ReorderEntity([1, 0]).apply(s, None, ["a", "b"])
        autotvm.AnnotateEntity(["unroll", "vec"]).apply(s, None, ["a", "b"], axis_lens=[3, 8], max_unroll=4, vec_size=[8])
        self.assertEqual(s.steps, [("x", 2), ("xo", 4), ("b", "a"), ("unroll", "a"), ("vec", "b")])
        with self.assertRaises(autotvm.InstantiationError):
            autotvm.AnnotateEntity(["unroll"]).apply(s, None, ["a"], axis_lens=[5], max_unroll=4)

    def test_policies_of_more_loops(self):
        cfg = autotvm.ConfigSpace()
        loops = list("abcd")
        self.assertEqual(cfg.define_reorder("some", loops, policy="interval_all", interval=(1, 3)), loops)
        self.assertEqual([e.perm for e in cfg.space_map["some"]], [[0, 1, 2, 3], [0, 2, 1, 3]])
        cfg.define_annotate("inner", ["a", "b"], policy="unroll_vec")
        self.assertEqual([e.anns for e in cfg.space_map["inner"]], [["unroll", "unroll"], ["unroll", "vec"]])
        self.assertEqual(cfg.define_reorder("none", [], policy="interval_all"), [])
        self.assertEqual([e.perm for e in cfg.space_map["none"]], [[]])

    def test_refused_knobs(self):
        cfg = autotvm.ConfigSpace()
        for define, why in ((lambda: cfg.define_reorder("k", ["a", "b"], "interleave", spatial=[], reduce=[]), "name that as the candidate"),
                            (lambda: cfg.define_reorder("k", ["a", "b"], "any"), "there are all, identity, interval_all, candidate"),
                            (lambda: cfg.define_annotate("k", ["a", "b"], "bind_gpu"), "make them tasks by parallel"),
                            (lambda: cfg.define_annotate("k", ["a", "b"], "locate_cache", num_anchor=1), "choose the loop of a copy")):
            with self.assertRaisesRegex(tenon.UnsupportedError, f"knob k has no policy .*{why}.*driver-E208"):
                define()
        with self.assertRaisesRegex(tenon.CompileError, "there are more than 65536"):
            cfg.define_reorder("k", list(range(9)), "all")
        with self.assertRaises(ZeroDivisionError):
            cfg.define_split("k", 8, filter=lambda e: 1 / 0)
        self.assertNotIn("k", cfg)

    def test_candidates_of_the_compiler_have_our_words(self):
        """A record that names a candidate by its word gets it."""
        for define in (lambda cfg: cfg.define_split("k", 24, num_outputs=3), lambda cfg: cfg.define_split("k", 7, policy="verbose"),
                       lambda cfg: cfg.define_reorder("k", list("abcd"), "all"), lambda cfg: cfg.define_reorder("k", list("abcde"), "interval_all"),
                       lambda cfg: cfg.define_annotate("k", list("abc"), "try_unroll_vec")):
            space = autotvm.ConfigSpace()
            define(space)
            self.assertGreater(len(space), 2)
            for i, entity in enumerate(space.space_map["k"]):
                again = autotvm.ConfigSpace(tenon._core.Session().config(f"k = {entity.word()}\n"))
                define(again)
                self.assertEqual(again["k"].value(), entity.value())
                self.assertEqual(again._config.picks(), f"k = {entity.word()}\n")
                self.assertEqual(space.entity(again._config.picks(), 0).index, i)

    def test_knobs_give_loops_on(self):
        cfg = autotvm.ConfigSpace()
        outer, inner = cfg.define_split("s", cfg.axis(12), policy="candidate", candidate=[[-1, 4]])
        self.assertEqual((outer.extent, inner.extent), (3, 4))
        a, b = cfg.define_reorder("r", [outer, inner], policy="candidate", candidate=[[inner, outer]])
        self.assertIs(a, inner)
        self.assertEqual(cfg.define_annotate("n", [a, b], policy="none"), [inner, outer])
        with self.assertRaises(TypeError):
            cfg.define_knob("k", [object()])

    def test_words_are_different(self):
        from tenon.autotvm import _space

        several = [autotvm.OtherOptionEntity(v) for v in ("a b", "a_b", 1, "1")] + [autotvm.SplitEntity(s) for s in ([-1, 6], [2, 6])]
        self.assertEqual(_space.words(several), ["a_b", "a_b~1", "1", "1~3", "6", "2x6"])

    def test_points_have_numbers(self):
        t = task.create("test.matmul", args=(N, N, N))
        space = t.config_space
        self.assertEqual(len(space), 6 * 5 * 2 * 2)
        point = space.get(1 + 6 * 2)
        self.assertEqual((point["tile_y"].size, point["tile_x"].size), ([-1, 2], [-1, 4]))
        self.assertEqual(autotvm.ConfigEntity.from_json_dict(json.loads(json.dumps(point.to_json_dict()))), point)
        schedule, args = t.instantiate(point)
        self.assertIn("split i 2", schedule.trace)
        self.assertEqual(len(args), 3)
        self.assertIn("tile_y: 6 candidates", repr(space))
        with self.assertRaises(IndexError):
            space.get(len(space))


class Search(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.log = pathlib.Path(self.folder.name) / "matmul.log"

    def check(self, schedule, args):
        f = te.build(schedule, args)
        x = array.array("f", (k % 7 for k in range(N * N)))
        a = tenon.Tensor.over(x, "float32", (N, N))
        got = memoryview(f(a, a)).cast("B").cast("f").tolist()
        want = [sum(x[i * N + k] * x[k * N + j] for k in range(N)) for i in range(N) for j in range(N)]
        self.assertEqual(got, want)

    def test_a_log_is_written_and_used(self):
        t = task.create("test.matmul", args=(N, N, N))
        records = pathlib.Path(self.folder.name) / "matmul.records"
        by = tuner.XGBTuner(t)
        by.tune(n_trial=20, callbacks=[callback.log_to_file(self.log)], records=records, seed=1)
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        self.assertEqual(len(lines), 20)
        self.assertEqual(lines[0]["config"]["index"], 0)  # the first candidates come first
        self.assertEqual({x["version"] for x in lines}, {0.2})
        self.assertEqual(lines[0]["input"], ["llvm", "test.matmul", [N, N, N], {}])
        self.assertGreater(by.best_flops, 0)
        self.assertTrue(by.result.picks)
        self.assertAlmostEqual(by.best_flops, 2 * N ** 3 / by.result.seconds)
        fastest = autotvm.ConfigEntity.from_json_dict(min(lines, key=lambda x: x["result"][0][0])["config"])
        with autotvm.apply_history_best(self.log):
            schedule, args = matmul(N, N, N)
            other, _ = matmul(N, N, 2 * N)
        self.assertEqual(schedule.trace, t.instantiate(fastest)[0].trace)
        self.assertEqual(other.trace, matmul(N, N, 2 * N)[0].trace)  # nothing is known of it
        self.check(schedule, args)
        found = tenon.records.list(records)
        self.assertEqual({r.generator for r in found} - {"test.matmul"}, set())
        best = pathlib.Path(self.folder.name) / "best.log"
        record.pick_best(self.log, best)
        (inp, result), = record.load_from_file(best)
        self.assertEqual((inp.config, result.costs), (fastest, by.best_measure_pair[1].costs))

    def test_features_and_losses(self):
        """Each has a tuner of its own, and once there is a model, tries points of its own."""
        t = task.create("test.matmul", args=(N, N, N))
        for given, name in (({}, "xgb"), ({"feature_type": "itervar"}, "xgb_itervar"), ({"feature_type": "knob"}, "xgb_knob"),
                            ({"feature_type": "curve"}, "xgb_curve"), ({"loss_type": "rank"}, "xgb_rank"),
                            ({"loss_type": "rank", "feature_type": "knob"}, "xgb_rank_knob"),
                            ({"loss_type": "rank-binary"}, "xgb_rank_binary"),
                            ({"loss_type": "rank-binary", "feature_type": "curve"}, "xgb_rank_binary_curve")):
            with self.subTest(given):
                by = tuner.XGBTuner(t, **given)
                self.assertEqual(by.name, name)
                by.reset()
                self.assertEqual(by.name, name)
                with warnings.catch_warnings():
                    by.tune(n_trial=24, seed=1)
                self.assertGreater(by.best_flops, 0)
                self.assertEqual(len(by.history), min(24, len(t.config_space)))
        for wrong in ({"feature_type": "store"}, {"loss_type": "mse"}, {"cost_model": "mlp"}):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "there is no " + next(iter(wrong))):
                tuner.XGBTuner(t, **wrong)
        with mock.patch.dict("os.environ", TENON_XGBOOST="/absent/libxgboost.so"):
            with self.assertRaisesRegex(tenon.CompileError, "install XGBoost .Debian: libxgboost0."):
                tuner.XGBTuner(t, cost_model="xgboost").tune(n_trial=4)

    def test_refused_points_have_no_time(self):
        t = task.create("test.matmul", args=(N, N, N))
        by = tuner.GridSearchTuner(t)
        by.tune(n_trial=1000)
        failed = [i.config for i, r in by.history if r.error_no]
        timed = [i.config for i, r in by.history if not r.error_no]
        self.assertTrue(timed)
        for config in timed:
            self.assertTrue(config["ann"].anns == ["none"] or config["tile_x"].size[-1] in (8, 16), config)
        self.assertEqual([c for c in failed if c["ann"].anns == ["none"]], [])

    def test_what_computes_something_else_is_no_point(self):
        by = tuner.GridSearchTuner(task.create("test.another", args=(N,)))
        by.tune(n_trial=8)
        self.assertEqual([i.config["plus"].val for i, r in by.history if not r.error_no], [1])

    def test_candidates_of_one_text(self):
        by = tuner.GridSearchTuner(task.create("test.alike", args=(N,)))
        by.tune(n_trial=8)
        self.assertEqual([i.config["k"].val for i, r in by.history], [(1, "a b"), (1, "a_b")])
        log = io.StringIO()
        callback.log_to_file(log)(by, *zip(*by.history))
        self.log.write_text(log.getvalue())
        with autotvm.apply_history_best(self.log):
            self.assertEqual(len(alike(N)[1]), 2)

    def test_one_trial(self):
        t = task.create("test.matmul", args=(N, N, N))
        self.assertFalse(t.config_space.is_fallback)
        by = tuner.RandomTuner(t)
        by.tune(n_trial=1)
        self.assertEqual([i.config.index for i, _ in by.history], [0])
        self.assertEqual(by.best_config.index, 0)

    def test_wrong_lines_are_left_out(self):
        by = tuner.RandomTuner(task.create("test.another", args=(N,)))
        by.tune(n_trial=1)
        inp, result = by.history[0]
        late = result._replace(error_no=5, costs=(1e9,))
        self.log.write_text("".join(record.encode(i, r) + "\n" for i, r in ((inp, result), (inp, late))))
        self.assertEqual(autotvm.ApplyHistoryBest(self.log).best, {})

    def test_a_configuration_by_hand(self):
        session = tenon._core.Session()
        config = session.config("a = y")
        self.assertEqual(config.choose("a", ["x", "y"]), 1)
        self.assertEqual(config.picks(), "a = y\n")
        with self.assertRaisesRegex(tenon.CompileError, "driver-E171"):
            config.end(tenon._core.Session().kernel("k"))

    def test_templates_that_fail(self):
        with self.assertRaisesRegex(autotvm.InstantiationError, "there is no such kernel"):
            task.create("test.impossible", args=(N,))
        with self.assertRaisesRegex(KeyError, "a fault of the template"):
            task.create("test.wrong", args=(N,))
        with self.assertRaisesRegex(ValueError, "there is no template test.none"):
            task.create("test.none", args=())
        with self.assertRaisesRegex(tenon.Error, "get_config belongs into a template"):
            autotvm.get_config()
        with self.assertRaisesRegex(ValueError, "n_trial must be greater than 0"):
            tuner.RandomTuner(task.create("test.another", args=(N,))).tune(n_trial=0)

    def test_a_fault_ends_the_search(self):
        t = task.create("test.matmul", args=(N, N, N))

        def raising(*_):
            raise KeyError("a fault of a callback")

        with self.assertRaisesRegex(KeyError, "a fault of a callback"):
            tuner.RandomTuner(t).tune(n_trial=8, callbacks=[raising])

    def test_lines_of_tvm_are_read(self):
        line = ('{"input": ["llvm -keys=cpu -mcpu=core-avx2", "conv2d_NCHWc.x86", [["TENSOR", [1, 3, 224, 224], "float32"], '
                '["TENSOR", [64, 3, 7, 7], "float32"], [2, 2], [3, 3, 3, 3], [1, 1], "NCHW", "NCHW", "float32"], {}], '
                '"config": {"index": 113, "code_hash": null, "entity": [["tile_ic", "sp", [-1, 3]], ["tile_oc", "sp", [-1, 8]], '
                '["tile_ow", "sp", [-1, 14]], ["unroll_kw", "ot", true]]}, "result": [[0.00132], 0, 2.31, 1613117842.5], '
                '"version": 0.2, "tvm_version": "0.8.dev0"}')
        inp, result = record.decode(line)
        self.assertEqual(inp.task.workload[:2], ("conv2d_NCHWc.x86", ("TENSOR", (1, 3, 224, 224), "float32")))
        self.assertEqual((inp.config["tile_oc"].size, inp.config["unroll_kw"].val), ([-1, 8], True))
        self.assertEqual(record.decode(record.encode(inp, result))[0].config, inp.config)
        self.assertIsNone(record.decode("# a comment"))
        self.log.write_text("\n" + line + "\n{}\n")
        with self.assertRaisesRegex(ValueError, "matmul.log:3: not a line of AutoTVM's records"):
            list(record.load_from_file(self.log))
        for cut in (line[:n] for n in range(1, len(line))):  # a kill; the next search goes on behind it
            self.log.write_text(line + "\n" + cut)
            callback.log_to_file(str(self.log))(None, [inp], [result])
            self.assertEqual(len(list(record.load_from_file(self.log))), 2)
            self.assertEqual(self.log.read_text().count("\n"), 3)

    def test_the_progress_line(self):
        out = io.StringIO()
        by = tuner.RandomTuner(task.create("test.matmul", args=(N, N, N)))
        with contextlib.redirect_stdout(out):
            by.tune(n_trial=2, callbacks=[callback.progress_bar(2, prefix="[Task  1/ 1]")])
        self.assertIn("[Task  1/ 1] Current/Best:", out.getvalue())
        self.assertIn("Progress: (2/2)", out.getvalue())


def relu_network():
    """Two convolutions, of which one is depthwise, and a product."""
    from tenon import relay

    def weight(*shape):
        count = 1
        for n in shape:
            count *= n
        data = array.array("f", ((k * 7 % 11 - 5) / 8 for k in range(count)))
        return relay.const(tenon.Tensor.over(data, "float32", shape))

    x = relay.var("data", shape=(1, 3, 8, 8))
    y = relay.nn.relu(relay.nn.conv2d(x, weight(16, 3, 3, 3), padding=[1, 1, 1, 1]))
    y = relay.nn.relu(relay.nn.conv2d(y, weight(16, 1, 3, 3), padding=[1, 1, 1, 1], groups=16))
    y = relay.nn.softmax(relay.nn.dense(relay.nn.batch_flatten(y), weight(10, 16 * 8 * 8)))
    return tenon.IRModule.from_expr(relay.Function([x], y))


def tensor(*shape, dtype="float32"):
    return ("TENSOR", shape, dtype)


def found_of(t, trace):
    """What a search tells of a gain, made by hand."""
    machine = json.loads(tenon._core.Session().about()[1])
    about = f"{machine['triple'].split('-')[0]} l1={machine['l1_bytes']} l2={machine['l2_bytes']}"
    return {"workload": int(t.kwargs["workload"], 16), "machine": " ".join([about, *machine["features"]]), "threads": 1, "trials": 3,
            "seconds": 1e-6, "built_in_seconds": 2e-6, "operations": t.flop, "name": t.kwargs["kernel"], "generator": "rules",
            "version": 1, "picks": "rule = serial\n", "trace": trace}


class Kernels(unittest.TestCase):
    """Tasks of models, and TVM's templates by name."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.log = pathlib.Path(self.folder.name) / "network.log"

    def test_tasks_of_a_model(self):
        from tenon import relay

        mod = relu_network()
        tasks = task.extract_from_program(mod["main"], target="llvm", params={})
        self.assertEqual([t.name for t in tasks], ["conv2d_NCHWc.x86", "depthwise_conv2d_NCHWc.x86", "dense_pack.x86"])
        self.assertEqual(tasks[0].args, (tensor(1, 3, 8, 8), tensor(16, 3, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), "NCHW", "NCHW", "float32"))
        self.assertEqual(tasks[1].args[1], tensor(16, 1, 3, 3))
        self.assertEqual(tasks[2].workload, ("dense_pack.x86", tensor(1, 1024), tensor(10, 1024), None, "float32"))
        self.assertEqual(tasks[0].flop, 2 * 27 * 16 * 64)
        for ops in ((relay.op.get("nn.dense"),), (relay.op.nn.dense,), ("nn.dense",)):
            self.assertEqual([t.name for t in task.extract_from_program(mod, {}, "llvm", ops=ops)], ["dense_pack.x86"])
        with self.assertRaises(TypeError):
            task.extract_from_program(mod, {}, "llvm", ops=[3])
        both = task.extract_from_multiple_program([mod, mod["main"]], [{}, None], "llvm")
        self.assertEqual([t.kwargs for t in both], [t.kwargs for t in tasks])

    def test_spaces(self):
        t = task.extract_from_program(relu_network(), {}, "llvm", ops=["nn.dense"])[0]
        space = t.config_space
        self.assertGreater(len(space), 1)
        first = space.get(0)
        self.assertEqual({n: e.val for n, e in first._entity_map.items()}, {n: e.val for n, e in space._entity_map.items()})
        self.assertEqual(first.index, 0)
        self.assertIn(f"ConfigSpace (len={len(space)}, space_map=\n 0 rule: ", repr(space))
        for i in range(min(len(space), 100)):
            point = space.get(i)
            self.assertLessEqual(point.index, i)
            self.assertEqual(space.get(point.index), point)
        self.assertEqual(autotvm.ConfigEntity.from_json_dict(json.loads(json.dumps(point.to_json_dict()))), point)
        with self.assertRaises(IndexError):
            space.get(-1)
        with self.assertRaisesRegex(tenon.UnsupportedError, "has no te.Schedule"):
            t.instantiate(first)

    def test_templates_of_tvm(self):
        f32 = "float32"
        for name, args, operations in (
                ("dense_nopack.x86", (tensor(1, 64), tensor(20, 64), None, f32), 2 * 64 * 20),
                ("dense_pack.x86", (tensor(3, 64), tensor(20, 64), tensor(20), f32), 2 * 3 * 64 * 20 + 60),
                ("conv2d_nchw.x86", (tensor(1, 3, 8, 8), tensor(8, 3, 3, 3), 1, 0, 1, f32), 2 * 27 * 8 * 36),
                ("conv2d_nchw", (tensor(1, 3, 8, 8), tensor(8, 3, 3, 3), (1, 1), (0, 0), (1, 1), f32), 2 * 27 * 8 * 36),
                ("conv2d_NCHWc.x86", (tensor(1, 3, 9, 9), tensor(8, 3, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), "NCHW", "NCHW", f32), 0),
                ("conv2d_NCHWc_int8.x86", (tensor(1, 16, 8, 8, dtype="uint8"), tensor(16, 16, 3, 3, dtype="int8"), (1, 1), (0, 0, 0, 0),
                                           (1, 1), "NCHW", "NCHW", "int32"), 2 * 9 * 256 * 36),
                ("depthwise_conv2d_NCHWc.x86", (tensor(1, 8, 8, 8), tensor(8, 1, 3, 3), (1, 1), 0, (1, 1), "NCHW", "NCHW", f32),
                 2 * 9 * 8 * 36),
                ("group_conv2d_nchw.x86", (tensor(1, 8, 8, 8), tensor(8, 4, 3, 3), 1, 0, 1, 2, f32), 2 * 36 * 8 * 36),
                ("batch_matmul.x86", (tensor(2, 8, 16), tensor(2, 4, 16)), 2 * 2 * 8 * 16 * 4),
                ("conv3d_ncdhw.x86", (tensor(1, 2, 4, 4, 4), tensor(8, 2, 3, 3, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1, f32), 0),
                ("conv3d_ncdhw.x86", (tensor(1, 2, 4, 4, 4), tensor(8, 2, 3, 3, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1), f32), 0),
                ("conv3d_ndhwc.x86", (tensor(1, 4, 4, 4, 2), tensor(3, 3, 3, 2, 8), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1, f32), 2 * 54 * 8 * 8),
                ("conv2d_transpose_nchw.x86", (tensor(1, 8, 4, 4), tensor(8, 4, 2, 2), (2, 2), (0, 0, 0, 0), f32, (0, 0)), 0)):
            with self.subTest(name):
                t = task.create(name, args=args, target="llvm")
                self.assertEqual(t.workload, (name, *args))
                self.assertGreater(len(t.config_space), 1)
                self.assertGreater(t.flop, 0)
                if operations:
                    self.assertEqual(t.flop, operations)
        with self.assertRaisesRegex(TypeError, "dense_pack.x86 takes .data, weight, bias, out_dtype."):
            task.create("dense_pack.x86", args=(tensor(1, 2),), target="llvm")
        with self.assertRaisesRegex(TypeError, "a tensor is"):
            task.create("dense_pack.x86", args=((1, 2), tensor(1, 2)), target="llvm")
        a, b = te.placeholder((2, 8), name="a"), te.placeholder((4, 8), name="b")
        self.assertEqual(task.create("dense_pack.x86", args=(a, b, None, f32), target="llvm").args[0], tensor(2, 8))

    def test_a_search(self):
        t = task.create("dense_nopack.x86", args=(tensor(4, 64), tensor(32, 64), None, "float32"), target="llvm")
        by = tuner.XGBTuner(t, loss_type="rank")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            by.tune(n_trial=6, early_stopping=100, measure_option=autotvm.measure_option(autotvm.LocalBuilder(), autotvm.LocalRunner()),
                    callbacks=[callback.progress_bar(6), callback.log_to_file(self.log)], seed=1)
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        trials = [x for x in lines if "record" not in x]
        self.assertEqual((len(by.history), len(trials), out.getvalue().count("Done.")), (6, 6, 1))
        self.assertEqual(trials[0]["config"]["index"], 0)
        self.assertEqual(trials[0]["input"], ["llvm", "dense_nopack.x86", json.loads(json.dumps(t.args)), t.kwargs])
        self.assertEqual(len(lines) > 6, by.result.picks is not None)
        self.assertGreater(by.best_flops, 0)
        for inp, _ in by.history:  # numbers are those of the space
            self.assertEqual(t.config_space.get(inp.config.index), inp.config)

    def test_sizes_of_tvm(self):
        """A search begins near the tile sizes of the fastest line that TVM wrote of the same operator and shapes."""
        f32 = "float32"

        def line(name, args, sizes, seconds, error=0):
            entity = [[knob, "sp", size] for knob, size in sizes.items()]
            return json.dumps({"input": ["llvm -mcpu=skylake-avx512", name, args, {}], "config": {"index": 7, "code_hash": None, "entity": entity},
                               "result": [[seconds], error, 1.5, 1.6e9], "version": 0.2, "tvm_version": "0.8.0"}) + "\n"

        def first_trial(t):
            by = tuner.RandomTuner(t)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                by.load_history(record.load_from_file(self.log))
            by.tune(n_trial=3, seed=1)
            return {name.split(".")[-1]: e.val for name, e in by.history[1][0].config._entity_map.items()}

        lanes = json.loads(tenon._core.Session().about()[1])["vector_bits"] // 32
        dense = [["TENSOR", [64, 256], f32], ["TENSOR", [512, 256], f32], None, f32]
        other = [["TENSOR", [64, 256], f32], ["TENSOR", [256, 256], f32], None, f32]
        sizes = {"tile_y": [-1, 1, 3], "tile_x": [-1, 2, lanes], "tile_k": [-1, 8]}
        self.log.write_text(line("dense_nopack.x86", dense, {**sizes, "tile_y": [-1, 1, 2]}, 2e-5) +
                            line("dense_nopack.x86", dense, sizes, 1e-5) +
                            line("dense_pack.x86", dense, {**sizes, "tile_y": [-1, 1, 1]}, 1e-9, 4) +
                            line("dense_pack.x86", other, {**sizes, "tile_y": [-1, 1, 1]}, 1e-9))
        found = first_trial(task.create("dense_pack.x86", args=dense, target="llvm"))
        self.assertEqual((found["rows"], found.get("vectors", 1)), (3, 1))
        conv = [["TENSOR", [1, 64, 28, 28], f32], ["TENSOR", [64, 64, 3, 3], f32], [1, 1], [1, 1, 1, 1], [1, 1], "NCHW", "NCHW", f32]
        self.log.write_text(line("conv2d_NCHWc.x86", conv, {"tile_ic": [-1, 16], "tile_oc": [-1, lanes], "tile_ow": [-1, 3]}, 1e-4))
        found = first_trial(task.create("conv2d_NCHWc.x86", args=conv, target="llvm"))
        self.assertEqual((found["pixels"], found.get("vectors", 1)), (3, 1))
        t = task.create("conv2d_NCHWc.x86", args=conv, target="llvm")
        self.log.write_text(line("conv2d_NCHWc.x86", conv, {"tile_oc": [-1, lanes]}, 1e-4) + line("dense_pack.x86", dense, sizes, 1e-5))
        with self.assertWarnsRegex(tenon.Warning, "none of 2 lines of TVM has tile sizes for conv2d_NCHWc.x86 of these shapes"):
            tuner.RandomTuner(t).load_history(record.load_from_file(self.log))
        self.assertIsNone(t.near)

    def test_records_are_used(self):
        """A gain, which is told as by a search, is a line that builds and the next search find."""
        from tenon import relay

        mod = relu_network()
        t = task.extract_from_program(mod, {}, "llvm", ops=["nn.dense"])[0]
        slow = "i j k = loops \"out\"\n"

        def search(asked, has_begun):
            told = asked["progress"]
            fields = {"operations": t.flop}
            told(0.1, 0, 1, 0, fields, 2e-6, "rule = gemm\n", None, 0, 0, None)
            told(0.2, 1, 1, 0, fields, 5e-7, "rule = serial\n", None, 0, 3, None)
            told(0.2, 2, 1, 0, fields, 5e-7, "rule = gemm\nout.vectors = 4\n", None, 2, 4, None)
            told(0.3, 2, 1, 0, fields, 0.0, None, None, 0, 3, found_of(t, slow))
            return {**dict.fromkeys(tenon.TuningTask._fields), "picks": "rule = serial\n", "seconds": 1e-6}

        t.search = search
        by = tuner.RandomTuner(t)
        by.tune(n_trial=3, callbacks=[callback.log_to_file(self.log)])
        self.assertEqual((len(by.history), by.best_config.index, by.best_flops), (3, 3, t.flop / 1e-6))
        self.assertEqual([("record" in json.loads(x)) for x in self.log.read_text().splitlines()], [False, False, False, True])

        def recorded(build=lambda: relay.build(mod, "llvm").report):
            return build()["kernels_recorded"]

        x = tenon.Tensor.over(array.array("f", (k % 5 for k in range(3 * 64))), "float32", (1, 3, 8, 8))
        want = memoryview(relay.build(mod, "llvm").run_tensors([x])[0]).cast("B").cast("f").tolist()
        best, saved = (pathlib.Path(self.folder.name) / name for name in ("best.log", "network.relay"))
        mod.save(saved)
        record.pick_best(self.log, best)
        self.assertEqual(len(best.read_text().splitlines()), 1)
        for file in (self.log, str(best), list(record.load_from_file(self.log))):
            with autotvm.apply_history_best(file):
                self.assertEqual(recorded(), 1)
                module = relay.build(mod, "llvm")
                self.assertEqual(recorded(lambda: tenon.compile(saved).report), 1)
                with autotvm.apply_history_best(None):
                    self.assertEqual(recorded(), 0)
            got = memoryview(module.run_tensors([x])[0]).cast("B").cast("f").tolist()
            for a, b in zip(got, want):
                self.assertAlmostEqual(a, b, delta=1e-5)
        self.assertEqual(recorded(), 0)
        self.assertEqual(tenon.compile(saved, tuning_records=self.log).report["kernels_recorded"], 1)
        self.assertEqual([r.trace for r in tenon.records.list(self.log)], [slow])
        again = task.extract_from_program(mod, {}, "llvm", ops=["nn.dense"])[0]
        after = tuner.GATuner(again)
        after.load_history(record.load_from_file(self.log))
        after.tune(n_trial=2)
        self.assertEqual(after.history[1][0].config["rule"].val, "serial")

    def test_lines_of_tvm_are_passed_over(self):
        self.log.write_text('{"input": ["llvm -mcpu=skylake", "dense_nopack.x86", [["TENSOR", [1, 1024], "float32"], '
                            '["TENSOR", [10, 1024], "float32"], null, "float32"], {}], "config": {"index": 7, "code_hash": null, '
                            '"entity": [["tile_y", "sp", [-1, 1]], ["tile_x", "sp", [-1, 10]], ["tile_k", "sp", [-1, 64]]]}, '
                            '"result": [[1e-05], 0, 1.2, 1613117842.5], "version": 0.2, "tvm_version": "0.8.0"}\n')
        from tenon import relay

        with autotvm.apply_history_best(self.log) as history:
            self.assertEqual(history.query("llvm", ("dense_nopack.x86", tensor(1, 1024), tensor(10, 1024), None, "float32"))["tile_x"].size,
                             [-1, 10])
            with self.assertWarnsRegex(tenon.Warning, "records of TVM name no schedules of Tenon and are passed over, 1 from this line"):
                self.assertEqual(relay.build(relu_network(), "llvm").report["kernels_recorded"], 0)
        with self.assertRaises(FileNotFoundError):
            autotvm.apply_history_best(self.log.with_name("none"))


class History(unittest.TestCase):
    """What a log teaches a search. Times of the log are made up; the first eight candidates of a search are named before it has any."""

    @staticmethod
    def cost(config):
        """Tiles of 4 x 16 are the best here."""
        y, x = (config[f"tile_{d}"].size[-1] for d in "yx")
        return 1e-5 * (1 + abs(math.log2(y / 4)) + abs(math.log2(x / 16)) + (config["inside"].val == "columns"))

    def lines(self, n, *args, cost=None):
        """Of the template at these sizes, as a log has them: n points of which there is a kernel."""
        t = task.create("test.matmul", args, "llvm")
        size = len(t.config_space)
        every = (t.config_space.get(i * 11 % size) for i in range(size))
        for config in [c for c in every if c["ann"].anns == ["none"] or c["tile_x"].size[-1] in (8, 16)][:n]:
            result = autotvm.MeasureResult(((cost or self.cost)(config),), 0, 0.1, 0.0)
            yield record.decode(record.encode(autotvm.MeasureInput("llvm", t, config), result))

    def first(self, by):
        by.tune(n_trial=9, seed=3)
        return [inp.config for inp, _ in by.history[1:9]]

    def mean(self, configs):
        return sum(map(self.cost, configs)) / len(configs)

    def tuned(self, pairs, name="xgb", min_seed_records=60, **options):
        by = tuner.XGBTuner(task.create("test.matmul", (N, N, N), "llvm"), **options)
        by.load_history(pairs, min_seed_records)
        return self.first(by)

    def test_other_sizes_teach(self):
        for options in ({}, {"feature_type": "itervar", "loss_type": "rank"}, {"loss_type": "rank"}):
            known = [*self.lines(80, 64, N, 128), *self.lines(60, 16, N, 64), *self.lines(80, N, 64, 64)]
            without = self.tuned([], **options)
            taught = self.tuned(known, **options)
            self.assertLess(self.mean(taught), 0.8 * self.mean(without), options)
            self.assertEqual(self.tuned(known, **options), taught)

    def test_choices_are_compared_with_those_of_the_same_kernel(self):
        without = self.tuned([], feature_type="knob")
        self.assertEqual(self.tuned(list(self.lines(80, 64, N, 128)), feature_type="knob"), without)
        self.assertLess(self.mean(self.tuned(list(self.lines(80, N, N, N)), feature_type="knob")), 0.8 * self.mean(without))

    def test_few_lines_teach_nothing(self):
        known = list(self.lines(80, 64, N, 128))
        with self.assertLogs("autotvm", "INFO") as said:
            self.assertEqual(self.tuned(known, min_seed_records=500), self.tuned([], min_seed_records=1))
        self.assertEqual(said.output, ["INFO:autotvm:80 lines teach the model of test.matmul nothing: min_seed_records is 500",
                                       "INFO:autotvm:0 lines teach the model of test.matmul nothing: min_seed_records is 1"])

    def test_what_is_known_of_the_same_kernel_is_tried_first(self):
        known = list(self.lines(40, N, N, N))
        best = min(known, key=lambda pair: pair[1].costs)[0].config
        for make in (tuner.XGBTuner, tuner.GATuner):
            by = make(task.create("test.matmul", (N, N, N), "llvm"))
            by.load_history(known)
            self.assertEqual(self.first(by)[0]._entity_map["tile_x"].size, best["tile_x"].size)
            self.assertEqual(by.history[1][0].config.to_json_dict()["entity"], best.to_json_dict()["entity"])

    def test_what_cannot_be_made_again_is_counted(self):
        known = list(self.lines(60, 64, N, 128))
        row = json.loads(record.encode(*known[0]))

        def changed(inputs=None, error=0, entity=None):
            x = json.loads(json.dumps(row))
            x["input"][1:3] = inputs or x["input"][1:3]
            x["config"]["entity"] = entity or x["config"]["entity"]
            x["result"][1] = error
            return record.decode(json.dumps(x))

        bad = [changed(["nobody's", [1]]), changed(["test.matmul", ["a", 1, 2]]), changed(entity=[["tile_y", "sp", [-1, 5]]]),
               changed(["dense_pack.x86", [1]], entity=[["rule", "ot", "gemm"]])]
        with self.assertWarnsRegex(tenon.Warning, "4 of 64 lines are left out, because they have no time, or no kernel can be made of them; of "
                                                  "the first, there is no template nobody's"):
            self.tuned(bad + known)
        with warnings.catch_warnings():  # a line without a time says nothing
            warnings.simplefilter("error")
            self.tuned([changed(["nobody's", [1]], error=1), *known])
            self.tuned([changed(error=4), *known])

    def test_a_line_that_says_nothing_is_left_out(self):
        """Without a time, with some knobs, or with a record that is none: the others teach what they did."""
        known = list(self.lines(60, 64, N, 128))
        row = json.loads(record.encode(*known[0]))
        alone = self.tuned(known)
        own = {"tenon": 1, "workload": "0" * 16, "machine": "m", "threads": 1, "seconds": 1e-5, "default": 0, "operations": 0, "trials": 1,
               "name": "k", "generator": "rules", "version": 1, "picks": "", "trace": "x"}

        def changed(costs=None, entity=None, record_of=None, workload=None):
            x = json.loads(json.dumps(row))
            x["result"][0] = costs if costs is not None else x["result"][0]
            x["config"]["entity"] = x["config"]["entity"] if entity is None else entity
            return record.decode(json.dumps({**x, **({"record": record_of} if record_of else {})}))

        entity = row["config"]["entity"]
        bad = [(changed([c]), "no times") for c in (0.0, -1.0, float("nan"), float("inf"))]
        bad += [(changed([]), "no times"), (changed([1e308, 1e308]), "no times")]
        bad += [(changed(entity=entity[:-1]), "knob inside of template test.matmul has no value"), (changed(entity=[]), "knob tile_y")]
        bad += [(changed(entity=[["tile_y", "sp", ["a"]], *entity[1:]]), "tile_y cannot be")]
        bad += [(changed(record_of=r), "its record is none") for r in (
            {"tenon": 1}, {"tenon": 1, "function": "f"}, {**own, "seconds": 0}, {**own, "threads": -1}, {**own, "default": float("nan")},
            {**own, "trace": "\ud800"}, {**own, "picks": 1}, {**own, "form": "1"}, {**own, "function": "a\x01"})]
        for line, why in bad:
            with self.assertWarnsRegex(tenon.Warning, f"1 of 61 lines are left out, .* of the first, .*{why}"):
                self.assertEqual(self.tuned([line, *known]), alone)
        t = task.create("test.matmul", (N, N, N), "llvm")
        tuner.XGBTuner(t).load_history([changed(record_of=own)], 1)
        self.assertEqual(t.prior, [own])
        with self.assertRaisesRegex(ValueError, "its record is no object"):
            changed(record_of="x")

    def test_what_failed_is_not_tried_first(self):
        """The first ones of a search with such lines are those of one without."""
        failed = [(inp, autotvm.MeasureResult((1e9,), 4, 0.1, 0.0)) for inp, _ in list(self.lines(12, N, N, N))[1:]]
        tried = [c.to_json_dict()["entity"] for c in self.tuned(failed, min_seed_records=1)]
        self.assertFalse([inp for inp, _ in failed if inp.config.to_json_dict()["entity"] == tried[0]])

    def test_kernels_of_models(self):
        """Lines of all tasks of the model, by their choices alone; those with a record have the steps, too."""
        from tenon import relay

        tasks = task.extract_from_program(relu_network(), {}, "llvm")
        t = max(tasks, key=lambda x: len(x.config_space))
        entities = [t.config_space.get(i) for i in range(40)]

        def pair(i, config):
            result = autotvm.MeasureResult((1e-6 * (1 + i % 7),), 0, 0.1, 0.0)
            return record.decode(record.encode(autotvm.MeasureInput("llvm", t, config), result))

        by = tuner.XGBTuner(t)
        by.load_history([pair(i, e) for i, e in enumerate(entities)], 30)
        self.assertEqual(len(t.prior), 40)
        self.assertEqual({(r["generator"], r["workload"], r["trace"]) for r in t.prior}, {("rules", t.kwargs["workload"], "")})
        by.tune(n_trial=4, seed=1)
        self.assertEqual(len(by.history), 4)
        t.prior.clear()
        tuner.GATuner(t).load_history([pair(i, e) for i, e in enumerate(entities)])
        self.assertEqual(len(t.prior), 1)


class Records(unittest.TestCase):
    def test_files_of_records(self):
        with tempfile.TemporaryDirectory() as folder:
            a, b = pathlib.Path(folder) / "a.records", pathlib.Path(folder) / "b.records"
            line = {"tenon": 1, "workload": "00000000000000ff", "machine": "x", "threads": 1, "seconds": 2e-5, "default": 3e-5,
                    "operations": 4, "trials": 5, "name": "k", "generator": "rules", "version": 2, "picks": "", "trace": "one"}
            a.write_text(json.dumps(line) + "\n")
            b.write_text(json.dumps({**line, "seconds": 1e-5, "trace": "two"}) + "\n")
            self.assertEqual(tenon.records.merge(b, a), 1)
            self.assertEqual(tenon.records.merge(b, a), 0)
            self.assertEqual([(r.workload, r.seconds, r.trace) for r in tenon.records.list(a)],
                             [(255, 2e-5, "one"), (255, 1e-5, "two")])
            self.assertEqual(tenon.records.prune(a), 1)
            self.assertEqual([r.trace for r in tenon.records.list(a)], ["two"])
            with self.assertRaises(tenon.CompileError):
                tenon.records.list(pathlib.Path(folder) / "none" / "c")
            with self.assertRaises(ValueError):
                tenon.records.prune(a, keep=0)


@unittest.skipUnless(importlib.util.find_spec("numpy") and importlib.util.find_spec("tvm"), "NumPy is not installed, or tenon-tvm")
class Tvm(unittest.TestCase):
    def test_scripts_import_it(self):
        import tvm
        from tvm import autotvm as same
        from tvm.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, XGBTuner

        self.assertIs(same.template, autotvm.template)
        self.assertIs(XGBTuner, tuner.XGBTuner)
        self.assertTrue(GATuner and GridSearchTuner and RandomTuner)
        self.assertIs(tvm.autotvm.callback.log_to_file, callback.log_to_file)
        with self.assertRaises(ImportError):
            from tvm.autotvm import graph_tuner  # noqa: F401
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "a.log"
            t = same.task.create("test.another", args=(N,), target="llvm")
            with log.open("w") as f:
                RandomTuner(t).tune(n_trial=1, measure_option=same.measure_option(same.LocalBuilder(), same.LocalRunner(number=2)),
                                    callbacks=[same.callback.log_to_file(f)])
            with same.apply_history_best(str(log)):
                self.assertEqual(len(another(N)[1]), 2)


if __name__ == "__main__":
    unittest.main()
