#!/bin/bash
# train_lm_learns.sh PROGRAM: a small model learns more of the licence texts than a bigram table, by
# the loss on text that is held back.
set -euo pipefail

program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$program" --out "$work/out" --mesh 1x2 --steps 300 --sample 0 --layers 1 --width 64 --heads 4 \
  --hidden 128 --context 32 --batch 16 --rate 0.01 >"$work/log" 2>&1 || {
  cat "$work/log"
  exit 1
}
awk '/^held-back text: loss/ { gsub(",", ""); model = $4; table = $NF; print }
     END { exit !(model > 0 && model < 0.95 * table) }' "$work/log"
