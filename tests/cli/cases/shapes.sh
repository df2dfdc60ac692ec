# Dimensions that do not fit are told by the node that they do not fit, whoever runs the model.
cat >rows.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 3), float32]) {
  nn.relu(%x)
}
END
cat >equal.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n, 3), float32], %z: Tensor[(m, 3), float32]) {
  concatenate((%output_0, %z), axis=1) /* Join_7 */
}
END
cat >nine.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n, T), float32], %b: Tensor[(2, 9), float32]) {
  nn.dense(nn.relu(%output_0), %b)
}
END
cat >most.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n, T), float32], %b: Tensor[(2, 3), float32]) {
  %0 = strided_slice(%b, begin=[0], end=[T], strides=[1], axes=[0]);
  nn.dense(%output_0, transpose(%0))
}
END
cat >branch.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n, T), float32], %b: Tensor[(9), float32]) {
  %0 = sum(nn.relu(%output_0));
  %1 = greater_equal(%0, 0f);
  if (%1) {
    sum(add(nn.relu(%output_0), %b)) /* Add_7 */
  } else {
    sum(%output_0)
  }
}
END
cat >window.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, h, w), float32]) {
  %0 = nn.max_pool2d(%x, pool_size=[5, 5]) /* Pool_3 */;
  nn.global_avg_pool2d(%0) /* Mean_4 */
}
END
cat >few.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n, 3), float32]) {
  %0 = arange(0, 0, count=[15]);
  %1 = reshape(cast(%0, dtype="int64"), newshape=[5, 3]);
  gather(%output_0, %1, axis=1) /* Pick_5 */
}
END
cat >groups.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(4, c), float32]) {
  %0 = sum(%output_0, axis=[0]);
  nn.group_norm(%output_0, %0, %0, num_groups=2) /* Norm_6 */
}
END
cat >top.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n, 3), float32]) {
  topk(%output_0, k=[5], axis=0) /* TopK_9 */
}
END
cat >windows.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n, c), float32]) {
  %0 = shape_of(%output_0, dtype="int64");
  %1 = prod(%0, axis=[0]);
  %2 = bind_extent(%1, extent=[2*(n/2)*c]) /* Reshape_8 */;
  nn.relu(dyn.reshape(nn.relu(%output_0), extent=[n/2, 2, c]))
}
END
cat >two.py <<'END'
import struct, zipfile
def write(path, arrays):
    with zipfile.ZipFile(path, "w") as file:
        for name, rows in arrays:
            head = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 3), }" % rows).ljust(117) + "\n"
            start = b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode()
            file.writestr(name + ".npy", start + bytes(12 * rows))
write("four_five.npz", [("output_0", 4), ("z", 5)])
write("five.npz", [("output_0", 5)])
write("empty_cache.npz", [("past", 0), ("x", 2)])
write("cache.npz", [("past", 2), ("x", 2)])
write("no_rows.npz", [("past", 2), ("x", 0)])
END
must "arrays" python3 two.py
expect 0 "" interpret rows.relay -o rows.npz
for target in llvm c; do
    expect 0 "" compile few.relay -o few.tar --target $target
    expect 4 "Pick_5: dimension 0 is n in the data, but the indices have 5 there; they must not have more" run few.tar -i rows.npz
    expect 0 "" compile groups.relay -o groups.tar --target $target
    expect 4 "Norm_6: the channels are not a multiple of 2 groups" run groups.tar -i rows.npz
    expect 0 "note: dimension 0 (m) of input \"z\" must equal dimension 0 (n) of input \"output_0\", because of this node [relay-N001]" compile equal.relay -o equal.tar --target $target
    expect 4 "input \"z\": dimension 0 is 5, expected 4" run equal.tar -i four_five.npz
    expect 0 "warning: dimension 1 (T) of input \"output_0\" can only be 9, because of this node; a run with another is refused [relay-W004]" compile nine.relay -o nine.tar --target $target
    expect 4 "output_0 is float32[4, 3], but the model takes float32[n, 9]" run nine.tar -i rows.npz
    expect 0 "" run nine.tar
    expect 0 "warning: dimension 1 (T) of input \"output_0\" can only be 1 to 2, because of this node" compile most.relay -o most.tar --target $target
    expect 4 "input \"output_0\": dimension 1 (T) is 3, but must be from 1 to 2" run most.tar -i rows.npz --fill-mode random
    expect 0 "" compile branch.relay -o branch.tar --target $target
    expect 4 "Add_7: dimension 1 is T in an operand and 9 in the result; they must be equal, or the operand's 1" run branch.tar -i rows.npz --fill-mode random
    expect 0 "" compile top.relay -o top.tar --target $target
    expect 0 "" run top.tar -i five.npz
    expect 4 "TopK_9: k is 5, but dimension 0 has only n" run top.tar -i rows.npz
    expect 0 "" compile windows.relay -o windows.tar --target $target
    expect 0 "" run windows.tar -i rows.npz
    expect 4 "Reshape_8: an extent is 15, but must be 12" run windows.tar -i five.npz
    expect 0 "" compile window.relay -o window.tar --target $target
    expect 4 "an input is too small for Pool_3: dimension 2 of its result would be -3, but must be at least 0" run window.tar
