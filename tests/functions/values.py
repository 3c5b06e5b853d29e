#!/usr/bin/env python3
"""values.py: evaluates the rows of rows_*.cc with JAX 0.10.2 and writes values.jsonl.

Run it where JAX is installed, on a CPU, after rows have changed. Lines of unchanged rows stay.
"""
import glob, json, math, os, re, sys

os.environ['JAX_PLATFORMS'] = 'cpu'
import numpy as np
import jax, jax.numpy as jnp, jax.scipy.special as jsp, jax.nn as jnn
import jax.scipy.linalg as jsl, jax.scipy.signal as jss, jax.scipy.stats as jst
from jax.scipy.ndimage import map_coordinates
from jax import lax

jax.config.update('jax_enable_x64', True)
HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {'f16': 'float16', 'bf16': 'bfloat16', 'f32': 'float32', 'f64': 'float64',
         'c64': 'complex64', 'c128': 'complex128', 'bool': 'bool'}
NAMES |= {f'{s}{b}': f'{n}{b}' for s, n in (('i', 'int'), ('u', 'uint')) for b in (8, 16, 32, 64)}
SHORT = {v: k for k, v in NAMES.items()}


def rows():
    literal = r'"((?:[^"\\]|\\.)*)"'
    joined = rf'({literal}(?:\s*{literal})*)'
    for path in sorted(glob.glob(f'{HERE}/rows_*.cc')):
        text = re.sub(r'//.*', '', open(path).read())
        for m in re.finditer(r'\{\s*' + joined + r',\s*' + joined + r',\s*' + joined + r',\s*\[\]',
                             text):
            parts = [''.join(re.findall(literal, g)) for g in (m[1], m[4], m[7])]
            yield [p.encode().decode('unicode_escape') for p in parts]


def number(text):
    return {'nan': math.nan, 'inf': math.inf, '-inf': -math.inf}.get(text) or float(text)


def data(spec, rng):
    """Returns the array of an operand: type, then how it is filled."""
    m = re.fullmatch(r'(\w+)\[([\d,]*)\](.*)', spec)
    dtype, fill = jnp.dtype(NAMES[m[1]]), m[3]
    shape = tuple(int(n) for n in m[2].split(',') if n)
    n = math.prod(shape)
    if fill.startswith('='):
        values = [number(v) for v in fill[1:].split(',')]
        if dtype.kind in 'iub':
            values = [int(v) for v in fill[1:].split(',')]
        values = np.array(values)
    elif fill == '~':
        info = jnp.finfo(dtype)
        low, high = math.log2(float(info.smallest_subnormal)), math.log2(float(info.max))
        size = 2.0 ** rng.uniform(low, high, n)
        size = np.concatenate([[0, 0, 1, 1, math.inf, math.inf, math.nan], size])[:n]
        values = size * np.where(np.arange(n) % 2, -1, 1)
    elif fill == 'p':
        values = (rng.permutation(n) - n // 2) / (1 if dtype.kind in 'iu' else 4)
    else:
        low, high = [float(v) for v in fill[1:].split(':')] if fill else (-2, 2)
        if dtype.kind in 'iu':
            values = rng.integers(int(max(low, 0) if dtype.kind == 'u' else low), int(high), n)
        elif dtype.kind == 'b':
            values = rng.integers(0, 2, n)
        else:
            values = np.round(rng.uniform(low, high, n) * 4096) / 4096
            values = np.clip(values, low, high)
            if dtype.kind == 'c':
                values = values + 1j * np.round(rng.uniform(low, high, n) * 4096) / 4096
    return jnp.asarray(np.asarray(values).reshape(shape)).astype(dtype)


def plain(x):
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, complex):
        return [plain(x.real), plain(x.imag)]
    if isinstance(x, float):
        return x if math.isfinite(x) else 'nan' if math.isnan(x) else 'inf' if x > 0 else '-inf'
    return int(x)


def written(x):
    x = jnp.asarray(x)
    flat = np.asarray(x).ravel()
    if x.dtype.kind not in 'iub' and x.dtype != jnp.complex64 and x.dtype != jnp.complex128:
        flat = flat.astype(np.float64)
    shape = ','.join(map(str, x.shape))
    return {'type': f'{SHORT[str(x.dtype)]}[{shape}]', 'data': plain(flat.tolist())}


def smooth(x):
    return jnp.issubdtype(x.dtype, jnp.inexact)


def evaluate(name, code, operands):
    rng = np.random.default_rng(sum(map(ord, name)))
    xs = [data(spec, rng) for spec in operands.split()]
    scope = dict(jnp=jnp, jsp=jsp, jsl=jsl, jss=jss, jst=jst, jnn=jnn, lax=lax, jax=jax, np=np, math=math,
                 map_coordinates=map_coordinates)
    call = eval('lambda ' + ', '.join('abcdefgh'[:len(xs)]) + ': ' + code, scope)

    def results(*xs):
        made = call(*xs)
        return [jnp.asarray(y) for y in made] if isinstance(made, (list, tuple)) else [made]

    made = results(*xs)
    cts = [jnp.asarray(np.cos(np.arange(y.size) + 1.0).reshape(y.shape)).astype(
        y.real.dtype) for y in made if smooth(y)]
    line = {'name': name, 'jax': code, 'operands': operands,
            'arguments': [written(x) for x in xs], 'results': [written(y) for y in made],
            'cotangents': [written(c) for c in cts]}
    numbers = [i for i, x in enumerate(xs) if smooth(x)]
    if not numbers or not cts:
        return line

    def loss(*xs):
        total = jnp.zeros((), jnp.float64)
        for y, c in zip([y for y in results(*xs) if smooth(y)], cts):
            total += jnp.sum((y * c).real).astype(jnp.float64)
        return total

    try:
        grads = jax.grad(loss, numbers)(*xs)
    except Exception as e:
        print(f'{name} has no gradient: {str(e).splitlines()[0][:150]}', file=sys.stderr)
        return line
    line['gradients'] = [written(grads[numbers.index(i)]) if i in numbers else None
                         for i in range(len(xs))]
    return line


def main():
    path = f'{HERE}/values.jsonl'
    old = {}
    if os.path.exists(path):
        old = {v['name']: v for v in map(json.loads, open(path))}
    lines = []
    for name, code, operands in rows():
        was = old.get(name)
        if not (was and was['jax'] == code and was['operands'] == operands):
            try:
                was = evaluate(name, code, operands)
            except Exception as e:
                print(f'{name}: {type(e).__name__} {str(e)[:300]}', file=sys.stderr)
                continue
        lines.append(json.dumps(was))
    open(path, 'w').write('\n'.join(lines) + '\n')
    print(len(lines), 'rows')


if __name__ == "__main__":
    main()
