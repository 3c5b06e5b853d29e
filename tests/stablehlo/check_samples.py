"""Runs the samples that stablehlo_samples wrote with XLA and compares with the references.

  check_samples.py RUN_WITH_JAX.py DIR [--only WORD] [--verbose]

Prints the samples that differ and, per op, how many agree. The exit status is 1 if any differs."""
import argparse
import collections
import importlib.util
import json
import multiprocessing
import os
import queue
import re
import sys

# Names of dtypes in samples.json -> of element types in MLIR.
ELEMENTS = {'bool': 'i1', 'c64': 'complex<f32>', 'c128': 'complex<f64>', 'f8_e3m4': 'f8E3M4',
            'f8_e4m3': 'f8E4M3', 'f8_e4m3b11fnuz': 'f8E4M3B11FNUZ', 'f8_e4m3fn': 'f8E4M3FN',
            'f8_e4m3fnuz': 'f8E4M3FNUZ', 'f8_e5m2': 'f8E5M2', 'f8_e5m2fnuz': 'f8E5M2FNUZ'}


# Programs that XLA runs right on one device, but wrong where its partitioner divides them, with the
# reason (docs/differences.md#xlas-partitioner). Any other program must agree.
PARTITIONER_WRONG = {
    'random_20': 'a pad with elements between those of a sharded dim',
}


def load(path):
  spec = importlib.util.spec_from_file_location('run_with_jax', path)
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module


def element_of(dtype):
  if dtype in ELEMENTS:
    return ELEMENTS[dtype]
  return 'u' + 'i' + dtype[1:] if dtype[0] == 'u' else dtype


def read(jax, folder, entry):
  import numpy as np
  data = open(os.path.join(folder, entry['file']), 'rb').read()
  return np.frombuffer(data, jax.np_dtype(element_of(entry['dtype']))).reshape(entry['shape'])


def wide(a):
  import numpy as np
  if a.dtype.kind == 'c':
    return a.astype(np.complex128)
  if a.dtype.kind in 'biu' or 'int' in a.dtype.name:
    return a.astype(object) if a.dtype.name in ('uint64', 'int64') else a.astype(np.int64)
  return a.astype(np.float64)


def bits_of_mantissa(dtype):
  import ml_dtypes
  name = {'complex64': 'float32', 'complex128': 'float64'}.get(dtype.name, dtype.name)
  return ml_dtypes.finfo(name).nmant


def difference(got, want, sample):
  """A description of the first difference, or None. Other floating functions round otherwise, so a
  few more units are allowed than Tessera's own kernels have."""
  import numpy as np
  if got.shape != want.shape:
    return f'shape {got.shape}, not {want.shape}'
  is_float = want.dtype.kind == 'c' or not (want.dtype.kind in 'biu' or 'int' in want.dtype.name)
  g, w = wide(got).reshape(-1), wide(want).reshape(-1)
  if not sample['unique']:  # the sign, or the phase, of vectors may differ
    g, w = np.abs(g), np.abs(w)
  if not is_float:
    for i in range(len(w)):
      if g[i] != w[i]:
        return f'element {i}: {g[i]}, not {w[i]}'
    return None
  unit = 2.0 ** -bits_of_mantissa(want.dtype)
  eps = max(sample['eps'], 16) * unit
  with np.errstate(all='ignore'):
    # Parts of complex numbers are compared with the number's magnitude.
    size = np.maximum(np.abs(w), max(sample['magnitude'], LOOSE.get(sample['op'], 0)))
    pairs = [(g.real, w.real), (g.imag, w.imag)] if w.dtype.kind == 'c' else [(g, w)]
    tiny = float(np.finfo(np.float64 if want.dtype.name in ('float64', 'complex128') else np.float32).tiny)
    for gp, wp in pairs:
      same = (gp == wp) | (np.isnan(gp) & np.isnan(wp)) | (np.abs(gp - wp) <= eps * size + tiny)
      if not same.all():
        i = int(np.argmin(same))
        return f'element {i}: {g[i]!r}, not {w[i]!r} (of {np.count_nonzero(~same)} that differ)'
  return None


def adjoint(m):
  import numpy as np
  return np.swapaxes(m.conj(), -1, -2)


def eigen_difference(a, got, want):
  """Eigenvalues may come in any order. Each has a vector of length 1, whose largest element is
  real."""
  import numpy as np
  if not a.size:
    return None
  values, wanted = got[-1], want[-1]
  for row, goal in zip(values.reshape(-1, values.shape[-1]), wanted.reshape(-1, wanted.shape[-1])):
    left = list(goal)
    for value in row:
      near = min(left, key=lambda w: abs(w - value))
      if not abs(near - value) <= 1e-3:
        return f'eigenvalue {value}, not one of {left}'
      left.remove(near)
  if len(got) == 1:
    return None
  vectors = got[0]
  if not np.abs(a @ vectors - vectors * values[..., None, :]).max() <= 1e-3:
    return 'a vector is not an eigenvector'
  largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=-2)[..., None, :], -2)
  lengths = np.sqrt((np.abs(vectors)**2).sum(axis=-2))
  if not (np.abs(lengths - 1).max() <= 1e-4 and np.abs(largest.imag).max() <= 1e-4):
    return 'an eigenvector is not normalised'
  return None