done
expect 4 "dimension 0 of parameter z is 5, but must be 4" interpret equal.relay -i four_five.npz
expect 4 "input z: dimension 0 is 5, but the model needs 4" interpret equal.relay --stage flat -i four_five.npz
expect 4 "they must be equal, or the operand's 1" interpret branch.relay -i rows.npz --fill-mode random
expect 4 "they must be equal, or the operand's 1 [tir-E203]" interpret branch.relay --stage flat -i rows.npz --fill-mode random
expect 4 "an input is too small for Pool_3: dimension 2 of its result would be -3" interpret window.relay --stage flat
expect 4 "" interpret window.relay --stage relay

# What a broadcast repeats may be decided by the run.
cat >repeat.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n, 3), float32], %z: Tensor[(m, 3), float32]) {
  nn.relu(%output_0 + %z + 1f) /* Add_7 */
}
END
must "arrays" python3 - <<'END'
exec(open("two.py").read().split("write(\"four")[0])
for a, b in (1, 1), (1, 3), (3, 1), (3, 3):
    write(f"{a}_{b}.npz", [("output_0", a), ("z", b)])
END
for target in llvm c; do
    expect 0 "" compile repeat.relay -o repeat.tar --target $target
    for sizes in 1_1 1_3 3_1 3_3; do
        expect 0 "" run repeat.tar -i $sizes.npz --check -o repeat.npz
        expect 0 "" interpret repeat.relay -i $sizes.npz -o repeat2.npz
        must "$sizes" cmp repeat.npz repeat2.npz
    done
    expect 4 "Add_7: dimension 0 is " run repeat.tar -i four_five.npz
done

# Extents that operators need to be equal, where only the run knows: a match_shape before the operator looks.
cat >half.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n, 3), float32], %z: Tensor[(m, 3), float32]) {
  %0 = strided_slice(%output_0, begin=[0], end=[n/2], strides=[1], axes=[0]);
  concatenate((%0, %z), axis=1) /* Join_3 */
}
END
must "arrays" python3 - <<'END'
exec(open("two.py").read().split("write(\"four")[0])
write("four_two.npz", [("output_0", 4), ("z", 2)])
END
for target in llvm c; do
    expect 0 "" compile half.relay -o half.tar --target $target
    expect 0 "" run half.tar -i four_two.npz --check -o half.npz
    must "two rows" python3 "$here/look.py" half.npz output_0 '<f4' '(2, 6)' 0 0 0 0 0 0 0 0 0 0 0 0
    expect 4 "Join_3: an extent is 2, but must be 5 (dimension 0, n/2)" run half.tar -i four_five.npz
done
expect 0 "" interpret half.relay -i four_two.npz -o half.npz
expect 4 "node Join_3: error: an extent is 2, but must be 5 (dimension 0) [relay-E203]" interpret half.relay -i four_five.npz
expect 4 "Join_3: an extent is 2, but must be 5 (dimension 0, n/2)" interpret half.relay --stage flat -i four_five.npz

