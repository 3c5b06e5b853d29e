#!/usr/bin/env python3
"""options.py: writes options.txt, the keyword options of the functions of JAX 0.10.2 that a file of
this folder names with one of ours. A line is the module, the name, and the options.

An option is a parameter with a default, or one that is given by its name alone.
"""
import glob, importlib, inspect, os

HERE = os.path.dirname(os.path.abspath(__file__))
EMPTY = inspect.Parameter.empty


def options(function):
    return [p.name for p in inspect.signature(function).parameters.values()
            if p.kind == p.KEYWORD_ONLY or (p.default is not EMPTY and p.kind != p.VAR_KEYWORD)]


def main():
    lines = []
    for path in sorted(glob.glob(f'{HERE}/*.txt')):
        module = os.path.basename(path)[:-len('.txt')]
        try:
            jax = importlib.import_module('jax.' + module)
        except ImportError:
            continue  # a list of operations, or of options
        for line in open(path):
            parts = line.rstrip('\n').split('\t')
            if len(parts) != 2:
                continue
            function = jax
            for name in parts[0].split('.'):
                function = getattr(function, name)
            if names := options(function):
                lines.append('\t'.join([module, parts[0], ' '.join(names)]))
    with open(f'{HERE}/options.txt', 'w') as out:
        out.write('\n'.join(lines) + '\n')
    print(len(lines), 'functions with options')


if __name__ == '__main__':
    main()
