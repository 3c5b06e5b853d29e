"""Names of Python for values of a program: `h` of the statement `h = tanh(x @ w)`, or "model.py:6".

JAX's text has the line of each operation, with the lines of the callers, but no variables. A
variable is a value of the statement that assigns it which is used further on.
"""

import ast
import pathlib
import re
from typing import NamedTuple

_ALIAS = re.compile(r"^(#loc\w*) = loc\((.*)\)$")
_FRAME = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+(?: to (\d*):\d+)?')
_REFERENCE = re.compile(r"#loc\w*")
_FUNCTION = re.compile(r"^\s*func\.func (?:\w+ )?@([\w.$-]+|\"[^\"]*\")\(")
_RESULT = re.compile(r"^\s*(%\w+)(?::(\d+))?(?:, %\w+)* = ")
_OPERAND = re.compile(r"(%\w+)(?:#(\d+))?")
_CALL = re.compile(r"\bcall @([\w.$-]+|\"[^\"]*\")\(")
_TENSOR = re.compile(r"tensor<(?:[^<>]|<[^<>]*>)*>")
_LOCATION = re.compile(r"loc\((#loc\w*|unknown)\)\s*$")
_BACKWARD = "transpose(jvp("


class Value:
    """A value, or the results of one operation: its lines, those of its callers and of its users.

    Lines are (file, first, last), innermost first. `users`: the number of the result and the lines
    of each operation of the forward pass that uses it.
    """

    def __init__(self, name, types, frames, is_backward):
        self._name, self._types = name, types
        self.frames, self.is_backward, self.users = frames, is_backward, []

    def name(self, result=0):
        """The name as the library knows it: "%3", "%7#1"."""
        return f"{self._name}#{result}" if len(self._types) > 1 else self._name

    def type(self, result=0):
        """The type as JAX's text has it: "tensor<4xf32>"."""
        return self._types[result]


class _Locations:
    def __init__(self, text):
        found = (_ALIAS.match(line) for line in text.splitlines() if line.startswith("#loc"))
        self._texts = {m[1]: m[2] for m in found if m}
        self._frames = {}

    def frames(self, alias):
        """The lines (file, first, last) of a location: those in its text, and of its references."""
        if alias is None:
            return []
        if alias not in self._frames:
            text = self._texts.get(alias, "")
            frames = [(m[1], int(m[2]), int(m[3] or m[2])) for m in _FRAME.finditer(text)]
            for reference in _REFERENCE.findall(_FRAME.sub("", text)):
                frames += self.frames(reference)
            self._frames[alias] = frames
        return self._frames[alias]

    def is_backward(self, alias):
        return self._texts.get(alias, "").startswith('"') and _BACKWARD in self._texts[alias]


class _Scope:
    """A function, or an operation whose regions are read, and the values that it knows by name."""

    def __init__(self, prefix, head=None, region=-1):
        self.prefix, self.head, self.region, self.known = prefix, head, region, {}

    def inner(self):
        """The prefix of names in the region, such as "@f/%7/1/"."""
        return self.prefix if self.head is None else f"{self.prefix}{self.head[1]}/{self.region}/"


class _Reader:
    """Reads a text line by line."""

    def __init__(self, text):
        self._locations, self._scopes, self._function = _Locations(text), [_Scope("")], "main"
        self._values = []  # with the function of each
        self._calls = []  # of the forward pass: caller and called function
        for line in text.splitlines():
            self._read(line)

    def values(self):
        """The values, those of functions that only the backward pass calls as backward ones."""
        forward = {"main"}
        while more := {f for caller, f in self._calls if caller in forward} - forward:
            forward |= more
        for value, function in self._values:
            value.is_backward |= function not in forward
        return [value for value, _ in self._values]

    def _read(self, line):
        if opened := _FUNCTION.match(line):
            self._function = opened[1]
            self._scopes = [_Scope("" if opened[1] == "main" else f"@{opened[1]}/")]
            return
        result, location = _RESULT.match(line), _LOCATION.search(line)
        alias, opens = location[1] if location else None, line.endswith("{")
        self._use(line[result.end() :] if result else line, alias)
        if result and not location:  # an operation with regions, which ends further down
            self._scopes.append(_Scope(self._scopes[-1].inner(), result, 0 if opens else -1))
        elif len(self._scopes) > 1 and opens:
            self._scopes[-1].region += 1
            self._scopes[-1].known.clear()
        elif len(self._scopes) > 1 and location and line.lstrip().startswith("}"):
            self._add(line, self._scopes.pop().head, alias)
        elif result:
            self._add(line, result, alias)

    def _use(self, text, alias):
        if alias and self._locations.is_backward(alias):
            return
        if called := _CALL.search(text):
            self._calls.append((self._function, called[1]))
        # A function or a region also returns values that the backward pass needs.
        is_main = self._function == "main" and len(self._scopes) == 1
        if text.lstrip().startswith(("return", "stablehlo.return")) and not is_main:
            return
        for name, number in set(_OPERAND.findall(text)):
            for scope in reversed(self._scopes):
                if name in scope.known:
                    user = int(number or 0), self._locations.frames(alias)
                    scope.known[name].users.append(user)
                    break

    def _add(self, line, result, alias):
        scope, locations = self._scopes[-1], self._locations
        name, results = scope.inner() + result[1], int(result[2] or 1)
        # An operation with regions has its types in its first line or its last.
        types = (_TENSOR.findall(line) or _TENSOR.findall(result.string))[-results:]
        value = Value(name, types, locations.frames(alias), locations.is_backward(alias))
        scope.known[result[1]] = value
        self._values.append((value, self._function))


