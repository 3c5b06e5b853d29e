#!/bin/bash
# trace.sh LIBRARY_PROGRAM: TESSERA_TRACE has what the program's runs did, and a file that cannot be
# written is an error.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

TESSERA_TRACE=$work/trace.json "$1" >"$work/traced"
"$1" >"$work/plain"
cmp "$work/traced" "$work/plain"
[[ $(head -1 "$work/trace.json") == "[" ]]
grep -q '^{"name":"[a-z_]* at [^"]*:[0-9]*","cat":"step","ph":"X","pid":1,"tid":0,"ts":[0-9.]*,"dur":[0-9.]*,"args":{"device":0,.*}},$' \
  "$work/trace.json"
if sed 1d "$work/trace.json" | grep -v '^{"name":.*},$'; then
  echo "the lines above are no events"
  exit 1
fi

message=$(TESSERA_TRACE=/no/such/folder/t.json "$1" 2>&1 >/dev/null) && {
  echo "no error"
  exit 1
}
[[ $message == *"RuntimeError in TESSERA_TRACE [TESSERA_TRACE.C1]: cannot write /no/such/folder/t.json: no such file or directory"* ]] || {
  echo "message: $message"
  exit 1
}
