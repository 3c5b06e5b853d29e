#!/bin/bash
# classify.sh PROGRAM TEXTS: checks that most held-back passages are classified correctly. Some licences are
# similar, and other versions of Debian have other licences.
set -euo pipefail

"$1" | tee /dev/stderr | awk '/held-back passages/ { right = $1 + 0 } END { exit !(right >= 70) }'

# A folder that is not there, and one whose texts are short.
for folder in "$2/none" "$2"; do
  if said=$("$1" "$folder" 2>&1) || [[ $said != classify:*"$folder"* ]]; then
    printf '%s\n' "$folder" "$said"
    exit 1
  fi
done
