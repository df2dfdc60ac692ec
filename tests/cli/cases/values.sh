# Texts, sequences, optional values and maps in archives: what one run gives, another takes and gives again.
cat >make.relay <<'EOF'
def @main(%x: Tensor[(2), float32], %k: Tensor[(2), int64]) {
  %0 = string.of_number(%x);
  %1 = seq.at(map.zip(%k, %x), 0);
  (%0, seq.of(%x, strided_slice(%x, begin=[0], end=[1])), opt.some(%x), seq.of(%0), %1, opt.none(), %k)
}
EOF
cat >echo.relay <<'EOF'
def @main(%output_0: Tensor[(2), string], %output_1: Seq[Tensor[(?), float32]], %output_2: Optional[Tensor[(2), float32]],
          %output_3: Seq[Tensor[(2), string]], %output_4: Map[int64, float32], %output_5: Optional[float32],
          %output_6: Tensor[(2), int64]) {
  (%output_0, %output_1, %output_2, %output_3, %output_4, %output_5, %output_6)
}
EOF
expect 0 "" compile make.relay -o make.tar
expect 0 "" compile echo.relay -o echo.tar
expect 0 "" run make.tar --fill-mode random -o values1.npz
expect 0 "" run echo.tar --inputs values1.npz -o values2.npz
must "values come back" cmp values1.npz values2.npz
expect 0 "" run echo.tar --inputs values1.npz -o values3.npz --print-time --end-to-end
must "also when measured" cmp values1.npz values3.npz
expect 4 "input output_0: the array output_0 is missing" run echo.tar --fill-mode ones
sed 's/Seq\[Tensor\[(?), float32\]\]/Seq[Tensor[(?), int8]]/' echo.relay >wrong.relay
expect 0 "" compile wrong.relay -o wrong.tar
expect 4 "input output_1: the array output_1.0 is of float32, but must be of int8" run wrong.tar --inputs values1.npz
# Lists are written as sequences are; other values of data types are for Python.
cat >list.relay <<'EOF'
def @main(%x: Tensor[(2), float32]) -> (List[Tensor[(2), float32]], List[Tensor[(2), float32]]) {
  (Cons(%x, Cons(negative(%x), Nil)), Nil)
}
EOF
expect 0 "" compile list.relay -o list.tar
expect 0 "" run list.tar --fill-mode ones -o list.npz
must "two arrays" test "$(python3 -c "import zipfile; print(*zipfile.ZipFile(\"list.npz\").namelist())")" = "output_0.0.npy output_0.1.npy"
echo 'def @main(%x: float32) -> Option[float32] { Some(%x) }' >some.relay
expect 0 "" compile some.relay -o some.tar
expect 4 "output_0 is a value that an archive cannot hold; run the package from Python" run some.tar --fill-mode ones -o some.npz
echo 'def @main(%xs: List[float32]) -> float32 { @hd(%xs) }' >hd.relay
expect 0 "" compile hd.relay -o hd.tar
expect 4 "input xs: an archive cannot give a value of type List" run hd.tar --fill-mode ones
# An input without a shape takes arrays of any rank; where it is given one, of that alone.
must "a model" python3 "$here/make_onnx.py" unshaped unshaped.onnx
expect 0 'input "output_0" has no shape' compile unshaped.onnx -o unshaped.tar
for dims in "" 2 "2, 3"; do
    echo "def @main(%x: Tensor[($dims), float32]) { %x }" >made.relay
    expect 0 "" compile made.relay -o made.tar
    expect 0 "" run made.tar --fill-mode ones -o made.npz
    echo "def @main(%x: Tensor[($dims), float32]) { negative(%x) }" >made.relay
    expect 0 "" compile made.relay -o made.tar
    expect 0 "" run made.tar --fill-mode ones -o want.npz
    expect 0 "" run unshaped.tar -i made.npz -o got.npz
    must "what another package gives" cmp want.npz got.npz
    expect 0 "" interpret unshaped.onnx -i made.npz -o got.npz
    must "what an interpreter gives" cmp want.npz got.npz
    expect 0 "y: float32[$dims]: equal" compare unshaped.onnx -i made.npz
    expect 0 "y: float32[$dims]: equal" compare unshaped.onnx unshaped.onnx -i made.npz -- -O0 -- --stage flat
done
expect 4 "input output_0: the array output_0 is missing" run unshaped.tar
expect 4 "input output_0 is no tensor with a shape; if it is a tensor, give its array (--inputs)" interpret unshaped.onnx
expect 0 "" interpret unshaped.onnx -i made.npz --input-shapes "output_0:[2,3]"
expect 0 "" compile unshaped.onnx --input-shapes "output_0:[n,m]" -o unshaped.tar
expect 0 "-1" run unshaped.tar -i made.npz --print-top 1
