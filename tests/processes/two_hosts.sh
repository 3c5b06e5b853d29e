#!/bin/bash
# two_hosts.sh ARGUMENT...: mpirun of Open MPI on two hosts, which are network namespaces of this
# machine. The second one sends at most 400 Mbit/s. Processes alternate between the hosts. Needs root.
# Use it as MPIRUN of run.sh.
# shellcheck disable=SC2016  # the shells of the hosts expand it
set -euo pipefail

if [[ $1 == --version ]]; then exec mpirun --version; fi
# As mpirun's remote shell: two_hosts.sh HOST COMMAND...
if [[ -n ${TESSERA_SECOND_HOST:-} && $1 == 10.77.0.2 ]]; then
  exec ip netns exec "$TESSERA_SECOND_HOST" unshare --uts \
    bash -c 'hostname second; exec bash -c "$0"' "${*:2}"
fi

first=tessera_first_$$
export TESSERA_SECOND_HOST=tessera_second_$$
hosts=("$first" "$TESSERA_SECOND_HOST")
trap 'for host in "${hosts[@]}"; do ip netns del "$host"; done' EXIT
for host in "${hosts[@]}"; do
  ip netns add "$host"
  ip -n "$host" link set lo up
done
ip link add cable netns "$first" type veth peer name cable netns "$TESSERA_SECOND_HOST"
for n in 0 1; do
  ip -n "${hosts[n]}" addr add "10.77.0.$((n + 1))/24" dev cable
  ip -n "${hosts[n]}" link set cable up
done
ip netns exec "$TESSERA_SECOND_HOST" tc qdisc add dev cable root tbf rate 400mbit burst 64kb latency 50ms

network=(--mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24)
ip netns exec "$first" unshare --uts bash -c 'hostname first; exec "$@"' mpirun \
  mpirun --mca plm_rsh_agent "$(realpath "$0")" --host 10.77.0.1:64,10.77.0.2:64 --map-by node \
  "${network[@]}" "$@"
