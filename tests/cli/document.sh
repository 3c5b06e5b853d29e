#!/bin/bash
# document.sh TESSERA DOCUMENT: runs the commands of a document, the lines `$ COMMAND` of its blocks
# ```console, and compares what they print with the lines that follow. UPDATE_GOLDEN=1 writes these.
set -uo pipefail

tessera=$1 document=$2
tessera() { "$tessera" "$@"; }
made=$(mktemp)
trap 'rm -f "$made"' EXIT

state=text commands=0
while IFS= read -r line; do
  if [[ $line == '```console' ]]; then
    state=console
  elif [[ $line == '```' ]]; then
    state=text
  elif [[ $state == console && $line == '$ '* ]]; then
    printf '%s\n' "$line"
    eval "${line#'$ '}" 2>&1
    ((++commands))
    continue
  elif [[ $state == console ]]; then
    continue
  fi
  printf '%s\n' "$line"
done <"$document" >"$made"

((commands > 0)) || { echo "$document has no commands" && exit 1; }
if [[ ${UPDATE_GOLDEN:-} == 1 ]]; then
  cp "$made" "$document"
elif ! diff -u "$document" "$made"; then
  echo "the outputs in $document are not those of its commands; if they should be: UPDATE_GOLDEN=1"
  exit 1
fi
