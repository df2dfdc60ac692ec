"""tenon.tune: searches, the records that they leave, and what tenon.compile makes of them."""
import array
import ctypes
import faulthandler
import io
import json
import os
import pathlib
import signal
import tempfile
import threading
import unittest
from unittest import mock

import models
import tenon
from tenon import _core, _tuning

ROWS, COLUMNS = 37, 61


def has_xgboost():
    """`tools/setup test` installs it."""
    try:
        return bool(ctypes.CDLL(os.environ.get("TENON_XGBOOST") or "libxgboost.so.0"))
    except OSError:
        return False


def softmax(rows=ROWS, columns=COLUMNS):
    shape = (rows, columns)
    return models.model([models.node("Softmax", ["x"], ["y"])], [("x", models.FLOAT, shape)], [("y", models.FLOAT, shape)])


def inputs(rows=ROWS, columns=COLUMNS):
    return tenon.Tensor.over(array.array("f", (k * 7 % 256 / 16 for k in range(rows * columns))), "float32", (rows, columns))


def run(module):
    """The elements of the only output."""
    return memoryview(module.run_tensors([inputs()])[0]).cast("B").cast("f").tolist()


def write_record(path, model, trace):
    """A record that was made by hand: `trace` is the schedule of the model's only kernel."""
    task, = tenon.tuning_tasks(model)
    write_line(path, task.workload, trace)


def write_line(path, workload, trace, generator="rules", picks=""):
    machine = json.loads(_core.Session().about()[1])
    about = f"{machine['triple'].split('-')[0]} l1={machine['l1_bytes']} l2={machine['l2_bytes']}"
    path.write_text(json.dumps({
        "tenon": 1, "workload": f"{workload:016x}", "machine": " ".join([about, *machine["features"]]), "threads": 1,
        "seconds": 1e-6, "default": 2e-6, "operations": 1, "trials": 1, "name": "by_hand", "generator": generator, "version": 1,
        "picks": picks, "trace": trace}) + "\n")


def is_sound(path):
    """Every line is a whole record, and the compiler takes the file."""
    text = path.read_text()
    records = [json.loads(line) for line in text.splitlines()]
    tenon.compile(softmax(), tuning_records=path)
    return (not text or text.endswith("\n")) and all(r["tenon"] == 1 for r in records)


class Records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.records = pathlib.Path(folder.name, "records")
        self.own = pathlib.Path(folder.name, "own")  # the user's
        was = os.environ["TENON_RECORDS"]
        self.addCleanup(os.environ.__setitem__, "TENON_RECORDS", was)
        os.environ["TENON_RECORDS"] = str(self.own)


