"""Names of Python for values of a program: `h` of the statement `h = tanh(x @ w)`, or "model.py:6".

JAX's text has the line of each operation, with the lines of the callers, but no variables. A variable is
the last value, in the forward pass, of the statement that assigns it.
"""

import ast
import pathlib
import re

_ALIAS = re.compile(r"^(#loc\w*) = loc\((.*)\)$")
_FRAME = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+(?: to (\d*):\d+)?')
_REFERENCE = re.compile(r"#loc\w*")
_FUNCTION = re.compile(r"^\s*func\.func (?:\w+ )?@([\w.$-]+|\"[^\"]*\")\(")
_RESULT = re.compile(r"^\s*(%\w+)(:\d+)?(?:, %\w+)* = ")
_LOCATION = re.compile(r"loc\((#loc\w*|unknown)\)\s*$")
_BACKWARD = "transpose(jvp("


class Value:
    """A value with the lines of its operation and of the callers, innermost first."""

    def __init__(self, name, frames, is_backward):
        self.name, self.frames, self.is_backward = name, frames, is_backward


class _Locations:
    def __init__(self, text):
        found = (_ALIAS.match(line) for line in text.splitlines() if line.startswith("#loc"))
        self._texts = {m[1]: m[2] for m in found if m}
        self._frames = {}

    def frames(self, alias):
        """The lines (file, first, last) of a location: those in its text, and of its references."""
        if alias not in self._frames:
            text = self._texts.get(alias, "")
            frames = [(m[1], int(m[2]), int(m[3] or m[2])) for m in _FRAME.finditer(text)]
            for reference in _REFERENCE.findall(_FRAME.sub("", text)):
                frames += self.frames(reference)
            self._frames[alias] = frames
        return self._frames[alias]

    def is_backward(self, alias):
        return self._texts.get(alias, "").startswith('"') and _BACKWARD in self._texts[alias]


def values_of(text):
    """The values of a module with debug information, in the order of the text, without those in regions."""
    locations = _Locations(text)
    values, function, open_names = [], "", []
    for line in text.splitlines():
        if opened := _FUNCTION.match(line):
            function, open_names = ("" if opened[1] == "main" else f"@{opened[1]}/"), []
            continue
        result, location = _RESULT.match(line), _LOCATION.search(line)
        if result and not location:
            open_names.append(result)  # an operation with regions ends further down
            continue
        closes = bool(open_names) and location and line.lstrip().startswith("}")
        if closes:
            result = open_names.pop()
        if result and location and not open_names:
            name = function + result[1] + ("#0" if result[2] else "")
            values.append(Value(name, locations.frames(location[1]), locations.is_backward(location[1])))
    return values


def _assignments(tree, variable):
    """The lines (first, last) of the statements that assign the variable."""
    for node in ast.walk(tree):
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            continue
        names = (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
        if variable in names:
            yield node.lineno, node.end_lineno


def _spans(name, files):
    """The lines (file, first, last) that a name stands for: a variable, or "model.py:6"."""
    if at := re.fullmatch(r"(.*):(\d+)", name):
        line = int(at[2])
        return [(f, line, line) for f in files if f == at[1] or pathlib.Path(f).name == at[1]]
    spans = []
    for file in files:
        try:
            tree = ast.parse(pathlib.Path(file).read_text())
        except (OSError, SyntaxError, ValueError):
            continue  # a notebook's cell, or a file of another machine
        spans += [(file, first, last) for first, last in _assignments(tree, name)]
    return spans


def find_value(text, name):
    """The value of a variable or a line with the line that assigns it, (value, "model.py:6"); None if none is."""
    values = values_of(text)
    spans = _spans(name, dict.fromkeys(f for v in values for f, _, _ in v.frames))
    found = None
    for value in values:
        if value.is_backward:
            continue
        for file, first, last in spans:
            if any(f == file and a <= last and first <= b for f, a, b in value.frames):
                found = value.name, f"{pathlib.Path(file).name}:{first}"
    return found
