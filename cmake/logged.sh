#!/bin/sh
# logged.sh LOG COMMAND...: runs the command with its output in LOG, which is shown when the command fails.
log=$1
shift
"$@" >"$log" 2>&1 && exit 0
cat "$log" >&2
rm -f "$log"
exit 1
