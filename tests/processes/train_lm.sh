#!/bin/bash
# train_lm.sh N PROGRAM: N processes train with the losses of one process, to 1e-4.
set -euo pipefail

processes=$1 program=$2
run=$(dirname "$0")/run.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# train OUT COMMAND...: forty steps.
train() {
  "${@:2}" --out "$work/$1" --mesh 4x2 --steps 40 --sample 0 --layers 2 --width 48 --heads 12 \
    --hidden 48 --context 16 --batch 24 --micro-batches 2 >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
}

train alone "$program"
train together "$run" "$processes" "$program"
paste "$work/alone/losses.txt" "$work/together/losses.txt" | awk '
  { off = ($1 - $2) / $1; if (off < 0) off = -off; if (!(off <= worst)) worst = off }
  END { printf "%d losses, at most %.1e apart\n", NR, worst; exit !(NR == 40 && worst <= 1e-4) }'
