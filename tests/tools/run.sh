#!/bin/sh
# Tests of tools/replay, tools/reduce and tools/points.
#
#   tests/tools/run.sh FOLDER_OF_TENON
set -u
TENON_BIN=$(cd "$1" && pwd) || exit 1
tree=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
PATH=$TENON_BIN:$PATH
export TENON_BIN PATH
n_case=0 n_failed=0

# expect CODE TEXT command...: the command ends with CODE and prints TEXT, a regular expression ("" for any)
expect() {
    code=$1 text=$2
    shift 2
    n_case=$((n_case + 1))
    "$@" >said 2>&1 </dev/null
    got=$?
    if [ $got -ne "$code" ] || { [ -n "$text" ] && ! grep -qE -e "$text" said; }; then
        n_failed=$((n_failed + 1))
        echo "FAILED: $*: exit $got, not $code, or it does not say $text"
        sed 's/^/    /' said
    fi
}

for file in "$tree"/tests/tools/*_cases.sh; do
    . "$file"
done
echo "tools: $n_case checks, $n_failed failed"
[ $n_failed = 0 ]
