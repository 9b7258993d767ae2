#!/usr/bin/env bash
# Plants each patch of a folder in a copy of the sources, builds that copy and expects `lsecheck run` to turn red with a shrunk case whose
# pasted line replays it. Called by ./dev mutants, which has installed and built everything before.
#
# A patch is named after the kernels it touches: fa4_splitk-*.patch runs those that match fa4_splitk*, and so on.
#
# usage: run_mutants.sh SOURCE_ROOT SCRATCH_DIR PATCH...
# exit: 0 every mutant is killed and replayed; 1 one survives, does not replay, or does not apply
set -euo pipefail

root=$1
scratch=$2
shift 2
source_copy=$scratch/source
build=$scratch/build
readonly cases=960

# The copy follows the tree, patched files included, without touching what did not change (ninja goes by time stamps).
refresh_copy() {
  mkdir -p "$source_copy"
  (cd "$root" && git ls-files --cached --others --exclude-standard -z) | while IFS= read -r -d '' file; do
    [[ -f $root/$file ]] || continue
    cmp --silent "$root/$file" "$source_copy/$file" && continue
    mkdir -p "$(dirname "$source_copy/$file")"
    cp "$root/$file" "$source_copy/$file"
  done
}

# row STATE NAME DETAIL...
row() {
  local state=$1 name=$2
  shift 2
  printf '%-14s %-34s %s\n' "$state" "$name" "$*"
}

# check_one PATCH: prints a row; returns 1 unless the mutant is killed and replayed.
check_one() {
  local patch=$1 name law found token start
  name=$(basename "$patch" .patch)
  refresh_copy
  if ! patch --quiet --strip=1 --directory="$source_copy" --dry-run --input="$patch" >"$scratch/patch.log" 2>&1; then
    row "no longer fits" "$name" "regenerate it against the present sources"
    return 1
  fi
  patch --quiet --strip=1 --directory="$source_copy" --input="$patch"
  if ! { cmake -S "$source_copy" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O1" \
    -DLSECHECK_CUDA=OFF && cmake --build "$build" --target lsecheck; } >"$scratch/build.log" 2>&1; then
    row "not built" "$name" "see $scratch/build.log"
    return 1
  fi
  rm -rf "$scratch/failures"
  start=$SECONDS
  local code=0
  "$build/cli/lsecheck" run --kernel "${name%%-*}*" --cases $cases --failures "$scratch/failures" --json "$scratch/results.json" \
    >"$scratch/report.txt" 2>/dev/null || code=$?
  if [[ $code -ne 1 ]]; then
    row "SURVIVED" "$name" "$cases cases, exit code $code"
    return 1
  fi
  local seconds=$((SECONDS - start))
  read -r law found < <(sed -nE 's/^[a-z0-9_]+: law ([a-z_]+) failed in case ([0-9]+)$/\1 \2/p' "$scratch/report.txt" | head -n 1)
  token=$(grep --only-matching --max-count=1 -E 'lse1-[a-z2-7]+' "$scratch/report.txt")
  code=0
  "$build/cli/lsecheck" repro "$token" >"$scratch/repro.txt" 2>&1 || code=$?
  if [[ $code -ne 1 ]]; then
    row "NOT REPLAYED" "$name" "$token: exit code $code"
    return 1
  fi
  code=0
  "$build/cli/lsecheck" repro "$(find "$scratch/failures" -name '*.safetensors' | sort | head -n 1)" >/dev/null 2>&1 || code=$?
  [[ $code -eq 1 ]] || { row "NOT REPLAYED" "$name" "its case file: exit code $code"; return 1; }
  row "killed" "$name" "by $law in case $found, ${seconds} s; replayed: $(sed -n 's/^case  *//p' "$scratch/repro.txt")"
}

failed=0
for patch in "$@"; do
  check_one "$(realpath "$patch")" || failed=$((failed + 1))
done
printf '%d passed, %d failed\n' "$(($# - failed))" "$failed"
[[ $failed -eq 0 ]]
