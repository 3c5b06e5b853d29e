#!/bin/bash
# refused.sh COMPILER INCLUDE: in refused.cc the compiler must refuse exactly the lines that end in
# `// no`, with an error on that line; a warning about a result that is not used counts. After
# `// no:` are words that the message must contain. Each line is a function of its own, so that one
# compilation checks all of them.
set -euo pipefail

compiler=$1 include=$2
cd "$(dirname "$0")"
command -v "$compiler" >/dev/null || { echo "skipped: there is no $compiler here"; exit 77; }

no_limit=-fmax-errors=0
[[ $compiler == clang* ]] && no_limit=-ferror-limit=0
messages=$("$compiler" -std=c++20 -fsyntax-only -Werror=unused-result -Werror=unused-value $no_limit \
  -I "$include" refused.cc 2>&1) || true
wrong=$(grep -oE '(^|/)[a-z_.]+:[0-9]+:[0-9]+: (fatal )?error:.*' <<<"$messages" | grep -v '^refused\.cc' || true)
refused=$(grep -oE '^refused\.cc:[0-9]+:[0-9]+: (fatal )?error' <<<"$messages" | cut -d: -f2 | sort -nu)
expected=$(grep -nE '// no(: .*)?$' refused.cc | cut -d: -f1 | sort -nu)

if [[ -n $wrong ]]; then
  printf 'errors that are not in refused.cc:\n%s\n' "$wrong"
  exit 1
fi
if [[ $refused != "$expected" ]]; then
  echo "$compiler accepts (<) or refuses (>) against the comments of refused.cc:"
  diff <(for n in $expected; do sed -n "${n}{s/^/$n: /;p}" refused.cc; done) \
    <(for n in $refused; do sed -n "${n}{s/^/$n: /;p}" refused.cc; done) || true
  exit 1
fi
while IFS=: read -r line text; do
  words=${text##*// no: }
  message=$(awk -F: -v line="$line" '/^refused\.cc:[0-9]+:[0-9]+: (fatal )?error/ { on = $2 == line } on' \
    <<<"$messages")
  if ! grep -qF -- "$words" <<<"${message//"$text"/}"; then
    printf 'line %s: the message of %s lacks "%s":\n%s\n' "$line" "$compiler" "$words" "$message"
    exit 1
  fi
done < <(grep -nE '// no: .*$' refused.cc)
echo "$compiler refuses $(wc -l <<<"$expected") lines and takes the others"
