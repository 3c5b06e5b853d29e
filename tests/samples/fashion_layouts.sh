#!/bin/bash
# fashion_layouts.sh PROGRAM: one seed gives one loss curve, to 1e-4, in every layout that the help names
# and on every number of devices; and each layout sends what it is made for.
set -euo pipefail

program=$1
# shellcheck source=tests/samples/fashion_data.sh
source "$(dirname "$0")/fashion_data.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make_data "$work/data" 100 20

# train DEVICES LAYOUT: two epochs of four steps.
train() {
  "$program" --devices "$1" --layout "$2" --images "$work/data" --losses "$work/losses-$1-$2" \
    --batch 24 --epochs 2 >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
}
# sends COLLECTIVE: whether a step has it, over the devices.
sends() { grep -q "^$1 *over devices" "$work/log"; }
fail() {
  cat "$work/log"
  echo "$*"
  exit 1
}

layouts=$("$program" --help | sed -n 's/^--layout *//p' | grep -oE '[a-z]+:' | tr -d :)
[[ $(wc -w <<<"$layouts") == 3 ]] || fail "the help names the layouts $layouts"
train 1 dp
! grep -q 'over devices' "$work/log" || fail "one device communicates"
for layout in $layouts; do
  for devices in 1 2 4 8; do
    train "$devices" "$layout"
    paste "$work/losses-1-dp" "$work/losses-$devices-$layout" | awk -v run="$layout on $devices" '
      { off = ($1 - $2) / $1; if (off < 0) off = -off; if (!(off <= worst)) worst = off }
      END { printf "%-14s %d losses, at most %.1e apart\n", run, NR, worst
            exit !(NR == 8 && worst <= 1e-4) }'
  done
  case $layout in
    dp) sends all_reduce && ! sends reduce_scatter || fail "dp does not sum gradients" ;;
    fsdp) sends all_gather && sends reduce_scatter || fail "fsdp does not cut weights" ;;
    spatial)
      sends halo_exchange || fail "spatial does not exchange rows"
      ! sends all_gather && ! sends all_to_all || fail "spatial moves images"
      ;;
  esac
done
