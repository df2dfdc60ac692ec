"""tenon.meta_schedule: searches, and the two files of the database."""
import json
import os
import pathlib
import shutil
import tempfile
import unittest
import warnings
from unittest import mock

import models
import numpy
import tenon
from tenon import meta_schedule as ms
from tenon import auto_scheduler, autotvm, relay, te, tir

TVM = pathlib.Path(__file__).resolve().parent.parent / "tvm" / "meta_schedule"  # a database that it wrote

# as TVM wrote them
TVM_RECORD = ('[0, [[[["GetBlock", [], ["C", "main"], ["b0"]], ["GetLoops", ["b0"], [], ["l1", "l2"]]], []], [1e-05], '
              '{"kind": "llvm", "keys": ["cpu"], "tag": ""}, [["TENSOR", "float32", [8, 8]]]]]\n')
TVM_WORKLOAD = '["9005309893168420321", "eyJyb290IjogMX0="]\n'


def matmul(n=24):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.lower(te.create_schedule(c.op), [a, b, c])


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.work = self.folder / "work"

    def lines(self, name):
        return [json.loads(row) for row in (self.work / name).read_text().splitlines()]

    def by_hand(self, mod=None, trace='i j k = loops "out"\nreorder i k j\n'):
        """A database with one record of a module of TIR, made by hand."""
        mod = mod or matmul()
        task, = tenon.tune(tir.Schedule(mod), trials=1, no_records=True)
        about = json.loads(tenon._core.Session().about()[1])
        machine = f"{about['triple'].split('-')[0]} l1={about['l1_bytes']} l2={about['l2_bytes']}"
        record = {"tenon": 1, "workload": f"{task.workload:016x}", "machine": " ".join([machine, *about["features"]]), "threads": 1,
                  "seconds": 1e-9, "default": 2e-9, "operations": 1, "trials": 1, "name": "by_hand", "generator": "sketch", "version": 3,
                  "picks": "", "trace": trace}
        plain = self.folder / "plain"
        plain.write_text(json.dumps(record) + "\n")
        self.work.mkdir(exist_ok=True)
        tenon.records.merge(plain, self.work)
        return task.workload, record


