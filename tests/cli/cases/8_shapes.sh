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
  add(%output_0, %z) /* Add_7 */
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
expect 0 "" interpret rows.relay -o rows.npz
for target in llvm c; do
    expect 0 "" compile few.relay -o few.tar --target $target
    expect 4 "Pick_5: dimension 0 is n in the data, but the indices have 5 there; they must not have more" run few.tar -i rows.npz
    expect 0 "" compile groups.relay -o groups.tar --target $target
    expect 4 "Norm_6: the channels are no multiple of 2 groups" run groups.tar -i rows.npz
    expect 0 "" compile equal.relay -o equal.tar --target $target
    expect 4 "Add_7: dimension 0 is n in one operand and m in another; they must be equal" run equal.tar -i rows.npz
    expect 0 "" compile window.relay -o window.tar --target $target
    expect 4 "an input is too small for Pool_3: dimension 2 of its result would be -3, at least 0 is needed" run window.tar
done
expect 4 "they must be equal" interpret equal.relay -i rows.npz
expect 4 "they must be equal" interpret equal.relay --stage flat -i rows.npz
expect 4 "an input is too small for Pool_3: dimension 2 of its result would be -3" interpret window.relay --stage flat
expect 4 "" interpret window.relay --stage relay

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
    expect 4 "Error: lookup.tar: y: Gather: an index is outside of [-5, 5)" run lookup.tar -i index.npz
done
expect 4 "Gather: an index is outside of [-5, 5)" interpret lookup.onnx -i index.npz
