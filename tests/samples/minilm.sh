#!/bin/bash
# minilm.sh PROGRAM MODEL: every layout gives the vectors of one device and sends what it is made for.
# If MODEL is there (the published weights, which `scripts/demo --minilm` fetches), tokens are those of Hugging Face's
# tokenizers 0.22 and cosines those of JAX in f64 (benchmarks/jax/minilm.py).
set -euo pipefail

program=$1 model=$2
data=$(dirname "$0")/minilm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "minilm $*"
  cat "$work/log"
  exit 1
}
# refused WORDS [FLAG...]
refused() {
  "$program" "${@:2}" >"$work/log" 2>&1 && fail "${@:2}" was accepted
  grep -qF -e "$1" "$work/log" || fail "${@:2}" does not say "$1"
}
# plan LAYOUT DEVICES: encodes two passages, and keeps the plan in the log.
plan() {
  "$program" --random --texts "$work/passages" --batch 8 --layout "$1" --devices "$2" >"$work/log" 2>&1 ||
    fail "$1 on $2 devices"
}
sends() { grep -qE "^$1 +over $2 .*x6 " "$work/log"; }

mkdir "$work/passages"
printf 'A passage of some words that is not very long.\n\nA second one,\nwhich is a little longer.\n' \
  >"$work/passages/a.txt"
layouts=$("$program" --help | sed -n 's/^--layout *//p' | grep -oE '[a-z+]+(:|( \())' | tr -d ': (')
[[ $(wc -w <<<"$layouts") == 4 ]] || fail "the help names the layouts $layouts"
for layout in $layouts; do
  plan "$layout" 8
  case $layout in
    dp) ! grep -q "^all_" "$work/log" || fail "dp communicates" ;;
    tp) sends all_reduce 'model:\(1\)4' && sends all_reduce model || fail "tp does not sum" ;;
    *) sends all_reduce model && ! grep -q "^all_gather" "$work/log" || fail "$layout gathers" ;;
  esac
done
plan tp 2
plan tp 4

if [[ -e $model ]]; then
  "$program" --model "$model" --tokens "$data/texts.txt" | diff "$data/tokens.txt" - || fail "other tokens"
  for layout in $layouts; do
    "$program" --model "$model" --lines "$data/lines.txt" --layout "$layout" | head -n -1 >"$work/log"
    paste -d ' ' "$data/cosines.txt" "$work/log" | awk '
      { for (i = 1; i <= NF / 2; ++i) {
          off = $i - $(i + NF / 2); if (off < 0) off = -off; if (!(off <= worst)) worst = off } }
      END { exit !(NR == 8 && NF == 16 && worst <= 1e-5) }' || fail "$layout: other cosines"
  done
else
  echo "no published weights here: scripts/demo --minilm fetches them"
fi

mkdir "$work/model"
refused "scripts/demo --minilm fetches them"
refused "vocab.txt: cannot be read" --model "$work/none"
printf '[UNK]\n[CLS]\n' >"$work/model/vocab.txt"
refused "the vocabulary has no [SEP]" --model "$work/model" --lines "$data/lines.txt"
printf '[UNK]\n[CLS]\n[SEP]\n' >"$work/model/vocab.txt"
refused "model.safetensors" --model "$work/model" --lines "$data/lines.txt"
head -c 100 /dev/zero >"$work/model/model.safetensors"
refused "model.safetensors" --model "$work/model" --lines "$data/lines.txt"
refused "there is no layout \"pp\": dp, tp, dp+tp or auto" --random --layout pp
refused "--devices must not be 0" --random --devices 0
refused "--batch must not be 0" --random --batch 0
refused "--batch 12 does not divide over 8 devices" --random --layout dp --batch 12
refused "none.txt: cannot be read" --random --lines "$work/none.txt"
refused "none: cannot be read" --random --texts "$work/none"
