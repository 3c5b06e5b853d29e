#!/usr/bin/env python3
"""JAX's side of `tessera_bench --only W15`: one row, one JSON line.

  python numerics.py NAME [--devices N] [--quick]

Sizes are those of benchmarks/numerics.cc. One process for each row.
"""
import argparse
import json
import statistics
import time

parser = argparse.ArgumentParser()
parser.add_argument("name")
parser.add_argument("--devices", type=int, default=1)
parser.add_argument("--quick", action="store_true")
args = parser.parse_args()

import jax

jax.config.update("jax_num_cpu_devices", args.devices)
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, PartitionSpec as P

D = args.devices
RNG = np.random.default_rng(0)


def size(n, small):
    return small if args.quick else n


def rand(*shape, dtype=np.float32):
    return RNG.uniform(0, 1, shape).astype(dtype)


def numbers(*shape):
    return rand(*shape) + 1j * rand(*shape)


def definite(n):
    a = rand(n, n, dtype=np.float64)
    return a + a.T + 2 * n * np.eye(n)


def fft_row(n):
    return lambda: (jnp.fft.fft, numbers(n), P())


def rfft_row(n):
    return lambda: (jnp.fft.rfft, rand(n), P())


def pencils(x):
    return jax.lax.with_sharding_constraint(jnp.fft.fftn(x), P(None, "d"))


IMAGES = 8


