# Checksums: damage is found by verify always, by loading in code; old packages have none.
example=$here/../../examples/models/mnist_cntk.onnx
expect 0 "" compile "$example" -o sum.tar
expect 0 "checksums    SHA-256, all right" verify sum.tar
must "sha256sum checks them too" sh -c "tar xf sum.tar && sha256sum -c mod.sum"
# damage FILE COPY BYTE: turns four bytes of a copy
damage() {
    cp "$1" "$2" && printf '\252\125\252\125' | dd of="$2" bs=1 seek="$3" conv=notrunc 2>/dev/null
}
# position FILE TEXT: where it first stands
position() {
    grep -obUa -m 1 -e "$2" "$1" | head -n 1 | cut -d: -f1
}
weights=$(($(position sum.tar mod.params) + $(stat -c %s mod.params) - 200))
damage sum.tar code.tar $((512 + $(stat -c %s mod.so) / 2))
damage sum.tar weights.tar $weights
damage sum.tar json.tar $(($(position sum.tar node_row_ptr) + 1))
damage sum.tar list.tar $(($(position sum.tar "  mod.so") - 9))
for part in code:mod.so list:mod.so json:mod.json; do
    expect 4 "the package is damaged: ${part#*:} does not match its checksum in mod.sum" run ${part%:*}.tar
    expect 4 "damaged: ${part#*:} does not match its checksum; copy the package again" verify ${part%:*}.tar
done
expect 4 "damaged: mod.params does not match its checksum; copy the package again or compile the model again [driver-E091]" verify weights.tar
expect 4 "the package is damaged: mod.params does not match its checksum" run weights.tar --verify-weights
expect 0 "" run weights.tar
expect 0 "" run sum.tar --verify-weights
must "a package of an older tenon" tar cf old.tar mod.so mod.json mod.params
expect 0 "checksums    none: damage cannot be found (made by an older tenon)" verify old.tar
expect 0 "" run old.tar --verify-weights
must "a list without the weights" sh -c "grep -v params mod.sum >m && mv m mod.sum && tar cf part.tar mod.so mod.json mod.params mod.sum"
expect 4 "mod.params does not match" verify part.tar

must "a file that no module names" sh -c "tar xf sum.tar && echo x >mod.1.library_with_a_long_name && sha256sum mod.1.* >>mod.sum && tar cf more.tar mod.*"
expect 0 "mod.1.library_with_a_long_name 2 bytes" verify more.tar
expect 4 'without "mod.1.library_with_a_long_name"' run more.tar
must "damage in it" sh -c "echo y >mod.1.library_with_a_long_name && tar cf more.tar mod.*"
expect 4 "damaged: mod.1.library_with_a_long_name does not match its checksum" verify more.tar

expect 0 "" compile "$example" -o sum.so
expect 0 "checksums    SHA-256, all right" verify sum.so
expect 0 "" run sum.so --verify-weights -o so.npz
damage sum.so code.so $(position sum.so "out of memory: ")
damage sum.so weights.so $(($(position sum.so __pad0) + 8000))
expect 4 "the library is damaged: its contents do not match their checksum" run code.so
expect 4 "damaged: the library does not match its checksum" verify code.so
expect 0 "" run weights.so
expect 4 "the library is damaged: its weights do not match their checksum" run weights.so --verify-weights
expect 4 "damaged: the data of the weights does not match its checksum" verify weights.so
must "stripped, it is the same library" sh -c "cp sum.so stripped.so && strip stripped.so"
expect 0 "checksums    SHA-256, all right" verify stripped.so
expect 0 "" run stripped.so --verify-weights
LC_ALL=C sed 's/\x50\x00\x00\x00\x03\x00\x00\x00Tenon/\x50\x00\x00\x00\x09\x00\x00\x00Tenon/' sum.so >old.so
expect 0 "checksums    none" verify old.so
expect 0 "" run old.so --verify-weights
cat >forgetful <<'CC'
#!/bin/sh
gcc "$@" || exit
for word; do
    [ "${before:-}" = -o ] && case $word in *model.so)
        LC_ALL=C sed -i 's/\x50\x00\x00\x00\x03\x00\x00\x00Tenon/\x50\x00\x00\x00\x09\x00\x00\x00Tenon/' "$word" ;;
    esac
    before=$word
done
exit 0
CC
chmod +x forgetful
expect 4 "[driver-E095]" compile "$example" --cross-compiler ./forgetful -o no.so
