#!/bin/bash
# dump.sh PROGRAM LIBRARY_PROGRAM MANUAL_PROGRAM: TESSERA_DUMP writes the passes and stages of programs
# that the command lowers, and the plans of programs that run. A folder that cannot be written to is an
# error.
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
0001_2.06_propagate.txt
0001_2_propagated.txt
0001_3.02_partition.txt
0001_3_device.txt
0001_4.01_fuse.txt
0001_4.02_find_live_values.txt
0001_4_schedule.txt"
cmp "$work/new/lowered/0001_3.02_partition.txt" <("$1" partition mlp.txt --stop-after partition)

# One pass alone, whether it changes the program or not.
TESSERA_DUMP=$work/one TESSERA_DUMP_ONLY=simplify "$1" partition mlp.txt >/dev/null
expect "files of one pass" "$(ls "$work/one")" "0001_3.03_simplify.txt"
message=$(TESSERA_DUMP=$work/one TESSERA_DUMP_ONLY=simplfy "$1" partition mlp.txt 2>&1) && expect "exit code" 0 1
expect "message" "${message%%$'\n'*}" \
  "RuntimeError in TESSERA_DUMP_ONLY [TESSERA_DUMP_ONLY.C1]: there is no pass \"simplfy\""

cmp <("$1" propagate mlp.txt) <(grep -v '^//' "$work/new/lowered/0001_2_propagated.txt")
# The traits of maps, once per map, in comments: the file is program text all the same.
expect "maps with traits" "$(grep '^//' "$work/new/lowered/0001_2_propagated.txt")" "// maps with traits
//   dot_general: ([i, k], [k, j])->([i, j]) {i=8, j=16, k=64} reduction={k} product
//   dot_general: ([i, k], [k, j])->([i, j]) {i=8, j=64, k=16} reduction={k} product"
"$1" check "$work/new/lowered/0001_2_propagated.txt" >/dev/null

TESSERA_DUMP=$work/run "$2" >/dev/null
plans=("$work"/run/*_5_plan.txt)
grep -q '^block .* B, frame of each worker' "${plans[0]}"

# Loops that devices run by themselves have plans of their own.
TESSERA_DUMP=$work/nested "$3" >/dev/null 2>&1
grep -q '^nested plan, of every device' "$work"/nested/*_5_plan.txt
grep -q '^  loop while v' "$work"/nested/*_5_plan.txt

: >"$work/file"
message=$(TESSERA_DUMP=$work/file "$1" partition mlp.txt 2>&1) && expect "exit code" 0 1
expect "message" "${message//$work/DIR}" \
  "RuntimeError in TESSERA_DUMP [TESSERA_DUMP.C1]: cannot write DIR/file/0001_1_traced.txt: not a directory"
