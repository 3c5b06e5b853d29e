#!/bin/bash
# check.sh values|break TARGET PRINTERS GOLDEN: what gdb prints of the values in TARGET, or where
# debug_break stops it, against GOLDEN. UPDATE_GOLDEN=1 writes the file instead. Exit code 77 (skipped)
# without gdb, or where it cannot do this: before version 14 it calls no functions on CPUs with AMX.
set -uo pipefail

what=$1 target=$2 printers=$3 golden=$4

debug() {
  timeout 120 gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set auto-load no' "$@" 2>&1
}

skip() {
  echo "skipped: $*"
  exit 77
}

command -v gdb >/dev/null || skip "there is no gdb"
debug -ex 'python print(1)' | grep -qx 1 || skip "gdb has no Python"
debug -ex 'break main' -ex run "$target" | grep -q '^Breakpoint 1, ' || skip "gdb runs no programs"

if [[ $what == values ]]; then
  debug -ex 'break main' -ex run -ex 'print (int)getpid()' "$target" | grep -qE '^\$1 = [0-9]' ||
    skip "gdb calls no functions"
  printed=$(debug -x "$printers" -ex 'break stop_here' -ex run -ex 'print x' -ex 'print type' \
    -ex 'print spec' -ex 'print sharding' -ex 'print mesh' -ex 'print program' "$target" |
    sed -n '/^\$1/,$p' | sed -E 's/@0x[0-9a-f]+/@ADDRESS/; s/target\.cc:[0-9]+/target.cc:N/')
else
  printed=$(debug -ex run -ex bt --args "$target" break |
    grep -oE 'target\.cc:[0-9]+: debug_break: .*|received signal SIGTRAP.*|stop_in_a_program |in main ' |
    sed -E 's/target\.cc:[0-9]+/target.cc:N/')
fi
if [[ ${UPDATE_GOLDEN:-} == 1 ]]; then
  printf '%s\n' "$printed" >"$golden"
elif ! diff -u "$golden" - <<<"$printed"; then
  echo "the output is not that of $golden; if it should be: UPDATE_GOLDEN=1 scripts/test -R gdb"
  exit 1
fi