class Databases(Case):
    def test_search(self):
        """Two files in TVM's form; a build by them uses what was found and computes the same."""
        mod, params = relay.frontend.from_onnx(models.chain(2))
        database = ms.tune_relay(mod, params, "llvm", self.work, 16, strategy="replay-trace", seed=1)
        self.assertEqual(sorted(os.listdir(self.work)), ["database_tuning_record.json", "database_workload.json"])
        workloads, records = self.lines("database_workload.json"), self.lines("database_tuning_record.json")
        found = database.get_all_tuning_records()
        self.assertEqual(len(found), len(records))
        tasks = {t.task.workload: t for t in ms.extract_tasks(mod, "llvm", params)}
        self.assertEqual([t.weight for t in tasks.values()], [1, 1])
        for (index, (trace, seconds, target, parameters)), r in zip(records, found):
            (steps, decisions), (number, text) = trace, workloads[index]
            self.assertEqual((int(number), text, seconds, target, parameters),
                             (r.workload.shash, r.workload.text, r.run_secs, r.target, r.args_info))
            self.assertIn(r.workload.shash, tasks)
            own = [line for line in r.trace.splitlines() if not line.startswith("#")]
            self.assertEqual((decisions, [s[0] for s in steps]), ([], [line.split(" = ")[-1].split()[0] for line in own]))
            self.assertEqual({p[0] for p in parameters}, {"TENSOR"})
            self.assertEqual(r.schedule().trace.splitlines(), own)  # the text of the workload is what the steps are for
            self.assertEqual(tenon.tune(tir.Schedule(r.workload.mod), trials=1, no_records=True)[0].workload, r.workload.shash)
        module = ms.compile_relay(database, mod, "llvm", params)
        self.assertEqual(module.report["kernels_recorded"], len({r.workload.shash for r in found}))
        self.assertEqual(relay.build(mod, "llvm", params=params).report["kernels_recorded"], 0)
        with ms.JSONDatabase(work_dir=self.work):
            self.assertEqual(relay.build(mod, "llvm", params=params).report["kernels_recorded"], module.report["kernels_recorded"])
        again = ms.tune_relay(mod, params, "llvm", self.work, 4)
        self.assertEqual(len(self.lines("database_workload.json")), len({r.workload.shash for r in again.get_all_tuning_records()}))
        built = ms.tune_relay(mod, params, "llvm", config=ms.TuneConfig(2, max_trials_per_task=1))
        self.assertIsInstance(built, tenon.Module)

    def test_functions(self):
        """A function of TIR is searched, too, and scheduled by the database."""
        database = ms.tune_tir(matmul(), "llvm", self.work, 12)
        sch = ms.compile_tir(database, matmul(), "llvm")
        self.assertEqual(sch is not None, len(database) > 0)
        workload, record = self.by_hand()
        best, = database.get_top_k(ms.Workload(workload, None), 1)
        self.assertEqual(best.record, record)
        self.assertIn("# record by_hand", ms.compile_tir(database, matmul()).trace)
        self.assertIsNone(ms.compile_tir(database, matmul(8)))

    def test_lines(self):
        """What was made by hand, what TVM wrote, what a kill cut short."""
        workload, record = self.by_hand()
        self.assertEqual(self.lines("database_workload.json"), [[str(workload), None]])  # a plain file has no functions
        (index, ((steps, _), seconds, target, parameters)), = self.lines("database_tuning_record.json")
        self.assertEqual(steps, [["loops", ['"out"'], [], ["i", "j", "k"]], ["reorder", ["i", "k", "j"], [], []]])
        self.assertEqual((index, seconds, target["kind"], target["record"], parameters), (0, [1e-9], "llvm", record, None))
        for name, text in (("database_workload.json", TVM_WORKLOAD), ("database_tuning_record.json", TVM_RECORD + '[0, [[[["lo')):
            with open(self.work / name, "a") as f:
                f.write(text)
        database = ms.JSONDatabase(work_dir=self.work)
        r, = database.get_all_tuning_records()
        self.assertEqual((r.record, r.workload.shash, len(database)), (record, workload, 1))
        with self.assertRaisesRegex(ValueError, "its record came from a plain file"):
            r.schedule()
        with self.assertWarnsRegex(tenon.Warning, "records of TVM name no schedules of Tenon"):
            self.assertEqual([x.name for x in tenon.records.list(self.work)], ["by_hand"])
        with open(self.work / "database_workload.json") as f:
            rows = f.read().splitlines(True)
        with open(self.work / "database_workload.json", "w") as f:
            f.writelines(reversed(rows))
        with self.assertRaisesRegex(ValueError, "that it names is another workload"):
            database.get_all_tuning_records()
        with self.assertRaisesRegex(tenon.CompileError, "is another workload, or is not there"):
            tenon.records.list(self.work)

    def test_current(self):
        """The innermost counts."""
        mod = relay.frontend.from_onnx(models.add())[0]
        outer, inner = ms.JSONDatabase(work_dir=self.work), ms.JSONDatabase(work_dir=self.folder / "inner")
        self.assertIsNone(ms.Database.current())
        with outer:
            with inner:
                self.assertIs(ms.Database.current(), inner)
                self.assertTrue(ms.relay_integration.is_meta_schedule_enabled())
                self.assertEqual(relay.build(mod).report["kernels_recorded"], 0)
                with autotvm.apply_history_best(self.work), auto_scheduler.ApplyHistoryBest(self.work):  # take a folder, too
                    self.assertEqual(relay.build(mod).report["kernels_recorded"], 0)
            self.assertIs(ms.Database.current(), outer)
        self.assertIsNone(ms.Database.current())

    def test_arguments(self):
        mod, params = relay.frontend.from_onnx(models.chain(2))
        paths = [str(self.work / n) for n in ("database_workload.json", "database_tuning_record.json")]
        self.assertEqual(ms.database.create("json", *paths).path_tuning_record, paths[1])
        shutil.rmtree(self.work)
        for made, error, said in (
                (lambda: ms.tune_relay(mod, params, "llvm", self.work), TypeError, "max_trials_global"),
                (lambda: ms.tune_relay(mod, params, "llvm", None, 4), TypeError, "work_dir must be given"),
                (lambda: ms.tune_relay(mod, params, "llvm", self.work, 4, space="cuda"), tenon.UnsupportedError, "generator 'cuda'"),
                (lambda: ms.tune_relay(mod, params, "llvm", self.work, 4, cost_model="mlp"), tenon.UnsupportedError, "cost_model"),
                (lambda: ms.tune_relay(mod, params, "llvm", self.work, 4, runner="rpc"), tenon.UnsupportedError, "run on this machine"),
                (lambda: ms.tune_relay(mod, params, "llvm", self.work, 4, measure_callbacks=[]), tenon.UnsupportedError, "progress"),
                (lambda: ms.tune_relay(mod, params, "llvm", self.work, 9, max_trials_per_task=8), tenon.UnsupportedError, "round-robin"),
                (lambda: ms.tune_tir(matmul(), "llvm", self.work, 4, special_space=1), tenon.UnsupportedError, "special_space"),
                (lambda: ms.JSONDatabase(), ValueError, "work_dir, or both paths"),
                (lambda: ms.JSONDatabase(work_dir=self.folder / "none", allow_missing=False), ValueError, "there is no file"),
                (lambda: ms.JSONDatabase("a/w.json", "a/r.json"), tenon.UnsupportedError, "have the names"),
                (lambda: ms.JSONDatabase(work_dir=self.work).query_schedule(mod, "llvm", "x"), tenon.UnsupportedError, "get_top_k"),
                (lambda: ms.database.create("memory"), tenon.UnsupportedError, "there is \"json\""),
                (lambda: ms.TuneConfig(4, nonsense=1), TypeError, "no nonsense"),
                (lambda: ms.builder.LocalBuilder(f_build=print), tenon.UnsupportedError, "timeout_sec alone"),
                (lambda: ms.runner.LocalRunner(f_cleanup=print), tenon.UnsupportedError, "evaluator_config alone")):
            with self.assertRaisesRegex(error, said):
                made()
        with mock.patch.dict(os.environ, TENON_XGBOOST="/absent/libxgboost.so"):
            with self.assertRaisesRegex(tenon.CompileError, "cannot be opened: /absent/libxgboost.so"):
                ms.tune_relay(mod, params, "llvm", self.work, 4, cost_model="xgboost")
        runner = ms.runner.LocalRunner(9, ms.runner.EvaluatorConfig(1, 1, 1))
        found = ms.tune_relay(mod, params, "llvm", self.work, 4, task_scheduler="round-robin", max_trials_per_task=1, cost_model="none",
                              builder=ms.builder.LocalBuilder(timeout_sec=9), runner=runner)
        self.assertTrue(found)


