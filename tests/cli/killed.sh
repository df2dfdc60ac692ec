# killed FILE MODEL: searches of MODEL that write to FILE are stopped at any moment. It stays sound, and nothing that stood
# in it is lost. For cases of run.sh.
killed() {
    moments="0.3 0.6 0.9 1.2 1.5"
    [ -z "${TENON_SLOW:-}" ] || moments=$(seq 0.03 0.03 3) # a hundred
    : >before
    for after in $moments; do
        timeout -s KILL "$after" tenon tune "$2" -o "$1" --seed "${after#*.}" --budget 20s >/dev/null 2>&1
        [ -e "$1" ] || continue
        rm -f now
        expect 0 "" compile "$2" --tuning-records "$1" -o killed.tar
        expect 0 "" records list --file "$1"
        expect 0 "" records export now --file "$1"
        must "what stood there still stands" sh -c 'head -c "$(wc -c <before)" now | cmp - before'
        cp now before
    done
}
