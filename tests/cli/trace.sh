#!/bin/bash
# trace.sh LIBRARY_PROGRAM TRACED: TESSERA_TRACE has what the program's runs did, as JSON that is whole
# however the program ends, and a file that cannot be written is an error.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

TESSERA_TRACE=$work/trace.json "$1" >"$work/traced"
"$1" >"$work/plain"
cmp "$work/traced" "$work/plain"
# whole FILE: it is a list of events, one a line, with a comma between any two.
whole() {
  local event='\{"name":"[^"]*",("cat":"[a-z]*","ph":"X"|"ph":"C"),.*"args":\{.*\}\}'
  if [[ $(head -1 "$1") != "[" || $(tail -1 "$1") != "]" ]] ||
    sed '1d; $d' "$1" | sed '$s/$/,/' | grep -Ev "^$event,\$"; then
    echo "$1 is not a whole list of events: $(head -2 "$1"; tail -2 "$1")"
    exit 1
  fi
}
whole "$work/trace.json"
grep -q '^{"name":"[a-z_]* at [^"]*:[0-9]*","cat":"step","ph":"X","pid":1,"tid":0,"ts":[0-9.]*,"dur":[0-9.]*,"args":{"device":0,.*}},$' \
  "$work/trace.json"

# runs FILE: how many of the program's sums it has.
runs() { grep -c '"name":"reduce_sum at ' "$1"; }
for way in exit fork abort; do
  status=0
  TESSERA_TRACE=$work/$way.json "$2" "$way" 2>/dev/null || status=$?
  whole "$work/$way.json"
  case $way in
    exit) [[ $status == 3 && $(runs "$work/$way.json") -ge 20 ]] ;;
    fork) [[ $status == 0 && $(runs "$work/$way.json") == 41 ]] ;;
    abort) [[ $status == 134 && $(runs "$work/$way.json") == 1 ]] ;;
  esac || { echo "$way: status $status, $(runs "$work/$way.json") runs"; exit 1; }
done

message=$(TESSERA_TRACE=/no/such/folder/t.json "$1" 2>&1 >/dev/null) && {
  echo "no error"
  exit 1
}
[[ $message == *"RuntimeError in TESSERA_TRACE [TESSERA_TRACE.C1]: cannot write /no/such/folder/t.json: no such file or directory"* ]] || {
  echo "message: $message"
  exit 1
}
