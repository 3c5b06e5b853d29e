"""The package on programs of JAX, against JAX's own numbers: pytest."""

import gc
import pathlib
import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

import tessera

jax.config.update("jax_num_cpu_devices", 8)
MESH = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)


def data(*shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def placed(x, *spec):
    return jax.device_put(x, NamedSharding(MESH, P(*spec)))


def attention(q, k, v):
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(q.shape[-1])
    weights = jax.nn.softmax(scores)
    return weights @ v


def loss(params, x, y):
    h = jnp.tanh(x @ params["w"][0] + params["b"])
    out = h @ params["w"][1]
    return jnp.mean((out - y) ** 2)


def close(got, want):
    """Whether two trees have the same structure, dtypes and numbers."""
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
        assert isinstance(a, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(
            np.asarray(a, "complex128"), np.asarray(b, "complex128"), 2e-5, 2e-6
        )


def test_runs_as_the_function_does():
    q, k, v = (placed(data(4, 6, 8, seed=s), "x") for s in range(3))
    program = tessera.load(jax.jit(attention).lower(q, k, v))
    close(program.run(q, k, v), attention(q, k, v))
    assert not program.comm()
    assert program.explain("weights").splitlines()[0].endswith('<@mesh, [{"x", ?}, {?}, {?}]>')


def test_runs_a_training_step_with_trees():
    params = {"w": [placed(data(8, 16), None, "y"), placed(data(16, 4), "y")], "b": data(16)}
    x, y = placed(data(12, 8), "x"), placed(data(12, 4), "x")
    step = jax.value_and_grad(loss)
    program = tessera.load(jax.jit(step).lower(params, x, y))
    close(program.run(params, x, y), step(params, x, y))
    comm = program.comm()
    assert comm.count("all_reduce") > 0 and comm.bytes == program.costs().comm_bytes
    assert all(pathlib.Path(__file__).name in c.where for c in comm)
    assert any(c.made_by == "dot_general" and "jvp" in c.scope for c in comm)
    # The variable of the forward pass, not its derivative.
    assert program.explain("h").splitlines()[0].endswith('<@mesh, [{"x", ?}, {"y", ?}]>')
    assert "params['w'][0]" in program.names[1]


def test_takes_keywords_unused_arguments_constants_and_numbers():
    table = data(3, 4)

    def f(x, unused, scale=1.0, *, shift):
        return x * scale + table + shift, {"n": x.shape[0]}

    program = tessera.load(jax.jit(f).lower(data(3, 4), data(5), 2.0, shift=3))
    assert len(program.types.inputs) == 3
    got = program.run(data(3, 4), data(5), 2.0, shift=3)
    close(got[0], f(data(3, 4), data(5), 2.0, shift=3)[0])
    assert got[1]["n"] == 3


def test_takes_a_trace_an_export_and_a_text():
    x = data(4, 4)
    f = jax.jit(lambda x: x @ x)
    for program in f.trace(x), f.lower(x):
        close(tessera.load(program).run(x), f(x))
    for program in (
        jax.export.export(f)(x),
        f.lower(x).as_text(),
        f.lower(x).as_text("stablehlo", debug_info=True),
    ):
        close(tessera.load(program).run(x), [f(x)])


def test_takes_random_keys():
    f = lambda key: jax.random.normal(key, (4,))
    key = jax.random.key(7)
    close(tessera.load(jax.jit(f).lower(key)).run(key), f(key))


DTYPES = (
    "bool int8 int16 int32 uint8 uint16 uint32 float16 bfloat16 float32 complex64 int4 uint4 "
    "float8_e4m3fn float8_e5m2"
).split()


@pytest.mark.parametrize("name", DTYPES)
def test_keeps_the_elements_of_each_dtype(name):
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    x = (
        np.arange(12).reshape(3, 4) % 2 if name == "bool" else np.arange(-6, 6).reshape(3, 4)
    ).astype(dtype)
    y = tessera.load(jax.jit(lambda x: x.T).lower(x)).run(x)
    assert y.dtype == dtype and y.tobytes() == x.T.tobytes()


def test_keeps_wide_dtypes():
    with jax.enable_x64(True):
        for name in "int64", "uint64", "float64", "complex128":
            x = np.arange(12).reshape(3, 4).astype(name)
            y = tessera.load(jax.jit(lambda x: x + x).lower(x)).run(x)
            assert y.dtype == x.dtype and (y == 2 * x).all()


def test_does_not_copy():
    x = data(256, 256)
    program = tessera.load(jax.jit(lambda x: x + 1).lower(x))
    x[3, 4] = 40
    y = program.run(x)
    assert y[3, 4] == 41
    assert not y.flags.writeable and not y.flags.owndata and y.flags.c_contiguous
    part = y[3:5]
    del y, program
    gc.collect()
    np.testing.assert_array_equal(part, x[3:5] + 1)


def test_takes_arrays_by_dlpack():
    class Tensor:
        """Another library's array, whose elements are NumPy's."""

        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **options):
            return self.x.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    program = tessera.load(jax.jit(lambda a: a * 2).lower(data(3, 4)))
    x = data(3, 4)
    close(program.run(Tensor(x)), 2 * x)
    close(program.run(Tensor(data(4, 3).T)), 2 * data(4, 3).T)


def test_takes_arrays_of_any_order():
    x = data(4, 6)
    program = tessera.load(jax.jit(lambda x: x * 2).lower(x))
    for same in (
        np.asfortranarray(x),
        np.repeat(x, 2, axis=1)[:, ::2],
        x.astype(">f4"),
        jnp.asarray(x),
    ):
        np.testing.assert_array_equal(program.run(same), x * 2)


def test_takes_arrays_without_elements_and_scalars():
    x = np.zeros((0, 3), "float32")
    y = tessera.load(jax.jit(lambda x: (x + 1, x.sum())).lower(x)).run(x)
    assert y[0].shape == (0, 3) and y[1].shape == () and y[1] == 0


def test_another_mesh_and_other_shardings():
    x, w = placed(data(16, 8), "x"), placed(data(8, 8), None, "y")
    lowered = jax.jit(lambda x, w: x @ w).lower(x, w)
    wide = tessera.load(lowered, mesh={"x": 8, "y": 1})
    np.testing.assert_allclose(wide.run(x, w), x @ w, 2e-5, 2e-6)
    vast = tessera.load(lowered, mesh="x=16,y=8", shardings={"w": P("y"), "x": P("x", "y")})
    assert vast.comm().count("all_reduce") + vast.comm().count("reduce_scatter") == 1
    with pytest.raises(tessera.ShardingError, match=r"test_jax.py:\d+"):
        tessera.load(lowered, shardings={"w": P("y"), "x": P("x", "y")}, modes="explicit")


def losses(params, x):
    h = jax.nn.relu(x @ params["w"])
    return jnp.sum(h**2), {"h": h}


def test_variables_of_a_statement_that_takes_a_derivative():
    def step(params, x):
        (value, aux), grads = jax.value_and_grad(losses, has_aux=True)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value, aux

    program = tessera.load(jax.jit(step).lower({"w": data(8, 4)}, data(16, 8)))
    with pytest.raises(tessera.RuntimeError, match='^"value" may be one of') as raised:
        program.explain("value")
    lines = str(raised.value).splitlines()[1:]
    listed = re.compile(
        r"  (%.*): (tensor<.*>), value, aux, grads at test_jax.py:\d+, made at test_jax.py:(\d+)"
    )
    found = [listed.fullmatch(s) for s in lines]
    first = losses.__code__.co_firstlineno
    assert [(f[2], int(f[3]) - first) for f in found] == [
        ("tensor<16x4xf32>", 1),  # h
        ("tensor<f32>", 2),
        ("tensor<8x4xf32>", 1),
    ]
    for f in found:
        assert "not sharded" in program.explain(f[1])


def test_lines_are_those_of_calls():
    program = tessera.load(jax.jit(losses).lower({"w": placed(data(8, 4), "x")}, data(16, 8)))
    line = losses.__code__.co_firstlineno + 1
    assert "# @relu/%1: f32[16,4] = maximum" in program.explain(f"test_jax.py:{line}")
    assert f"// test_jax.py:{line} [jit(losses)/jit(relu)/max]" in program.propagated()


def test_blocks_of_a_shard_map():
    def block(x):
        y = jnp.sin(x)
        return y + jax.lax.psum(y, "y")

    f = jax.jit(jax.shard_map(block, mesh=MESH, in_specs=P("x", "y"), out_specs=P("x", "y")))
    lowered = f.lower(data(8, 4))
    assert tessera.load(lowered).explain("y").splitlines() == [
        f"y at test_jax.py:{block.__code__.co_firstlineno + 1}: %0/0/%1: "
        'a local block in a shard_map over "x", "y"',
        '  it varies over "x", "y": devices along them have their own values',
    ]
    again = r"lower the program again in JAX with jax.make_mesh\(\(2, 4\), "
    with pytest.raises(tessera.RuntimeError, match=again):
        tessera.load(lowered, mesh="x=2,y=4")


def test_unconstrained_dims_are_open():
    x = data(16, 8)
    lowered = jax.jit(lambda x: x * 2).lower(x)
    open_dim = tessera.load(lowered, mesh=MESH, shardings={"x": P("x", P.UNCONSTRAINED)})
    assert open_dim.explain("x").startswith('x: <@mesh, [{"x"}, {?}]>')


def test_errors():
    x = data(4, 4)
    f = jax.jit(lambda x: x @ x)
    program = tessera.load(f.lower(x))
    with pytest.raises(tessera.ShapeError, match="lowered for: argument 1 is not expected$"):
        program.run(x, x)
    with pytest.raises(tessera.ShapeError, match="lowered for: there is no argument 0; argument 0"):
        program.run({"x": x})
    pair = tessera.load(jax.jit(lambda p: p[0] + p[1]).lower([x, x]))
    other = r"lowered for: \(\(\*, \*\),\) is not \(\[\*, \*\],\)$"
    with pytest.raises(tessera.ShapeError, match=other):
        pair.run((x, x))
    with pytest.raises(tessera.ShapeError, match=r"argument 0 is f32\[3,3\]"):
        program.run(data(3, 3))
    with pytest.raises(tessera.ShapeError, match=r"argument 0 is i32\[4,4\]"):
        program.run(x.astype("int32"))
    with pytest.raises(tessera.DTypeError, match="object"):
        program.run(np.full((4, 4), None))
    with pytest.raises(tessera.ArgumentError, match="lower"):
        tessera.load(f)
    with pytest.raises(tessera.ArgumentError, match="lowered one|lower"):
        tessera.load(f.lower(x).compile())
