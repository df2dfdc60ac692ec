# Diagnostics of the driver by their ids, which never change their meaning.
mkdir diagnostics && cd diagnostics || exit 1
dense=$TENON_SOURCE_DIR/examples/models/dense.onnx
expect 4 "[driver-E080]" compile "$dense" --target "llvm -mcpu=native -mtriple=sparcv9-linux-gnu"
expect 4 "[machine-E009]" compile "$dense" --target "llvm -mcpu=skylakx"
expect 4 "[machine-E010]" compile "$dense" --target "llvm -mcpu=power9 -mtriple=powerpc64le-linux-gnu"
expect 4 "[driver-E005]" compile "$dense" --input-shapes "x:[1,"
expect 4 "name:[0..,64] for one that may be 0" compile "$dense" --input-shapes "x:[0,64]"
expect 4 "[driver-E005]" compile "$dense" --input-shapes "x:[-5,64]"
expect 4 "[driver-E061]" compile "$dense" --pass-config relay.ToMixedPrecision.keep_orig_output_dtype=x
expect 4 "[driver-E065]" compile "$dense" --mixed-precision --mixed-precision-ops nn.none -o d.tar
expect 4 "[driver-E066]" compile "$dense" --desired-layout NHWC --desired-layout-ops nn.none -o d.tar
expect 4 "[driver-E067]" compile "$dense" --desired-layout XYZ -o d.tar
expect 4 "[driver-E068]" compile "$dense" --desired-layout NHWC NCHW --desired-layout-ops nn.conv2d nn.conv2d nn.conv2d -o d.tar
expect 4 "[driver-E021]" compile "$dense" --cross-compiler no-such-compiler -o d.tar
expect 4 "[driver-E022]" compile "$dense" --cross-compiler false -o d.tar
old_tmp=$TMPDIR
TMPDIR=/dev/null
expect 4 "[driver-E020]" compile "$dense" -o d.so
must "no program is needed" env PATH=/nowhere "$(command -v tenon)" compile "$dense" -o without_tools.tar
TMPDIR=$old_tmp
old_lib=$TENON_LIBDIR
TENON_LIBDIR=$work
expect 4 "[codegen-E001]" compile "$dense" -o d.tar
mkdir "$work/other"
printf 'typedef struct { unsigned version; } api;\nconst api *tenon_llvm(void)\n{\n    static const api a = {1};\n    return &a;\n}\n' |
    "${CC:-cc}" -shared -fPIC -xc - -o "$work/other/libtenon-llvm.so"
TENON_LIBDIR=$work/other
expect 4 "belongs to another build of Tenon" compile "$dense" -o d.tar
expect 4 "[codegen-E013]" compile "$dense" -o d.tar
TENON_LIBDIR=$work
expect 4 "[driver-E053]" compile "$dense" --target c -o d.so
TENON_LIBDIR=$old_lib
expect 4 "[codegen-E007]" dump "$dense" --stage ll --target "llvm -mtriple=pdp11-dec-none"
expect 4 "[driver-E081]" compile "$dense" --target "llvm -mtriple=pdp11-dec-none" -o d.tar
expect 4 "[machine-E008]" compile "$dense" --target "llvm -mtriple=pdp11-dec-none -mattr=+none" -o d.tar
expect 4 "[driver-E055]" compile "$dense" -o d.c
for name in '1x' 'a b' 'x!' '' 'é' '-' "$(printf 'a%.0s' $(seq 101))"; do
    expect 4 "[driver-E059]" compile "$dense" -o d.tar --module-name="$name"
done
must "nothing is written under such a name" test ! -e d.tar
expect 0 "" compile "$dense" -o named.tar --module-name=_a1
printf '\377\376 no tar at all' >no.tar
expect 4 "[driver-E050]" verify no.tar
tar cf empty.tar -T /dev/null
expect 4 "[driver-E051]" verify empty.tar
expect 4 "[driver-E058]" --config nowhere compile "$dense"
expect 0 "def @main" opt --pass=FoldConstant "$dense" # a model of any format
printf '\010\011garbage' >bad.onnx
expect 4 "[onnx-E001]" compile bad.onnx -o d.tar

# passes, flags, files of flags
expect 4 "--print-ir-before: unknown pass Nonsense; \`tenon opt --list\` names them [driver-E006]" compile "$models/two.relay" --print-ir-before Nonsense
expect 4 "--disabled-pass: a program cannot be made without InferType; remove it from the list [driver-E008]" compile "$models/two.relay" --disabled-pass InferType
expect 4 "[driver-E060]" compile "$models/two.relay" --pass-config relay.FuseOps.depth=1
expect 4 "[driver-E062]" compile "$models/two.relay" --pass-config tir.usmp.enable=1
expect 4 "unknown graph pass Nonsense; \`tenon opt --list\` names them [driver-E031]" opt --pass=Nonsense "$models/two.relay"
expect 4 "Unroll works on loops; this is a graph [driver-E031]" opt --pass=Unroll "$models/two.relay"
must "its loops" sh -c 'tenon dump --stage tir "$1" >two.tir' - "$models/two.relay"
expect 4 "FoldConstant works on graphs; this is a text of loops [driver-E031]" opt --pass=FoldConstant two.tir
expect 4 "Schedule takes a file; write Schedule=FILE [driver-E031]" opt --pass=Schedule two.tir
expect 4 "fixed.relay: error: --input-shapes does not apply to Relay text; change the text [frontend-E003]" \
    compile "$models/fixed.relay" --input-shapes "x:[1,4]" -o d.tar
