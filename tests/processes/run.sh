#!/bin/bash
# run.sh N PROGRAM [ARGUMENT...]: runs N processes of the program under mpirun, and shows the standard
# output of process 0, without colours. If the run fails, it also shows the output of the other
# processes. Variables:
#   MPIRUN        the command, of Open MPI or MPICH; mpirun if not set
#   MPIRUN_FLAGS  more flags, such as "--mca btl tcp,self". With Open MPI each process is bound to a core,
#                 so that it has one worker, unless the flags have --bind-to
#   TIME_LIMIT    seconds, after which the run is killed and fails; 60 if not set
#   OUTPUTS       a folder for the outputs of the other processes: 1.txt, 2.txt, ...
set -euo pipefail

processes=$1
shift
mpirun=${MPIRUN:-mpirun}
read -ra flags <<<"${MPIRUN_FLAGS:-}"
version=$("$mpirun" --version 2>&1)
if [[ $version == *"Open MPI"* || $version == *OpenRTE* ]]; then
  # There may be more processes than cores, so a process that waits gives its core away.
  flags+=(--oversubscribe --mca mpi_yield_when_idle 1)
  [[ ${MPIRUN_FLAGS:-} == *--bind-to* ]] || flags+=(--bind-to core:overload-allowed)
  if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
fi
outputs=${OUTPUTS:-}
if [[ -z $outputs ]]; then
  outputs=$(mktemp -d)
  trap 'rm -rf "$outputs"' EXIT
fi

export TERM=dumb  # mpirun gives each process a terminal
status=0
# shellcheck disable=SC2016  # the shell of each process expands it
timeout --kill-after=10 "${TIME_LIMIT:-60}" "$mpirun" "${flags[@]}" -n "$processes" \
  bash -c 'number=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}} outputs=$0
           if ((number > 0)); then exec "$@" >"$outputs/$number.txt"; fi
           exec "$@"' "$outputs" "$@" </dev/null || status=$?
if ((status != 0)); then
  for output in "$outputs"/*.txt; do
    [[ -s $output ]] || continue
    printf '\n== process %s printed\n' "$(basename "$output" .txt)"
    cat "$output"
  done
  if ((status == 124 || SECONDS >= ${TIME_LIMIT:-60})); then
    echo "== killed after ${TIME_LIMIT:-60} seconds"
  else
    echo "== mpirun: status $status"
  fi
fi
exit "$status"
