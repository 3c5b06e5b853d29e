#!/bin/bash
# check.sh MPIRUN PROGRAM CASE...: runs the cases of faults.cc as three processes. A job must end
# within two seconds of its fault, with the right status, and print what golden/CASE.txt has, with
# the number of each process. UPDATE_GOLDEN=1 rewrites the golden files.
set -uo pipefail

mpirun=$1 program=$2
shift 2
golden=$(dirname "$0")/golden
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
most_ms=${FAULT_MS:-2000}
failed=0

declare -A status_of=([fine]=0 [callbacks_are_equal]=0 [exits]=3 [exits_in_order]=0 [stopped]=0
  [run_fails_and_all_go_on]=0 [different_calls_and_all_go_on]=0 [killed]=137 [segfaults]=139
  [own_messages]=0 [initialised_before]=0 [some_processes]=0 [other_thread_serialized]=0
  [array_after_scope]=0 [program_after_scope]=0 [throws_after_scope]=134 [scope_after_scope]=0
  [no_scope]=0 [busy]=0 [deadlock_and_all_go_on]=0)
declare -A stall_of=([run_on_one]=1 [gathered_on_one]=1 [saved_on_one]=1 [stopped]=1 [busy]=3
  [deadlock_and_all_go_on]=1)

# Without MPI the processes cannot wait until all have printed: mpirun ends the others with the first.
first_only=" not_initialised single_thread finalised finalised_in_scope null_communicator without_mpi
  scope_after_count scope_after_mesh scope_after_array "

# Prints the lines of all processes, by process. Times and numbers that change become words.
lines() {
  local ranks='[0-9]+' only=
  [[ $first_only =~ [[:space:]]$1[[:space:]] ]] && only='s/^\[[0-9]\]/[any]/' &&
    ranks=$(grep -aoE '^\[1,[0-9]+' "$work/out" | head -1 | cut -d, -f2)
  # Open MPI prints the stack after a signal. One process alone may warn, if it is not too late.
  local left_out='fault at|<stderr>:\[[^]]+:[0-9]+\] '
  [[ $first_only =~ [[:space:]]$1[[:space:]] ]] && left_out+='|tessera: a launcher started'
  [[ $1 == segfaults ]] ||
    for stream in stdout stderr; do grep -aE "^\[1,$ranks\]<$stream>" "$work/out"; done |
    grep -avE "$left_out" | sort -s -t, -k2,2n |
    sed -E 's/^\[1,([0-9]+)\]<std(out|err)>:/[\1] /; s/((faults|mpi|without_mpi)\.cc:)[0-9]+/\1N/g;
            s/pid [0-9]+ on [^)]*/pid N on HOST/; s/process [01] has waited/process N has waited/; s/[[:space:]]+$//;'"$only"
  grep -aoE 'process rank [0-9]+ .*exited on signal [0-9]+' "$work/out" |
    sed -E 's/with PID [0-9]+ on node [^ ]+ //'
}

fail() {
  echo "$1: $2" >>"$work/faults"
}

# Runs a case once. Writes its faults, if it has some.
run_case() {
  local name=$1 wanted=${status_of[$1]:-1}
  local job=(-n 3 "$program" "$name" "${stall_of[$name]:-30}")
  [[ $name == targets_differ ]] &&
    job=(-n 2 "$program" "$name" : -n 1 env TESSERA_TARGET=sse4 "$program" "$name")
  [[ $name == other_launcher ]] &&
    job=(-n 1 env -u OMPI_COMM_WORLD_SIZE PMI_SIZE=3 PMI_RANK=0 "$program" "$name")
  timeout -s KILL 40 "$mpirun" --oversubscribe --tag-output "${job[@]}" >"$work/out" 2>&1
  local status=$? end fault
  end=$(date +%s%3N)
  [[ $status == "$wanted" ]] || fail "$name" "ended with status $status, not $wanted"
  fault=$(grep -aoE 'fault at [0-9]+' "$work/out" | tail -1 | grep -oE '[0-9]+$')
  [[ -n $fault ]] && ((end - fault > most_ms)) && fail "$name" "took $((end - fault)) ms to end"
  [[ -e /tmp/tessera_faults.npy.tmp ]] && fail "$name" "left a file that is not complete" &&
    rm /tmp/tessera_faults.npy.tmp
  lines "$name" >"$work/lines"
  if [[ -n ${UPDATE_GOLDEN:-} ]]; then
    mkdir -p "$golden"
    cp "$work/lines" "$golden/$name.txt"
  elif ! diff "$golden/$name.txt" "$work/lines" >>"$work/faults"; then
    fail "$name" "printed something else"
  fi
  echo "$name: status $status${fault:+, $((end - fault)) ms after the fault}"
}

# A case may fail once: on a busy machine a process may print too late.
check() {
  for _ in first second; do
    rm -f "$work/faults"
    run_case "$1"
    [[ -s $work/faults ]] || return
  done
  cat "$work/faults" "$work/out"
  failed=1
}

for name in "$@"; do check "$name"; done
exit $failed
