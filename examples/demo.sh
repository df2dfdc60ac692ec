#!/bin/sh
# The demo: a trained network from file to picture. Run by `make demo`, which puts the built commands first in PATH.
set -e
cd "$(dirname "$0")/.."
out=build/demo
mkdir -p "$out"

echo
echo "1. Compile examples/models/super_resolution.onnx (a trained network, 240 KB) to machine code for this machine"
tenon compile examples/models/super_resolution.onnx -o "$out/super_resolution.tar" >"$out/compile.txt"
sed 's/^/  /' "$out/compile.txt"

echo
echo "2. Run it on a picture: examples/images/cat_224.bmp, 224 x 224 pixels, becomes 672 x 672"
upscale "$out/super_resolution.tar" examples/images/cat_224.bmp "$out/cat_672.bmp"
echo "  picture     $out/cat_672.bmp"

echo
echo "3. Look inside: the schedule that the built-in rule chose for the largest convolution"
tenon dump --stage schedule examples/models/super_resolution.onnx -o "$out/schedule.txt"
sed -n '/^# .*: 11, 12$/,/^$/p' "$out/schedule.txt" | sed 's/^/  /'

echo
echo "Next:"
echo "  tenon dump --stage relay-fused examples/models/super_resolution.onnx   # also tir, tir-scheduled, flat, c, ll, asm, memory"
echo "  tenon compile your_model.onnx -o your_model.tar && tenon run your_model.tar --print-time"
echo "  (the commands are in build/release/bin; examples/upscale.c shows the C interface)"
