"""Programs: loaded from JAX, a text or a file; reports on them; runs."""

import ctypes
import dataclasses
import json
import os
import re
import sys
from collections.abc import Mapping
from typing import NamedTuple

from tessera import _lines
from tessera._buffers import Owner, array_of, buffer_of
from tessera._library import ArgumentError, Buffer, RuntimeError, ShapeError, call, encoded, text_of

_INPUTS, _OUTPUTS = 0, 1
_MOST_LISTED = 20


class Types(NamedTuple):
    """The types of the arguments and results, such as "f32[8@x,4]"."""

    inputs: list
    outputs: list


class Costs(NamedTuple):
    """Figures per device. `split_flops`: if all devices shared the work and did nothing twice."""

    comm_bytes: int
    collectives: int
    peak_bytes: int
    flops: int
    split_flops: int


@dataclasses.dataclass(frozen=True)
class Collective:
    """A collective of the lowered program. `bytes` leave each device, `times` times.

    The op `made_by` makes the value, and `read_by` reads the received one: those are the cause.
    """

    kind: str
    axes: list
    bytes: int
    times: int
    where: str
    backward: bool
    implied: bool
    repeats: bool
    scope: str
    made_by: str
    made_at: str
    read_by: str
    read_at: str


class Comm(list):
    """The collectives. As text: a table of them, their sum, the FLOPs and the peak memory."""

    def __init__(self, collectives, text):
        super().__init__(collectives)
        self._text = text

    @property
    def bytes(self):
        """The bytes that leave each device."""
        return sum(c.bytes * c.times for c in self)

    def count(self, kind):
        """The number of collectives of a kind, such as "all_reduce", that run."""
        return sum(c.times for c in self if c.kind == kind)

    def __str__(self):
        return self._text

    __repr__ = __str__


@dataclasses.dataclass
class _JaxCall:
    """How the lowered function is called: its trees, and the leaves that its program has."""

    in_tree: object
    out_tree: object
    kept: list

    def leaves_of(self, args, kwargs):
        import jax

        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise ShapeError(self._difference(tree))
        is_key = lambda x: (
            hasattr(x, "dtype") and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)
        )
        return [
            jax.random.key_data(leaves[k]) if is_key(leaves[k]) else leaves[k] for k in self.kept
        ]

    def _difference(self, tree):
        """How a tree of arguments differs from that of the function."""
        given, own = _arguments_of(tree), _arguments_of(self.in_tree)
        differences = [f"there is no {name}" for name in own if name not in given]
        differences += [f"{name} is not expected" for name in given if name not in own]
        if not differences:  # a tuple in place of a list
            import jax

            trees = (
                jax.tree_util.tree_unflatten(t, [...] * t.num_leaves) for t in (tree, self.in_tree)
            )
            shown = (str(args).replace("Ellipsis", "*") for args, _ in trees)
            differences = ["{} is not {}".format(*shown)]
        more = f"; and {len(differences) - 5} more" if len(differences) > 5 else ""
        return (
            "the arguments do not fit those that the function was lowered for: "
            + "; ".join(differences[:5])
            + more
        )

    def result_of(self, arrays):
        import jax

        return jax.tree_util.tree_unflatten(self.out_tree, arrays)


def _arguments_of(tree):
    """The names of the leaves of (args, kwargs): "argument 0['w']", "scale"."""
    import jax

    leaves = jax.tree_util.tree_unflatten(tree, range(tree.num_leaves))
    names = []
    for (side, first, *rest), _ in jax.tree_util.tree_flatten_with_path(leaves)[0]:
        name = f"argument {first.idx}" if side.idx == 0 else first.key
        names.append(name + jax.tree_util.keystr(rest))
    return dict.fromkeys(names)


