#!/bin/bash
# arrays.sh LAUNCHER PROCESSES PROGRAM: runs the tests of arrays as that many processes. If it may
# mount, they have a small disk to fill. They must remove their files.
launcher=$1 processes=$2 program=$3
export GTEST_BRIEF=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
run=("$launcher" -n "$processes" "$program")
left_out=
if [[ $processes == 1 ]]; then
  run=("$program")
  left_out=:SharedArrays.*
fi
disk=$(mktemp -d) || exit 1
files=$(mktemp -d) || exit 1
trap 'rm -rf "$disk" "$files"' EXIT
export TEST_TMPDIR=$files
if unshare -m mount -t tmpfs -o size=256k none "$disk" 2>/dev/null; then
  TESSERA_SMALL_DISK=$disk GTEST_FILTER=-$left_out timeout 120 unshare -m bash -c '
    mount -t tmpfs -o size=256k none "$TESSERA_SMALL_DISK" && exec "$@"' bash "${run[@]}"
else
  echo "no small disk: it may not mount one"
  GTEST_FILTER=-ArraysOnASmallDisk.*$left_out timeout 120 "${run[@]}"
fi
code=$?
if ((code == 0)) && [[ $(ls -A "$files") ]]; then
  echo "the tests left files behind: $(ls -A "$files")"
  exit 1
fi
exit "$code"