# Branches of different ranks: what follows is compiled for each.
must "a model" python3 "$here/make_onnx.py" ranks ranks.onnx
must "arrays" python3 - <<'END'
exec(open("two.py").read().split("write(\"four")[0])
write("x1.npz", [("x", 1)])
write("x2.npz", [("x", 2)])
END
expect 0 "" compile ranks.onnx -o ranks.tar
for rows in 1 2; do
    expect 0 "" run ranks.tar -i x$rows.npz --check -o ranks.npz
    must "$rows rows" python3 "$here/look.py" ranks.npz output_2 '<f4' "($rows, 3)"
    expect 0 "" interpret ranks.onnx -i x$rows.npz -o ranks2.npz
    must "the same" cmp ranks.npz ranks2.npz
done

# Nothing runs where a symbolic dimension is 0: empty outputs are the result, others need at least 1.
cat >none.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 3), float32]) {
  strided_slice(%x, begin=[4], end=[4], strides=[1], axes=[0])
}
END
cat >batch.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n, 3), float32]) {
  nn.softmax(nn.relu(%output_0))
}
END
cat >total.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n, 3), float32]) {
  sum(%output_0, axis=[0])
}
END
expect 0 "" interpret none.relay -o none.npz
for target in llvm c; do
    expect 0 "" compile batch.relay -o batch.tar --target $target
    expect 0 "" run batch.tar -i none.npz -o empty.npz --print-time --profile
    expect 0 "" run batch.tar -i empty.npz -o again.npz
    must "an empty result" cmp empty.npz none.npz
    must "an empty result is an input" cmp again.npz none.npz
    expect 0 "" run batch.tar -i rows.npz
    expect 0 "" compile total.relay -o total.tar --target $target
    expect 4 "dimension n is 0, and output \"output_0\" would not be empty: at least 1 is needed" run total.tar -i none.npz
done

# Sizes that divide by a dimension of 0 are 0 there.
cat >pair.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) {
  (strided_slice(%x, begin=[4], end=[4], strides=[1], axes=[0]), nn.relu(%x))
}
END
cat >quotient.relay <<'END'
#[version = "0.0.5"]
def @main(%output_0: Tensor[(n), float32], %output_1: Tensor[(p), float32]) {
  (tanh(%output_0), tanh(strided_slice(%output_1, begin=[0], end=[p/n*n], strides=[1], axes=[0])))
}
END
expect 0 "" interpret pair.relay -o pair.npz
for target in llvm c; do
    expect 0 "" compile quotient.relay -o quotient.tar --target $target
    expect 0 "" run quotient.tar -i pair.npz -o quotients.npz
    must "no rows" python3 "$here/look.py" quotients.npz output_0 '<f4' '(0,)'
    must "no quotient" python3 "$here/look.py" quotients.npz output_1 '<f4' '(0,)'
done

# A cache that is empty before the first step. The symbol of x begins at 1, because its 0 gives an empty result, unless a
# range says otherwise.
must "a model" python3 "$here/make_onnx.py" cache cache.onnx
expect 0 "symbols = \"p in [0, 2147483647]\"" dump cache.onnx --stage relay
for target in llvm c; do
    expect 0 "" compile cache.onnx -o cache.tar --target $target
    expect 0 "" run cache.tar -i empty_cache.npz -o empty_cache.out.npz --check
    must "no past" python3 "$here/look.py" empty_cache.out.npz output_1 '<f4' '(2, 3)' 0.5 0.5 0.5 0.5 0.5 0.5
    expect 0 "" run cache.tar -i cache.npz -o cache.out.npz --check
    must "a past of 2" python3 "$here/look.py" cache.out.npz output_1 '<f4' '(4, 3)' \
        0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25
    expect 4 "at least 1 is needed" run cache.tar -i no_rows.npz
    expect 0 "" compile cache.onnx -o cache_from_0.tar --target $target --input-shapes "x:[0..,3]"
    expect 0 "" run cache_from_0.tar -i no_rows.npz -o no_rows.out.npz --check
    must "no rows beside a past of 2" python3 "$here/look.py" no_rows.out.npz output_1 '<f4' '(2, 3)' 0.5 0.5 0.5 0.5 0.5 0.5
done