class Program:
    """A program of JAX. load() makes it."""

    def __init__(self, handle, text, jax_call=None):
        self._handle, self._text, self._jax_call = handle, text, jax_call

    def __del__(self):
        self.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Frees the program, but no results of runs. Other functions then raise ArgumentError."""
        if self._handle:
            call("close", self._handle)
            self._handle = 0

    def __repr__(self):
        if not self._handle:
            return "tessera.Program(closed)"
        inputs, outputs = self.types
        return f"tessera.Program({', '.join(inputs)}) -> {', '.join(outputs)}"

    def _count(self, side):
        count = ctypes.c_int64()
        call("count", self._handle, side, ctypes.byref(count))
        return count.value

    @property
    def types(self):
        """The types of the arguments and results."""
        return Types(*([text_of("type", self._handle, side, k) for k in range(self._count(side))]
                       for side in (_INPUTS, _OUTPUTS)))  # fmt: skip

    @property
    def names(self):
        """The names of the arguments, such as "%arg1 (params['w'])"."""
        return [text_of("input_name", self._handle, k) for k in range(self._count(_INPUTS))]

    def propagated(self, strategy=None):
        """The program with the sharding of every value, as text.

        strategy: the last one of propagation: "basic", "aggressive", "op-priority" or
            "user-priority".
        """
        return text_of("propagate", self._handle, encoded(strategy, "strategy"))

    def explain(self, value, strategy=None):
        """Why a value is sharded as it is.

        value: its name in JAX's text ("%3"), an argument ("x", "params['w']"), a line
            ("model.py:6"), for all values that it makes, or a variable of the Python function
            ("h"). The last statement that assigns a variable counts, and the values of others are
            listed; a statement with several values is an error that lists them. Variables and lines
            need locations: load a Lowered, or the text of lowered.as_text(debug_info=True).
        """
        strategy = encoded(strategy, "strategy")
        explain = lambda name: text_of("explain", self._handle, encoded(name, "value"), strategy)
        try:
            return explain(value)
        except RuntimeError as e:
            if not any(f"[explain.{check}]" in str(e) for check in ("C1", "C3")):
                raise  # it has the value
        found = _lines.find_values(self._text(), value)
        if not found:
            raise RuntimeError(self._unknown(value))
        last = found[-1]
        if sum(f.statement == last.statement for f in found) > 1:
            raise RuntimeError(
                f'"{value}" may be one of {len(found)} values; explain one of them by its name\n'
                + _listed(found)
            )
        text = f"{last.statement.place()}: {explain(last.name())}"
        if len(found) > 1:
            text += f'\n"{value}" may also be\n{_listed(found[:-1])}'
        return text

    def _unknown(self, value):
        names = [name.partition(" (")[2][:-1] or name for name in self.names]
        files = _lines.files_of(self._text())
        return (
            f'the program has no value "{value}"\n'
            f'  a value is named as in the text ("%3"), or is an argument: {", ".join(names)}\n'
        ) + (
            f"  no line of {', '.join(files)} that the program has assigns such a variable"
            if files
            else "  the text has no locations: load jax.jit(f).lower(x) or as_text(debug_info=True)"
        )

    def costs(self):
        """The figures of the program lowered for its mesh."""
        figures = (ctypes.c_int64 * len(Costs._fields))()
        call("costs_of", self._handle, figures, ctypes.sizeof(figures))
        return Costs(*figures)

    def comm(self):
        """The collectives of the lowered program: a list, which prints as a table."""
        collectives = json.loads(text_of("comm", self._handle))
        return Comm([Collective(**c) for c in collectives], text_of("report", self._handle))

    def peak(self):
        """The peak memory of a device in bytes: arguments, results and temporaries."""
        return self.costs().peak_bytes

    def flops(self):
        """The FLOPs of a device."""
        return self.costs().flops

    def lowered(self, stop_after=None):
        """The program of one device, with local shapes and collectives; or as a pass leaves it."""
        return text_of("lower", self._handle, encoded(stop_after, "stop_after"))

    def html(self, path=None, title=None):
        """A page of HTML about the program, which needs no other file; also written to `path`."""
        title = encoded(title or (str(path) if path else "program"), "title")
        page = text_of("html", self._handle, title)
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
        return page

    def run(self, *args, **kwargs):
        """Runs the program on simulated devices, as many as its mesh has.

        args: those of the function that was lowered, whose result has the structure of the
            function's; or, if a text was loaded, one array for each argument, and the result is a
            list. The elements of NumPy's arrays are read where they are, and those of the results
            are the library's own, read-only.
        """
        if self._jax_call:
            arrays = self._jax_call.leaves_of(args, kwargs)
        elif kwargs:
            raise ArgumentError(f"a text has no names of arguments: {', '.join(kwargs)}")
        else:
            arrays = args
        # What is wrong with the number of arrays is the library's to say.
        count = self._count(_INPUTS)
        dtypes = [self._shape(k)[0] if k < count else 0 for k in range(len(arrays))]
        buffers = [
            buffer_of(x, dtype, f"argument {k}") for k, (x, dtype) in enumerate(zip(arrays, dtypes))
        ]
        handles = (ctypes.c_uint64 * self._count(_OUTPUTS))()
        call(
            "run",
            self._handle,
            (Buffer * len(buffers))(*buffers),
            len(buffers),
            handles,
            len(handles),
        )
        owners = [Owner(h) for h in handles]
        results = [array_of(owner, f"result {k}") for k, owner in enumerate(owners)]
        return self._jax_call.result_of(results) if self._jax_call else results

    def _shape(self, k):
        """The dtype and the rank of an argument."""
        dtype, rank = ctypes.c_int32(), ctypes.c_int32()
        call("shape", self._handle, _INPUTS, k, ctypes.byref(dtype), ctypes.byref(rank), None, 0)
        return dtype.value, rank.value


def _listed(found):
    """Values of Python's names, one a line."""
    shown = [f"  {f.text()}" for f in found[:_MOST_LISTED]]
    more = [f"  and {len(found) - _MOST_LISTED} more"] if len(found) > _MOST_LISTED else []
    return "\n".join(shown + more)


