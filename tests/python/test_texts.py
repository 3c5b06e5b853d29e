"""The package on texts, as it works without NumPy and JAX: python3 -m unittest."""

import array
import gc
import pathlib
import re
import tempfile
import threading
import unittest

import tessera

HERE = pathlib.Path(__file__).resolve().parent
SQUARE = HERE.parent / "c" / "square.mlir"
MLP = HERE.parent / "cli" / "programs" / "mlp.mlir"

# JAX's text of model.py; @FILE@ is its path.
MODEL = (HERE / "model.mlir").read_text().replace("@FILE@", str(HERE / "model.py"))


# Two values of the first line of a file.
SEVERAL = """module {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.sine %arg0 : tensor<4xf32> loc(#loc2)
    %1 = stablehlo.cosine %0 : tensor<4xf32> loc(#loc2)
    return %0, %1 : tensor<4xf32>, tensor<4xf32> loc(#loc3)
  }
}
#loc1 = loc("@FILE@":1:0 to :9)
#loc2 = loc("sin"(#loc1))
#loc3 = loc("@FILE@":3:0 to :9)
"""


def floats(values, *dims):
    """A buffer of f32 with these dims."""
    return memoryview(array.array("f", values)).cast("B").cast("f", dims)


class Texts(unittest.TestCase):
    def test_loads_a_path_a_text_and_bytes(self):
        text = SQUARE.read_text()
        for program in SQUARE, str(SQUARE), text, text.encode():
            self.assertEqual(tessera.load(program).types, (["f32[4]"], ["f32[4]"]))

    def test_runs_and_results_outlive_the_program(self):
        program = tessera.load(SQUARE)
        (y,) = program.run(array.array("f", [1, 2, 3, 4]))
        program.close()
        del program
        gc.collect()
        self.assertEqual(y.tolist(), [1, 4, 9, 16])
        with self.assertRaises((TypeError, ValueError)):
            y[0] = 2

    def test_reads_the_elements_of_the_caller(self):
        program, x = tessera.load(SQUARE), array.array("f", [1, 2, 3, 4])
        (before,) = program.run(x)
        x[0] = 5
        (after,) = program.run(x)
        self.assertEqual(before.tolist(), [1, 4, 9, 16])
        self.assertEqual(after.tolist(), [25, 4, 9, 16])
        (read_only,) = program.run(memoryview(x).toreadonly())
        self.assertEqual(read_only.tolist(), [25, 4, 9, 16])

    def test_runs_in_threads(self):
        program, sums = tessera.load(SQUARE), []

        def run():
            sums.append(sum(program.run(array.array("f", [1, 2, 3, 4]))[0].tolist()))

        threads = [threading.Thread(target=run) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sums, [30] * 4)

    def test_reports(self):
        program = tessera.load(MLP)
        self.assertIn('<@mesh, [{}, {"model"}]>', program.propagated())
        self.assertIn("dim 1", program.explain("%20"))
        comm, costs = program.comm(), program.costs()
        self.assertGreater(len(comm), 0)
        self.assertEqual((comm.bytes, program.peak()), (costs.comm_bytes, costs.peak_bytes))
        self.assertEqual(sum(comm.count(k) for k in {c.kind for c in comm}), costs.collectives)
        self.assertIn(f"{comm.bytes} B leave each device", str(comm))
        self.assertGreater(program.flops(), 0)
        self.assertIn("device func @main", program.lowered())
        self.assertIn("device func @main", program.lowered(stop_after="partition"))

    def test_writes_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.html"
            page = tessera.load(SQUARE).html(path)
            self.assertEqual(path.read_text(encoding="utf-8"), page)
            self.assertIn("page.html", page)

    def test_options_change_the_text(self):
        one = tessera.load(MLP, mesh={"data": 1, "model": 1})
        self.assertEqual(one.comm(), [])
        self.assertGreater(one.peak(), tessera.load(MLP).peak())
        alone = tessera.load(SQUARE, shardings={"*": (None,)}, modes="explicit")
        self.assertEqual(alone.types.inputs, ["f32[4]"])
        for sharding in ("x",), '[{"x"}]':
            typed = tessera.load(SQUARE, mesh="x=4", shardings={"arg0": sharding}, modes="explicit")
            self.assertEqual(typed.types, (["f32[4@x]"], ["f32[4@x]"]))
            (y,) = typed.run(array.array("f", [1, 2, 3, 4]))
            self.assertEqual(y.tolist(), [1, 4, 9, 16])


