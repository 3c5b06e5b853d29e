#!/bin/bash
# train_lm_layouts.sh PROGRAM: one seed gives one loss curve, to 1e-4, in every layout and on every
# number of devices, with dropout and micro-batches; and each weight's gradient is sent once.
set -euo pipefail

program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# train MESH LAYOUT: fifty steps; all sizes divide by 2, 4, 6 and 8.
train() {
  "$program" --mesh "$1" --layout "$2" --out "$work/$1-$2" --steps 50 --sample 0 --layers 2 \
    --width 48 --heads 24 --hidden 48 --context 8 --batch 48 --micro-batches 2 >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
}

train 1x1 dp
for layout in dp fsdp tp dp+tp auto; do
  for mesh in 1x1 1x2 2x2 2x3 4x2; do
    train "$mesh" "$layout"
    # Nothing goes over the batch's axes in the loop over micro-batches; train.h sends it afterwards.
    awk -v layout="$layout" '
      /over [a-z,]*data/ && /backward/ && layout != "tp" { print; again = 1 }
      # Each of the nine weights once over the same axes: equal ones share a line.
      /train\.h/ { for (i = 1; i < NF; ++i) if ($i == "B") times[$1, $3] += substr($(i + 1), 2) }
      END { for (sent in times) again = again || times[sent] > 9
            if (again) print layout ": a gradient is sent more than once"; exit again }' "$work/log"
    paste "$work/1x1-dp/losses.txt" "$work/$mesh-$layout/losses.txt" | awk -v run="$layout on $mesh" '
      { off = ($1 - $2) / $1; if (off < 0) off = -off; if (!(off <= worst)) worst = off }
      END { printf "%-14s %d losses, at most %.1e apart\n", run, NR, worst
            exit !(NR == 50 && worst <= 1e-4) }'
  done
done
