#!/bin/bash
# classify.sh PROGRAM: most passages that are held back are told apart. Licences are worded alike,
# and other versions of Debian have others.
set -euo pipefail

"$1" | tee /dev/stderr | awk '/held-back passages/ { right = $1 + 0 } END { exit !(right >= 70) }'
