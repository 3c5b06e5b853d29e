#!/bin/bash
# html.sh TESSERA: the page is well-formed, stands alone, and has every value; reading the standard
# input gives the same program.
set -euo pipefail

tessera=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$*"
  exit 1
}

"$tessera" propagate mlp.txt >"$work/plain.txt"
for program in mlp.txt loop.txt explicit.txt reshape.txt; do
  "$tessera" propagate "$program" --html "$work/page.html" >"$work/printed.txt"
  # Every tag closes in order, and every attribute is quoted.
  awk 'BEGIN { RS = "\001" } {
    sub(/^<!DOCTYPE html>/, "")
    while (match($0, /<[^>]*>/)) {
      text = substr($0, 1, RSTART - 1); tag = substr($0, RSTART, RLENGTH)
      $0 = substr($0, RSTART + RLENGTH)
      if (text ~ />/) { print "a stray > before " tag; exit 1 }
      if (tag !~ /^<\/?[a-z0-9]+( [a-z]+="[^"]*")*\/?>$/) { print "a bad tag " tag; exit 1 }
      name = tag; gsub(/^<\/?|[ \n\/>].*$/, "", name)
      if (tag ~ /\/>$/) continue
      if (tag !~ /^<\//) { open[++depth] = name; continue }
      if (open[depth--] != name) { print "a wrong end " tag; exit 1 }
    }
    if (depth != 0 || $0 ~ /[<>]/) { print "something is left open"; exit 1 }
  }' "$work/page.html" || fail "$program: the page is not well-formed"
  if grep -Eiq '<script|https?:|src=' "$work/page.html"; then
    fail "$program: the page does not stand alone"
  fi
  grep -oE '%[0-9]+:' "$program" | sort -u | while read -r value; do
    grep -qF "$value" "$work/page.html" || fail "$program: $value is not on the page"
  done
  grep -q '<details><summary class="row"><span class="value"[^>]*>%' "$work/page.html" ||
    fail "$program: nothing is explained"
  grep -q 'class="axis c0"' "$work/page.html" || fail "$program: nothing is coloured"
done
# What is sent, what it adds up to, and for other strategies why that is not shown.
"$tessera" propagate mlp.txt --html "$work/page.html" >"$work/printed.txt"
for what in '<td>all_reduce</td>' '<b>384 B</b>' '<caption>By axes</caption>' \
  '<caption>By collective</caption>' 'class="bar" style="width:100.0%"' '<td>implied</td>'; do
  grep -qF "$what" "$work/page.html" || fail "the communication lacks $what"
done
"$tessera" propagate mlp.txt --stop-after basic --html "$work/page.html" >"$work/printed.txt"
grep -q 'after the strategy basic' "$work/page.html" || fail "the strategy is not named"
# Names are text.
cp mlp.txt "$work/<b>&\"x\".txt"
"$tessera" propagate "$work/<b>&\"x\".txt" --html "$work/page.html" >"$work/printed.txt"
grep -qF '&lt;b&gt;&amp;&quot;x&quot;.txt</h1>' "$work/page.html" || fail "the title is not escaped"
"$tessera" propagate - <mlp.txt >"$work/stdin.txt"
diff <(sed 's/ *\/\/.*//' "$work/plain.txt") <(sed 's/ *\/\/.*//' "$work/stdin.txt")
"$tessera" propagate mlp.txt --html /nowhere/x.html 2>"$work/error.txt" && fail "written nowhere"
grep -qx 'tessera: cannot write /nowhere/x.html: no such file or directory' "$work/error.txt"
