#!/bin/sh
# The demo: two trained networks, from model file to picture. `make demo` runs it, with the built commands first in PATH.
#
#   demo.sh [--explain]     --explain also shows how the largest convolution is computed
set -e
cd "$(dirname "$0")/.."
out=build/demo
photo=examples/images/cat.jpg
mkdir -p "$out"
explain=
[ "${1:-}" = --explain ] && explain=yes

say() { printf '  %-13s%s\n' "$1" "$2"; }
seconds() { awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f s", b - a }'; }
mebibytes() { wc -c <"$1" | awk '{ printf "%.1f MiB", $1 / 1048576 }'; }

# compile MODEL PACKAGE: without the cache of compiled kernels, so that the time is a true one
compile() {
    start=$(date +%s.%N)
    TENON_CACHE=off tenon compile "$1" -o "$2" >"$out/compile.txt"
    say "compile time" "$(seconds) ($(mebibytes "$1") of ONNX -> $(mebibytes "$2") of machine code and weights)"
}

# time_of PACKAGE INPUTS: the median of 20 runs
time_of() {
    tenon run "$1" -i "$2" --print-time --repeat 20 | awk 'NR == 3 { printf "%.1f ms", $2 }'
}

echo
echo "1. What is in this photo? ($photo; SqueezeNet, trained on ImageNet)"
compile examples/models/squeezenet.onnx "$out/squeezenet.tar"
tenon image $photo --size 224 --color bgr --scale 1 --mean 104,117,123 --name image -o "$out/photo.npz"
tenon run "$out/squeezenet.tar" -i "$out/photo.npz" -o "$out/classes.npz"
say "run time" "$(time_of "$out/squeezenet.tar" "$out/photo.npz")"
tenon top "$out/classes.npz" --labels examples/images/imagenet_labels.txt -n 3 | sed 's/^/  answer       /'

echo
echo "2. Three times larger: 224 x 224 pixels become 672 x 672 (a super-resolution network)"
compile examples/models/super_resolution.onnx "$out/super_resolution.tar"
tenon image $photo --crop 0.6 --size 224 --resize bicubic -o "$out/small.png"
tenon image "$out/small.png" --color gray --name input -o "$out/small.npz"
tenon run "$out/super_resolution.tar" -i "$out/small.npz" -o "$out/large.npz"
say "run time" "$(time_of "$out/super_resolution.tar" "$out/small.npz")"
tenon image "$out/small.png" --size 672 --resize nearest -o "$out/before.png"
tenon image "$out/small.png" --size 672 --resize bicubic -o "$out/bicubic.png"
tenon image "$out/large.npz" --color-of "$out/small.png" --resize bicubic -o "$out/large.png"
for name in before bicubic large; do # the middle, twice as large, so that the pixels are seen
    tenon image "$out/$name.png" --crop 0.5 --size 672 --resize nearest -o "$out/middle_$name.png"
done
tenon image "$out/middle_large.png" --beside "$out/middle_before.png" --beside "$out/middle_bicubic.png" \
    -o "$out/side_by_side.png"
say "picture" "$out/large.png"
say "compare" "$out/side_by_side.png: before, bicubic, the network"

echo
echo "3. The classifier as one file, for programs in C: $out/squeezenet.so and squeezenet.h"
tenon compile examples/models/squeezenet.onnx --module-name squeezenet -o "$out/squeezenet.so" >"$out/compile.txt"
say "size" "$(mebibytes "$out/squeezenet.so"): code, weights and runtime"
say "needs" "$(readelf -d "$out/squeezenet.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | tr '\n' ' ')"

if [ $explain ]; then
    echo
    echo "4. The schedule that the built-in rule chose for the largest convolution of the super-resolution network"
    tenon dump --stage schedule examples/models/super_resolution.onnx -o "$out/schedule.txt"
    sed -n '/^# .*: 11, 12$/,/^$/p' "$out/schedule.txt" | sed 's/^/  /'
fi

echo
echo "Next:"
[ $explain ] || echo "  make demo EXPLAIN=1                            # also shows how the largest convolution is computed"
echo "  docs/tutorial/README.md                        # seven short pages: command line, C, Python, ..."
echo "  export PATH=\$PWD/build/release/bin:\$PATH       # then: tenon compile your_model.onnx"
