#!/bin/bash
# client.sh COMPILER INCLUDE LIBRARY: tessera/c.h compiles without a warning as C11 and as C++, client.c runs,
# and the library exports the functions of the header, each with a version, and nothing else.
set -euo pipefail

compiler=$1 include=$2 library=$3
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I "$include")
"$compiler" -x c -std=c11 "${flags[@]}" -Wstrict-prototypes client.c -x none "$library" \
  -Wl,-rpath,"$(dirname "$library")" -o "$work/client"
"$work/client" square.mlir | diff client.txt -
for standard in c++11 c++20; do
  "$compiler" -x c++ "-std=$standard" "${flags[@]}" -include tessera/c.h -fsyntax-only - <<<'int x;'
done

declared=$(grep -oE '\btessera_[a-z_]+\(' "$include/tessera/c.h" | tr -d '(' | sort -u)
exported=$(nm -D --defined-only "$library" | sed -n 's/^[0-9a-f]* [A-Z] //p' | grep -vx 'TESSERA_1' | sort)
diff <(sed 's/$/@@TESSERA_1/' <<<"$declared") <(echo "$exported")
