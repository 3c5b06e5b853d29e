#!/usr/bin/env python3
"""JAX's side of `tessera_bench --only spots`: one row, one JSON line.

  python spots.py WHAT [--quick]

Sizes and values are those of benchmarks/spots.cc; one device, one process for each row.
"""
import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

QUICK = "--quick" in sys.argv
MILLIONS = 1 << (14 if QUICK else 22)  # elements


def rand(*shape):
    return jnp.asarray(np.random.default_rng(0).uniform(0, 1, shape).astype(np.float32))


def rows(columns):
    return rand(MILLIONS // columns, columns)


def whole_numbers(*shape):
    return jnp.asarray(np.random.default_rng(0).integers(-1000, 1000, shape, dtype=np.int32))


def chain_of_where(x):
    for i in range(20):
        x = jnp.where(x > 0.05 * i, x * 0.9, x + 0.1)
    return x


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def loop(body, steps):
    return lambda x: lax.fori_loop(0, steps, body, x)


def rk4_step(_, y):
    def slope(v):
        return jnp.sin(v) * 0.5 - v * 0.1

    k1 = slope(y)
    k2 = slope(y + 0.005 * k1)
    k3 = slope(y + 0.005 * k2)
    k4 = slope(y + 0.01 * k3)
    return y + (k1 + 2 * k2 + 2 * k3 + k4) * (0.01 / 6)


def im2col_convolution(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


STEPS = 100 if QUICK else 10000
SIDE = 64 if QUICK else 4096
PRODUCT = 64 if QUICK else 1024
IMAGES = 4 if QUICK else 256

# WHAT -> (function, arguments, iterations that its time is divided by)
ROWS = {
    "erf": (lambda x: jax.scipy.special.erf(x), lambda: [rand(MILLIONS)], 1),
    "gelu_by_erf": (gelu, lambda: [rand(MILLIONS)], 1),
    "remainder_i32_by_7": (lambda x: x % 7, lambda: [whole_numbers(MILLIONS)], 1),
    "quotient_i32_by_7": (lambda x: x // 7, lambda: [whole_numbers(MILLIONS)], 1),
    "where_20": (chain_of_where, lambda: [rand(MILLIONS)], 1),
    "lgamma": (lambda x: lax.lgamma(x), lambda: [rand(MILLIONS)], 1),
    "matmul_i32": (jnp.matmul, lambda: [whole_numbers(PRODUCT, PRODUCT)] * 2, 1),
    "im2col_3x3": (im2col_convolution, lambda: [rand(IMAGES, 28, 28, 16), rand(3, 3, 16, 16)], 1),
    "loop_small_op": (loop(lambda i, x: x * 0.999, STEPS), lambda: [rand(8)], STEPS),
    "loop_set": (
        loop(lambda i, x: x.at[i].set(0.5), STEPS),
        lambda: [rand(STEPS)],
        STEPS,
    ),
    "loop_rk4": (loop(rk4_step, STEPS), lambda: [rand(8)], STEPS),
    "sum_all": (jnp.sum, lambda: [rand(SIDE, SIDE)], 1),
    "sum_columns": (lambda x: jnp.sum(x, 0), lambda: [rand(SIDE, SIDE)], 1),
}
for n in (3, 16):
    ROWS[f"sum_of_squares_rows_of_{n}"] = (lambda a: jnp.sum(a * a, -1), lambda n=n: [rows(n)], 1)
    ROWS[f"softmax_rows_of_{n}"] = (lambda a: jax.nn.softmax(a, -1), lambda n=n: [rows(n)], 1)
    ROWS[f"argmin_rows_of_{n}"] = (lambda a: jnp.argmin(a, -1), lambda n=n: [rows(n)], 1)


def samples(f, arguments):
    for _ in range(3):
        jax.block_until_ready(f(*arguments))
    start = time.perf_counter()
    jax.block_until_ready(f(*arguments))
    once = max(time.perf_counter() - start, 1e-7)
    calls = max(1, int(200e-6 / once))
    seconds, most = (0.2, 5) if QUICK else (1.2, 60)
    times = []
    for _ in range(int(min(most, max(5, seconds / (once * calls))))):
        start = time.perf_counter()
        for _ in range(calls):
            jax.block_until_ready(f(*arguments))
        times.append((time.perf_counter() - start) / calls * 1e6)
    return sorted(times)


def main():
    what = sys.argv[1]
    f, arguments, iterations = ROWS[what]
    times = [t / iterations for t in samples(jax.jit(f), arguments())]
    print(
        json.dumps(
            {
                "workload": "spots",
                "peer": "jax",
                "version": jax.__version__,
                "params": {"what": what},
                "unit": "us",
                "median": times[len(times) // 2],
                "n": len(times),
                "extra": {},
            }
        )
    )


main()
