#!/bin/bash
# types.sh TESSERA TYPED SOURCE GOLDEN: TESSERA_TYPES has the types of the values of TYPED, and
# `tessera annotate` prints SOURCE with them, as in GOLDEN. UPDATE_GOLDEN=1 writes that file instead.
set -euo pipefail

tessera=$1 typed=$2 source=$3 golden=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$*"
  exit 1
}

"$typed" >"$work/plain"
TESSERA_TYPES=$work/types.json "$typed" >"$work/recorded"
cmp "$work/plain" "$work/recorded" || fail "the program computes something else"
[[ $(ls "$work") == $'plain\nrecorded\ntypes.json' ]] || fail "other files: $(ls "$work")"

name=$(basename "$source")
"$tessera" annotate "$source" --types "$work/types.json" >"$work/$name"
if [[ ${UPDATE_GOLDEN:-} == 1 ]]; then
  cp "$work/$name" "$golden"
else
  diff -u "$golden" "$work/$name" ||
    fail "other comments; if they should be: UPDATE_GOLDEN=1 scripts/test -R cli_types"
fi
"$tessera" annotate "$work/$name" --types "$work/types.json" | cmp - "$work/$name" ||
  fail "a second run changes the comments"

# A run whose file cannot be written says so, and is otherwise as without the variable.
TESSERA_TYPES=/no/such/folder/t.json "$typed" >"$work/unwritten" 2>"$work/message"
cmp "$work/plain" "$work/unwritten"
[[ $(<"$work/message") == "TESSERA_TYPES: cannot write /no/such/folder/t.json: no such file or directory" ]] ||
  fail "message: $(<"$work/message")"
