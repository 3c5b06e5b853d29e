#!/bin/bash
# check.sh BUILD COMPILER GENERATOR: installs the build into a new prefix, and builds and runs a
# project that knows nothing but find_package(tessera).
set -euo pipefail

build=$1 compiler=$2 generator=$3
project=$(cd "$(dirname "$0")/project" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quietly() {
  "$@" >"$work/log" 2>&1 || {
    cat "$work/log"
    echo "failed: $*"
    exit 1
  }
}

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
