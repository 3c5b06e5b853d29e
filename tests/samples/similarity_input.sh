#!/bin/bash
# similarity_input.sh PROGRAM TEXTS: the messages of the similarity sample for wrong input.
set -euo pipefail

program=$1 texts=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect STATUS WORDS ARGUMENT...: the exit status, and words that the output must have.
expect() {
  local status=0 output
  output=$("$program" "${@:3}" 2>&1) || status=$?
  if [[ $status != "$1" || $output != *"$2"* ]]; then
    printf 'similarity %s\nexit status %s, expected %s with "%s"\n%s\n' \
      "${*:3}" "$status" "$1" "$2" "$output"
    exit 1
  fi
}

: >"$work/empty.txt"
mkdir "$work/none"
head -c 5000 /dev/urandom >"$work/noise.bin"
# Each flag that --help lists, anywhere among files and folders.
[[ $("$program" --help | grep -o '^--[a-z]*') == --auto ]] || { echo "other flags"; exit 1; }
expect 0 "shardings that propagation chose" --auto "$texts/soup.txt" "$texts/bread.txt"
expect 0 "shardings that propagation chose" "$texts" --auto
expect 0 "types, as the program is traced" "$texts" "$texts/soup.txt"
expect 0 "nearest, with the cosine"
expect 1 "there is no flag --aut: --help lists them" --aut "$texts"
expect 1 "missing.txt: cannot be read: No such file" "$work/missing.txt" "$texts/soup.txt"
expect 1 "give at least two texts" "$texts/soup.txt"
expect 1 "no files in this folder" "$work/none"
expect 0 "empty.txt  shares nothing" "$work/empty.txt" "$texts/soup.txt" "$texts/bread.txt"
expect 0 "empty.txt  shares nothing" "$work/empty.txt" "$work/empty.txt"
expect 0 "1.000 soup.txt" "$texts/soup.txt" "$texts/soup.txt"
expect 0 "noise.bin" "$work/noise.bin" "$texts/soup.txt" "$texts/bread.txt"
