# Output files are there whole or not at all; interrupts and full disks leave nothing behind.
must "a package" tenon compile "$models/fixed.relay" -o fixed.tar
mkdir full
expect 4 "No such file or directory" compile "$models/fixed.relay" -o absent/m.tar
expect 4 "No such file or directory" run fixed.tar -o absent/out.npz
expect 4 "No such file or directory" dump "$models/two.relay" --stage relay -o absent/dump
expect 4 "Is a directory" run fixed.tar -o full
expect 4 "No space left on device" run fixed.tar -o /dev/full
expect 0 "" run fixed.tar -o /dev/null
must "a device stays a device" test -c /dev/null
echo old >full/m.tar
echo old >full/out.npz
if [ "$sanitizer" = __tsan_init ]; then
    echo "cli: built with the thread sanitizer: it writes a file of its own before main"
else
    limited() { # no file may grow beyond 0 bytes
        (ulimit -f 0 && tenon "$@") 2>said.limited
        test $? = 4
    }
    must "a package that does not fit" limited compile "$models/fixed.relay" -o full/m.tar
    must "an archive that does not fit" limited run fixed.tar -o full/out.npz
fi
must "what was there stays, nothing is left" test "$(cat full/* | tr '\n' ' ') $(ls full | tr '\n' ' ')" = "old old  m.tar out.npz "

