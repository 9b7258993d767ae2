#!/usr/bin/env bash
# Runs a night as a Slurm job array, one shard a task, and merges the shards when all have ended.
#   cli/slurm/submit_nightly.sh SHARDS OUT [ARGS of lsecheck nightly]
# OUT is a folder every node sees. It receives shard-*/ (as lsecheck nightly writes them), night.db, night.html and
# night.md. LSECHECK names the program (default: the release build), SBATCH_ARGS what sbatch needs here (--partition ...).
# The exit code is sbatch's: the verdict is the merge job's, and the first line of night.md.
set -euo pipefail

[[ $# -ge 2 && $1 =~ ^[1-9][0-9]*$ ]] || {
  sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
shards=$1
out=$2
shift 2
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
lsecheck=${LSECHECK:-$root/build/release/cli/lsecheck}
[[ -x $lsecheck ]] || {
  printf '%s is not there: ./dev build makes it, or LSECHECK names another\n' "$lsecheck" >&2
  exit 4
}
mkdir -p "$out"
out=$(cd -- "$out" && pwd -P)

# Resolved once: tasks that start on both sides of midnight must draw from one sequence.
seed=(--seed "$(date --utc +%Y%m%d)")
[[ " $* " != *" --seed"* ]] || seed=()
arguments=$(printf ' %q' "$lsecheck" nightly "${seed[@]}" "$@")
read -r -a site <<<"${SBATCH_ARGS:-}"

# The shard is read from SLURM_ARRAY_TASK_ID; the folder is named by it, so that a requeued task goes on where it was.
array=$(sbatch "${site[@]}" --parsable --job-name=lsecheck --array="1-$shards" --output="$out/shard-%a.log" --requeue \
  --wrap="shard=$(printf '%q' "$out")/shard-\$SLURM_ARRAY_TASK_ID; resume=; [ ! -e \"\$shard/run.db\" ] || resume=--resume
exec$arguments --out \"\$shard\" \$resume")
array=${array%%;*}
merge=$(printf '%q merge --into %q/night.db %q/shard-*/run.db' "$lsecheck" "$out" "$out" | sed 's/\\\*/*/')
report=$(printf '%q report %q/night.db' "$lsecheck" "$out")
merged=$(sbatch "${site[@]}" --parsable --job-name=lsecheck-merge --dependency="afterany:$array" \
  --output="$out/merge.log" --wrap="set -e
$merge
$report --format html --out $(printf '%q' "$out")/night.html
$report --format markdown --out $(printf '%q' "$out")/night.md")
printf 'array job %s, merge job %s: the report will be %s/night.html\n' "$array" "${merged%%;*}" "$out"
