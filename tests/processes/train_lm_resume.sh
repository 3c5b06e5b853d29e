#!/bin/bash
# train_lm_resume.sh LAUNCHER PROGRAM: four processes train, and one of them is killed after step 50.
# Three processes resume from the file, and have the same losses as a run that nothing stopped.
set -euo pipefail

launcher=$1 program=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$*"
  cat "$work"/*.log
  exit 1
}

# train PROCESSES OUT [FLAG...]: 120 steps, saved every tenth.
train() {
  exec timeout 300 "$launcher" -n "$1" "$program" --out "$work/$2" --mesh 6x2 --layout dp+tp \
    --steps 120 --save-every 10 --sample 5 --layers 1 --width 24 --heads 12 --hidden 24 --context 8 \
    --batch 24 "${@:3}" >>"$work/$2.log" 2>&1
}
# The losses of the file, as far as they are computed.
steps_of() { awk '$1 != 0 { n = NR } END { print n + 0 }' "$work/$1/losses.txt" 2>/dev/null || echo 0; }

(train 4 whole) || fail "whole: failed"
(($(grep -c 'saved ' "$work/whole.log") == 1)) || fail "whole: more than one process prints"
(($(steps_of whole) == 120)) || fail "whole: not all losses"

(train 4 killed) &
job=$!
until (($(steps_of killed) >= 50)); do
  kill -0 $job 2>/dev/null || fail "killed: ended too early"
  sleep 0.02
done
# The job is `timeout`, its child the launcher, whose children are the processes.
mapfile -t ranks < <(pgrep -P "$(pgrep -P $job)")
kill -KILL "${ranks[2]}" || fail "killed: rank 2 had ended"
wait $job && fail "killed: no error"
(($(steps_of killed) < 120)) || fail "killed: it had ended"

(train 3 killed --resume) || fail "killed: three processes did not go on"
paste "$work/whole/losses.txt" "$work/killed/losses.txt" | awk '
  { off = ($1 - $2) / $1; if (off < 0) off = -off; if (!(off <= worst)) worst = off }
  END { printf "resumed on three processes: at most %.1e apart\n", worst
        exit !(NR == 120 && worst <= 1e-5) }' || fail "killed: other losses"
