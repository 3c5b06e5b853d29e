"""Names of Python for values of a program: `h` of the statement `h = tanh(x @ w)`, or "model.py:6".

JAX's text has the line of each operation, with the lines of the callers, but no variables. A
variable is the last value of the statement that assigns it.
"""

import ast
import pathlib
import re

_ALIAS = re.compile(r"^(#loc\w*) = loc\((.*)\)$")
_FRAME = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+(?: to (\d*):\d+)?')
_REFERENCE = re.compile(r"#loc\w*")
_FUNCTION = re.compile(r"^\s*func\.func (?:\w+ )?@([\w.$-]+|\"[^\"]*\")\(")
_RESULT = re.compile(r"^\s*(%\w+)(?::(\d+))?(?:, %\w+)* = ")
_OPERAND = re.compile(r"(%\w+)(?:#(\d+))?")
_CALL = re.compile(r"\bcall @([\w.$-]+|\"[^\"]*\")\(")
_LOCATION = re.compile(r"loc\((#loc\w*|unknown)\)\s*$")
_BACKWARD = "transpose(jvp("


class Value:
    """A value, or the results of one operation: its lines, those of its callers and of its users.

    Lines are (file, first, last), innermost first. `users`: the number of the result and the lines
    of each operation of the forward pass that uses it.
    """

    def __init__(self, name, results, frames, is_backward):
        self._name, self._results = name, results
        self.frames, self.is_backward, self.users = frames, is_backward, []

    def name(self, result=0):
        """The name as the library knows it: "%3", "%7#1"."""
        return f"{self._name}#{result}" if self._results > 1 else self._name


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
            self._add(self._scopes.pop().head, alias)
        elif result:
            self._add(result, alias)

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

    def _add(self, result, alias):
        scope, locations = self._scopes[-1], self._locations
        name, results = scope.inner() + result[1], int(result[2] or 1)
        value = Value(name, results, locations.frames(alias), locations.is_backward(alias))
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
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        if variable in names:
            yield node.lineno, node.end_lineno, ", ".join(names)


def _spans(name, files):
    """The lines (file, first, last) that a name stands for, with all variables that they assign."""
    if at := re.fullmatch(r"(.*):(\d+)", name):
        line = int(at[2])
        named = [f for f in files if f == at[1] or _short(f) == at[1]]
        return [((f, line, line), name) for f in named]
    spans = []
    for file in files:
        try:
            tree = ast.parse(pathlib.Path(file).read_text())
        except (OSError, SyntaxError, ValueError):
            continue  # a notebook's cell, or a file of another machine
        spans += [((file, a, b), names) for a, b, names in _assignments(tree, name)]
    return spans


def _is_in(frames, span):
    file, first, last = span
    return any(f == file and a <= last and first <= b for f, a, b in frames)


def _last_of(span, values):
    """The last value of a statement that the forward pass uses further on; else the last one.

    A derivative also has values of that line, which only the backward pass uses. Returns the value
    and its name; None if the statement has no value.
    """
    own = [v for v in values if not v.is_backward and _is_in(v.frames, span)]
    for v in reversed(own):
        used = [number for number, frames in v.users if not _is_in(frames, span)]
        if used:
            return v, v.name(used[-1])
    return (own[-1], own[-1].name()) if own else None


def find_value(text, name):
    """The value of a variable or a line, and its place: ("%3", "h at model.py:6").

    Of several statements the last one in the program counts. None if there is none.
    """
    values = values_of(text)
    order = {id(v): k for k, v in enumerate(values)}
    spans = _spans(name, dict.fromkeys(f for v in values for f, _, _ in v.frames))
    found = [(*last, *span) for span in spans if (last := _last_of(span[0], values))]
    if not found:
        return None
    _, value, (file, first, _), names = max(found, key=lambda f: order[id(f[0])])
    return value, name if name == names and ":" in name else f"{names} at {_short(file)}:{first}"


def _short(file):
    return pathlib.Path(file).name


def files_of(text):
    """The names of the files of Python whose lines a text has."""
    frames = (frame for value in values_of(text) for frame in value.frames)
    return sorted({_short(file) for file, _, _ in frames})
