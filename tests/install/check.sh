#!/bin/bash
# check.sh BUILD COMPILER GENERATOR: installs the build into a new prefix, and builds and runs a
# project that knows nothing but find_package(tessera), and one that asks pkg-config; runs the program
# and the command where only the component Runtime is; then configures a project that has tessera as
# a subproject, without GoogleTest.
# shellcheck source=tests/install/common.sh
source "$(dirname "$0")/common.sh"
project=$(cd "$(dirname "$0")/project" && pwd)

quietly cmake --install "$build" --prefix "$work/prefix"
quietly cmake -S "$project" -B "$work/build" -G "$generator" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix"
quietly cmake --build "$work/build"

expected='f32[8@x,4] sums to 32'
printed=$("$work/build/app")
if [[ $printed != "$expected" ]]; then
  printf 'the outside program printed "%s", expected "%s"\n' "$printed" "$expected"
  exit 1
fi
echo "installed, found, built and run: $printed"

# A program that does not ask for MPI has no trace of it, and neither has the library.
for file in "$work/build/app" $(find "$work/prefix" -name 'libtessera.so'); do
  if readelf -d "$file" | grep -i 'NEEDED.*mpi'; then
    echo "$file needs MPI"
    exit 1
  fi
done

if command -v pkg-config >/dev/null && [[ -n $(find "$work/prefix" -name 'libtessera.so') ]]; then
  pc=$(dirname "$(find "$work/prefix" -name tessera.pc)")
  read -ra flags < <(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs tessera)
  quietly "$compiler" "$project/main.cc" -o "$work/by_pkg_config" "${flags[@]}"
  quietly cmake --install "$build" --prefix "$work/runtime" --component Runtime
  [[ ! -e $work/runtime/include ]]
  lib=$(dirname "$(find "$work/runtime" -name 'libtessera.so.*' | head -1)")
  [[ $(LD_LIBRARY_PATH=$lib "$work/by_pkg_config") == "$expected" ]]
  quietly "$work/runtime/bin/tessera" --version
  read -ra flags < <(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs tessera-c)
  quietly "$compiler" -x c -std=c11 "$project/../../c/client.c" -x none -o "$work/client" "${flags[@]}"
  LD_LIBRARY_PATH=$lib "$work/client" "$project/../../c/square.mlir" | grep -qx '1 4 9 16'
  # No name of the layers below the public headers is one of the library's, but for the interface of
  # tessera_mpi (src/runtime/transport.h).
  exported=$(nm -DC --defined-only "$lib"/libtessera.so.*.*.* | grep -E '^[0-9a-f]+ . ((vtable|typeinfo|typeinfo name) for )?tessera::(spmd|ops|kernels|runtime|plan)::' |
    grep -vE 'runtime::((The|Install)Launcher|(The|Set)Transport|Transport|Waiting|WorkText)\b' || true)
  if [[ -n $exported ]]; then
    printf 'libtessera.so exports names that are not public:\n%s\n' "$exported"
    exit 1
  fi
  echo "the component Runtime runs what pkg-config built"
fi

source=$(cd "$(dirname "$0")/../.." && pwd)
quietly cmake -S "$project/../subproject" -B "$work/outer" -G "$generator" \
  -DCMAKE_CXX_COMPILER="$compiler" -DTESSERA_SOURCE="$source" \
  -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON
quietly cmake --build "$work/outer" --target client
targets=$(cmake --build "$work/outer" --target help)
for target in api_tests 01_typed_arrays conformance_runner similarity; do
  if grep -qw "$target" <<<"$targets"; then
    echo "the subproject builds $target"
    exit 1
  fi
done
grep -qw tessera <<<"$targets"
[[ ! -e $work/outer/tessera/CTestTestfile.cmake ]]
echo "as a subproject: the library alone"
