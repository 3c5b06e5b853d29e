#!/bin/bash
# check.sh GOLDEN PROGRAM [ARGUMENT...]: compares the program's output with the golden file.
# UPDATE_GOLDEN=1 writes the file instead.
set -euo pipefail

golden=$1
shift
# The last digits of a rounding error are the machine's own; the program itself judges their size.
printed=$("$@" | sed -E 's/[0-9]\.[0-9]e[-+][0-9]+ \(at most/ROUNDING (at most/')

if [[ ${UPDATE_GOLDEN:-} == 1 ]]; then
  printf '%s\n' "$printed" >"$golden"
  echo "wrote $golden"
elif ! diff -u "$golden" - <<<"$printed"; then
  echo "the output is not that of $golden; if it should be: UPDATE_GOLDEN=1 scripts/test -R samples"
  exit 1
fi
