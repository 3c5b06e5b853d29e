#!/bin/bash
# words.sh COMPILER INCLUDE: the compiler must refuse each function of words.cc with the words above
# it: in an error (`says`), or in a line that it shows (`shows`). It gives at most three errors for
# each.
set -euo pipefail

compiler=$1 include=$2
cd "$(dirname "$0")"
command -v "$compiler" >/dev/null || { echo "skipped: there is no $compiler here"; exit 77; }

all=-fmax-errors=0
[[ $compiler == *clang* ]] && all=-ferror-limit=0
messages=$("$compiler" -std=c++20 -fsyntax-only -I "$include" words.cc "$all" 2>&1) || true
errors=$(grep -E 'error:' <<<"$messages") || true
cases=0 failed=0
while IFS=: read -r line words; do
  cases=$((cases + 1))
  where=$errors
  [[ $words == "// shows: "* ]] && where=$messages
  words=${words#// *s: }
  if ! grep -qF "$words" <<<"$where"; then
    echo "no error says or shows \"$words\"" && failed=1
  elif ! grep -qE "words\.cc:($((line + 1))|$((line + 2))|$((line + 3))):" <<<"$messages"; then
    echo "no message names line $((line + 1)), which should say \"$words\"" && failed=1
  fi
done < <(grep -nE '^// (says|shows): ' words.cc)
count=$(wc -l <<<"$errors")
if ((count > 3 * cases)); then
  printf '%d errors for %d cases:\n%s\n' "$count" "$cases" "$errors"
  failed=1
fi
((failed == 0)) && echo "$compiler says what is wrong in $cases cases, in $count errors"
exit $failed
