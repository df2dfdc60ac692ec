"""tenon.auto_scheduler: tasks, searches, logs, rules of the user's."""
import array
import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from unittest import mock

import models
import tenon
from tenon import auto_scheduler, relay, te

N = 24
# as TVM wrote it, of the tutorial for the CPU
TVM_LINE = ('{"i": [["[\\"matmul_add\\", 1024, 1024, 1024, \\"float32\\"]", "llvm -keys=cpu", [18, 64, 64, 0, 0, 0, 0, 0]], [[], '
            '[["SP", 2, 0, 1024, [2, 1, 4], 1], ["FU", 4, [0, 1]], ["AN", 4, 0, 3], ["PR", 2, 0, "auto_unroll_max_step$8"]]]], '
            '"r": [[0.0044742], 0, 0.335558, 1607112214], "v": "v0.3"}\n')


@auto_scheduler.register_workload
def scheduled_matmul(n, depth, m):
    a, b = te.placeholder((n, depth), name="A"), te.placeholder((depth, m), name="B")
    k = te.reduce_axis((0, depth), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return [a, b, te.compute((n, m), lambda i, j: te.maximum(c[i, j], 0.0), name="out")]


def product():
    """a @ b of small integers, which are exact, and what it is."""
    x = [[float((i * 7 + j) % 5 - 2) for j in range(N)] for i in range(N)]
    y = [[max(0.0, sum(x[i][k] * x[k][j] for k in range(N))) for j in range(N)] for i in range(N)]
    given = tenon.Tensor.over(array.array("f", [v for row in x for v in row]), "float32", (N, N))
    return given, y


def options(log, trials=12, **rest):
    return auto_scheduler.TuningOptions(num_measure_trials=trials, verbose=0, measure_callbacks=[auto_scheduler.RecordToFile(log)], **rest)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = pathlib.Path(folder.name, "log.json")
        self.task = auto_scheduler.SearchTask(func=scheduled_matmul, args=(N, N, N), target="llvm")

    def lines(self):
        return [json.loads(row) for row in self.log.read_text().splitlines()]


class Functions(Case):
    def test_search(self):
        """Lines of TVM's form, of which the best makes a kernel that computes the same."""
        self.assertIn("block C(", self.task.compute_dag)
        found = self.task.tune(options(self.log))
        self.assertEqual((len(found), found[0].trials), (1, 12))
        self.assertGreaterEqual(self.task.flop, 2 * N ** 3)
        lines = self.lines()
        self.assertEqual(lines[0]["i"][1], [[], []])  # the built-in schedule
        self.assertEqual(len(lines), 1 + 12 + sum("record" in x for x in lines))
        for x in lines:
            (key, target, hardware, host, rewrite, inputs), (stages, steps) = x["i"]
            costs, error, all_cost, timestamp = x["r"]
            self.assertEqual((json.loads(key), target, x["v"]), (["scheduled_matmul", N, N, N], "llvm", "v0.6"))
            self.assertEqual((len(hardware), host, rewrite, inputs, stages), (8, "", 0, [], []))
            self.assertTrue(error or 0 < costs[0] < 1)
            self.assertTrue(all(s[0] == "PK" and len(s) == 3 for s in steps))
        self.assertEqual([x["record"]["generator"] for x in lines if "record" in x],
                         ["sketch"] * sum("record" in x for x in lines))
        sch, tensors = self.task.apply_best(self.log)
        self.assertEqual(sch.trace.startswith("# record"), found[0].picks is not None)
        x, y = product()
        self.assertEqual(memoryview(te.build(sch, tensors)(x, x)).tolist(), y)
        self.assertEqual(self.task.print_best(self.log), sch.trace)
        inp, result = auto_scheduler.load_best_record(self.log, self.task.workload_key, "llvm")
        self.assertEqual((inp.task.workload_key, result.error_no), (self.task.workload_key, 0))
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            sch, _ = auto_scheduler.auto_schedule(self.task, tuning_options=auto_scheduler.TuningOptions(2))
        self.assertIn("2 trials", shown.getvalue())
        with self.assertRaisesRegex(RuntimeError, "is of this task"):
            auto_scheduler.SearchTask(func=scheduled_matmul, args=(N, N, 8)).apply_best(self.log)

    def test_a_record_is_what_counts(self):
        """Of a log with a record that was made by hand, apply_best takes its steps."""
        task = tenon.tune(self.task.schedule(), trials=1, no_records=True)[0]
        about = json.loads(tenon._core.Session().about()[1])
        machine = f"{about['triple'].split('-')[0]} l1={about['l1_bytes']} l2={about['l2_bytes']}"
        record = {"tenon": 1, "workload": f"{task.workload:016x}", "machine": " ".join([machine, *about["features"]]), "threads": 1,
                  "seconds": 1e-6, "default": 2e-6, "operations": 1, "trials": 1, "name": "by_hand", "generator": "sketch", "version": 3,
                  "picks": "sketch = rows\n", "trace": 'i j k = loops "C"\nreorder i k j\n'}
        state = auto_scheduler.State(record["picks"], record)
        fast = auto_scheduler.MeasureInput(self.task, state._replace(record=None)), auto_scheduler.MeasureResult((1e-9,), 0, "", 0, 0)
        kept = auto_scheduler.MeasureInput(self.task, state), auto_scheduler.MeasureResult((1e-6,), 0, "", 0, 0)
        auto_scheduler.save_records(self.log, [fast[0], kept[0]], [fast[1], kept[1]])
        self.assertEqual(auto_scheduler.load_best_record(self.log)[0].state.record, record)
        self.assertIn("# record by_hand", self.task.print_best(self.log))
        self.assertEqual([r.name for r in tenon.records.list(self.log)], ["by_hand"])
        best = self.log.with_name("best.json")
        auto_scheduler.distill_record_file(self.log, best)
        self.assertEqual([i.state.record for i, _ in auto_scheduler.load_records(best)], [record])
        wrong = auto_scheduler.MeasureResult((1e10,), 5, "wrong", 0, 0)
        auto_scheduler.save_records(self.log, [kept[0]], [wrong])
        self.assertEqual(auto_scheduler.load_best_record(self.log), (None, None))

    def test_lines_of_others(self):
        self.log.write_text("# a comment\n" + TVM_LINE + '{"i": [["[')  # the last was cut short
        (inp, result), = auto_scheduler.load_records(self.log)
        self.assertEqual(json.loads(inp.task.workload_key)[0], "matmul_add")
        self.assertEqual((inp.task.target, inp.state, result.costs), ("llvm -keys=cpu", ("", None), (0.0044742,)))
        self.assertEqual(len(auto_scheduler.RecordReader(self.log).read_lines()[0]), 1)
        theirs = self.log.with_name("theirs")
        theirs.write_text(TVM_LINE)
        with self.assertWarnsRegex(tenon.Warning, "records of TVM name no schedules of Tenon"):
            self.task.schedule().rule(tuning_records=theirs)
        auto_scheduler.save_records(self.log, [inp], [result])  # goes on behind the cut line
        self.assertEqual(len(list(auto_scheduler.load_records(self.log))), 2)
        self.log.write_text('{"i": 3}\n')
        with self.assertRaisesRegex(ValueError, "log.json:1: not a line of AutoScheduler's records"):
            list(auto_scheduler.load_records(self.log))

    def test_rules(self):
        """A rule's schedules are searched beside the built-in sketches, or in their place."""
        Rule = auto_scheduler.PreloadCustomSketchRule
        seen = []

        def condition(sch):
            seen.append([b.name for b in sch.blocks()])
            return answer

        def tiles(sch, cfg):
            i, j, k = sch.get_loops(sch.get_block("C"))
            cfg.define_split("tile", j.extent, num_outputs=2)
            jo, ji = sch.split(j, factors=[None, cfg["tile"].size[-1]])
            sch.reorder(i, jo, k, ji)
            sch.parallel(i)

        def refused(sch, cfg):
            sch.vectorize(sch.get_loops(sch.get_block("C"))[2])

        for answer, others in ((Rule.PASS, True), (Rule.APPLY, True), (Rule.APPLY_AND_SKIP_REST, False)):
            policy = auto_scheduler.SketchPolicy(self.task, init_search_callbacks=[Rule(condition, tiles, "mine")], seed=3)
            self.log.write_text("")
            self.task.tune(options(self.log, 30), policy)
            steps = [dict(s[1:] for s in x["i"][1][1]) for x in self.lines()[1:] if x["r"][1] == 0]
            mine = [s for s in steps if "tile" in s]
            self.assertEqual(bool(mine), answer != Rule.PASS)
            self.assertEqual(len(mine) < len(steps), others)
            self.assertTrue(all(int(s["tile"]) in (1, 2, 3, 4, 6, 8, 12, 24) for s in mine))
        self.assertEqual(seen, [["C", "out"]] * 3)
        rule = Rule(lambda sch: True, refused, "bad")
        with self.assertWarnsRegex(tenon.Warning, "rule bad of sketches makes no schedule of main"):
            tenon.tune(self.task.schedule(), trials=2, generator="sketch", rules=[rule], no_records=True)
        self.assertRegex(str(rule.failure), "the step is refused")
        with self.assertRaisesRegex(tenon.CompileError, "choose generator sketch"):
            tenon.tune(self.task.schedule(), trials=2, rules=[rule])
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            self.task.tune(options(self.log), auto_scheduler.SketchPolicy(
                self.task, init_search_callbacks=[Rule(lambda sch: 1 / 0, tiles)]))
        with self.assertRaisesRegex(KeyError, "fault"):
            self.task.tune(options(self.log), auto_scheduler.SketchPolicy(
                self.task, init_search_callbacks=[Rule(lambda sch: 1, lambda sch, cfg: {}["fault"])]))

    def test_cost_models(self):
        for model in (auto_scheduler.XGBModel(), auto_scheduler.RandomModel()):
            self.task.tune(options(self.log, 4), auto_scheduler.SketchPolicy(self.task, model))
        with mock.patch.dict("os.environ", TENON_XGBOOST="/absent/libxgboost.so"):
            with self.assertRaisesRegex(tenon.CompileError, "cannot be opened: /absent/libxgboost.so"):
                self.task.tune(options(self.log, 4), auto_scheduler.SketchPolicy(self.task, auto_scheduler.XGBModel(cost_model="xgboost")))

    def test_arguments(self):
        for made, error, said in (
                (lambda: auto_scheduler.SearchTask(func="none", args=()), ValueError, "no workload none is registered"),
                (lambda: auto_scheduler.SearchTask(target="llvm"), TypeError, "func and args"),
                (lambda: auto_scheduler.SearchTask(func=scheduled_matmul, args=(1, 1, 1), task_inputs={}), tenon.UnsupportedError,
                 "task_inputs"),
                (lambda: auto_scheduler.TuningOptions(runner="rpc"), tenon.UnsupportedError, "on this machine"),
                (lambda: self.task.tune(auto_scheduler.TuningOptions()), ValueError, "num_measure_trials must be greater than 0"),
                (lambda: self.task.tune(options(self.log), "oracle"), tenon.UnsupportedError, "SketchPolicy"),
                (lambda: auto_scheduler.register_workload("scheduled_matmul", print), RuntimeError, "already"),
                (lambda: auto_scheduler.TaskScheduler([self.task]), tenon.UnsupportedError, "extract_tasks found"),
                (lambda: auto_scheduler.ApplyHistoryBest([]), tenon.UnsupportedError, "give the path"),
                (lambda: auto_scheduler.RPCRunner, tenon.UnsupportedError, "no RPCRunner"),
                (lambda: auto_scheduler.SketchPolicy(self.task, "xgb"), tenon.UnsupportedError, "an XGBModel or a RandomModel"),
                (lambda: auto_scheduler.XGBModel(model_file="m"), tenon.UnsupportedError, "model_file"),
                (lambda: auto_scheduler.XGBModel(cost_model="mlp"), ValueError, "trees and xgboost"),
                (lambda: auto_scheduler.SketchPolicy(self.task, init_search_callbacks=[1]), tenon.UnsupportedError, "load_log_file")):
            with self.assertRaisesRegex(error, said):
                made()
        self.assertRaises(AttributeError, getattr, auto_scheduler, "nothing")


class Models(Case):
    def test_tasks(self):
        mod, params = relay.frontend.from_onnx(models.chain(3))
        tasks, weights = auto_scheduler.extract_tasks(mod["main"], params, "llvm")
        self.assertEqual((len(tasks), weights), (3, [1, 1, 1]))
        self.assertEqual([t.flop for t in tasks], [t.operations for t in tenon.tuning_tasks(mod)])
        self.assertIn("nn.conv2d(Tensor[(1, 4, 40, 40), float32]", tasks[0].compute_dag)
        self.assertEqual(len({t.workload_key for t in tasks}), 3)
        self.assertEqual(auto_scheduler.extract_tasks(*relay.frontend.from_onnx(models.add()), "llvm"), ([], []))
        simple = relay.frontend.from_onnx(models.add())
        self.assertEqual(len(auto_scheduler.extract_tasks(*simple, "llvm", include_simple_tasks=True)[0]), 1)
        auto_scheduler.save_records(self.log, [auto_scheduler.MeasureInput(tasks[0], auto_scheduler.State(""))],
                                    [auto_scheduler.MeasureResult((1e-3,), 0, "", 0, 0)])
        with self.assertRaisesRegex(tenon.UnsupportedError, "no te.Schedule"):
            tasks[0].apply_best(self.log)
        with self.assertRaisesRegex(tenon.UnsupportedError, "task_weights are those"):
            auto_scheduler.TaskScheduler(tasks, [1, 2, 3])

    def test_search(self):
        """A log of all tasks, which builds inside of ApplyHistoryBest use, and another search goes on from."""
        mod, params = relay.frontend.from_onnx(models.chain(2))
        tasks, weights = auto_scheduler.extract_tasks(mod, params, "llvm")
        for strategy in ("gradient", "round-robin"):
            known = self.log if self.log.exists() else None
            tuner = auto_scheduler.TaskScheduler(tasks, weights, strategy=strategy, load_log_file=known)
            found = tuner.tune(options(self.log, 12), search_policy="sketch.random")
            self.assertEqual(sum(t.trials for t in found), 12)
        self.assertEqual([t.trials for t in found], [6, 6])
        lines = self.lines()
        gained = {x["record"]["workload"] for x in lines if "record" in x}
        self.assertEqual(len(lines), 2 * (2 + 12) + sum("record" in x for x in lines))
        self.assertEqual({x["i"][0][0] for x in lines}, {t.workload_key for t in tasks})
        with auto_scheduler.ApplyHistoryBest(self.log):
            self.assertEqual(relay.build(mod, "llvm", params=params).report["kernels_recorded"], len(gained))
        self.assertEqual(relay.build(mod, "llvm", params=params).report["kernels_recorded"], 0)
        seen = []

        def rows(sch, cfg):
            """Tasks of rows, with a choice of how many."""
            loops = sch.get_loops(sch.blocks()[-1])
            cfg.define_split("rows", loops[2].extent, num_outputs=2, max_factor=2)
            sch.parallel(loops[0])
            seen.append(len(sch.blocks()))

        rule = auto_scheduler.PreloadCustomSketchRule(lambda sch: auto_scheduler.PreloadCustomSketchRule.APPLY_AND_SKIP_REST, rows, "mine")
        found = tenon.tune(mod, trials=4, generator="sketch", rules=[rule], evenly=True, no_records=True)
        self.assertEqual([(t.trials > 0, t.failed) for t in found], [(True, 0)] * 2)
        self.assertIsNone(rule.failure)
        self.assertTrue(seen)
        one = tasks[1].tune(options(self.log, 2))
        self.assertEqual([t.trials for t in one], [0, 2])


if __name__ == "__main__":
    unittest.main()
