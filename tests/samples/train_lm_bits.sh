#!/bin/bash
# train_lm_bits.sh PROGRAM: with --deterministic, one seed gives the bits of one loss curve on every
# mesh and in every layout.
set -euo pipefail

program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# train MESH LAYOUT: ten steps; all sizes divide by 2, 3, 4 and 8.
train() {
  "$program" --deterministic --mesh "$1" --layout "$2" --out "$work/$1-$2" --steps 10 --sample 0 \
    --layers 2 --width 48 --heads 24 --hidden 48 --context 8 --batch 48 --micro-batches 2 \
    >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
}

train 1x1 dp
for run in "4x2 dp" "2x2 fsdp" "1x3 tp" "4x2 dp+tp" "2x2 auto"; do
  read -r mesh layout <<<"$run"
  train "$mesh" "$layout"
  cmp "$work/1x1-dp/losses.txt" "$work/$mesh-$layout/losses.txt" || exit 1
  echo "$mesh $layout: the same losses"
done
[[ $(wc -l <"$work/1x1-dp/losses.txt") == 10 ]]
