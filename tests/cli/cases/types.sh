# Elements that NumPy has no type for: bytes in archives, numbers on the terminal. Each run transposes its inputs.
cat >types.relay <<'END'
def @main(%output_0: Tensor[(3, 3), float8_e4m3fn], %output_1: Tensor[(3, 3), int4]) {
  (transpose(%output_0), transpose(cast(cast(%output_1, dtype="float4_e2m1fn"), dtype="int4")))
}
END
expect 0 "" compile types.relay -o types.tar
expect 0 "[0.9375 -0.017578125 -0.625]" run types.tar --fill-mode random --print-top 3 -o types1.npz
expect 0 "" run types.tar --inputs types1.npz -o types2.npz --executor graph
expect 0 "" run types.tar --inputs types2.npz -o types3.npz
must "bytes come back" cmp types1.npz types3.npz
expect 0 "" interpret types.relay --inputs types2.npz -o types4.npz
must "the interpreter says the same" cmp types1.npz types4.npz
expect 0 "" compile types.relay -o types_c.tar --target c
expect 0 "" run types_c.tar --inputs types2.npz -o types5.npz
must "the C target says the same" cmp types1.npz types5.npz
expect 0 "" compile types.relay --target c --module-name types -o types.c
must "bytes have types of C" grep -q 'int8_t \*output_1; /\* int4' types.h
echo 'def @main(%output_1: Tensor[(3, 3), bool]) { %output_1 }' >types.relay
expect 4 "" run types.relay --inputs types1.npz
