#!/bin/bash
# same_output.sh N PROGRAM [ARGUMENT...]: process 0 of N prints the same as the program alone.
set -euo pipefail

processes=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$@" >"$work/alone"
"$(dirname "$0")/run.sh" "$processes" "$@" >"$work/together" || {
  cat "$work/together"
  exit 1
}
[[ -s $work/alone ]]
diff "$work/alone" "$work/together"
