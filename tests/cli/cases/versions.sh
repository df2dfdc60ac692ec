# Packages of another version of the format: refused before any of their code runs, in one line that says what to do.
mkdir versions && cd versions || exit 1
expect 0 "kernels for" compile "$TENON_SOURCE_DIR/examples/models/mnist_cntk.onnx" -o now.tar
expect 0 "" compile "$TENON_SOURCE_DIR/examples/models/mnist_cntk.onnx" -o now.so
newest=$(sed -n 's/^#define TENON_ABI_VERSION \([0-9]*\)u.*/\1/p' "$TENON_SOURCE_DIR/include/tenon/abi.h")
expect 0 "kernel ABI $newest" verify now.tar
expect 0 "kernel ABI $newest" verify now.so
tar xf now.tar

note() { # FROM TO IN OUT: the ELF note's text, length as before
    python3 - "$@" <<'END'
import sys
was, now, read, written = sys.argv[1:]
data = open(read, "rb").read()
assert len(was) == len(now) and data.count(was.encode()) == 1, (was, now, data.count(was.encode()))
open(written, "wb").write(data.replace(was.encode(), now.encode()))
END
}
both_refuse() { # TEXT FILE...: by both commands, in one line
    said=$1
    shift
    for file in "$@"; do
        for command in run verify; do
            expect 4 "$said" $command $file
            must "$command $file: one line" test "$(wc -l <"$work/said")" = 1
        done
    done
}
note "kernel ABI $newest" "kernel ABI 7" now.so newer.so
note "kernel ABI $newest" "kernel ABI 7" mod.so m && mv m mod.so && tar cf newer.tar mod.so mod.json mod.params
both_refuse "a newer version of Tenon made it: its kernels use ABI version 7, but this version supports up to $newest; update Tenon or compile the model again" \
    newer.so newer.tar
tar xf now.tar
note "kernel ABI $newest" "kernel ABI 0" now.so zero.so
note "kernel ABI $newest" "kernel ABI 0" mod.so m && mv m mod.so && tar cf zero.tar mod.so mod.json mod.params
both_refuse "made it for kernel ABI 0, which this version no longer reads; compile the model again" zero.so zero.tar
tar xf now.tar
note "kernel ABI $newest" "kernel ABI 7" mod.so m && mv m mod.so
note "kernel ABI $newest" "kernel abi $newest" now.so older.so
note "kernel ABI 7" "kernel abi 7" mod.so m && mv m mod.so && tar cf older.tar mod.so mod.json mod.params
both_refuse "an older version of Tenon made it, without an ABI version for its kernels; compile the model again" older.so older.tar

expect 4 "[driver-E064]" verify newer.tar

# weights of another format, and a graph that is none
tar xf now.tar
must "other weights" sh -c "printf '\\001' | dd of=mod.params bs=1 conv=notrunc 2>/dev/null && tar cf weights.tar mod.so mod.params"
expect 4 "mod.params is damaged: not a parameter list" run weights.tar
must "run says so in one line" test "$(wc -l <"$work/said")" = 1
tar xf now.tar
must "another graph" sh -c "sed 's/\"node_row_ptr\"/\"node_row_ptr_v2\"/' mod.json >m && mv m mod.json && tar cf graph.tar mod.so mod.json mod.params"
expect 4 "mod.json: must be an object of nodes, arg_nodes, heads, attrs, node_row_ptr and metadata" run graph.tar --executor graph
must "run says so in one line" test "$(wc -l <"$work/said")" = 1
cd .. || exit 1