def values_of(text):
    """The values of a text with locations, in its order."""
    return _Reader(text).values()


def _assignments(tree, variable):
    """The lines (first, last) of the statements that assign the variable, and their variables."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            continue
        targets = getattr(node, "targets", None) or [node.target]
        names = [n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        names = [n.id for n in sorted(names, key=lambda n: (n.lineno, n.col_offset))]
        if variable in names:
            yield node.lineno, node.end_lineno, names


class Statement(NamedTuple):
    """The lines of a statement, and the variables that it assigns; none of a line as such."""

    file: str
    first: int
    last: int
    variables: list

    def place(self):
        """Such as "h at model.py:6", "model.py:6"."""
        at = f"{_short(self.file)}:{self.first}"
        return f"{', '.join(self.variables)} at {at}" if self.variables else at

    def is_in(self, frames):
        """Whether one of the lines is part of the statement."""
        return any(f == self.file and a <= self.last and self.first <= b for f, a, b in frames)


def _statements(name, files):
    """The statements that a name stands for."""
    if at := re.fullmatch(r"(.*):(\d+)", name):
        line = int(at[2])
        named = [f for f in files if f == at[1] or _short(f) == at[1]]
        return [Statement(f, line, line, []) for f in named]
    found = []
    for file in files:
        try:
            tree = ast.parse(pathlib.Path(file).read_text())
        except (OSError, SyntaxError, ValueError):
            continue  # a notebook's cell, or a file of another machine
        found += [Statement(file, *lines) for lines in _assignments(tree, name)]
    return found


class Found(NamedTuple):
    """A value of a statement: its number in the program, the value, and which of its results."""

    number: int
    value: Value
    result: int
    statement: Statement

    def name(self):
        """The name as the library knows it."""
        return self.value.name(self.result)

    def text(self):
        """Its name, type and place, and the line that makes it in a function that is called."""
        text = f"{self.name()}: {self.value.type(self.result)}, {self.statement.place()}"
        if self.statement.is_in(self.value.frames[:1]):
            return text
        file, first, _ = self.value.frames[0]
        return f"{text}, made at {_short(file)}:{first}"


def _values_of(statement, values):
    """The values of a statement that are used further on; the last one if there are none.

    A derivative also has values of that line, which only the backward pass uses. Those count for a
    statement that takes the derivative: one of several variables, in which other lines make them.
    """
    own = []
    for number, v in enumerate(values):
        takes = len(statement.variables) > 1 and not statement.is_in(v.frames[:1])
        if (takes or not v.is_backward) and statement.is_in(v.frames):
            own.append((number, v))
    found = [
        Found(number, v, result, statement)
        for number, v in own
        for result in sorted({r for r, frames in v.users if not statement.is_in(frames)})
    ]
    return found or [Found(number, v, 0, statement) for number, v in own[-1:]]


def find_values(text, name):
    """The values that a variable or a line may stand for, in the order of the program."""
    values = values_of(text)
    files = dict.fromkeys(f for v in values for f, _, _ in v.frames)
    found = [f for s in _statements(name, files) for f in _values_of(s, values)]
    return sorted(found, key=lambda f: (f.number, f.result))


def _short(file):
    return pathlib.Path(file).name


def files_of(text):
    """The names of the files of Python whose lines a text has."""
    frames = (frame for value in values_of(text) for frame in value.frames)
    return sorted({_short(file) for file, _, _ in frames})
