#!/usr/bin/env bash
# A night on a real Slurm: a controller and one node on this machine, in a folder that is removed afterwards. The merge
# of the array's shards must be the undivided run, byte for byte. Needs root and the packages of packages.txt [nightly].
#   cli/slurm/slurm_test.sh LSECHECK
set -euo pipefail

lsecheck=$(realpath -- "$1")
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
for program in munged slurmctld slurmd sbatch squeue; do
  command -v "$program" >/dev/null || PATH=$PATH:/usr/sbin
  command -v "$program" >/dev/null || {
    echo "slurm_test: skipped, $program is not installed (Debian: slurmctld slurmd slurm-client munge)"
    exit 0
  }
done
[[ $EUID -eq 0 ]] || {
  echo "slurm_test: skipped, Slurm's daemons need root"
  exit 0
}

folder=$(mktemp --directory)
started=()
cleanup() {
  local pid
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
}
trap cleanup EXIT
explain() {
  echo "slurm_test: $*"
  tail --lines=20 "$folder"/*.log "$folder"/night/*.log 2>/dev/null || true
  exit 1
}

# munge wants a key and a socket of its own; Slurm runs as root, without cgroups, on the ports of this test alone.
dd if=/dev/urandom of="$folder/key" bs=1024 count=1 status=none
chmod 400 "$folder/key"
chmod 755 "$folder"
munged --foreground --force --key-file="$folder/key" --socket="$folder/munge" --pid-file="$folder/munge.pid" \
  --seed-file="$folder/seed" --log-file="$folder/munge.log" >"$folder/munged.log" 2>&1 &
started+=($!)
host=$(hostname -s)
cat >"$folder/slurm.conf" <<CONF
ClusterName=lsecheck
SlurmctldHost=$host
SlurmctldAddr=127.0.0.1
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
mkdir "$folder/state" "$folder/spool"
export SLURM_CONF=$folder/slurm.conf
slurmctld -D -c >"$folder/controller.log" 2>&1 &
started+=($!)
slurmd -D >"$folder/node.log" 2>&1 &
started+=($!)
for attempt in $(seq 60); do
  sinfo --noheader --format=%t 2>/dev/null | grep --quiet idle && break
  [[ $attempt -lt 60 ]] || explain "the node did not come up in 60 s"
  sleep 1
done

# --jobs 1: the tasks share the cores of one node.
LSECHECK=$lsecheck "$here/submit_nightly.sh" 3 "$folder/night" --seed 20261130 --cases 600 --jobs 1
for attempt in $(seq 300); do
  [[ -n $(squeue --noheader 2>/dev/null) ]] || break
  [[ $attempt -lt 300 ]] || explain "the jobs did not end in 300 s"
  sleep 1
done
[[ -s $folder/night/night.html && -s $folder/night/night.md ]] || explain "the merge job wrote no report"
"$lsecheck" nightly --seed 20261130 --cases 600 --out "$folder/undivided" >/dev/null || true
"$lsecheck" report "$folder/night/night.db" --format json --out "$folder/merged.json"
cmp "$folder/undivided/results.json" "$folder/merged.json" || explain "the merge is not the undivided run"
echo "slurm_test: three tasks of a job array, merged: the bytes of the undivided run"
