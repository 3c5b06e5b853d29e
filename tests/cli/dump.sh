#!/bin/bash
# dump.sh PROGRAM LIBRARY_PROGRAM: TESSERA_DUMP has the stages of what the command lowers, the plan too
# of what a program runs, and a folder that cannot be written to is an error.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

expect() {
  [[ $2 == "$3" ]] || {
    printf '%s: got\n%s\nnot\n%s\n' "$1" "$2" "$3"
    exit 1
  }
}

TESSERA_DUMP=$work/new/lowered "$1" partition mlp.txt >/dev/null
expect "files of a program that is lowered" "$(ls "$work/new/lowered")" "0001_1_traced.txt
0001_2_propagated.txt
0001_3_device.txt
0001_4_schedule.txt"
cmp <("$1" propagate mlp.txt) "$work/new/lowered/0001_2_propagated.txt"

TESSERA_DUMP=$work/run "$2" >/dev/null
plans=("$work"/run/*_5_plan.txt)
grep -q '^block .* B, frame of each worker' "${plans[0]}"

: >"$work/file"
message=$(TESSERA_DUMP=$work/file "$1" partition mlp.txt 2>&1) && expect "exit code" 0 1
expect "message" "${message//$work/DIR}" \
  "RuntimeError in TESSERA_DUMP [TESSERA_DUMP.C1]: cannot write DIR/file/0001_1_traced.txt: not a directory"
