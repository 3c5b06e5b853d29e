#!/bin/bash
# check.sh GOLDEN EXIT_CODE PROGRAM [ARGUMENT...]: compares what the program prints, on both streams,
# with the golden file, and its exit code. UPDATE_GOLDEN=1 writes the file instead.
set -uo pipefail

golden=$1 wanted=$2
shift 2
printed=$("$@" 2>&1)
code=$?

if ((code != wanted)); then
  printf '%s\nexit code %d, not %d\n' "$printed" "$code" "$wanted"
  exit 1
fi
if [[ ${UPDATE_GOLDEN:-} == 1 ]]; then
  mkdir -p "$(dirname "$golden")"
  printf '%s\n' "$printed" >"$golden"
  echo "wrote $golden"
elif ! diff -u "$golden" - <<<"$printed"; then
  echo "the output is not that of $golden; if it should be: UPDATE_GOLDEN=1 scripts/test -R cli"
  exit 1
fi
