#!/bin/bash
# warnings.sh COMPILER INCLUDE: client.cc, which uses every template of the public headers, compiles
# without a warning, with the headers taken for the user's own (-I, not -isystem).
set -euo pipefail

compiler=$1 include=$2
cd "$(dirname "$0")"
command -v "$compiler" >/dev/null || { echo "skipped: there is no $compiler here"; exit 77; }

flags=(-std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  -Wmissing-field-initializers -Werror -I "$include")
# Not -fsyntax-only: some warnings come with the code.
"$compiler" "${flags[@]}" -O1 -c client.cc -o /dev/null
echo "$compiler warns of nothing"
