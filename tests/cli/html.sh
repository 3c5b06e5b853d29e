#!/bin/bash
# html.sh TESSERA GOLDEN_FOLDER: the page is well-formed and needs nothing else; its data are those of
# the golden files. UPDATE_GOLDEN=1 writes these instead.
set -euo pipefail

tessera=$1 golden=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$*"
  exit 1
}

# data_of ID: prints the JSON of that script of the page.
data_of() { sed -n "/<script type=\"application\/json\" id=\"$1\">/,/<\/script>/p" "$work/page.html"; }

"$tessera" propagate mlp.txt >"$work/plain.txt"
for program in mlp.txt loop.txt explicit.txt reshape.txt empty.txt no_mesh.txt escapes.txt scopes.mlir \
  ../../stablehlo/cases/form_manual.mlir; do
  name=$(basename "$program")
  "$tessera" propagate "$program" --html "$work/page.html" >"$work/printed.txt"
  # Every tag closes in order, and every attribute is quoted. Styles and scripts hold no tags.
  awk 'BEGIN { RS = "\001" } {
    sub(/^<!DOCTYPE html>/, "")
    while (match($0, /<[^>]*>/)) {
      text = substr($0, 1, RSTART - 1); tag = substr($0, RSTART, RLENGTH)
      $0 = substr($0, RSTART + RLENGTH)
      if (text ~ />/) { print "a stray > before " tag; exit 1 }
      if (tag !~ /^<\/?[a-z0-9]+( [a-z-]+="[^"]*")*\/?>$/) { print "a bad tag " tag; exit 1 }
      name = tag; gsub(/^<\/?|[ \n\/>].*$/, "", name)
      if (tag ~ /\/>$/) continue
      if (tag !~ /^<\//) {
        open[++depth] = name
        if (name == "style" || name == "script") {
          end = "</" name ">"
          $0 = substr($0, index($0, end))
        }
        continue
      }
      if (open[depth--] != name) { print "a wrong end " tag; exit 1 }
    }
    if (depth != 0 || $0 ~ /[<>]/) { print "something is left open"; exit 1 }
  }' "$work/page.html" || fail "$program: the page is not well-formed"
  if grep -Eiq 'https?:|src=|@import|url\(|fetch\(|<link' "$work/page.html"; then
    fail "$program: the page does not stand alone"
  fi
  # Data hold no tags, so they end where their script ends.
  (($(grep -c '</script>' "$work/page.html") == 3)) || fail "$program: a script ends early"
  { grep -oE '%[0-9]+:' "$work/printed.txt" || true; } | tr -d '%:' | sort -un >"$work/printed_values.txt"
  data_of data | sed -n 's/^"value":\[\(.*\)\],$/\1/p' | tr ',' '\n' | { grep -v '^-1$' || true; } |
    sort -un >"$work/values.txt"
  diff "$work/printed_values.txt" "$work/values.txt" || fail "$program: the data lack values"
  { data_of data && data_of why; } >"$work/data.txt"
  if [[ ${UPDATE_GOLDEN:-} == 1 ]]; then
    cp "$work/data.txt" "$golden/html_$name.json"
  else
    diff -u "$golden/html_$name.json" "$work/data.txt" ||
      fail "$program: other data; if they should be: UPDATE_GOLDEN=1 scripts/test -R cli_html"
  fi
done
# Without scripts: what is sent and held, and for other strategies why that is not shown.
"$tessera" propagate mlp.txt --html "$work/page.html" >"$work/printed.txt"
for what in '<dd>384 B</dd>' 'class="axis c1">model' '<th scope="row">all_reduce</th><td class="n">384 B</td>' \
  '<caption>Bytes that each device sends, by axes</caption>' \
  '<th scope="row">arguments</th>' '× an even split'; do
  grep -qF "$what" "$work/page.html" || fail "the page lacks $what"
done
# Changes that lower the peak, with their line, the peak, and more bytes and FLOPs; only if asked for.
grep -qF '"changes":[]' "$work/page.html" || fail "changes that nobody asked for"
"$tessera" propagate mlp.txt --html "$work/page.html" --advise >"$work/printed.txt"
grep -qE '"changes":\[\[[0-9]+,[0-9]+,2560,384,0\],\[[0-9]+,[0-9]+,2624,0,-48\]\]' "$work/page.html" ||
  fail "the changes are not in the data"
for what in 'mlp.txt:2: shard %1 over data: dim 0' '2560 B  9.1% less, sends 384 B more'; do
  grep -qF "$what" "$work/page.html" || fail "the page lacks $what"
done
"$tessera" propagate no_mesh.txt --html "$work/page.html" >"$work/printed.txt"
grep -qF 'The devices send nothing.' "$work/page.html" || fail "nothing is not named"
"$tessera" propagate mlp.txt --stop-after basic --html "$work/page.html" >"$work/printed.txt"
grep -q 'after the strategy basic' "$work/page.html" || fail "the strategy is not named"
grep -qx '"comm":null,' "$work/page.html" || fail "another strategy has communication"
# Names are text.
cp mlp.txt "$work/<b>&\"x\".txt"
"$tessera" propagate "$work/<b>&\"x\".txt" --html "$work/page.html" >"$work/printed.txt"
grep -qF '&lt;b&gt;&amp;&quot;x&quot;.txt</h1>' "$work/page.html" || fail "the title is not escaped"
# The standard input gives the same program.
"$tessera" propagate - <mlp.txt >"$work/stdin.txt"
diff <(sed 's/ *\/\/.*//' "$work/plain.txt") <(sed 's/ *\/\/.*//' "$work/stdin.txt")
"$tessera" propagate mlp.txt --html /nowhere/x.html 2>"$work/error.txt" && fail "written nowhere"
grep -qx 'tessera: cannot write /nowhere/x.html: no such file or directory' "$work/error.txt"
