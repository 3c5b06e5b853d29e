#!/usr/bin/env python3
"""JAX's side of samples/fashion: the same network, batches, optimizer and layouts.

  python fashion.py [--layout dp|fsdp|spatial] [--devices N] [--batches N]

Trains for some batches of one epoch and prints their last loss and the seconds that a whole epoch
would take at this speed. numerics.py takes its step from here, with random images.
"""
import argparse
import functools
import gzip
import math
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, PartitionSpec as P

SIDE, CLASSES, ROW_PADDING = 28, 10, 2
BATCH, EPOCHS, RATE, DECAY, CLIP_NORM, WARM_UP = 128, 5, 3e-3, 0.1, 1, 20
KEEP_MEAN, KEEP_SQUARE, EPSILON = 0.9, 0.98, 1e-8
CUT = {  # layout -> how a batch of images, and the first dense layer, are cut
    "dp": (P("d"), P()),
    "fsdp": (P("d"), P()),
    "spatial": (P(None, "d"), P("d")),
}


def random_examples(count):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (count, SIDE, SIDE), dtype=np.uint8)
    return jnp.asarray(pixels), jnp.asarray(rng.integers(0, CLASSES, count, dtype=np.int32))


def read_examples(folder):
    def read(name, header):
        with gzip.open(f"{folder}/train-{name}-ubyte.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    pixels = read("images-idx3", 16).reshape(-1, SIDE, SIDE)
    return jnp.asarray(pixels), jnp.asarray(read("labels-idx1", 8).astype(np.int32))


def stored(shape, layout, devices):
    """FSDP cuts the largest dim that the devices divide."""
    fitting = [d for d in range(len(shape)) if shape[d] % devices == 0]
    if layout != "fsdp" or not fitting:
        return P()
    best = max(fitting, key=lambda d: shape[d])
    return P(*["d" if d == best else None for d in range(len(shape))])


def start(layout, mesh, kernel=3, features=(16, 32), hidden=48):
    shapes = {
        "conv1": (kernel, kernel, 1, features[0]),
        "conv2": (kernel, kernel, features[0], features[1]),
        "dense1": ((SIDE + 2 * ROW_PADDING) // 4, SIDE // 4, features[1], hidden),
        "dense2": (hidden, CLASSES),
    }

    def put(x, spec):
        return jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))

    keys = jax.random.split(jax.random.key(0), len(shapes))
    weights = {}
    for key, (name, shape) in zip(keys, shapes.items()):
        scale = math.sqrt(2 / math.prod(shape[:-1]))
        w = jax.random.normal(key, shape, jnp.float32) * np.float32(scale)
        spec = CUT[layout][1] if name == "dense1" else P()
        weights[name] = (
            put(w, stored(shape, layout, mesh.size) if layout == "fsdp" else spec),
            put(jnp.zeros(shape[-1], jnp.float32), stored(shape[-1:], layout, mesh.size)),
        )
    zeros = jax.tree.map(jnp.zeros_like, weights)
    return weights, zeros, jax.tree.map(jnp.copy, zeros), put(jnp.int32(0), P())


def logits(p, x):
    def convolved(x, weights, bias):
        x = jax.lax.conv_general_dilated(
            x, weights, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        size = (1, 2, 2, 1)
        return jax.nn.relu(
            jax.lax.reduce_window(x, -np.float32(np.inf), jax.lax.max, size, size, "VALID") + bias
        )

    x = convolved(convolved(x, *p["conv1"]), *p["conv2"])
    units = jnp.einsum("nhwc,hwcd->nd", x, p["dense1"][0])
    return jax.nn.relu(units + p["dense1"][1]) @ p["dense2"][0] + p["dense2"][1]


def loss(p, x, labels):
    z = logits(p, x)
    of_label = jnp.sum(jnp.where(jax.nn.one_hot(labels, CLASSES), z, 0), -1)
    return jnp.mean(jax.nn.logsumexp(z, -1) - of_label), jnp.mean(jnp.argmax(z, -1) == labels)


def rate_at(step, steps):
    share = jnp.clip((step - WARM_UP) / max(1, steps - WARM_UP), 0, 1)
    falling = 0.55 + 0.45 * jnp.cos(math.pi * share.astype(jnp.float32))
    return RATE * jnp.minimum(((step + 1) / WARM_UP).astype(jnp.float32), falling)


def update(step, steps, g, weights, means, squares):
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(d)) for d in jax.tree.leaves(g)))
    shrink = jnp.minimum(1, CLIP_NORM / (norm + 1e-6))
    g = jax.tree.map(lambda d: d * shrink, g)
    means = jax.tree.map(lambda m, d: KEEP_MEAN * m + (1 - KEEP_MEAN) * d, means, g)
    squares = jax.tree.map(
        lambda s, d: KEEP_SQUARE * s + (1 - KEEP_SQUARE) * jnp.square(d), squares, g
    )
    n = (step + 1).astype(jnp.float32)
    full_mean, full_square = 1 - KEEP_MEAN**n, 1 - KEEP_SQUARE**n
    now = rate_at(step, steps)

    def changed(w, m, s):
        return w - now * (m / full_mean / (jnp.sqrt(s / full_square) + EPSILON) + DECAY * w)

    return jax.tree.map(changed, weights, means, squares), means, squares


def step_of(layout, devices):
    def step(state, pixels, labels, order):
        weights, means, squares, done = state
        batches = order.shape[0] // BATCH
        chosen = jax.lax.dynamic_slice(order, (done % batches * BATCH,), (BATCH,))
        x = jnp.pad(pixels[chosen], ((0, 0), (ROW_PADDING, ROW_PADDING), (0, 0)))[..., None]
        x = jax.lax.with_sharding_constraint(x, CUT[layout][0]).astype(jnp.float32) / 255
        (value, right), g = jax.value_and_grad(loss, has_aux=True)(weights, x, labels[chosen])
        if layout == "fsdp":
            constrain = lambda d: jax.lax.with_sharding_constraint(
                d, stored(d.shape, layout, devices)
            )
            g = jax.tree.map(constrain, g)
        weights, means, squares = update(done, EPOCHS * batches, g, weights, means, squares)
        return (weights, means, squares, done + 1), value, right

    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layout", choices=CUT, default="dp")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--images", default="/usr/share/datasets/fashion-mnist")
    args = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", args.devices)
    mesh = jax.make_mesh((args.devices,), ("d",), axis_types=(AxisType.Auto,))
    with jax.set_mesh(mesh):
        whole = jax.sharding.NamedSharding(mesh, P())
        pixels, labels = jax.device_put(read_examples(args.images), whole)
        order = jax.device_put(jax.random.permutation(jax.random.key(1), len(labels)), whole)
        state = start(args.layout, mesh)
        step = functools.partial(jax.jit, donate_argnums=0)(step_of(args.layout, args.devices))
        times = []
        for _ in range(args.batches + 3):
            begin = time.perf_counter()
            state, value, _ = step(state, pixels, labels, order)
            value = float(value)
            times.append(time.perf_counter() - begin)
    seconds = float(np.median(times[3:])) * (len(labels) // BATCH)
    print(f"loss {value:.4f} after {len(times)} batches, {seconds:.1f} s per epoch")


if __name__ == "__main__":
    main()
