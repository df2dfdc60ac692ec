#!/bin/sh
# Tests of the command line: each case runs the command, and looks at its exit code and what it says.
#
#   tests/cli/run.sh FOLDER_OF_TENON [name...]     names of files in tests/cli/cases, without .sh; all by default
#
# A case is `expect CODE TEXT word...`: `tenon word...` ends with CODE and prints TEXT (a fixed string; "" for any) on
# standard output or error. `must WHAT command...` wants a shell command to succeed. Each file works in a temporary folder
# of its own and needs nothing that another leaves; ctest runs it as cli.<name>.
set -u
bin=$(cd "$1" && pwd) || exit 1
shift
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ne 1 ]; then
    failed=0
    [ $# -gt 0 ] || set -- $(cd "$here/cases" && ls | sed 's/[.]sh$//')
    for name in "$@"; do
        sh "$here/run.sh" "$bin" "$name" || failed=1
    done
    exit $failed
fi
models=$here/models npz=$here/npz
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
PATH=$bin:$PATH
NO_COLOR=1 TMPDIR=$work/tmp TENON_RECORDS=off
export PATH NO_COLOR TMPDIR TENON_RECORDS
mkdir tmp
# what the command was built with: __asan_init, __tsan_init or nothing
sanitizer=$(nm "$bin/tenon" | grep -oE '__[at]san_init' | head -n 1)
# With sanitizers fewer numbers of threads and one compiler of programs, unless TENON_SLOW is set: packages and text are
# the same in each build.
threads_list="1 2 3 4 5 6 7 8"
compilers= known_compilers=
for cc in gcc clang-19 clang-14 clang; do
    path=$(command -v $cc) && path=$(readlink -f "$path") || continue
    case " $known_compilers " in *" $path "*) continue ;; esac # under another name
    known_compilers="$known_compilers $path" compilers="$compilers $cc"
done
if [ "$sanitizer" ] && [ -z "${TENON_SLOW:-}" ]; then
    threads_list="1 2 7" compilers=${compilers%%" clang"*}
fi
n_case=0 n_failed=0

failed() {
    n_failed=$((n_failed + 1))
    echo "FAILED: $1"
    sed 's/^/    /' "$work/said"
}

expect() {
    code=$1 text=$2
    shift 2
    n_case=$((n_case + 1))
    tenon "$@" >"$work/said" 2>&1 </dev/null
    got=$?
    if [ $got -ne "$code" ]; then
        failed "tenon $*: exit $got, not $code"
    elif [ -n "$text" ] && ! grep -qF -e "$text" "$work/said"; then
        failed "tenon $*: does not say \"$text\""
    fi
}

must() {
    what=$1
    shift
    n_case=$((n_case + 1))
    "$@" >"$work/said" 2>&1 || failed "$what: $*"
}

# refused WORD... : the last flag given is refused by its name
refused() {
    command=$1 operand=$2
    shift 2
    name=$1
    expect 4 "tenon: error: ${name%%=*} is not supported yet" "$command" "$operand" "$@"
}

. "$here/cases/$1.sh"
must "no temporary is left" test -z "$(ls "$TMPDIR")"
echo "cli.$1: $n_case checks, $n_failed failed"
[ $n_failed = 0 ]
