#!/bin/bash
# check_mpi.sh BUILD COMPILER GENERATOR: installs the build into a new prefix; builds a project that
# finds the component mpi, and one that asks pkg-config, and runs their programs as one process and as
# two; then looks for MPI in a library that was built without it.
# shellcheck source=tests/install/common.sh
source "$(dirname "$0")/common.sh"
tests=$(cd "$(dirname "$0")" && pwd)

# expect TEXT COMMAND...: checks that the command prints the text.
expect() {
  local printed
  printed=$("${@:2}")
  [[ $printed == "$1" ]] || {
    printf '%s\nprinted  "%s"\nexpected "%s"\n' "${*:2}" "$printed" "$1"
    exit 1
  }
}

# expect_programs FOLDER: runs the programs `scoped` and `plain`.
expect_programs() {
  expect '4 of 4 devices here, MPI does not run, the sum is 32' "$1/scoped"
  expect '2 of 4 devices here, MPI runs, the sum is 32' "$tests/../processes/run.sh" 2 "$1/scoped"
  expect 'f32[8@x,4] sums to 32' "$1/plain"
  expect 'f32[8@x,4] sums to 32' "$tests/../processes/run.sh" 2 "$1/plain"
}

configure=(cmake -S "$tests/mpi_project" -B "$work/build" -G "$generator"
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix")
quietly cmake --install "$build" --prefix "$work/prefix"
quietly "${configure[@]}"
quietly cmake --build "$work/build"
expect_programs "$work/build"
echo "find_package(tessera COMPONENTS mpi): found, built and run as one process and as two"

library=$(find "$work/prefix" -name 'libtessera.so')
if command -v pkg-config >/dev/null && [[ -n $library ]]; then
  PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name tessera-mpi.pc)")
  export PKG_CONFIG_PATH
  mkdir "$work/pc"
  run_path=-Wl,-rpath,$(dirname "$library")
  read -ra flags < <(pkg-config --cflags --libs tessera-mpi)
  quietly "$compiler" "$tests/mpi_project/main.cc" -o "$work/pc/scoped" "${flags[@]}" "$run_path"
  read -ra flags < <(pkg-config --cflags --libs tessera-mpi-main)
  quietly "$compiler" "$tests/project/main.cc" -o "$work/pc/plain" "${flags[@]}" "$run_path"
  expect_programs "$work/pc"
  echo "pkg-config tessera-mpi: built and run as one process and as two"
fi

find "$work/prefix" -name 'tesseraMpiTargets*.cmake' -delete
if "${configure[@]}" --fresh >"$work/log" 2>&1; then
  echo "a library without MPI has the component mpi"
  exit 1
fi
tr -s ' \n' ' ' <"$work/log" | grep -q 'this tessera was built without MPI: build and install it with' || {
  cat "$work/log"
  exit 1
}
echo "without MPI: the component is refused"