class TileSizes(Case):
    """What a search takes of a database of TVM."""

    LANES = json.loads(tenon._core.Session().about()[1])["vector_bits"] // 32

    def setUp(self):
        super().setUp()
        shutil.copytree(TVM, self.folder / "tvm")

    def network(self, dtype="float32"):
        """The product and the convolution of that database."""
        x, y = relay.var("x", shape=(64, 256), dtype=dtype), relay.var("y", shape=(1, 32, 14, 14), dtype=dtype)
        w, v = (relay.const(numpy.full(shape, 0.5, dtype)) for shape in ((512, 256), (64, 32, 3, 3)))
        outputs = relay.nn.relu(relay.nn.dense(x, w)), relay.nn.relu(relay.nn.conv2d(y, v, padding=(1, 1)))
        return tenon.IRModule.from_expr(relay.Function([x, y], relay.Tuple(list(outputs))))

    def trials(self, search):
        """The choices of the trials of each task that has tiles, by their roles."""
        seen = {}

        def told(p):
            if p.picks is not None and p.record is None:
                picks = dict(line.split(" = ") for line in p.picks.splitlines())
                seen.setdefault(p.task.name, []).append({k.split(".")[-1]: v for k, v in picks.items()})

        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            search(told)
        dense, = (v for k, v in seen.items() if "dense" in k)
        conv, = (v for k, v in seen.items() if "conv" in k)
        return dense, conv, [str(w.message) for w in said if issubclass(w.category, tenon.Warning)]

    def vectors(self, elements):
        return str(max((elements + self.LANES // 2) // self.LANES, 1))

    def test_rules(self):
        """The first trial beside the built-in schedule; what fits no task is counted."""
        dense, conv, said = self.trials(lambda told: tenon.tune(
            self.network(), prior_records=self.folder / "tvm", trials=8, evenly=True, no_records=True,
            disabled_pass="ChooseAlgorithm", progress=told))  # the convolution is the loop that TVM has tiles of
        # the built-in schedule may have these tiles itself
        self.assertIn(["4", self.vectors(32)], [[t.get(role) for role in ("rows", "vectors")] for t in dense[:2]])
        self.assertIn(["7", self.vectors(16)], [[t.get(role) for role in ("pixels", "vectors")] for t in conv[:2]])  # of NCHW8c
        self.assertEqual(len(said), 1)
        self.assertIn("7 of 13 records of TVM have no tile sizes that fit a task and are passed over, the first of them here; the search "
                      "begins near those of the others [driver-W003]", said[0])
        self.assertIn("database_tuning_record.json: 7:1", said[0])

    def test_sketches(self):
        """With all levels of tiles, by a search of MetaSchedule's names. TVM's own folder is not written to."""
        database = ms.JSONDatabase(work_dir=self.folder / "tvm")
        self.assertEqual(len(database), 0)
        dense, _, said = self.trials(lambda told: ms.tune_relay(self.network(), {}, "llvm", self.work, 8, prior_records=database,
                                                                   disabled_pass=["ChooseAlgorithm"], task_scheduler="round-robin",
                                                                   progress=told))
        near = [t for t in dense if t.get("sketch") == "tiles"][1]
        self.assertEqual([near[role] for role in ("inner0", "inner1", "sum2")], ["4", self.vectors(32), "8"])
        self.assertEqual(len(said), 1)
        with self.assertRaisesRegex(tenon.CompileError, "E204"):
            ms.tune_relay(self.network(), {}, "llvm", self.folder / "tvm", 8)

    def trials_of(self, work, **options):
        """The choices of the first two trials, by their roles."""
        seen = []

        def told(p):
            if p.picks:
                picks = dict(line.split(" = ") for line in p.picks.splitlines())
                seen.append({k.split(".")[-1]: v for k, v in picks.items()})

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tenon.Warning)  # of the other records
            tenon.tune(work, prior_records=self.folder / "tvm", trials=3, no_records=True, progress=told, **options)
        return seen[:2]

    def test_unit(self):
        """Sizes around a unit of 16 lanes that each sum four products, by both generators."""
        a, b = te.placeholder((64, 64), "uint8", name="A"), te.placeholder((64, 128), "int8", name="B")
        k = te.reduce_axis((0, 64), name="k")
        c = te.compute((64, 128), lambda i, j: te.sum(a[i, k].astype("int32") * b[k, j].astype("int32"), axis=k), name="C")
        for generator, want in (("rules", {"rows": "4", "vectors": self.vectors(32)}),
                                ("sketch", {"inner0": "4", "inner1": self.vectors(32), "sum2": "16"})):
            with self.subTest(generator):
                trials = self.trials_of(tir.Schedule(te.lower(te.create_schedule(c.op), [a, b, c])), generator=generator)
                self.assertIn(want, [{role: t.get(role) for role in want} for t in trials])

    def test_parts(self):
        """A sum of all elements, in 16 parts, or in as many near that as there are tasks for the cores."""
        cores = json.loads(tenon._core.Session().about()[1])["cores"]
        parts = min((4 * cores, cores, 2 * cores, 8 * cores), key=lambda n: abs(n - 16))
        x = relay.var("x", shape=(4096, 64))
        for generator in ("rules", "sketch"):
            with self.subTest(generator):
                trials = self.trials_of(tenon.IRModule.from_expr(relay.Function([x], relay.sum(x))), generator=generator)
                self.assertIn(str(parts), [t.get("parts") for t in trials])

    def test_function(self):
        """A function of TIR is a task, too, whatever its loops are called and in which order they read."""
        a, b = te.placeholder((64, 256), name="A"), te.placeholder((256, 512), name="B")
        k = te.reduce_axis((0, 256), name="k")
        c = te.compute((64, 512), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
        seen = []
        with self.assertWarnsRegex(tenon.Warning, "10 of 13 records of TVM have no tile sizes that fit a task"):
            ms.tune_tir(te.lower(te.create_schedule(c.op), [a, b, c]), "llvm", self.work, 3, prior_records=self.folder / "tvm",
                        progress=lambda p: seen.append(p.picks) if p.picks else None)
        self.assertIn("out.inner0 = 4\n", seen[1])
        (self.folder / "tvm" / "database_tuning_record.json").write_text(TVM_RECORD)
        with self.assertWarnsRegex(tenon.Warning, "1 of 1 records of TVM have no tile sizes that fit a task"):
            ms.tune_tir(matmul(), "llvm", self.work, 2, prior_records=self.folder / "tvm")

    def test_damage(self):
        path = self.folder / "tvm" / "database_tuning_record.json"
        text = path.read_text()
        path.write_text(text.replace("[5,[4,2,2,4]]", "[5,[4,2,2]]"))
        with self.assertRaisesRegex(tenon.CompileError, "database_tuning_record.json:2:1: error: no tuning record of Tenon: a decision of "
                                                        "the trace of TVM"):
            tenon.tune(self.network(), prior_records=self.folder / "tvm", trials=1, no_records=True)
        path.write_text(text[:-40])  # cut short
        with self.assertWarnsRegex(tenon.Warning, "6 of 12 records of TVM"):
            tenon.tune(self.network(), prior_records=self.folder / "tvm", trials=1, no_records=True, disabled_pass="ChooseAlgorithm")


@ms.derived_object
class Tiles(ms.schedule_rule.PyScheduleRule):
    """Tiles of the columns, with the sum around them or inside: two schedules of each block."""

    target = None

    def _initialize_with_tune_context(self, context):
        self.target = context.target

    def apply(self, sch, block):
        made = []
        for outside in (True, False):
            s = sch.copy()
            i, j, k = s.get_loops(block)
            jo, ji = s.split(j, factors=s.sample_perfect_tile(j, 2, max_innermost_factor=8))
            s.reorder(i, jo, *((k, ji) if outside else (ji, k)))
            if s.sample_categorical([0, 1], [0.25, 0.75]):
                s.parallel(i)
            made.append(s)
        return made


class Spaces(Case):
    def trials(self, space, n=24, mod=None, **given):
        """(picks, fate) of each trial of a search."""
        seen = []

        def told(p):
            if p.picks is not None:
                seen.append((dict(line.split(" = ") for line in p.picks.splitlines()), p.fate))

        ms.tune_tir(mod or matmul(), "llvm", self.work, n, space=space, strategy="replay-trace", progress=told, **given)
        return seen

    def roles(self, space):
        return {name.split(".")[-1].rstrip("0123456789") for picks, _ in self.trials(space) for name in picks}

    def test_rules(self):
        """A rule that is left out takes its choices with it."""
        generator = ms.SpaceGenerator.create("post-order-apply")
        self.assertEqual(generator.asked("llvm"), {"fixed": None, "rules": None, "postprocs": None, "odds": None, "mutators": None})
        every = self.roles(generator)
        self.assertLessEqual({"sketch", "inner", "unroll", "outer"}, every)
        rules = [r for r in ms.ScheduleRule.create("llvm") if not isinstance(r, ms.schedule_rule.ParallelizeVectorizeUnroll)]
        self.assertEqual(self.roles(ms.space_generator.PostOrderApply(sch_rules=rules)) & {"unroll", "outer", "first"}, set())
        rules = [ms.schedule_rule.ParallelizeVectorizeUnroll(unroll_max_steps=[0, 16, 64, 512])]
        for picks, _ in self.trials(ms.space_generator.PostOrderApply(sch_rules=rules)):
            self.assertNotIn(picks.get("sketch"), ("tiles", "others"))
        parts = set(tenon.schedule_parts())
        for r in ms.ScheduleRule.create("llvm"):
            self.assertLessEqual(set(r.row.parts), parts)
        for m in ms.Mutator.create("llvm"):
            self.assertLessEqual(set(m.row.parts), parts)

    def test_own_rule(self):
        """A rule of the user's: which of its schedules, and what its sampling steps draw, is searched."""
        rule = Tiles()
        seen = self.trials(ms.space_generator.PostOrderApply(sch_rules=[rule]))
        self.assertEqual(rule.target, "llvm")
        own = [picks for picks, _ in seen if "sample0" in picks]
        self.assertEqual({fate for picks, fate in seen if "sample0" in picks}, {0})
        self.assertEqual({p["sample0"] for p in own}, {"24x1", "12x2", "8x3", "6x4", "4x6", "3x8"})
        self.assertEqual({p["sample1"] for p in own}, {"0", "1"})
        self.assertEqual({p["sample4"] for p in own}, {"0", "1"})  # which of the two
        self.assertNotIn("tiles", {p.get("sketch") for p, _ in seen})
        both = self.trials(ms.space_generator.PostOrderApply(sch_rules=[*ms.ScheduleRule.create("llvm"), rule]))
        self.assertLessEqual({"Tiles", "tiles"}, {p.get("sketch") for p, _ in both})
        sch = tir.Schedule(matmul())
        for s in rule.apply(sch, sch.blocks()[0]):  # as they are, by chance
            a, b = (numpy.random.default_rng(i).random((24, 24), "float32") for i in range(2))
            numpy.testing.assert_allclose(s.build()(a, b), a @ b, rtol=1e-5)

    def test_rest(self):
        """Blocks that the user's rule leaves as they are have the schedules of the built-in rules, unless the choice `rest` says no."""
        text = """func @f(a: f32[24, 24], b: f32[24, 24]) -> (y: f32[24, 24], z: f32[24]) {
  buffer c: f32[24, 24]
  for i < 24, j < 24, k < 24:
    block c(i: spatial, j: spatial, k: reduce):
      init:
        c[i, j] = 0f
      c[i, j] = c[i, j] + a[i, k] * b[k, j]
  for i < 24, j < 24:
    block y(i: spatial, j: spatial):
      y[i, j] = max(c[i, j], 0f)
  for i < 24, j < 24:
    block z(i: spatial, j: reduce):
      init:
        z[i] = 0f
      z[i] = z[i] + y[i, j]
}
"""
        traces = {"yes": [], "no": []}

        @ms.derived_object
        class Products(ms.schedule_rule.PyScheduleRule):
            def apply(self, sch, block):
                return Tiles().apply(sch, block) if len(sch.get_loops(block)) == 3 else [sch]

        @ms.derived_object
        class Look(ms.postproc.PyPostproc):
            def apply(self, sch):
                if "sample_perfect_tile" in sch.trace:  # Tiles has neither lanes nor names like these
                    traces["yes" if "n1_i0 n1_i1 = loops \"y\"" in sch.trace else "no"].append(sch.trace)
                return True

        space = ms.space_generator.PostOrderApply(sch_rules=[*ms.ScheduleRule.create("llvm"), Products()],
                                                  postprocs=[Look()])
        seen = self.trials(space, n=48, mod=tir.fromtext(text))
        own = [(p, fate) for p, fate in seen if p.get("sketch") == "Products"]
        self.assertEqual({p["rest"] for p, _ in own}, {"yes", "no"})
        self.assertEqual({fate for _, fate in own}, {0})
        self.assertTrue(traces["yes"] and traces["no"])
        self.assertEqual([t for t in traces["yes"] if "p2_" not in t], [])
        self.assertEqual([t for t in traces["no"] if "vectorize" in t], [])

    def test_function(self):
        """A function that schedules is a space, too."""
        def schedule(sch):
            i, j, k = sch.get_loops(sch.blocks()[0])
            sch.reorder(i, k, j)
            parts = sch.split(j, factors=sch.sample_perfect_tile(j, 3, 64))
            sch.vectorize(parts[2])

        seen = self.trials(schedule)
        self.assertLess(8, len({p["sample0"] for p, _ in seen if "sample0" in p}))
        self.assertEqual({fate for _, fate in seen}, {0})
        with self.assertRaisesRegex(TypeError, "returns None, a schedule or a list of them, not 3"):
            self.trials(lambda sch: 3)

    def test_postprocs(self):
        """Each candidate passes through those of the user's, which leave some out and do steps."""
        passed = []

        @ms.derived_object
        class Serial(ms.postproc.PyPostproc):
            def apply(self, sch):
                passed.append(sch.trace)
                return "parallel" not in sch.trace

        space = ms.space_generator.PostOrderApply(sch_rules=[Tiles()], postprocs=[ms.postproc.RewriteReductionBlock(), Serial()])
        seen = self.trials(space)
        self.assertTrue(passed)
        own = [(picks, fate) for picks, fate in seen if "sample0" in picks]
        self.assertEqual({fate for _, fate in own}, {0})
        for picks, _ in own:
            self.assertEqual(picks["sample1" if picks["sample4"] == "0" else "sample3"], "0")
        steps = []

        def unroll(sch):
            sch.unroll(sch.get_loops(sch.blocks()[0])[1])
            steps.append(sch.trace)

        tenon.tune(tir.Schedule(matmul()), trials=2, generator="sketch", postprocs=[unroll], fixed=["tile"], no_records=True)
        self.assertIn("unroll", steps[0])

        class Answers(ms.postproc.PyPostproc):
            def apply(self, sch):
                return None

        with self.assertRaisesRegex(TypeError, "Answers.apply returns True or False, not None"):
            self.trials(ms.space_generator.PostOrderApply(postprocs=[Answers()]))

    def test_dynamic(self):
        """DisallowDynamicLoop leaves out what has loops of symbols."""
        text = """func @f(x: f32[n, 8]) -> (y: f32[n, 8]) {
  for i < n, j < 8:
    block y(i: spatial, j: spatial):
      y[i, j] = x[i, j] * 2f
}
"""
        strict = ms.space_generator.PostOrderApply(postprocs=[ms.postproc.DisallowDynamicLoop()])
        with self.assertWarnsRegex(tenon.Warning, "no sketch of f was tried: postprocessors left out"):
            self.assertEqual([p for p, _ in self.trials(strict, mod=tir.fromtext(text)) if p], [])
        self.assertNotEqual([p for p, _ in self.trials("post-order-apply", mod=tir.fromtext(text)) if p], [])

    def test_mutators(self):
        probs = {ms.mutator.MutateTileSize(): 0.5, ms.mutator.MutateParallel(max_jobs_per_core=16): 0.5}
        space = ms.space_generator.PostOrderApply(mutator_probs=probs)
        self.assertEqual(space.asked("llvm")["odds"], {"tile": 0.5, "own": 0.5, "parallel": 0.5})
        self.assertTrue(ms.tune_tir(matmul(), "llvm", self.work, 24, space=space) is not None)
        self.assertEqual(sum(ms.Mutator.create("llvm").values()), 1)

    def test_own_mutator(self):
        """A mutator of the user's changes choices of good schedules; what it draws is the same for the same seed and times."""
        told, seen = [], []

        @ms.derived_object
        class Wider(ms.mutator.PyMutator):
            def _initialize_with_tune_context(self, context):
                told.append(context.target)

            def apply(self, trace):
                names = [name for name in trace.decisions if ".inner" in name]
                if not names:
                    return None
                name = trace.random.choice(names)
                word = trace.candidates(name)[-1]
                changed = trace.with_decision(name, word)
                self_before = dict(trace)
                seen.append((name, word, changed[name]))
                assert dict(trace) == self_before
                return changed

        space = ms.space_generator.PostOrderApply(mutator_probs={Wider(): 1.0})
        self.assertEqual(space.asked("llvm")["odds"], {"tile": 0.0})
        ms.tune_tir(matmul(), "llvm", self.work, 32, space=space, strategy="evolutionary")
        self.assertEqual(told[-1], "llvm")
        self.assertTrue(seen)
        self.assertEqual([word for _, word, _ in seen], [word for _, _, word in seen])
        for answer, error, said in ((lambda c: 3, TypeError, "choices by with_decision, not 3"),
                                    (lambda c: c.with_decision("nothing", 1), KeyError, "nothing"),
                                    (lambda c: c.with_decision(next(iter(c)), "no such word"), ValueError, "not no such word")):
            with self.assertRaisesRegex(error, said):
                tenon.tune(tir.Schedule(matmul()), trials=48, tuner="ga", odds={"tile": 0}, mutators=[(answer, 1)], no_records=True,
                           repeat_seconds=1e-4)

    def test_refused(self):
        for made, error, said in (
                (lambda: ms.schedule_rule.CrossThreadReduction, tenon.UnsupportedError, "it is for GPUs, and this target is a CPU"),
                (lambda: ms.postproc.VerifyGPUCode, tenon.UnsupportedError, "it is for GPUs"),
                (lambda: ms.mutator.MutateThreadBinding, tenon.UnsupportedError, "it is for GPUs"),
                (lambda: tenon.tune(tir.Schedule(matmul()), mutators=[(print, -1)], no_records=True), tenon.CompileError, "E197"),
                (lambda: ms.schedule_rule.Nonsense, AttributeError, "Nonsense"),
                (lambda: ms.ScheduleRule.create("cuda"), tenon.UnsupportedError, "schedule rules for 'cuda'"),
                (lambda: ms.schedule_rule.MultiLevelTiling(structure="SSSRRSRS"), tenon.UnsupportedError, "sizes and limits of its own"),
                (lambda: ms.schedule_rule.AutoInline(nonsense=1), TypeError, "no argument 'nonsense'"),
                (lambda: ms.SpaceGenerator.create("union"), tenon.UnsupportedError, "no space generator 'union'"),
                (lambda: ms.space_generator.PostOrderApply(f_block_filter=print), tenon.UnsupportedError, "f_block_filter"),
                (lambda: ms.space_generator.PostOrderApply(sch_rules=[1]).asked("llvm"), TypeError, "not int"),
                (lambda: ms.space_generator.PostOrderApply(postprocs=[1]).asked("llvm"), TypeError, "not int"),
                (lambda: tenon.tune(tir.Schedule(matmul()), fixed=["tiles"], no_records=True), tenon.CompileError, "E190"),
                (lambda: tenon.tune(tir.Schedule(matmul()), postprocs=[print], no_records=True), tenon.CompileError, "E187")):
            with self.assertRaisesRegex(error, said):
                made()


if __name__ == "__main__":
    unittest.main()
