#!/usr/bin/env python3
"""JAX's side of samples/minilm: the same encoder.

  python minilm.py MODEL_FOLDER < TEXT

Prints the cosines of the lines of a text, as `minilm --lines` does; it needs the packages safetensors
and tokenizers. numerics.py takes `encode` from here, with random weights.
"""
import sys

import jax
import jax.numpy as jnp
import numpy as np

VOCABULARY, PLACES, WIDTH, HEADS, HIDDEN, LAYERS = 30522, 512, 384, 12, 1536, 6


def dense(w, name, x):
    return jnp.einsum("bti,oi->bto", x, w[name + ".weight"]) + w[name + ".bias"]


def normalise(w, name, x):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-12) * w[name + ".weight"] + w[name + ".bias"]


def layer(w, at, x, lengths):
    def heads(name):
        y = dense(w, f"{at}.attention.self.{name}", x)
        return y.reshape(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS)

    mixed = jax.nn.dot_product_attention(
        heads("query"), heads("key"), heads("value"), key_value_seq_lengths=lengths)
    mixed = dense(w, at + ".attention.output.dense", mixed.reshape(x.shape))
    x = normalise(w, at + ".attention.output.LayerNorm", x + mixed)
    up = jax.nn.gelu(dense(w, at + ".intermediate.dense", x), approximate=False)
    return normalise(w, at + ".output.LayerNorm", x + dense(w, at + ".output.dense", up))


def encode(w, tokens, lengths):
    e = "embeddings."
    x = (w[e + "word_embeddings.weight"][tokens]
         + w[e + "position_embeddings.weight"][: tokens.shape[1]]
         + w[e + "token_type_embeddings.weight"][0])
    x = normalise(w, e + "LayerNorm", x)
    for i in range(LAYERS):
        x = layer(w, f"encoder.layer.{i}", x, lengths)
    count = lengths[:, None]
    real = (jnp.arange(tokens.shape[1]) < count)[:, :, None]
    pooled = jnp.where(real, x, 0).sum(1) / count
    return pooled / jnp.linalg.norm(pooled, axis=-1, keepdims=True)


def random_weights(rng):
    def normal(*shape):
        return (0.05 * rng.standard_normal(shape)).astype(np.float32)

    w = {}

    def add_dense(name, outputs, inputs):
        w[name + ".weight"], w[name + ".bias"] = normal(outputs, inputs), normal(outputs)

    def add_gains(name):
        w[name + ".weight"], w[name + ".bias"] = np.ones(WIDTH, np.float32), normal(WIDTH)

    for name, rows in (("word", VOCABULARY), ("position", PLACES), ("token_type", 2)):
        w[f"embeddings.{name}_embeddings.weight"] = normal(rows, WIDTH)
    add_gains("embeddings.LayerNorm")
    for i in range(LAYERS):
        at = f"encoder.layer.{i}"
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            add_dense(f"{at}.attention.{name}", WIDTH, WIDTH)
        add_gains(at + ".attention.output.LayerNorm")
        add_dense(at + ".intermediate.dense", HIDDEN, WIDTH)
        add_dense(at + ".output.dense", WIDTH, HIDDEN)
        add_gains(at + ".output.LayerNorm")
    return w


def main():
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = sys.argv[1]
    jax.config.update("jax_enable_x64", True)
    w = load_file(folder + "/model.safetensors")
    w = {k: jnp.asarray(v, np.float64) for k, v in w.items() if v.dtype == np.float32}
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    rows = []
    for line in sys.stdin.read().splitlines():
        ids = tokenizer.encode(line).ids
        rows.append(encode(w, jnp.asarray([ids]), jnp.asarray([len(ids)], np.int32))[0])
    rows = jnp.stack(rows)
    for row in rows @ rows.T:
        print(" ".join(f"{c:.6f}" for c in row))


if __name__ == "__main__":
    main()
