"""Writes gpt2.mlir with JAX 0.10.2: a training step of GPT-2 small, 124 million parameters.

There is no mesh and no sharding: the text is that of a notebook with one device.
"""
import jax
import jax.numpy as jnp

LAYERS, WIDTH, HEADS, VOCABULARY, LENGTH, BATCH = 12, 768, 12, 50304, 1024, 512


def norm(x, scale):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def attention(x, p):
    q, k, v = jnp.einsum("btd,dchk->cbthk", x, p["qkv"])
    scores = jnp.einsum("bthk,bshk->bhts", q, k) / jnp.sqrt(1.0 * q.shape[-1])
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1)
    return jnp.einsum("bhts,bshk,hkd->btd", weights, v, p["out"])


def mlp(x, p):
    return jax.nn.gelu(x @ p["up"]) @ p["down"]


@jax.checkpoint
def block(x, p):
    x = x + attention(norm(x, p["norm1"]), p)
    return x + mlp(norm(x, p["norm2"]), p), None


def loss(params, tokens):
    x = params["embedding"][tokens[:, :-1]] + params["positions"]
    x, _ = jax.lax.scan(block, x, params["blocks"])
    logits = norm(x, params["norm"]) @ params["embedding"].T
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1).mean()


def step(params, tokens):
    value, gradient = jax.value_and_grad(loss)(params, tokens)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradient), value


def shapes():
    of = lambda *dims: jax.ShapeDtypeStruct(dims, jnp.float32)
    blocks = dict(
        norm1=of(LAYERS, WIDTH),
        norm2=of(LAYERS, WIDTH),
        qkv=of(LAYERS, WIDTH, 3, HEADS, WIDTH // HEADS),
        out=of(LAYERS, HEADS, WIDTH // HEADS, WIDTH),
        up=of(LAYERS, WIDTH, 4 * WIDTH),
        down=of(LAYERS, 4 * WIDTH, WIDTH),
    )
    params = dict(
        embedding=of(VOCABULARY, WIDTH), positions=of(LENGTH, WIDTH), norm=of(WIDTH), blocks=blocks
    )
    return params, jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32)


if __name__ == "__main__":
    jax.config.update("jax_traceback_in_locations_limit", 1)
    with open("gpt2.mlir", "w") as file:
        text = jax.jit(step).lower(*shapes()).as_text(debug_info=True)
        file.write(text.replace(__file__, "gpt2.py"))
