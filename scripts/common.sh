# shellcheck shell=bash
# Shared by the scripts of this folder, which source it.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
packages=(build-essential cmake ninja-build ccache libabsl-dev libcli11-dev libfmt-dev libhwy-dev
  libopenblas0-pthread libdnnl-dev libsleef-dev nlohmann-json3-dev libgtest-dev libgmock-dev
  libmpfr-dev libutf8proc-dev clang-format libopenmpi-dev openmpi-bin)

say() { printf '\n== %s\n' "$*"; }

fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# run_quietly COMMAND...: shows the output only if the command fails.
run_quietly() {
  local log status=0
  log=$(mktemp)
  "$@" </dev/null >"$log" 2>&1 || status=$?
  ((status == 0)) || cat "$log" >&2
  rm -f "$log"
  return "$status"
}

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      echo "$package"
  done
}

# Installs missing packages. If none is missing, apt is not run.
install_packages() {
  if ! command -v apt-get >/dev/null; then
    say "no apt-get here: the libraries of docs/dependencies.md must be there already"
    return
  fi
  local missing as_root=()
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "please run as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local environment=(env DEBIAN_FRONTEND=noninteractive)
  # Asks for the password before the output is hidden.
  ((${#as_root[@]} == 0)) || sudo -v || fail "sudo does not let you install packages"
  run_quietly "${as_root[@]}" "${environment[@]}" apt-get update -q || fail "apt-get update failed"
  "${as_root[@]}" "${environment[@]}" apt-get install -yq --no-install-recommends "${missing[@]}" \
    </dev/null | sed -un -e 's/^Get:[0-9]* [^ ]* [^ ]* [^ ]* \([^ ]*\).*/   downloaded \1/p' \
    -e 's/^Setting up \([^ :]*\).*/   installed \1/p' || fail "apt-get install failed"
}

# configure FOLDER [CMAKE OPTION...]: a new folder compiles several sources at once, unless
# TESSERA_UNITY=OFF is in the environment; an existing folder keeps its setting. The library for
# several processes is built with Open MPI, or as TESSERA_MPI in the environment says (empty: not).
configure() {
  say "configuring ${1#"$repo/"}/"
  local options=("-DTESSERA_MPI=${TESSERA_MPI-openmpi}")
  [[ -f $1/CMakeCache.txt ]] || options+=("-DTESSERA_UNITY=${TESSERA_UNITY:-ON}")
  run_quietly cmake -S "$repo" -B "$1" -G Ninja "${options[@]}" "${@:2}" ||
    fail "cmake failed; its output is above"
}

# configure_sanitized address|thread: configures build-address/ or build-thread/, without MPI, in
# whose libraries the sanitizers find faults.
configure_sanitized() {
  local preset=asan
  [[ $1 == address ]] || preset=tsan
  configure "$repo/build-$1" --preset "$preset" -DTESSERA_MPI=
}

# test_programs FOLDER [CTEST OPTION...]: prints the programs of the chosen tests, one per line,
# including programs that are not built.
test_programs() {
  comm -12 <(ctest --test-dir "$1" -N -V "${@:2}" 2>&1 | grep -o "$1/[^ \"]*" | sed "s|^$1/||" | sort -u) \
    <(ninja -C "$1" -t targets all | sed -n 's/: CXX_EXECUTABLE_LINKER.*//p' | sort -u)
}

# build FOLDER [TARGET...]: builds the targets; without targets, everything.
build() {
  local targets=${*:2}
  say "building ${targets:-everything} in ${1#"$repo/"}/ with $(nproc) jobs"
  NINJA_STATUS='[%f/%t, %es] ' ninja -C "$1" -j "$(nproc)" "${@:2}" </dev/null ||
    fail "the build failed; the first error is above"
}
