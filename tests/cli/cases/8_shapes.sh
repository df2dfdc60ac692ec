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
expect 0 "" interpret rows.relay -o rows.npz
for target in llvm c; do
    expect 0 "" compile equal.relay -o equal.tar --target $target
    expect 4 "Add_7: dimension 0 is n in one operand and m in another; they must be equal" run equal.tar -i rows.npz
    expect 0 "" compile window.relay -o window.tar --target $target
    expect 4 "an input is too small for Pool_3: dimension 2 of its result would be -3, at least 0 is needed" run window.tar
done
expect 4 "they must be equal" interpret equal.relay -i rows.npz
expect 4 "they must be equal" interpret equal.relay --stage flat -i rows.npz
expect 4 "an input is too small for Pool_3: dimension 2 of its result would be -3" interpret window.relay --stage flat
expect 4 "" interpret window.relay --stage relay