class Names(unittest.TestCase):
    """Python's names for values."""

    def explained(self, name):
        return tessera.load(MODEL).explain(name).splitlines()[0]

    def test_variables(self):
        self.assertEqual(
            self.explained("h"), 'h at model.py:9: @layer/%0: <@mesh, [{"x", ?}, {"y", ?}]>'
        )
        self.assertEqual(self.explained("y"), 'y at model.py:16: %5: <@mesh, [{"x", ?}, {?}]>')

    def test_arguments_lines_and_values(self):
        self.assertEqual(self.explained("w['a']"), "w['a']: <@mesh, [{}, {\"y\"}]>")
        self.assertEqual(self.explained("model.py:10").partition(":")[0], "# @layer/%1")
        text = tessera.load(MODEL).explain("model.py:16")
        self.assertEqual(re.findall(r"^# (\S+): ", text, re.M), ["%2", "%3", "%4", "%5"])
        self.assertTrue(self.explained("%5").startswith("%5: "))

    def test_values_in_regions(self):
        self.assertEqual(self.explained("%7/1/%8"), '@closed_call/%0: <@mesh, [{"x", ?}, {?}]>')
        names = [v.name() for v in tessera._lines.values_of(MODEL)]
        for name in "%7/0/%8", "%7/1/%8", "%7/1/%9", "%7#0", "@layer/%1":
            self.assertIn(name, names)

    def test_other_values_of_a_variable_are_listed(self):
        lines = tessera.load(MODEL).explain("y").splitlines()
        self.assertEqual(lines[-2:], ['"y" may also be', "  %1: tensor<8x4xf32>, y at model.py:14"])

    def test_several_values_of_a_statement_are_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "pair.py"
            path.write_text("a, b = pair(x)\n")
            with self.assertRaises(tessera.RuntimeError) as raised:
                tessera.load(SEVERAL.replace("@FILE@", str(path))).explain("b")
        self.assertEqual(
            str(raised.exception),
            '"b" may be one of 2 values; explain one of them by its name\n'
            "  %0: tensor<4xf32>, a, b at pair.py:1\n"
            "  %1: tensor<4xf32>, a, b at pair.py:1",
        )

    def test_others_are_errors(self):
        for name in "other", "model.py:99", "%99":
            with self.assertRaises(tessera.RuntimeError) as raised:
                self.explained(name)
            self.assertEqual(
                str(raised.exception),
                f'the program has no value "{name}"\n'
                """  a value is named as in the text ("%3"), or is an argument: x, w['a'], w['b']\n"""
                "  no line of @CALLER@, model.py that the program has assigns such a variable",
            )
        with self.assertRaisesRegex(tessera.RuntimeError, "is an argument: %arg0\n.*no locations"):
            tessera.load(SQUARE).explain("h")


class Errors(unittest.TestCase):
    def expect(self, kind, text, function, *arguments, **options):
        with self.assertRaisesRegex(kind, text) as raised:
            function(*arguments, **options)
        self.assertIs(type(raised.exception), kind)
        self.assertIsInstance(raised.exception, tessera.Error)

    def test_of_loading(self):
        e = self.expect
        e(tessera.RuntimeError, "text:1:8: .*expected", tessera.load, "module module\n")
        e(tessera.RuntimeError, "no such file", tessera.load, "no_such.mlir")
        e(tessera.RuntimeError, "names and sizes", tessera.load, SQUARE, mesh="x")
        e(tessera.RuntimeError, "unknown axis", tessera.load, SQUARE, mesh="z=4")
        e(tessera.RuntimeError, "no argument 'w'", tessera.load, SQUARE, shardings={"w": ("x",)})
        e(tessera.RuntimeError, "modes are", tessera.load, SQUARE, modes="manual")
        e(tessera.ArgumentError, "not int", tessera.load, 3)
        e(tessera.ArgumentError, "zero byte", tessera.load, SQUARE, mesh="x=4\0")

    def test_of_types_of_arguments(self):
        e = self.expect
        e(tessera.ArgumentError, "^mesh is .* not int", tessera.load, SQUARE, mesh=4)
        e(tessera.ArgumentError, "^mesh is .* not list", tessera.load, SQUARE, mesh=["x", 4])
        e(tessera.ArgumentError, "^shardings are .* not list", tessera.load, SQUARE, shardings=["x"])
        e(tessera.ArgumentError, "'arg0'.* not int", tessera.load, SQUARE, shardings={"arg0": 3})
        e(tessera.ArgumentError, "'arg0'.* entry 3", tessera.load, SQUARE, shardings={"arg0": (3,)})
        e(tessera.ArgumentError, "^modes is a text, not int", tessera.load, SQUARE, modes=1)
        program = tessera.load(SQUARE)
        e(tessera.ArgumentError, "^value is a text, not int", program.explain, 3)
        e(tessera.ArgumentError, "^strategy is a text, not int", program.propagated, 3)
        e(tessera.ArgumentError, "^stop_after is a text, not int", program.lowered, 3)

    def test_of_checking(self):
        self.assertIsNone(tessera.check(SQUARE))
        self.expect(tessera.RuntimeError, "unknown axis", tessera.check, SQUARE, mesh="z=4")

    def test_of_reports(self):
        program = tessera.load(SQUARE)
        self.expect(tessera.ArgumentError, "strategy 'fast'", program.propagated, "fast")
        self.expect(tessera.RuntimeError, "no pass", program.lowered, "parttion")

    def test_of_runs(self):
        program, x = tessera.load(SQUARE), floats([1, 2, 3, 4], 4)
        e = self.expect
        e(tessera.ArgumentError, "num_inputs is 0", program.run)
        e(tessera.ArgumentError, "num_inputs is 2", program.run, x, x)
        e(tessera.ArgumentError, "no names", program.run, x=x)
        e(tessera.ShapeError, r"f32\[2,2\]", program.run, floats([1, 2, 3, 4], 2, 2))
        e(tessera.ShapeError, r"i32\[4\]", program.run, array.array("i", [1, 2, 3, 4]))

    def test_of_closed_programs(self):
        program = tessera.load(SQUARE)
        program.close()
        program.close()
        for function in program.comm, program.peak, program.propagated, program.run, program.html:
            self.expect(tessera.ArgumentError, "no handle", function)
        self.expect(tessera.ArgumentError, "no handle", program.explain, "h")
        self.assertEqual(repr(program), "tessera.Program(closed)")

    def test_of_a_block(self):
        with tessera.load(SQUARE) as program:
            self.assertEqual(program.types.inputs, ["f32[4]"])
        self.expect(tessera.ArgumentError, "no handle", program.comm)


if __name__ == "__main__":
    unittest.main()
