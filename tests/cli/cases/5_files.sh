# Output files are there whole or not at all; interrupts and full disks leave nothing behind.
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
limited() { # no file may grow beyond 0 bytes
    (ulimit -f 0 && tenon "$@") 2>said.limited
    test $? = 4
}
must "a package that does not fit" limited compile "$models/fixed.relay" -o full/m.tar
must "an archive that does not fit" limited run fixed.tar -o full/out.npz
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
