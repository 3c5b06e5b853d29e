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


# NAME -> () -> (function, argument, its sharding)
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
    "sort": lambda: (jnp.sort, rand(size(1 << 24, 1 << 10)), P("d")),
}
for n in (1 << 10, 1 << 14, 1 << 18, 1 << 22):
    ROWS[f"fft_{n}"] = fft_row(n)
    ROWS[f"rfft_{n}"] = rfft_row(n)

mesh = jax.make_mesh((D,), ("d",), axis_types=(AxisType.Auto,))
with jax.set_mesh(mesh):
    function, x, spec = ROWS[args.name]()
    x = jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))
    run = jax.jit(function)

    def call():
        start = time.perf_counter()
        jax.block_until_ready(run(x))
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
