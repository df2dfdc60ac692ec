# Control flow, functions and data in other files.
flow="$models/flow"
expect 0 "" compile "$flow/external.onnx" -o e.tar
for bad in "abs:is not a path beside the model" "up:leads out of the model's folder" "none:there is no file" \
    "off:are not there"; do
    expect 4 "${bad#*:}" compile "$flow/${bad%%:*}.onnx" -o no.tar
done
sed 's/nix\.bin/lin.bin/g' "$flow/none.onnx" >link.onnx
ln -s "$flow/d.bin" lin.bin
expect 4 "is a link out of the model's folder" compile link.onnx -o no.tar
must "nothing is left of what was refused" test ! -e no.tar
expect 4 "calls itself" compile "$flow/recursive.onnx" -o no.tar
expect 4 'Give the inputs fixed shapes, with numbers for the names: --input-shapes "x:[n,3]"' check "$flow/if_shape.onnx"
expect 0 "" compile "$flow/if_shape.onnx" --input-shapes "x:[1,3]" -o s.tar
expect 0 "warning: its then branch cannot be computed for the given shapes" compile "$flow/if_fail.onnx" -o f.tar
expect 0 "" run f.tar --fill-mode zeros
expect 4 "the then branch cannot run for the shapes it was compiled for" run f.tar --fill-mode ones
expect 4 "is control flow; use the aot executor" run f.tar --executor graph