def convolution(side, features, out, kernel, stride):
    """Returns the convolution, and the shapes of images, kernel and result."""
    after = -(-side // stride)
    shapes = (
        (IMAGES, side, side, features),
        (kernel, kernel, features, out),
        (IMAGES, after, after, out),
    )
    return (
        lambda x, w: jax.lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        *shapes,
    )


def conv_row(part, *sizes):
    conv, x, w, out = convolution(*sizes)
    if part == "conv":
        return lambda: (conv, (rand(*x), rand(*w)), (P("d"), P()))
    if part == "conv_data":

        def data(g, w):
            like = jax.ShapeDtypeStruct(x, np.float32)
            return jax.linear_transpose(lambda image: conv(image, w), like)(g)[0]

        return lambda: (data, (rand(*out), rand(*w)), (P("d"), P()))

    def weights(g, image):
        like = jax.ShapeDtypeStruct(w, np.float32)
        return jax.linear_transpose(lambda kernel: conv(image, kernel), like)(g)[0]

    return lambda: (weights, (rand(*out), rand(*x)), (P("d"), P("d")))


def pool_row(kind, n, layout):
    side = size(112, 8)
    shape = (16, side, side, 64) if layout == "nhwc" else (16, 64, side, side)
    at = (1, 2) if layout == "nhwc" else (2, 3)
    window = tuple(n if d in at else 1 for d in range(4))
    strides = tuple(2 if d in at else 1 for d in range(4))

    def pool(x):
        if kind == "max":
            return jax.lax.reduce_window(x, -np.float32(np.inf), jax.lax.max, window, strides, "VALID")
        return jax.lax.reduce_window(x, np.float32(0), jax.lax.add, window, strides, "VALID") / (n * n)

    return lambda: (pool, rand(*shape), P("d"))


def fashion_row():
    import fashion

    pixels, labels = fashion.random_examples(2560)
    state = fashion.start("dp", mesh)
    order = jax.random.permutation(jax.random.key(1), len(labels))
    arguments = (state, pixels, labels, order)
    return fashion.step_of("dp", D), arguments, (P(),) * len(arguments)


def minilm_row():
    import minilm

    batch, places = size(64, 8), size(128, 16)
    tokens = RNG.integers(0, minilm.VOCABULARY, (batch, places), dtype=np.int32)
    lengths = (places // 2 + np.arange(batch) % (places // 2)).astype(np.int32)
    return minilm.encode, (minilm.random_weights(RNG), tokens, lengths), (P(), P("d"), P("d"))


def segment_row(is_sorted):
    n, segments = size(1 << 24, 1 << 10), size(1 << 20, 1 << 6)
    ids = np.arange(n) // (n // segments) if is_sorted else RNG.integers(0, segments, n)
    return (
        lambda x, of_rows: jax.ops.segment_sum(x, of_rows, segments),
        (rand(n), ids.astype(np.int32)),
        (P("d"), P("d")),
    )


def loss_row(changed):
    batch, vocabulary = size(256, 8), size(128000, 64)

    def loss(x, labels):
        of_labels = jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1)
        return -of_labels.mean()

    labels = RNG.integers(0, vocabulary, batch).astype(np.int32)
    return changed(loss), (rand(batch, vocabulary), labels), (P(None, "d"), P())


# NAME -> () -> (function, argument or arguments, their shardings)
ROWS = {
    "fft_prime": fft_row(size(1000003, 1009)),
    "fft_rows": lambda: (jnp.fft.fft, numbers(size(4096, 64), size(1024, 16)), P("d")),
    "fft_batched_3d": lambda: (
        lambda x: jnp.fft.fftn(x, axes=(1, 2, 3)),
        numbers(8, *[size(64, 8)] * 3),
        P("d"),
    ),
    "fft_pencils": lambda: (pencils, numbers(*[size(256, 16)] * 3), P("d")),
    "cholesky": lambda: (
        lambda a: jax.lax.linalg.cholesky(a, symmetrize_input=False),
        definite(size(4096, 64)),
        P("d"),
    ),
    "eigh": lambda: (
        lambda a: jnp.linalg.eigh(a, symmetrize_input=False)[1],
        definite(size(1024, 32)),
        P(),
    ),
    "svd": lambda: (
        lambda a: jnp.linalg.svd(a)[0],
        rand(*[size(1024, 32)] * 2, dtype=np.float64),
        P(),
    ),
    "batched_solve": lambda: (
        lambda a: jnp.linalg.solve(a, a),
        rand(size(4096, 16), 16, 16) + 8 * np.eye(16, dtype=np.float32),
        P("d"),
    ),
    "cumsum_rows": lambda: (
        lambda a: jnp.cumsum(a, 1),
        rand(size(4096, 32), size(4096, 32)),
        P("d"),
    ),
    "cumsum_columns": lambda: (
        lambda a: jnp.cumsum(a, 0),
        rand(size(4096, 32), size(4096, 32)),
        P(None, "d"),
    ),
    "sort": lambda: (jnp.sort, rand(size(1 << 24, 1 << 10)), P("d")),
}
ROWS["fashion_step"] = fashion_row
ROWS["segment_sum_random"] = lambda: segment_row(False)
ROWS["segment_sum_sorted"] = lambda: segment_row(True)
ROWS["cross_entropy"] = lambda: loss_row(lambda loss: loss)
ROWS["cross_entropy_grad"] = lambda: loss_row(jax.grad)
ROWS["minilm"] = minilm_row
for part in ("conv", "conv_data", "conv_weights"):
    ROWS[f"{part}_7x7_224"] = conv_row(part, 224, 3, 64, 7, 2)
    for side, features in ((56, 64), (28, 128), (14, 256), (7, 512)):
        ROWS[f"{part}_3x3_{side}"] = conv_row(part, side, features, features, 3, 1)
for kind in ("max", "avg"):
    for n in (2, 3):
        for layout in ("nhwc", "nchw"):
            ROWS[f"pool_{kind}_{n}x{n}_{layout}"] = pool_row(kind, n, layout)
for n in (1 << 10, 1 << 14, 1 << 18, 1 << 22):
    ROWS[f"fft_{n}"] = fft_row(n)
    ROWS[f"rfft_{n}"] = rfft_row(n)

mesh = jax.make_mesh((D,), ("d",), axis_types=(AxisType.Auto,))
with jax.set_mesh(mesh):
    function, arguments, specs = ROWS[args.name]()
    if not isinstance(arguments, tuple):
        arguments, specs = (arguments,), (specs,)
    arguments = [
        jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))
        for x, spec in zip(arguments, specs)
    ]
    run = jax.jit(function)

    def call():
        start = time.perf_counter()
        jax.block_until_ready(run(*arguments))
        return (time.perf_counter() - start) * 1e6

    for _ in range(3):
        call()
    samples = []
    end = time.perf_counter() + (0.05 if args.quick else 1.2)
    while len(samples) < 3 or (len(samples) < 60 and time.perf_counter() < end):
        samples.append(call())

print(
    json.dumps(
        {
            "workload": "W15." + args.name,
            "peer": "jax",
            "version": jax.__version__,
            "params": {"devices": D},
            "unit": "us",
            "median": statistics.median(samples),
            "n": len(samples),
        }
    )
)
