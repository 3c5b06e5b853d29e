#!/bin/bash
# failing_rank.sh PROGRAM: checks that a test that fails on process 1 alone fails the run, and does not
# hang. The program is failing_rank.cc.
set -euo pipefail

program=$1
run=$(dirname "$0")/run.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT

wrong() {
  cat "$log"
  echo "$*"
  exit 1
}

# status_of PROCESSES TEST: runs the test, and sets `status`.
status_of() {
  status=0
  "$run" "$1" "$program" --gtest_filter="FailingRank.$2" --gtest_catch_exceptions=0 >"$log" 2>&1 ||
    status=$?
}

for processes in 2 4; do
  status_of "$processes" Passes
  ((status == 0)) || wrong "$processes processes: a run that passes has status $status"
  for test in FailsAnAssertion Exits Throws IsKilled; do
    status_of "$processes" "$test"
    ((status != 0)) || wrong "$processes processes, $test: the run passed"
    ((status != 124)) || wrong "$processes processes, $test: the run hung"
    echo "$processes processes, $test: status $status"
  done
done

TIME_LIMIT=3 status_of 2 LeavesOthersWaiting
((status != 0)) || wrong "the run passed although a process waits"
