"""tests/conformance/run: what it makes of tests that end their process or never end, and of expected.txt."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import time
import unittest

PATH = pathlib.Path(__file__).parents[1] / "conformance" / "run"
loader = importlib.machinery.SourceFileLoader("conformance_run", str(PATH))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("conformance_run", loader))
loader.exec_module(run)


def cases():
    """A class that the test runner must not find."""
    class Cases(unittest.TestCase):
        def test_good_cpu(self):
            pass

        def test_wrong_cpu(self):
            raise AssertionError("output 0[1] is 2, not 3")

        def test_error_cpu(self):
            raise ZeroDivisionError("one: two")

        def test_crash_cpu(self):
            os.abort()

        def test_exit_cpu(self):
            os._exit(0)

        def test_hang_cpu(self):
            time.sleep(1000)
    return Cases


class Judging(unittest.TestCase):
    def test_results(self):
        case = cases()
        names = [n for n in dir(case) if n.startswith("test_")]
        tests = {f"Cases::{n}": case(n) for n in names}
        seconds, run.SECONDS = run.SECONDS, 1
        try:
            results = run.run_all(tests, list(tests), 2, lambda *what: None)
        finally:
            run.SECONDS = seconds
        self.assertEqual({run.short(n): r for n, r in results.items()},
                         {"test_good": ("passed", ""), "test_wrong": ("wrong", "output 0[1] is 2, not 3"),
                          "test_error": ("error", "ZeroDivisionError: one: two"),
                          "test_crash": ("crash", "the process ended with -6"),
                          "test_exit": ("crash", "the process ended with 0"), "test_hang": ("hang", "no end after 1 s")})

    def test_score_may_only_rise(self):
        results = {"C::test_a_cpu": ("passed", ""), "C::test_b_cpu": ("wrong", "x"), "C::test_c_cpu": ("crash", "y")}
        for groups, faults in (([("why", ["test_b", "test_c"])], 0), ([("why", ["test_b"])], 1),
                               ([("why", ["test_a", "test_b"]), ("why not", ["test_c"])], 1), ([], 2)):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(run.compare(results, groups, False), faults, groups)
            self.assertEqual(out.getvalue().count("FAULT"), faults)


if __name__ == "__main__":
    unittest.main()
