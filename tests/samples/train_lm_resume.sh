#!/bin/bash
# train_lm_resume.sh PROGRAM: a run that is killed, twenty times, or interrupted continues to the same
# bits, and in another layout to the same losses. TESSERA_FUZZ=N: N times as many kills.
set -euo pipefail

program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$*"
  cat "$work/log"
  exit 1
}

# train OUT [FLAG...]: forty steps, saved every third.
train() {
  exec "$program" --out "$work/$1" --mesh 2x2 --layout fsdp --steps 40 --save-every 3 --sample 0 \
    --layers 1 --width 24 --heads 12 --hidden 24 --context 8 --batch 24 "${@:2}" >"$work/log" 2>&1
}
# continued OUT: --resume, once there is something to resume.
continued() { if [[ -f $work/$1/state.safetensors ]]; then echo --resume; fi; }
same() { cmp "$work/whole/state.safetensors" "$work/$1/state.safetensors" || fail "$1: other bits"; }

begin=$(date +%s%N)
(train whole) || fail "whole: failed"
milliseconds=$((($(date +%s%N) - begin) / 1000000))

# Killed at random times, and started again each time. A run that has come to its end is compared,
# and another one begun, to be killed earlier: the machine may have been slower before.
kills=0
while ((kills < 20 * ${TESSERA_FUZZ:-1})); do
  # shellcheck disable=SC2046
  (train killed $(continued killed)) &
  after=$((RANDOM % milliseconds))
  sleep "$(printf '%d.%03d' $((after / 1000)) $((after % 1000)))"
  if kill -KILL $! 2>/dev/null; then
    kills=$((kills + 1))
    wait $! 2>/dev/null || true
  else
    wait $! || fail "killed: did not go on"
    same killed
    rm -r "$work/killed"
    milliseconds=$((milliseconds / 2 + 50))
  fi
done
# shellcheck disable=SC2046
(train killed $(continued killed)) || fail "killed: did not go on"
same killed

# Interrupted once the first steps are done: the step under way is finished and saved.
rm "$work/log"
(train interrupted) &
until grep -qs '/40 \[' "$work/log"; do sleep 0.02; done
kill -INT $!
status=0
wait $! || status=$?
((status == 130)) || fail "interrupted: exit status $status"
cp -r "$work/interrupted" "$work/moved"
(train interrupted --resume) || fail "interrupted: did not go on"
same interrupted

(train moved --resume --mesh 1x3 --layout dp+tp) || fail "moved: did not go on"
paste "$work/whole/losses.txt" "$work/moved/losses.txt" | awk '
  { off = ($1 - $2) / $1; if (off < 0) off = -off; if (!(off <= worst)) worst = off }
  END { printf "on another mesh, in another layout: at most %.1e apart\n", worst
        exit !(NR == 40 && worst <= 1e-5) }' || fail "moved: other losses"

(train whole --resume --rate 0.5) && fail "another run was resumed"
grep -q 'is from a different run' "$work/log" || fail "no word of another run"
