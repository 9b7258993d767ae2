#!/usr/bin/env bash
# A week of nights with seven seeds, the fifth with a planted bug: the report must say which night, kernel and law, and
# its line must replay the failure with the broken build and find it mended with the sound one.
#   cli/week_test.sh LSECHECK SOURCE
set -euo pipefail

lsecheck=$(realpath -- "$1")
source=$(realpath -- "$2")
readonly planted=fa4_splitk-last-partition-not-summed kernel=fa4_splitk_combine
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
explain() {
  echo "week_test: $*"
  exit 1
}

"$lsecheck" mutants "$source/properties/mutants/$planted.patch" --source "$source" --programs programs >mutants.log ||
  explain "the mutant could not be made: $(cat mutants.log)"
for day in 23 24 25 26 27 28 29; do
  program=$lsecheck expected=0
  [[ $day != 27 ]] || program=$folder/programs/$planted expected=1
  code=0
  "$program" nightly --seed 202611$day --cases 1000 --history nights --out nights/202611$day >night.log 2>&1 || code=$?
  [[ $code -eq $expected ]] || explain "the night of $day ended with $code, not $expected: $(cat night.log)"
done

"$lsecheck" report nights/*/run.db --format markdown --out week.md
"$lsecheck" report nights/*/run.db --format html --out week.html
for page in week.md week.html; do
  grep --quiet '1 of 7 nights failed: seed 20261127' $page || explain "$page does not name the night"
done
line=$(grep --max-count=1 'nights/20261127/run.db' week.md | tr --delete '\\')
[[ $line == *"$kernel: law "* ]] || explain "the night's line names no kernel and law: $line"
[[ $line =~ lse1-[a-z2-7]+ ]] || explain "no line to replay: $line"
token=${BASH_REMATCH[0]}
grep --quiet "lsecheck repro $token" week.html || explain "the page has no line to replay"

replay() {
  local code=0
  "$1" repro "$token" >replay.log 2>&1 || code=$?
  echo $code
}
[[ $(replay "programs/$planted") -eq 1 ]] || explain "the broken build does not replay $token: $(cat replay.log)"
[[ $(replay "$lsecheck") -eq 3 ]] || explain "the sound build fails $token too: $(cat replay.log)"
echo "week_test: seven nights, one with a planted bug: the night, the kernel, the law, and a line that replays it"