def schur_difference(a, got, want):
  """Any unitary z and upper triangular t with z t z^H = a are right. Of real matrices t has blocks
  of 2 x 2."""
  import numpy as np
  if len(got) == 1 or not a.size:
    return None
  t, z = got
  below = np.tril(t, -1 if np.iscomplexobj(t) else -2)
  sub = np.diagonal(t, -1, -2, -1)
  if not np.abs(adjoint(z) @ z - np.eye(a.shape[-1])).max() <= 1e-4:
    return 'z is not unitary'
  if not np.abs(z @ t @ adjoint(z) - a).max() <= 1e-3:
    return 'z t z^H is not the operand'
  if below.any() or (sub[..., 1:] * sub[..., :-1]).any():
    return 't has elements below its blocks'
  return None


# Factorisations that are not unique beyond the phase of a vector, by op.
EQUATIONS = {'eig': eigen_difference, 'schur': schur_difference}


# Functions for which XLA has approximations whose error is absolute where the result is near 0.
LOOSE = {'atanh': 1, 'digamma': 1, 'lgamma': 1}


def without_shardings(text):
  """The same program for one device, or None: manual computations have shardings of their own."""
  if 'sdy.manual_computation' in text or 'sdy.mesh' not in text:
    return None
  text = re.sub(r'sdy\.sharding_constraint (%\S+) <.*> : ', r'stablehlo.optimization_barrier \1 : ', text)
  text = re.sub(r' \{sdy\.sharding = #sdy\.sharding<@mesh, \[.*?\](, \w+=\{.*?\})*>\}', '', text)
  return re.sub(r'sdy\.mesh .*\n', '', text)


def check(jax, folder, sample):
  text = open(os.path.join(folder, sample['text'])).read()
  problem = check_text(jax, folder, sample, text)
  alone = without_shardings(text) if problem else None
  if alone and not check_text(jax, folder, sample, alone):
    return 'on several devices only: ' + problem
  return problem


def check_text(jax, folder, sample, text):
  import numpy as np
  program = jax.Program(text)
  inputs = [read(jax, folder, x) for x in sample.get('inputs') or []]
  got = program.run(inputs)
  if not sample['unique'] and sample['op'] in EQUATIONS:
    wanted = [wide(read(jax, folder, entry)) for entry in sample['outputs']]
    return EQUATIONS[sample['op']](wide(inputs[0]), [wide(np.asarray(g)) for g in got], wanted)
  for k, (g, entry) in enumerate(zip(got, sample['outputs'])):
    d = difference(np.asarray(g), read(jax, folder, entry), sample)
    if d:
      return f'result {k}: {d}'
  return None


def run_some(runner, folder, samples, results):
  """Puts (index, problem) of each sample into the queue. It has a process of its own, as programs
  that XLA cannot compile may end it."""
  jax = load(runner)
  jax.setup(8)
  for index, sample in samples:
    results.put((index, 'started'))
    try:
      problem = check(jax, folder, sample)
    except Exception as e:  # does not parse, compile or run
      problem = f'{type(e).__name__}: {e}'[:400].replace('\n', ' ')
    results.put((index, problem))


def run_all(o, samples):
  """Returns the problem of each sample by its index; None: it agrees."""
  context = multiprocessing.get_context('spawn')
  left, problems = list(enumerate(samples)), {}
  while left:
    results = context.Queue()
    process = context.Process(target=run_some, args=(o.run_with_jax, o.folder, left, results))
    process.start()
    started = None
    while process.is_alive() or not results.empty():
      try:
        index, problem = results.get(timeout=1)
      except queue.Empty:
        continue
      if problem == 'started':
        started = index
        continue
      started = None
      problems[index] = problem
      if problem and o.verbose:
        print(f"{samples[index]['text']} {samples[index]['name'][:160]}: {problem}", flush=True)
    if started is not None:
      problems[started] = 'XLA ended the process'
    left = [(i, s) for i, s in left if i not in problems]
  return problems


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('run_with_jax')
  parser.add_argument('folder')
  parser.add_argument('--only', help='op names, separated by commas')
  parser.add_argument('--verbose', action='store_true', help='print every sample that differs')
  o = parser.parse_args()
  listed = json.load(open(os.path.join(o.folder, 'samples.json')))
  only = set(o.only.split(',')) if o.only else None
  samples = [s for s in listed['samples'] if not only or s['op'] in only]
  agree, differ, why = collections.Counter(), collections.Counter(), collections.defaultdict(list)
  argued = []
  for index, problem in sorted(run_all(o, samples).items()):
    sample = samples[index]
    if problem and problem.startswith('on several') and sample['name'] in PARTITIONER_WRONG:
      argued.append(sample['name'])
      continue
    (differ if problem else agree)[sample['op']] += 1
    if problem:
      why[sample['op']].append(f"{sample['text']} {sample['name'][:160]}: {problem}")
  for op in sorted(why):
    print(f'{op}: {agree[op]} agree, {differ[op]} differ')
    for line in why[op][:3]:
      print('   ', line)
  refused = collections.Counter(s['op'] for s in listed['refused'] if not only or s['op'] in only)
  print('refused:', ', '.join(f'{op} ({n})' for op, n in sorted(refused.items())))
  for name in argued:
    print(f'{name}: XLA partitions it wrongly: {PARTITIONER_WRONG[name]}')
  print(f'{sum(agree.values())} samples of {len(agree)} ops agree, {sum(differ.values())} of '
        f'{len(differ)} ops differ, {sum(refused.values())} are refused; {len(argued)} programs '
        'agree on one device, but are wrong where XLA partitions them')
  sys.exit(bool(differ))


if __name__ == '__main__':
  main()