# An index beyond the data: the package, the node and the operator, each once
must "a model" python3 "$here/make_onnx.py" lookup lookup.onnx
cat >index.py <<'END'
import struct, zipfile
head = "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }".ljust(117) + "\n"
data = b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<4q", 0, -5, 4, 7)
zipfile.ZipFile("index.npz", "w").writestr("x.npy", data)
END
must "an array" python3 index.py
for target in llvm c; do
    expect 0 "" compile lookup.onnx -o lookup.tar --target $target
    expect 4 "tenon: error: lookup.tar: y: Gather: an index is outside [-5, 5)" run lookup.tar -i index.npz
done
expect 4 "Gather: an index is outside [-5, 5)" interpret lookup.onnx -i index.npz
# Names of symbols: given, shared between inputs, and found where the model's say nothing.
for text in "x:[rows,64]" "x:[ rows , 64 ]"; do
    expect 0 "%x: Tensor[(rows, 64), float32]" dump "$here/../../examples/models/dense.onnx" --stage relay --input-shapes "$text"
done
expect 4 "cannot read \"x:[a-b,64]\"" check "$here/../../examples/models/dense.onnx" --input-shapes "x:[a-b,64]"
must "a model" python3 "$here/make_onnx.py" unnamed unnamed.onnx
expect 0 "%x: Tensor[(d0, d1), float32] /* graph input */, %y: Tensor[(d0, d1), float32]" dump unnamed.onnx --stage relay
expect 0 "%x: Tensor[(n, d0), float32] /* graph input */, %y: Tensor[(n, d1), float32]" dump unnamed.onnx --stage relay \
    --input-shapes "x:[n,-1]"
# Sizes with code of their own, and ranges.
dense="$here/../../examples/models/dense.onnx"
expect 0 "" compile "$dense" --input-shapes "x:[1..8|4,64]" -o sizes.tar
expect 0 "sizes        n: 1 to 8; kernels of their own for 4" verify sizes.tar
expect 0 "(where n == 4)" dump "$dense" --input-shapes "x:[ 2|4 ,64]" --stage schedule
expect 0 "%x: Tensor[(rows, 64), float32]" dump "$dense" --input-shapes "x:[rows=2|4,64]" --stage relay
must "arrays" python3 - <<'END'
exec(open("two.py").read().split("write(\"four")[0].replace("%d, 3)", "%d, 64)").replace("12 * rows", "256 * rows"))
for n in 3, 4, 9:
    write(f"x{n}.npz", [("x", n)])
END
expect 0 "" compile "$dense" -o any.tar
for n in 3 4; do
    expect 0 "" run sizes.tar -i x$n.npz -o sizes.npz --check
    expect 0 "" run any.tar -i x$n.npz -o any.npz
    must "$n rows" cmp sizes.npz any.npz
done
expect 4 "dimension 0 (n) is 9, but must be from 1 to 8" run sizes.tar -i x9.npz
expect 0 "" check "$dense" --input-shapes "x:[2,64]:float32"
expect 4 "input \"x\" is float32, but the type given for it is int64; leave the type out [onnx-E060]" check "$dense" \
    --input-shapes "x:[2,64]:int64"
for text in "x:[1,64]:" "x:[1,64]:f" "x:[1,64]:float32x4" "x:[..8,64]" "x:[8..1,64]" "x:[4|,64]" "x:[1..2|3..4,64]" "x:[n=,64]" "x:[4|-1,64]"; do
    expect 4 "[driver-E005]" check "$dense" --input-shapes "$text"
done
expect 4 "the sizes given for n contradict each other" check "$dense" --input-shapes "x:[1..8|16,64]"
expect 4 "[onnx-E060]" check "$dense" --input-shapes "x:[1..8|16,64]"
expect 4 "[driver-E141]" check unnamed.onnx --input-shapes "x:[1|2|3|4|5|6|7,1|2|3|4|5]"
# Shapes that are proposed work when they are copied.
expect 4 "note: with these shapes it can be compiled: tenon compile" check "$models/flow/if_shape.onnx"
command=$(sed -n "s/.*it can be compiled: tenon \(.*\) \[driver-N001\]/\1/p" "$work/said")
must "the proposal works" sh -c "tenon $command -o proposed.tar"
