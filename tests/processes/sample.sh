#!/bin/bash
# sample.sh N GOLDEN PROGRAM [ARGUMENT...]: runs a sample as N processes. Process 0 must print the golden
# file. A process has the shards of its own devices only, so lines such as "device 3: ..." are compared
# over all processes.
set -euo pipefail
shopt -s nullglob

processes=$1 golden=$(realpath "$2")
shift 2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/outputs"

OUTPUTS=$work/outputs "$here/run.sh" "$processes" "$@" >"$work/0.txt" || {
  cat "$work/0.txt"
  exit 1
}
own='^device [0-9]+:'
grep -Ev "$own" "$golden" >"$work/golden" || true
grep -Ev "$own" "$work/0.txt" >"$work/printed" || true
cd "$work"
"$here/../samples/check.sh" golden cat printed
diff <(grep -E "$own" "$golden" | sort) <(cat 0.txt outputs/*.txt | grep -E "$own" | sort)
