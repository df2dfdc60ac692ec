"""tenon.meta_schedule: searches, and the two files of the database."""
import json
import os
import pathlib
import shutil
import tempfile
import unittest

import models
import tenon
from tenon import meta_schedule as ms
from tenon import auto_scheduler, autotvm, relay, te, tir

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
                (lambda: ms.tune_relay(mod, params, "llvm", self.work, 4, space="cuda"), tenon.UnsupportedError, "space='cuda'"),
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
        runner = ms.runner.LocalRunner(9, ms.runner.EvaluatorConfig(1, 1, 1))
        found = ms.tune_relay(mod, params, "llvm", self.work, 4, task_scheduler="round-robin", max_trials_per_task=1, cost_model="none",
                              builder=ms.builder.LocalBuilder(timeout_sec=9), runner=runner)
        self.assertTrue(found)


if __name__ == "__main__":
    unittest.main()