def _axes_text(axes, what):
    if type(axes).__name__ == "UnconstrainedSingleton":  # P.UNCONSTRAINED
        return "{?}"
    axes = () if axes is None else (axes,) if isinstance(axes, str) else axes
    if not isinstance(axes, (tuple, list)) or not all(isinstance(a, str) for a in axes):
        raise ArgumentError(f"{what} has the entry {axes!r}, not names of mesh axes or None")
    return "{" + ", ".join(f'"{a}"' for a in axes) + "}"


def _sharding_text(name, sharding):
    """Shardy's text of a PartitionSpec or a tuple; a text stays as it is."""
    if isinstance(sharding, str):
        return sharding
    return "[" + ", ".join(_axes_text(axes, f"shardings[{name!r}]") for axes in sharding) + "]"


def _specs_of(shardings):
    """The shardings by name, each a text, a PartitionSpec or a tuple."""
    if not isinstance(shardings or {}, Mapping):
        raise ArgumentError(
            "shardings are by argument, such as {\"params['w']\": P(None, \"x\")}, not "
            f"{type(shardings).__name__}"
        )
    specs = {}
    for name, sharding in (shardings or {}).items():
        sharding = getattr(sharding, "spec", sharding)  # of a NamedSharding
        is_spec = isinstance(sharding, (str, tuple, list)) or hasattr(sharding, "unreduced")
        if not isinstance(name, str) or not is_spec:
            raise ArgumentError(
                f"shardings[{name!r}] is a name and a PartitionSpec, a tuple or a text, not "
                f"{type(sharding).__name__}"
            )
        _sharding_text(name, sharding)  # for its errors, which have the caller's name
        specs[name] = sharding
    return specs


def _mesh_text(mesh):
    """The mesh as the library takes it; None: the program's."""
    if mesh is None or isinstance(mesh, str):
        return mesh
    sizes = mesh if isinstance(mesh, Mapping) else getattr(mesh, "shape", None)
    if not isinstance(sizes, Mapping) or not all(isinstance(n, str) for n in sizes):
        raise ArgumentError(
            'mesh is "x=4,y=2", {"x": 4, "y": 2} or a mesh of JAX, not ' + type(mesh).__name__
        )
    return ",".join(f"{name}={size}" for name, size in sizes.items())


