# The kernel cache: the second compile makes nothing, and whatever is wrong with the cache is no error.
old_cache=${XDG_CACHE_HOME-}
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
model=$TENON_SOURCE_DIR/examples/models/mnist_cntk.onnx
entries() { find "$XDG_CACHE_HOME/tenon/kernels" -name '*.o' 2>/dev/null; }

expect 0 " 0 from the cache" compile -v "$model" -o first.tar
must "objects are kept" test "$(entries | wc -l)" -gt 2
expect 0 "code: 0 objects made" compile -v "$model" -o second.tar
must "the package is the same, cached or not" cmp first.tar second.tar
expect 0 " 0 from the cache" compile -v -O 1 "$model" -o other.tar

expect 0 ", cc " compile -v --target c -O 2 "$model" -o c1.tar
expect 0 "code: 0 objects made" compile -v --target c -O 2 "$model" -o c2.tar
must "C is the same package, cached or not" cmp c1.tar c2.tar
kept=$(entries | wc -l)
expect 0 "" compile --target c --cross-compiler cc -O 1 "$model" -o c3.tar
must "what a compiler of the user's makes is not kept" test "$(entries | wc -l)" = "$kept"

for entry in $(entries); do # damage of every kind
    case $entry in
    *[0-7].o) printf x | dd of="$entry" bs=1 seek=200 conv=notrunc 2>/dev/null ;;
    *[89].o) : >"$entry" ;;
    *) head -c 100 "$entry" >"$entry.cut" && mv "$entry.cut" "$entry" ;;
    esac
done
expect 0 " 0 from the cache" compile -v "$model" -o second.tar
must "damaged entries are not used" cmp first.tar second.tar
expect 0 "code: 0 objects made" compile -v "$model" -o second.tar

rm -rf "$XDG_CACHE_HOME"
for i in 1 2 3 4; do tenon compile "$model" -o many$i.tar >/dev/null 2>&1 & done
wait
for i in 1 2 3 4; do must "compilers at work at once agree" cmp first.tar many$i.tar; done
must "no temporary is left in the cache" test -z "$(find "$XDG_CACHE_HOME" -name '*.tmp')"

XDG_CACHE_HOME=/dev/null/nowhere
expect 0 "" compile "$model" -o second.tar
XDG_CACHE_HOME=relative # to be ignored, as the specification says; HOME is next
HOME=$work/home
export HOME
expect 0 "" compile "$model" -o second.tar
must "the cache is below HOME" test -d "$work/home/.cache/tenon/kernels"
must "a relative folder is ignored" test ! -e relative
rm -rf "$work/home"
TENON_CACHE=off
export TENON_CACHE
expect 0 "code: " compile -v "$model" -o second.tar
must "the cache may be switched off" test ! -e "$work/home"
unset TENON_CACHE
XDG_CACHE_HOME=$old_cache
