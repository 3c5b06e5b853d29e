# Common parts of the checks of an installed library. Sets `build`, `compiler`, `generator` from the
# arguments, and `work`, a folder that is removed at the end.
# shellcheck shell=bash
set -euo pipefail

# shellcheck disable=SC2034  # used by the checks
build=$1 compiler=$2 generator=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# quietly COMMAND...: runs it, and shows what it printed only if it fails.
quietly() {
  "$@" >"$work/log" 2>&1 || {
    cat "$work/log"
    echo "failed: $*"
    exit 1
  }
}