def _padded(shardings, plain):
    """Shardings by name: PartitionSpecs and tuples get an entry for each dim of their arguments.

    plain: the program without them.
    """
    padded = {}
    for name, sharding in shardings.items():
        pattern = re.compile(".*".join(map(re.escape, name.split("*"))))
        found = []
        for k, shown in enumerate(plain.names):
            value, _, given = shown.partition(" (")
            if any(map(pattern.fullmatch, (value, value[1:], str(k), given[:-1]))):
                found.append((value, (*sharding, *[None] * (plain._shape(k)[1] - len(sharding)))))
        for key, value in found or [(name, sharding)]:  # an unknown name is the library's to refuse
            padded.pop(key, None)  # the last one counts
            padded[key] = value
    return padded


def _options(mesh, shardings, modes):
    """The options as texts. A mesh may be a text, a dict of sizes, or JAX's."""
    settings = "\n".join(f"{name}={_sharding_text(name, s)}" for name, s in shardings.items())
    mesh = encoded(_mesh_text(mesh), "mesh")
    return mesh, encoded(settings, "shardings"), encoded(modes, "modes")


def _is_text(program):
    return "\n" in program or program.lstrip().startswith(("module", '"builtin.module"', "#loc"))


def _of_jax(lowered):
    """The text of a jax.stages.Lowered, and how its function is called."""
    leaves = lowered.in_tree.num_leaves
    # Arguments that the function does not use are not in its text.
    kept = getattr(getattr(lowered, "_lowering", None), "compile_args", {}).get("kept_var_idx")
    kept = sorted(kept) if kept is not None else list(range(leaves))
    return lowered.as_text(debug_info=True), _JaxCall(lowered.in_tree, lowered.out_tree, kept)


def _source_of(program):
    """What load() takes, as its path or its text, and how JAX's function is called."""
    stages = getattr(sys.modules.get("jax"), "stages", None)
    if isinstance(program, (bytes, bytearray)):
        program = program.decode(errors="surrogateescape")
    if isinstance(program, os.PathLike) or isinstance(program, str) and not _is_text(program):
        return os.fspath(program), None, None
    if isinstance(program, str):
        return None, program, None
    if stages and isinstance(program, stages.Traced):
        program = program.lower()
    if stages and isinstance(program, stages.Lowered):
        return None, *_of_jax(program)
    if stages and isinstance(program, stages.Compiled):
        raise ArgumentError("a compiled program is XLA's text: load jax.jit(f).lower(x)")
    if hasattr(program, "mlir_module"):  # jax.export.Exported
        return None, program.mlir_module(), None
    raise ArgumentError(
        f"a program is jax.jit(f).lower(x), a text or a path, not {type(program).__name__}"
    )


def _load(source, mesh, shardings, modes):
    """Loads a text or, if it is none, a file."""
    path, text, jax_call = source
    options, handle = _options(mesh, shardings, modes), ctypes.c_uint64()
    if text is None:
        call("load_file", encoded(path, "path"), *options, ctypes.byref(handle))
    else:
        data = text.encode()
        call("load", data, len(data), *options, ctypes.byref(handle))
    return Program(handle.value, lambda: _read(path) if text is None else text, jax_call)


def load(program, mesh=None, shardings=None, modes=None):
    """Loads jax.jit(f).lower(x) or .trace(x), an export, a StableHLO text, or a file of one.

    mesh: takes the place of the program's, whose axes it must have: "x=4,y=2", {"x": 4, "y": 2},
        or JAX's.
    shardings: of arguments by name, in place of the program's: {"params['w']": P(None, "x")}. `*`
        in a name matches any text.
    modes: "auto", or "explicit": shardings of arguments are types, and an ambiguous result is an
        error.
    """
    source, shardings = _source_of(program), _specs_of(shardings)
    if not all(isinstance(s, str) for s in shardings.values()):
        shardings = _padded(shardings, _load(source, mesh, {}, None))
    return _load(source, mesh, shardings, modes)


def check(program, mesh=None, shardings=None, modes=None):
    """Raises the error of a program, if load() or lowering it for its mesh has one."""
    load(program, mesh, shardings, modes).costs()


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()
