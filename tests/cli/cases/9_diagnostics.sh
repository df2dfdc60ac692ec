# Diagnostics of the driver by their ids, which never change their meaning.
mkdir diagnostics && cd diagnostics || exit 1
dense=$TENON_SOURCE_DIR/examples/models/dense.onnx
expect 4 "[driver-E004]" compile "$dense" --target "llvm -mcpu=skylake"
expect 4 "[driver-E005]" compile "$dense" --input-shapes "x:[1,"
expect 4 "[driver-E061]" compile "$dense" --pass-config relay.ToMixedPrecision.keep_orig_output_dtype=x
expect 4 "[driver-E065]" compile "$dense" --mixed-precision --mixed-precision-ops nn.none -o d.tar
expect 4 "[driver-E066]" compile "$dense" --desired-layout NHWC --desired-layout-ops nn.none -o d.tar
expect 4 "[driver-E067]" compile "$dense" --desired-layout XYZ -o d.tar
expect 4 "[driver-E068]" compile "$dense" --desired-layout NHWC NCHW --desired-layout-ops nn.conv2d nn.conv2d nn.conv2d -o d.tar
expect 4 "[driver-E021]" compile "$dense" --cross-compiler no-such-compiler -o d.tar
expect 4 "[driver-E022]" compile "$dense" --cross-compiler false -o d.tar
old_tmp=$TMPDIR
TMPDIR=/dev/null
expect 4 "[driver-E020]" compile "$dense" -o d.tar
TMPDIR=$old_tmp
old_lib=$TENON_LIBDIR
TENON_LIBDIR=$work
expect 4 "[codegen-E001]" compile "$dense" -o d.tar
expect 4 "[driver-E053]" compile "$dense" --target c -o d.so
TENON_LIBDIR=$old_lib
expect 4 "[codegen-E007]" compile "$dense" --target "llvm -mtriple=pdp11-dec-none -mattr=+none" -o d.tar
expect 4 "[driver-E055]" compile "$dense" -o d.c
printf 'no tar at all' >no.tar
expect 4 "[driver-E050]" verify no.tar
tar cf empty.tar -T /dev/null
expect 4 "[driver-E051]" verify empty.tar
expect 4 "[driver-E058]" --config nowhere compile "$dense"
expect 4 "[driver-E035]" opt --pass=FoldConstant "$dense"
printf '\010\011garbage' >bad.onnx
expect 4 "[onnx-E001]" compile bad.onnx -o d.tar
must "nothing is written" test ! -e d.tar -a ! -e d.so -a ! -e d.c
cd .. || exit 1
