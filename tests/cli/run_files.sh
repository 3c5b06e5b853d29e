#!/bin/bash
# run_files.sh TESSERA: results of `run` are files that it reads again; both forms of text may come
# from the standard input.
set -euo pipefail

tessera=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$*"
  exit 1
}

"$tessera" run layer.mlir --fill --output "$work/new/results" >"$work/printed.txt"
[[ $(ls "$work/new/results") == $'out0.npy\nout1.npy' ]] || fail "the files are not those of results"

# A program that returns its argument prints the result that was written.
cat >"$work/same.mlir" <<'END'
module {
  func.func @main(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
    return %arg0 : tensor<16x8xf32>
  }
}
END
"$tessera" run "$work/same.mlir" --input "$work/new/results/out1.npy" >"$work/again.txt"
diff <(sed -n '/^result 1/,$p' "$work/printed.txt" | tail -n +2) <(tail -n +2 "$work/again.txt") ||
  fail "the results are not those that were written"

for program in layer.mlir mlp.mlir mlp.txt loop.txt; do
  cmp <("$tessera" run "$program" --fill) <("$tessera" run - --fill <"$program") ||
    fail "$program differs on the standard input"
done
# A folder that nobody may write to, unless the user may do all.
mkdir "$work/closed"
chmod a-w "$work/closed"
if [[ ! -w $work/closed ]]; then
  message=$("$tessera" run layer.mlir --fill --output "$work/closed" 2>&1) && fail "it was written"
  [[ $message == *"permission denied"* ]] || fail "$message"
fi