# an interrupt while the linker runs
cat >slow_ld <<'END'
#!/bin/sh
: >started
exec sleep 3
END
chmod +x slow_ld
for signal in TERM HUP; do
    rm -f started
    tenon compile "$models/fixed.relay" -o stopped.tar --cross-compiler ./slow_ld >said 2>&1 &
    pid=$!
    while [ ! -e started ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
    must "the linker works in a folder of the process" test -n "$(ls "$TMPDIR")"
    kill -$signal $pid
    wait $pid 2>/dev/null
    code=$?
    must "$signal ends it as it would any process" test $code -gt 128
    must "$signal leaves no temporaries" test -z "$(ls "$TMPDIR")$(ls stopped.tar* 2>/dev/null)"
done

# Killed, it leaves its folder; the next process removes that, but none of a living one.
linking() { # starts a compilation that waits for its linker
    rm -f started
    tenon compile "$models/fixed.relay" -o stopped.tar --cross-compiler ./slow_ld >said 2>&1 &
    pid=$!
    while [ ! -e started ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
}
linking
expect 0 "" compile "$models/fixed.relay" -o killed.tar
must "the folder of a living process stays" test "$(ls "$TMPDIR" | wc -l)" = 1
kill -KILL $pid
wait $pid 2>/dev/null
must "a killed process leaves its folder" test "$(ls "$TMPDIR" | wc -l)" = 1
mkdir "$TMPDIR/tenon-other"
expect 0 "" compile "$models/fixed.relay" -o killed.tar
must "the next one removes it and nothing else" test "$(ls "$TMPDIR")" = tenon-other
rmdir "$TMPDIR/tenon-other"

# A signal at any moment: what is being written goes, what is written stays whole. Each command is stopped at eight moments
# of the time it takes, and ends of itself or by the signal; then there is no temporary, and each file is whole or absent.
mkdir any && cd any || exit 1
echo 'def @main(%x: Tensor[(64), float32]) { exp(broadcast_to(expand_dims(%x, axis=0), shape=[65536, 64])) }' >wide.relay
expect 0 "" compile wide.relay -o wide.tar
now() { date +%s%N; }
stop_anywhere() { # SIGNAL FILES WORD...: FILES are all that may be there afterwards
    signal=$1 files=$2
    shift 2
    start=$(now)
    must "runs" tenon "$@"
    whole=$(($(now) - start))
    for part in 1 2 3 4 5 6 7 8; do
        rm -rf out*
        tenon "$@" >said 2>&1 &
        pid=$!
        sleep "$(awk "BEGIN {print $whole * ($part - 0.5) / 8e9}")"
        kill -$signal $pid 2>/dev/null
        wait $pid 2>/dev/null
        code=$?
        must "$signal at $part/8 of $*: ends by it or is done ($code)" test $code = 0 -o $code -gt 128
        must "$signal at $part/8 of $*: says nothing of its own" sh -c "! grep -i error said"
        left=$(find . "$TMPDIR" -name '*.tmp' -o -name 'tenon-*')
        must "$signal at $part/8 of $*: leaves no temporary" test -z "$left"
        for f in $(find out* -type f 2>/dev/null); do
            must "$signal at $part/8 of $*: $f may be there" sh -c "case $f in $files) ;; *) exit 1 ;; esac"
        done
        both=$(ls out.so out.c out.h 2>/dev/null | wc -l)
        must "$signal at $part/8 of $*: library and header together" test "$both" != 1
    done
}
stop_anywhere INT "out.so|out.h" compile wide.relay -o out.so
stop_anywhere TERM "out.tar|out.tar.*" compile wide.relay -o out.tar --dump-code relay,tir,c,asm
stop_anywhere TERM "out.c|out.h" compile wide.relay --target c -o out.c
stop_anywhere HUP out.npz run wide.tar -o out.npz
stop_anywhere TERM "out/*.npy|out/list.txt|out/index.json" run wide.tar --dump-outputs out

# and the moment at which temporaries are certainly there: while the disk is waited for
if [ "$sanitizer" ]; then
    echo "cli: built with sanitizers: nothing may be preloaded"
else
    must "a slow disk" cc -shared -fPIC -o slow.so "$here/log_fsync.c"
    stop_in_fsync() { # NUMBER LEFT WORD...: at that fsync; LEFT: files that stand there already
        number=$1 stay=$2
        shift 2
        rm -rf out*
        : >syncs
        FSYNC_LOG=$PWD/syncs FSYNC_SECONDS=60 FSYNC_AT=$number LD_PRELOAD=$PWD/slow.so tenon "$@" >said 2>&1 &
        pid=$!
        while [ "$(wc -l <syncs)" -lt "$number" ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
        must "fsync $number of $*: a temporary is there" test -n "$(find . -name '*.tmp')"
        kill -TERM $pid
        wait $pid 2>/dev/null
        must "fsync $number of $*: ended by the signal" test $? -gt 128
        must "fsync $number of $*: says nothing" test ! -s said
        must "fsync $number of $*: leaves nothing" test "$(find . "$TMPDIR" -name 'out*' -o -name 'tenon-*' -o -name '*.tmp' |
            sort | tr '\n' ' ')" = "$stay"
    }
    stop_in_fsync 1 "" compile wide.relay -o out.so
    stop_in_fsync 2 "" compile wide.relay -o out.so
    stop_in_fsync 1 "" run wide.tar -o out.npz
    stop_in_fsync 1 "./out " run wide.tar --dump-outputs out
    stop_in_fsync 1 "" dump wide.relay --stage relay -o out.relay
    stop_in_fsync 1 "" interpret wide.relay -o out.npz

    # A killed process cleans nothing up: the next one that writes to the place does, but leaves what a living one writes.
    write_slowly() { # NUMBER: of the temporary file that waits for the disk
        : >syncs
        FSYNC_LOG=$PWD/syncs FSYNC_SECONDS=60 FSYNC_AT=1 LD_PRELOAD=$PWD/slow.so tenon interpret wide.relay -o out.npz &
        pid=$!
        while [ ! -s syncs ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
        must "a temporary file is there" test -e "out.npz.tenon-$1.tmp"
    }
    rm -rf out*
    write_slowly 0
    first=$pid
    write_slowly 1
    expect 0 "" interpret wide.relay -o out.npz
    must "those of living processes stay" test -e out.npz.tenon-0.tmp -a -e out.npz.tenon-1.tmp
    kill -KILL $first $pid
    wait $first $pid 2>/dev/null
    must "killed, they leave their files" test -e out.npz.tenon-0.tmp -a -e out.npz.tenon-1.tmp
    expect 0 "" interpret wide.relay -o out.npz
    must "the next one removes what they left" test "$(echo out*)" = out.npz
fi
cd .. || exit 1
