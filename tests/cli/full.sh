#!/bin/bash
# full.sh TESSERA: what cannot be written, as on a full disk, is an error of every command.
set -uo pipefail

[[ -w /dev/full ]] || exit 77
wanted="tessera: cannot write the output: no space left on device"
for arguments in "propagate mlp.txt" "explain mlp.txt %5" "check mlp.txt" "partition mlp.txt" ops \
  "ops dot_general" --help --version; do
  # shellcheck disable=SC2086
  printed=$("$1" $arguments 2>&1 >/dev/full)
  code=$?
  if ((code != 1)) || [[ $printed != "$wanted" ]]; then
    printf 'tessera %s: exit code %d\n%s\n' "$arguments" "$code" "$printed"
    exit 1
  fi
done
