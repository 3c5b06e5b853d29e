#!/bin/bash
# train_lm_flags.sh PROGRAM: every flag that --help lists, with every value that it names, and meshes
# that do not divide the model's sizes: the losses are those of one device, or it is refused at once.
set -euo pipefail

program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/texts"
for i in $(seq 400); do echo "the text of line $i is not that of line $((i * 7 % 400))"; done |
  tee "$work/texts/a.txt" "$work/texts/b.txt" >"$work/text.txt"

fail() {
  echo "train_lm $*"
  cat "$work/log"
  exit 1
}

# train [FLAG...]: two steps of a small model, with the default heads on the default mesh.
train() {
  rm -rf "$work/out"
  "$program" --text "$work/text.txt" --out "$work/out" --steps 2 --sample 0 --layers 1 --width 24 \
    --hidden 40 --context 8 --batch 8 "$@" >"$work/log" 2>&1
}
# same [FLAG...]: the losses of one device, to 1e-4.
same() {
  train "$@" || fail "$@"
  paste "$work/alone.txt" "$work/out/losses.txt" | awk '
    { off = ($1 - $2) / $1; if (off < 0) off = -off; if (!(off <= worst)) worst = off }
    END { exit !(NR == 2 && worst <= 1e-4) }' || fail "$@": other losses
}
# refused WORDS [FLAG...]: before any work, with these words.
refused() {
  train "${@:2}" && fail "${@:2}" was accepted
  grep -qF -e "$1" "$work/log" || fail "${@:2}" does not say "$1"
  [[ $(wc -l <"$work/log") == 1 && ! -e $work/out ]] || fail "${@:2}" was refused late
}

train --mesh 1x1 --layout dp || fail
cp "$work/out/losses.txt" "$work/alone.txt"

# Layouts: those that the help names, on the default mesh, and on others that divide nothing.
layouts=$("$program" --help | sed -n 's/^--layout *\([^:]*\):.*/\1/p' | tr -d , | sed 's/\<or\>//')
[[ $(wc -w <<<"$layouts") == 5 ]] || fail "has the layouts $layouts"
for layout in $layouts; do
  same --layout "$layout"
  for mesh in 3x1 1x4 5x2 2x3; do same --layout "$layout" --mesh "$mesh"; done
done
same --layout tp
grep -q '^6 heads do not divide over data and model: they are sharded over model$' "$work/log" ||
  fail "does not say how heads are cut"
grep -q 'qkv .*6@model' "$work/log" || fail "does not cut heads over model"
same --layout dp --mesh 3x1
grep -q '^8 sequences do not divide over data and model: all devices have all of them$' \
  "$work/log" || fail "does not say that sequences are whole"

# The other flags, each with other values than above. train_lm_bits.sh is about --deterministic.
declare -A values=(
  [text]="$work/texts $work/text.txt" [mesh]="2x2" [layers]="2" [width]="48" [heads]="1 3"
  [hidden]="24 7" [context]="5" [batch]="4" [micro-batches]="2 8" [steps]="3" [rate]="0 0.1"
  [dropout]="0 0.5" [seed]="7" [out]="$work/out" [save-every]="1" [sample]="5" [layout]="dp")
while read -r flag _; do
  flag=${flag#--}
  [[ $flag == resume || $flag == deterministic ]] && continue
  [[ -n ${values[$flag]:-} ]] || fail "--$flag" has no value in this test
  for value in ${values[$flag]}; do train "--$flag" "$value" || fail "--$flag" "$value"; done
done < <("$program" --help)
(exec "$program" --text "$work/text.txt" --out "$work/out" --steps 2 --sample 0 --layers 1 --width 24 \
  --hidden 40 --context 8 --batch 8 --layout dp --resume >"$work/log" 2>&1) || fail --resume

refused 'there is no layout "dpp": dp, fsdp, tp, dp+tp or auto' --layout dpp
refused '--mesh takes two sizes, as 4x2, not "4"' --mesh 4
refused '--mesh takes two sizes, as 4x2, not "0x2"' --mesh 0x2
refused '--heads must split --width into parts of an even size' --heads 5
refused '--heads must split --width into parts of an even size' --heads 0
refused '--micro-batches must split --batch into equal parts' --micro-batches 3
refused '--dropout is a share, less than 1' --dropout 1
refused '--rate takes a number, not "nan"' --rate nan
refused '--steps takes a number, not "-1"' --steps -1
refused 'there is no flag --step: --help lists them' --step 3
refused '--seed takes a value' --seed
for flag in steps save-every layers width hidden context batch; do
  refused "--$flag must not be 0" "--$flag" 0
done
