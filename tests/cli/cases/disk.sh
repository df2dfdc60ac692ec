# Disks that are full or may not be written: one error, exit 4, what was there stays, nothing half-written is left.
mkdir disk && cd disk || exit 1
mkdir full
echo 'def @main(%x: Tensor[(4), float32]) { exp(broadcast_to(expand_dims(%x, axis=0), shape=[4096, 4])) }' >wide.relay
expect 0 "" compile wide.relay -o wide.tar
echo file >file
for command in "compile wide.relay -o" "run wide.tar -o" "dump wide.relay --stage flat -o" "interpret wide.relay -o" \
    "opt wide.relay --pass=InferType -o" "run wide.tar --dump-outputs"; do
    expect 4 "Not a directory" $command file/out.tar
done
must "the file stays" test "$(cat file)" = file
allowed() { # BYTES WORD...: exits with 4 where no file may grow beyond that many blocks of 512 bytes
    (ulimit -f "$1" && shift && tenon "$@") >said.allowed 2>&1
    test $? = 4 && grep -q "File too large" said.allowed
}
must "a limit is an error, no signal" allowed 1 run wide.tar -o out.npz
must "in every file that is written" allowed 1 compile wide.relay -o out.so
must "and leaves nothing" test -z "$(ls out* 2>/dev/null)$(ls "$TMPDIR")"

# A disk of our own, of 8 KiB, then one that cannot be written: needs the right to mount.
cat >on_disk.sh <<'END'
mount -t tmpfs -o size=8k none full || exit 9
failed=0
say() { failed=1; echo "$1: $2"; sed 's/^/    /' said; }
meet() { # EXIT TEXT LEFT WORD...: what the command answers, what the disk holds after it
    code=$1 text=$2 left=$3
    shift 3
    tenon "$@" >said 2>&1
    got=$?
    [ $got = "$code" ] || say "$*" "exit $got, not $code"
    grep -qF -e "$text" said || say "$*" "does not say \"$text\""
    [ "$(cd full && find . -type f | sort | tr '\n' ' ')" = "$left" ] || say "$*" "left $(find full | tr '\n' ' ')"
}
full="No space left on device"
for suffix in tar so o a; do meet 4 "$full" "" compile wide.relay -o full/m.$suffix; done
meet 4 "$full" "" compile wide.relay --target c -o full/m.c
meet 4 "$full" "" run wide.tar -o full/out.npz
meet 4 "$full" "" interpret wide.relay -o full/out.npz
meet 4 "$full" "" dump "$TENON_SOURCE_DIR/examples/models/mnist_cntk.onnx" --stage c -o full/c
meet 4 "$full" "" run wide.tar --dump-outputs full/values
rm -rf full/values
head -c 4096 /dev/zero >full/filler
meet 4 "$full" "./filler " dump "$models/two.relay" --stage relay -o full/two
head -c 8192 /dev/zero >full/filler
XDG_CACHE_HOME=$PWD/full/cache meet 0 "peak memory" "./filler " compile wide.relay -o wide.tar
rm -rf full/filler full/cache
TMPDIR=$PWD/full meet 4 "$full" "" compile wide.relay -o other.so
[ ! -e other.so ] || say other.so "is there"
echo old >full/m.tar
meet 4 "$full" "./m.tar " compile wide.relay -o full/m.tar
[ "$(cat full/m.tar)" = old ] || say m.tar "is not what it was"
mount -o remount,ro full || exit 9
ro="Read-only file system"
for suffix in tar so o a; do meet 4 "$ro" "./m.tar " compile wide.relay -o full/m.$suffix; done
meet 4 "$ro" "./m.tar " run wide.tar -o full/out.npz
meet 4 "$ro" "./m.tar " interpret wide.relay -o full/out.npz
meet 4 "$ro" "./m.tar " dump wide.relay --stage relay -o full/relay
meet 4 "$ro" "./m.tar " run wide.tar --dump-outputs full/values
XDG_CACHE_HOME=$PWD/full/cache meet 0 "peak memory" "./m.tar " compile wide.relay -o wide.tar
TMPDIR=$PWD/full meet 4 "$ro" "./m.tar " compile wide.relay -o other.so
[ ! -e other.so ] || say other.so "is there"
exit $failed
END
if unshare -m sh -c 'mount -t tmpfs -o size=8k none full' 2>/dev/null; then
    export models
    must "full and read-only disks" unshare -m sh on_disk.sh
else
    echo "cli: full and read-only disks are left out: nothing may be mounted here"
fi

# Only what is kept is waited for: temporaries (objects, weights) are not.
if [ "$sanitizer" ]; then
    echo "cli: built with sanitizers: nothing may be preloaded"
else
    must "a counter of fsync" cc -shared -fPIC -o count.so "$here/log_fsync.c"
    syncs() { # NUMBER WORD...
        want=$1
        shift
        rm -f syncs
        : >syncs
        must "compiles" env FSYNC_LOG="$PWD/syncs" LD_PRELOAD="$PWD/count.so" tenon compile "$@"
        must "$want files are waited for" test "$(wc -l <syncs)" = "$want"
    }
    syncs 1 "$TENON_SOURCE_DIR/examples/models/mnist_cntk.onnx" -o sync.tar
    syncs 1 "$models/two.relay" --target c -o sync.tar
    syncs 2 "$models/two.relay" -o sync.so
fi
cd .. || exit 1
