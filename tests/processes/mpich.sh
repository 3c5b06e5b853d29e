#!/bin/bash
# mpich.sh BUILD COMPILER: compiles the library for several processes with MPICH, links it with the
# library of the build and with a project's program, and runs that as two processes. It skips (77) if MPICH
# is missing.
set -euo pipefail

build=$1 compiler=$2
tests=$(cd "$(dirname "$0")" && pwd)
source=$tests/../..
if ! command -v mpicxx.mpich >/dev/null || [[ ! -e $build/src/libtessera.so ]]; then
  echo "skipped: MPICH or libtessera.so is missing"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# main.cc is tessera::mpi_main.
mapfile -t mpi_sources < <(find "$source/src/mpi" -name '*.cc' ! -name main.cc)
read -ra mpi < <(mpicxx.mpich -show -cxx="$compiler" | cut -d' ' -f2-)
"$compiler" -std=c++20 -O1 -I"$source/include" -I"$source/src" \
  "$tests/../install/mpi_project/main.cc" "${mpi_sources[@]}" \
  -o "$work/scoped" -L"$build/src" -ltessera -lfmt -Wl,-rpath,"$build/src" "${mpi[@]}"
printed=$(MPIRUN=mpirun.mpich "$tests/run.sh" 2 "$work/scoped")
expected='2 of 4 devices here, MPI runs, the sum is 32'
if [[ $printed != "$expected" ]]; then
  printf 'printed "%s", expected "%s"\n' "$printed" "$expected"
  exit 1
fi
echo "MPICH: $printed"
