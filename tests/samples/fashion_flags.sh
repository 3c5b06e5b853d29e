#!/bin/bash
# fashion_flags.sh PROGRAM: every flag that --help lists; and the messages for wrong flags and files, of one
# line each.
set -euo pipefail

program=$1
# shellcheck source=tests/samples/fashion_data.sh
source "$(dirname "$0")/fashion_data.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
data=$work/"four files of 'clothes'"
make_data "$data" 20 10

fail() {
  cat "$work/log"
  echo "fashion $*"
  exit 1
}
train() {
  "$program" --images "$data" --devices 2 --batch 8 --epochs 1 "$@" >"$work/log" 2>&1
}
# refused WORDS [FLAG...]: with these words, on one line.
refused() {
  train "${@:2}" && fail "${@:2}" was accepted
  grep -qF -e "$1" "$work/log" || fail "${@:2}" does not say "$1"
  [[ $(wc -l <"$work/log") == 1 ]] || fail "${@:2}" was refused late
}

declare -A values=(
  [layout]="fsdp spatial" [devices]="1 4" [epochs]="2" [batch]="4" [rate]="0 0.1"
  [images]="$work/same" [seed]="7" [losses]="$work/losses" [checkpoint]="$work/checkpoint"
  [stop-after]="0 1" [resume]="yes")
ln -s "$data" "$work/same"
while read -r flag _; do
  flag=${flag#--}
  [[ -n ${values[$flag]:-} ]] || fail "--$flag" has no value in this test
  [[ $flag != resume ]] || continue  # below
  for value in ${values[$flag]}; do train "--$flag" "$value" || fail "--$flag" "$value"; done
done < <("$program" --help)
train --epochs 2 || fail --epochs 2
grep -q '^mistakes$' "$work/log" || fail shows no mistakes
grep -qE '^(a |trousers).*, not (a |trousers)' "$work/log" || fail "names no mistakes"
grep -qE '^ +2 +[0-9.]+ +[0-9.]+% +[0-9.]+% +[0-9.]+ +[0-9.]+%$' "$work/log" || fail "has no second epoch"

# A run of two epochs that stops after the first goes on with the losses of one that does not stop, on
# other devices too.
saved=(--epochs 2 --checkpoint "$work/saved")
train --epochs 2 --losses "$work/whole" || fail --losses
train "${saved[@]}" --stop-after 1 --losses "$work/first" || fail --checkpoint
train "${saved[@]}" --resume --devices 4 --losses "$work/second" || fail --resume
cat "$work/first" "$work/second" | paste "$work/whole" - | awk '
  { off = ($1 - $2) / $1; if (off < 0) off = -off; if (!(off <= 1e-4)) bad = 1 } END { exit bad || NR != 4 }' ||
  fail --resume has other losses
grep -qE '^ +2 +[0-9.]+ ' "$work/log" || fail --resume does not begin with the second epoch
train "${saved[@]}" --resume || fail --resume at the end
refused '--resume needs a --checkpoint' --resume
refused "$work/nothing" --checkpoint "$work/nothing" --resume

refused 'there is no layout "tp": dp, fsdp or spatial' --layout tp
refused '--devices 3 do not divide --batch 8' --devices 3
refused '--devices 16 do not divide the 8 rows of an image after two poolings' --layout spatial --devices 16
refused '--rate takes a number, not "fast"' --rate fast
refused 'there is no flag --epoch: --help lists them' --epoch 3
refused '--seed takes a value' --seed
for flag in devices epochs batch; do refused "--$flag must not be 0" "--$flag" 0; done
refused '20 images do not fill a batch of 32' --batch 32
refused "$work/none: has no file train-images-idx3-ubyte.gz" --images "$work/none"
refused 'scripts/demo --fashion' --images "$work/none"

# with FILE WORDS: the data with another content of a file, from stdin, is refused with these words.
with() {
  rm -rf "$work/other"
  cp -r "$data" "$work/other"
  rm -f "$work/other/$1" "$work/other/$1.gz"
  cat >"$work/other/$1"
  refused "$work/other/$1: $2" --images "$work/other"
}
images=train-images-idx3-ubyte labels=train-labels-idx1-ubyte
: | with "$images" 'is too short to be an idx file'
gzip -dc "$data/$labels.gz" | with "$images" \
  'begins with 0x00000801; an idx file of bytes with 3 dims begins with 0x00000803'
gzip -dc "$data/$images.gz" | with "$labels" \
  'begins with 0x00000803; an idx file of bytes with 1 dim begins with 0x00000801'
gzip -dc "$data/$images.gz" | head -c 10000 | with "$images" \
  'has 9984 bytes after its header, which states 20 x 28 x 28'
head -c 1000 "$data/$images.gz" | with "$images" 'gzip cannot read it: unexpected end of file'
(number 2049 && number 19 && labels 19) | with "$labels" 'has 19 labels for 20 images'
(number 2049 && number 20 && pixels 1 | head -c 20) | with "$labels" 'has the label 50; there are 10 classes'
(number 2051 && number 20 && number 14 && number 56 && pixels 20) | with "$images" \
  'has images of 14 x 56 pixels; 28 x 28 are needed'