class Tuning(Records):
    def test_tasks(self):
        tasks = tenon.tuning_tasks(models.chain(3))
        self.assertEqual([(t.nodes, t.calls, t.trials, t.seconds, t.picks) for t in tasks],
                         [(f"y{i}", 1, 0, 0.0, None) for i in range(3)])
        self.assertEqual(tasks[0].operations, 2 * 5 * 4 * 9 * 38 * 38)
        self.assertTrue(all(t.points > 1 and t.built_in.startswith("rule") and t.gain == 1 for t in tasks))
        self.assertEqual(len({t.workload for t in tasks}), 3)
        again = tenon.tuning_tasks(models.chain(1))[0]
        self.assertEqual(again.workload, tasks[0].workload)  # the same in another model
        self.assertEqual(tenon.tuning_tasks(softmax(), input_shapes={"x": (5, COLUMNS)})[0].calls, 1)

    def test_search(self):
        """What it finds is in the file; a compilation uses that and computes the same."""
        seen = []
        found = tenon.tune(softmax(), self.records, trials=12, progress=seen.append)
        task, = found
        self.assertEqual((len(found), found.trials, task.failed, found.records), (1, task.trials, 0, str(self.records)))
        self.assertTrue(0 < task.trials <= 12)
        self.assertTrue(0 < task.seconds <= task.built_in_seconds)
        self.assertAlmostEqual(found.gain, task.gain)
        self.assertEqual((seen[-1].trials, seen[-1].number, seen[-1].n_task), (task.trials, 0, 1))
        self.assertEqual([p.trials for p in seen], sorted(p.trials for p in seen))
        self.assertEqual([p.seconds for p in seen], [p.task.seconds for p in seen])
        records = [json.loads(line) for line in self.records.read_text().splitlines()]
        self.assertEqual(len(records) > 0, task.picks is not None)
        self.assertTrue(all(int(r["workload"], 16) == task.workload for r in records))
        module = tenon.compile(softmax(), tuning_records=self.records)
        self.assertEqual(module.report["kernels_recorded"], len(found) if task.picks else 0)
        self.assertEqual(self.own.read_text(), self.records.read_text())
        for x, y in zip(run(module), run(tenon.compile(softmax(), no_records=True))):
            self.assertAlmostEqual(x, y, delta=1e-6)

    def test_sketches(self):
        """Their records name the generator, and compilations use them as they do others."""
        with self.assertRaisesRegex(tenon.CompileError, "no generator of schedules oracle"):
            tenon.tune(softmax(), self.records, trials=1, generator="oracle")
        task, = tenon.tune(softmax(), self.records, trials=12, generator="sketch")
        self.assertTrue(task.built_in.startswith("rule") and 0 < task.seconds <= task.built_in_seconds)
        self.assertEqual({json.loads(line)["generator"] for line in self.records.read_text().splitlines()},
                         {"sketch"} if task.picks else set())
        for x, y in zip(run(tenon.compile(softmax(), tuning_records=self.records)),
                        run(tenon.compile(softmax(), no_records=True))):
            self.assertAlmostEqual(x, y, delta=1e-6)

    def test_records_are_used(self):
        write_record(self.records, softmax(), "rows columns = loops \"softmax_max\"\n")
        plain = tenon.compile(softmax(), no_records=True)
        module = tenon.compile(softmax(), tuning_records=str(self.records))
        self.assertEqual((module.report["kernels_recorded"], plain.report["kernels_recorded"]), (1, 0))
        self.assertIn("# record by_hand: 1 us", module._program.dump(module._options, "schedule")[0])
        for x, y in zip(run(module), run(plain)):
            self.assertAlmostEqual(x, y, delta=1e-6)
        mod = tenon.relay.frontend.from_onnx(softmax())[0]
        self.assertEqual(tenon.relay.build(mod, tuning_records=self.records).report["kernels_recorded"], 1)
        with self.assertRaisesRegex(tenon.CompileError, "cannot open the file: No such file"):
            tenon.compile(softmax(), tuning_records=f"{self.records}.none")
        found = tenon.tune(softmax(), prior_records=self.records, trials=1, progress=lambda p: None)
        self.assertEqual((found.trials, found.records), (1, str(self.own)))
        self.assertIsNone(tenon.tune(softmax(), trials=1, no_records=True).records)

    def test_kernels(self):
        """The loops of a schedule are a task, too; its rule takes what was found."""
        a, b = (tenon.te.placeholder((24, 40), name=n) for n in "ab")
        k = tenon.te.reduce_axis((0, 40), name="k")
        c = tenon.te.compute((24, 24), lambda i, j: tenon.te.sum(a[i, k] * b[j, k], axis=k), name="C")
        s = tenon.te.create_schedule(c.op)
        s[c].split(c.op.axis[0], 4)
        steps = s.trace
        for generator in (None, "sketch"):
            task, = tenon.tune(s, self.records, trials=12, generator=generator)
            self.assertEqual((task.name, task.trials, task.calls, s.trace), ("main", 12, 1, steps))
        found = tenon.records.list(self.records)
        self.assertEqual({r.workload for r in found}, {task.workload} if found else set())
        s.rule(tuning_records=self.records)
        self.assertEqual(s.trace.startswith("# record main"), bool(found))
        write_line(self.records, task.workload, 'i j k = loops "out"\nreorder i k j\n')
        sch = tenon.tir.Schedule(tenon.te.lower(tenon.te.create_schedule(c.op), [a, b, c]))
        self.assertEqual(tenon.tune(sch, trials=1, no_records=True)[0].workload, task.workload)
        for of in (s, sch):
            of.rule(tuning_records=self.records)
            self.assertIn("# record by_hand", of.trace)
        x = [[float(i * j % 7) for j in range(40)] for i in range(24)]
        y = tenon.te.build(s, [a, b, c])(x, x)
        self.assertEqual(y.numpy().tolist() if hasattr(y, "numpy") else y.tolist(),
                         [[sum(p * q for p, q in zip(u, v)) for v in x] for u in x])
        with self.assertRaisesRegex(TypeError, "a schedule is one task"):
            tenon.tuning_tasks(s)

    def test_graph(self):
        """Choices of the graph: a search, and a record of them."""
        shape = (ROWS, COLUMNS)
        nodes = [models.node("Softmax", ["x"], ["s"]), models.node("Relu", ["s"], ["y"])]
        model = models.model(nodes, [("x", models.FLOAT, shape)], [("y", models.FLOAT, shape)])
        seen = []
        found = tenon.tune_graph(model, self.records, trials=2, progress=seen.append)
        self.assertEqual((found.name, found.calls, found.trials), ("graph", 1, len(seen)))
        self.assertTrue(1 <= found.trials <= 2 and found.seconds > 0 and found.built_in_seconds > 0)
        self.assertTrue(all(".fuse = no" in p.picks for p in seen))
        write_line(self.records, found.workload, "", "graph", seen[0].picks)
        module = tenon.compile(model, tuning_records=self.records)
        self.assertEqual((module.report["graph_recorded"], module.report["kernels"]), (1, 2))
        plain = tenon.compile(model, no_records=True)
        self.assertEqual((plain.report["graph_recorded"], plain.report["kernels"]), (0, 1))
        self.assertEqual(run(module), run(plain))
        with self.assertRaisesRegex(ValueError, "trials must be greater than 0"):
            tenon.tune_graph(model, trials=0)
        with self.assertRaises(tenon.CompileError) as free:
            tenon.tune_graph(softmax("n"), self.records)
        self.assertEqual(free.exception.diagnostics[0].id, "driver-E195")

    def test_own_records(self):
        """What the user keeps is used by itself, unless it is to be left alone."""
        write_record(self.own, softmax(), 'rows columns = loops "softmax_max"\n')
        for given, recorded in (({}, 1), ({"no_records": True}, 0)):
            self.assertEqual(tenon.compile(softmax(), **given).report["kernels_recorded"], recorded)
        own = self.own.read_text()
        tenon.tune(softmax(), self.records, trials=6, no_records=True)
        self.assertEqual(self.own.read_text(), own)
        os.environ["TENON_RECORDS"] = "off"
        self.assertEqual((_core.records_path(), tenon.tune(softmax(), trials=1).records), (None, None))

    def test_database(self):
        """A database of SQLite stands wherever a file of records does."""
        write_record(self.records, softmax(), 'rows columns = loops "softmax_max"\n')
        database = self.records.with_suffix(".db")
        self.assertEqual(tenon.records.merge(self.records, database), 1)
        self.assertTrue(database.read_bytes().startswith(b"SQLite format 3\0"))
        self.assertEqual(tenon.records.list(database), tenon.records.list(self.records))
        self.assertEqual(tenon.compile(softmax(), tuning_records=database).report["kernels_recorded"], 1)
        with tenon.autotvm.apply_history_best(database):
            self.assertEqual(tenon.compile(softmax()).report["kernels_recorded"], 1)
        os.environ["TENON_RECORDS"] = str(database)
        self.assertEqual(tenon.compile(softmax()).report["kernels_recorded"], 1)
        tenon.tune(softmax(), trials=6)
        self.assertIn("by_hand", [r.name for r in tenon.records.list()])
        self.assertGreaterEqual(tenon.records.prune(), 0)
        self.assertEqual((tenon.records.path, len(tenon.records.list())), (str(database), 1))

    def test_arguments(self):
        found = tenon.tune(models.chain(3), tasks=[0, "y2"], trials=4, tuner="random")
        self.assertEqual([(t.chosen, t.trials) for t in found], [(True, 2), (False, 0), (True, 2)])
        mod = tenon.relay.frontend.from_onnx(models.chain(1))[0]
        self.assertEqual(tenon.tune(mod, trials=2, seconds=60.0, early_stopping=9, timeout=5, seed=7)[0].trials, 2)
        for given, error, said in (
                ({"tuner": "oracle"}, tenon.CompileError, "there is no tuner oracle; choose from xgb, ga, random, gridsearch, "),
                ({"cost_model": "mlp"}, tenon.CompileError, "there is no cost model mlp; choose from trees, xgboost"),
                ({"tasks": "nine"}, tenon.CompileError, 'no task is "nine"'),
                ({"tasks": []}, TypeError, "tasks are numbers"), ({"tasks": [1.5]}, TypeError, "tasks are numbers"),
                ({"trials": 0}, ValueError, "trials must be greater than 0"),
                ({"seconds": float("nan")}, ValueError, "seconds must be greater than 0"),
                ({"seed": -1}, OverflowError, "seed must be 0 to"), ({"trials": 1 << 40}, OverflowError, "trials must be 0 to"),
                ({"trials": 1.5}, TypeError, "float"), ({"records": 3}, TypeError, "PathLike"),
                ({"tuning_records": "r"}, TypeError, "prior_records"), ({"nonsense": 1}, TypeError, "nonsense"),
                ({"target": "c"}, tenon.CompileError, "use target llvm"), ({"progress": 3}, TypeError, "progress must be"),
                ({"prior_records": self.records}, tenon.CompileError, "cannot open the file")):
            with self.subTest(given), self.assertRaisesRegex(error, said):
                tenon.tune(models.add(), **given)
        self.assertEqual([name for name, doc in _core.tuners()], ["xgb", "ga", "random", "gridsearch"] + [
            f"xgb{loss}_{features}".rstrip("_") for loss in ("", "_rank", "_rank_binary")
            for features in ("", "itervar", "knob", "curve")][1:])

    def test_cost_models(self):
        with mock.patch.dict(os.environ, TENON_XGBOOST="/absent/libxgboost.so"):
            with self.assertRaisesRegex(tenon.CompileError, "cannot be opened: /absent/libxgboost.so"):
                tenon.tune(models.chain(1), trials=2, cost_model="xgboost")
            self.assertEqual(tenon.tune(models.chain(1), trials=2, cost_model="trees")[0].trials, 2)
        if has_xgboost():
            self.assertEqual(tenon.tune(models.chain(1), trials=20, cost_model="xgboost", tuner="xgb_rank_itervar")[0].trials, 20)

    def test_table(self):
        task = _tuning.TuningTask("conv<1>", "n", 1, 2, True, 30, True, 4e6, 5e-6, "rule", 9, 1, 2e-5, 1e-5, "a = 1\n", 0, 0, None)
        other = task._replace(name="odd", seconds=0.0, built_in_seconds=0.0, picks=None, why="too large", trials=0, failed=0)
        found = _tuning.TuningResult([task, other, other._replace(chosen=False)])
        self.assertEqual((found.gain, found.seconds, found.built_in_seconds, other.gain), (2, 2e-5, 4e-5, 1))
        self.assertEqual(str(found).splitlines(), [
            "Task  Calls  Trials  Built-in (us)  Best (us)  Gop/s  Of peak   Gain  Kernel",
            "------------------------------------------------------------------------------------",
            "   0      2       9          20.00      10.00  400.0     50 %  2.00x  conv<1>",
            "   1      2       0              -          -      -        -      -  odd: too large",
            "9 trials (1 without a time); 1 task gained; kernels 0.020 ms, by the built-in schedules 0.040 ms (2.000x)"])
        page = found._repr_html_()
        self.assertIn("<td style='text-align:left'>conv&lt;1&gt;</td>", page)
        self.assertEqual(page.count("<tr>"), 3)

    def test_line(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        task = _tuning.TuningTask("k", None, 1, 1, True, 1, True, 0, 0, "", 3, 0, 2e-6, 1e-6, "a = 1\n", 0, 0, None)
        progress = _tuning.TuningProgress(4.0, 3, 0, task, 8, 2e-6, 1e-6)
        for file, text in ((Terminal(), "net: 3 trials, 4 s, task 0 of 8, gain 2.000x\r"),
                           (io.StringIO(), "net: trial 3: task 0: 1.00 us, 2.00 times as fast as the built-in schedule\n")):
            line = _tuning._Line("net", file)
            line.tuned(progress)
            line.tuned(progress)
            self.assertEqual(file.getvalue().strip("\r"), text.strip("\r"))


class Ending(Records):
    """A search that is ended early, and what goes on beside it."""

    def begin(self, act):
        """A search without an end, in which `act` is called from trial 5 on."""
        def progress(p):
            if p.trials >= 5:
                act()
        return tenon.tune(softmax(), self.records, trials=1000000, progress=progress)

    def test_interrupt(self):
        with self.assertRaises(KeyboardInterrupt):
            self.begin(lambda: os.kill(os.getpid(), signal.SIGINT))
        self.assertTrue(is_sound(self.records))
        self.assertEqual(self.children(), [])
        found = tenon.tune(softmax(), self.records, trials=2)  # goes on with what is in the file
        self.assertEqual(found.trials, 2)

    def test_callback_that_raises(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            self.begin(lambda: 1 / 0)
        self.assertTrue(is_sound(self.records))
        self.assertEqual(self.children(), [])

    def children(self):
        tasks = pathlib.Path("/proc/self/task").glob("*/children")
        return [pid for t in tasks for pid in t.read_text().split()]

    def test_two_sessions(self):
        """Two threads search at once, for one file, while others run Python, write to pipes and start threads."""
        found, errors, ended = {}, [], threading.Event()

        def search(columns):
            try:
                found[columns] = tenon.tune(softmax(8, columns), self.records, trials=12)
            except BaseException as e:  # noqa: BLE001 (shown by the assertion)
                errors.append(e)

        def disturb():
            while not ended.wait(0.001):
                with tempfile.TemporaryFile() as f:
                    f.write(b"x" * 4096)
                threading.Thread(target=list, args=(range(1000),)).start()

        nowhere = open(os.devnull, "w")
        self.addCleanup(nowhere.close)
        faulthandler.enable(nowhere)  # its handlers are not for the children
        self.addCleanup(faulthandler.disable)
        others = [threading.Thread(target=disturb) for _ in range(2)]
        searches = [threading.Thread(target=search, args=(columns,)) for columns in (60, 70)]
        for t in others + searches:
            t.start()
        for t in searches:
            t.join(120)
        ended.set()
        for t in others:
            t.join(60)
        self.assertEqual(errors, [])
        for columns in (60, 70):
            task, = found[columns]
            self.assertTrue(0 < task.trials <= 12 and task.seconds > 0, task)
            self.assertEqual((task.failed, task.why), (0, None))
        self.assertTrue(is_sound(self.records))

    def test_session_of_one_thread(self):
        program = _core.Session().from_memory("m", softmax(), {})
        refused = []

        def progress(*what):
            try:
                program.text()
            except RuntimeError as e:
                refused.append(str(e))
        program.tune({}, {"trials": 2, "progress": progress})
        self.assertIn("at work in another thread", refused[0])
        self.assertIn("nn.softmax", program.text())


if __name__ == "__main__":
    unittest.main()