echo '{"opt-level": [1]}' >list.json
expect 4 "list.json: error: \"opt-level\": expected a text, a number, true, false or an object [driver-E056]" \
    --config list.json compile "$dense"
echo '{"opt-level":' >cut.json
expect 4 "cut.json: error: not valid JSON: the text ends instead of a value at byte 14 [driver-E057]" \
    --config cut.json compile "$dense"

# targets and packages
expect 4 "LLVM cannot generate code for this target; choose another one: " dump "$dense" --stage asm --target "llvm -mtriple=bpfel"
expect 4 "stack arguments are not supported [codegen-E009]" dump "$dense" --stage asm --target "llvm -mtriple=bpfel"
expect 0 "" compile "$models/fixed.relay" -o whole.tar
must "a package to damage" sh -c 'tar xf whole.tar && printf garbage | dd of=mod.so conv=notrunc 2>/dev/null && tar cf odd.tar mod.so mod.params'
expect 4 "odd.tar: error: mod.so is damaged: " verify odd.tar
expect 4 "compile the model again [driver-E052]" verify odd.tar
must "a model with 36 MiB of weights" python3 "$here/make_onnx.py" weights weights.onnx
expect 4 "the weights are too large for C text (more than 32 MiB); write a .so, .a or .o [driver-E054]" \
    compile weights.onnx --target c -o d.c
rm -f weights.*

# texts that no package can be made of
echo 'def @main(%x: (float32, int8)) { %x.0 }' >tuple.relay
expect 4 "tuple.relay:1:11: error: functions, references and tuples cannot enter or leave a package, so (float32, int8) cannot; pass the parts of a tuple one by one [driver-E010]" \
    compile tuple.relay -o d.tar
echo 'def @main(%x: Tensor[(4), int3]) { add(%x, %x) }' >int3.relay
expect 4 "found 'int3' [relay-E011]" compile int3.relay -o d.tar
{
    echo 'def @main(%x: float32) { @f(%x) }'
    echo 'def @f(%x: float32) -> float32 { @f(add(%x, 1f)) }'
} >deep.relay
expect 4 "calls, branches or expansions are nested more than 600 deep [relay-E207]" interpret deep.relay --fill-mode ones
echo 'def @main(%x: float32) { broadcast_to(%x, shape=[1000000000, 1000000]) }' >large.relay
expect 4 "large.relay:1:26: error: not enough memory for a value [relay-E208]" interpret large.relay
echo 'def @main(%c: bool, %x: float32) { if (%c) { fail(message="no luck") } else { %x } }' >fail.relay
expect 4 "fail.relay:1:46: error: no luck [relay-E211]" interpret fail.relay --fill-mode ones

echo 'def @main(%x: Tensor[(4), float32]) { add(%x, meta[relay.Constant][7] /* w (4) float32 */) }' >lost.relay
for command in check compile; do
    expect 4 "lost.relay:1:47: error: the constant w has no data; read the text together with its .params file [relay-E204]" \
        $command lost.relay
done

echo 'def @mine(%x: Tensor[(4), float32]) { exp(%x) }' >mine.relay
for command in check compile interpret "dump --stage relay" "dump --stage c"; do
    expect 4 "mine.relay: error: there is no function @main; call the function to run so [relay-E200]" $command mine.relay
done

# models
for case in "deep:functions are nested more than 32 deep; export the model again, or report this if it runs elsewhere [onnx-E028]" \
    "laughs:too much for a file of its size; it is damaged: export the model again, or report this if it runs elsewhere [onnx-E021]" \
    "symbols:the inputs have more than 256 unknown dimensions; give them fixed shapes [onnx-E023]" \
    "errors:there are more than 200 errors; only the first are reported [onnx-E025]" \
    "loop:a carried value of its loop is Tensor[(4), float32] and becomes Tensor[(4), bool]; export the model again, or report this if it runs elsewhere [onnx-E029]"; do
    must "a model" python3 "$here/make_onnx.py" "${case%%:*}" "${case%%:*}.onnx"
    expect 4 "${case#*:}" compile "${case%%:*}.onnx" -o d.tar
    expect 4 "${case%%:*}.onnx: " compile "${case%%:*}.onnx" -o d.tar
done
must "a model" python3 "$here/make_onnx.py" newer newer.onnx
expect 0 "newer.onnx: warning: the model uses opset 99; its operators are read as those of opset 28, the newest one known [onnx-W001]" \
    check newer.onnx
expect 4 '(--input-shapes): x:[n,3] [onnx-E026]' check "$models/flow/if_shape.onnx"
must "nothing is written" test ! -e d.tar -a ! -e d.so -a ! -e d.c
cd .. || exit 1
