#!/bin/bash
# fashion.sh N PROGRAM: in every layout, N processes train with the losses of one device, to 1e-4.
set -euo pipefail

processes=$1 program=$2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/samples/fashion_data.sh
source "$here/../samples/fashion_data.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make_data "$work/data" 100 20

# train LOSSES COMMAND...: two epochs of four steps.
train() {
  "${@:2}" --images "$work/data" --losses "$work/$1" --batch 24 --epochs 2 >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
}

train alone "$program" --devices 1
for layout in dp fsdp spatial; do
  train "$layout" "$here/run.sh" "$processes" "$program" --devices 4 --layout "$layout"
  paste "$work/alone" "$work/$layout" | awk -v layout="$layout" '
    { off = ($1 - $2) / $1; if (off < 0) off = -off; if (!(off <= worst)) worst = off }
    END { printf "%-8s %d losses, at most %.1e apart\n", layout, NR, worst
          exit !(NR == 8 && worst <= 1e-4) }'
done
