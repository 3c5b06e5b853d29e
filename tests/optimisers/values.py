#!/usr/bin/env python3
"""values.py: runs the rows of rows.cc with optax 0.2 for 100 steps and writes values.jsonl.

Run it where optax is installed, on a CPU, after rows have changed. Lines of unchanged rows stay.
"""
import json, os, re

os.environ['JAX_PLATFORMS'] = 'cpu'
import numpy as np
import jax, jax.numpy as jnp, optax

jax.config.update('jax_enable_x64', True)
HERE = os.path.dirname(os.path.abspath(__file__))
SHAPES = {'b': (8,), 'k': (2, 8, 2), 'w': (8, 2)}
DTYPES = {'f32': 'float32', 'f64': 'float64', 'bf16': 'bfloat16'}
AFTER = (3, 100)


def rows():
    literal = r'"((?:[^"\\]|\\.)*)"'
    joined = rf'({literal}(?:\s*{literal})*)'
    text = re.sub(r'//.*', '', open(f'{HERE}/rows.cc').read())
    for m in re.finditer(r'\{\s*' + joined + r',\s*' + joined + r',\s*\[\](.*?)\}(?=,\s*(\{"|\};))',
                         text, re.S):
        name, code = [''.join(re.findall(literal, g)) for g in (m[1], m[4])]
        dtype = re.search(r'"(f64|bf16)"\s*$', m[7])
        yield name, code, dtype[1] if dtype else 'f32'


def arrays(of, dtype):
    """Returns of(index) for the numbers of all elements, in the order of the tree."""
    out, first = {}, 0
    for name, shape in SHAPES.items():
        index = np.arange(first, first + np.prod(shape)).reshape(shape)
        out[name] = jnp.asarray(of(index)).astype(dtype)
        first += index.size
    return out


def run(code, dtype):
    matrices = {name: len(shape) > 1 for name, shape in SHAPES.items()}
    optimiser = eval(code, dict(optax=optax, jax=jax, jnp=jnp, matrices=matrices))
    params = arrays(lambda i: (i * 29 % 41 - 20) / 16, dtype)
    target = arrays(lambda i: (i * 17 % 31 - 15) / 16, dtype)
    slope = arrays(lambda i: (1 + i % 5) / 8, dtype)
    index = arrays(lambda i: i, 'int32')
    state, kept = optimiser.init(params), []
    # Compiled, ops of 16 bits would round less often.
    update = optimiser.update if dtype == 'bf16' else jax.jit(optimiser.update)
    for t in range(max(AFTER)):
        def gradient(p, target, slope, i):
            return slope * (p - target) + ((t * 37 + i * 11) % 64 - 32).astype(dtype) / 64
        grads = jax.tree.map(gradient, params, target, slope, index)
        updates, state = update(grads, state, params)
        params = optax.apply_updates(params, updates)
        if t + 1 in AFTER:
            kept.append(jnp.concatenate([p.ravel() for p in params.values()]))
    return kept


def evaluate(name, code, dtype):
    if '_schedule(' in code.split('(')[0] + '(' or code.startswith(
            ('optax.exponential_decay', 'optax.join')):
        f = eval(code)
        values = [[float(f(jnp.asarray(t, 'int32'))) for t in range(30)]]
    else:
        jax.config.update('jax_enable_x64', dtype == 'f64')
        values = run(code, DTYPES[dtype])
    digits = {'f32': 9, 'f64': 17, 'bf16': 4}[dtype]
    values = [[float(f'{float(v):.{digits}g}') for v in row] for row in values]
    return {'name': name, 'optax': code, 'values': values}


def main():
    path, old = f'{HERE}/values.jsonl', {}
    if os.path.exists(path):
        old = {v['name']: v for v in map(json.loads, open(path))}
    lines = []
    for name, code, dtype in rows():
        was = old.get(name)
        lines.append(was if was and was['optax'] == code else evaluate(name, code, dtype))
    open(path, 'w').write(''.join(json.dumps(line) + '\n' for line in lines))


main()
