# shellcheck shell=bash
# Sourced by the tests of the fashion sample.

# number N: four bytes, the most significant first.
number() {
  # shellcheck disable=SC2059
  printf "$(printf '\\%03o' $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255)))"
}

# pixels COUNT: images of 28 x 28 bytes, which differ.
pixels() { head -c $((784 * $1)) < <(seq 1000000) | tr '\n0-9' '\000\031\062\113\144\175\226\257\310\341\372'; }

# labels COUNT: the classes 0 to 9 in turn.
labels() {
  local i
  for ((i = 0; i < $1; ++i)); do printf '%b' "\\x0$((i % 10))"; done
}

# make_data FOLDER IMAGES HELD_BACK: the four files of the data; those of the held-back images are not
# compressed.
make_data() {
  mkdir -p "$1"
  (number 2051 && number "$2" && number 28 && number 28 && pixels "$2") |
    gzip >"$1/train-images-idx3-ubyte.gz"
  (number 2049 && number "$2" && labels "$2") | gzip >"$1/train-labels-idx1-ubyte.gz"
  (number 2051 && number "$3" && number 28 && number 28 && pixels "$3") >"$1/t10k-images-idx3-ubyte"
  (number 2049 && number "$3" && labels "$3") >"$1/t10k-labels-idx1-ubyte"
}
