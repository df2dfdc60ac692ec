points=$tree/tools/points digit=$tree/examples/models/mnist_cntk.onnx
rules=
for name in irregular jam rule_columns rule_ones rule_pairs rule_patterns rule_quotients rule_recurrence rule_short_rows rule_sums \
    rule_transpose scan; do
    rules="$rules $tree/tests/golden/schedule/$name.tir"
done

# random points, and traces in which numbers were changed: many right, some refused, none wrong
expect 0 '^5 tasks, [0-9]{2,} points right, [0-9]+ the same again, [0-9]+ refused, 0 wrong$' "$points" -n 10 "$digit"
expect 0 '^5 tasks, [0-9]{2,} points right, [0-9]+ the same again, [0-9]{2,} refused, 0 wrong$' "$points" --edit -n 12 "$digit"
expect 0 '^[0-9]{2} tasks, [0-9]{2,} points right, [0-9]+ the same again, [0-9]{2,} refused, 0 wrong$' \
    "$points" --edit -n 6 $rules
expect 0 '^[0-9]{2} tasks, [0-9]{2,} points right, [0-9]+ the same again, [1-9][0-9]* refused, 0 wrong$' \
    "$points" --edit -n 2 --seed 3 --generator sketch $rules
for name in double_buffer pad tile; do # traces of steps that no rule takes
    sed -n 's|^// TRACE: ||p' "$tree/tests/golden/schedule/$name.tir" >own.trace
    expect 0 '^@[a-z_0-9]+: [1-9][0-9]* right, [0-9]+ the same again, [1-9][0-9]* refused, 0 wrong$' \
        "$TENON_BIN/bench_points" -n 40 -t own.trace "$tree/tests/golden/schedule/$name.tir"
done
expect 1 'points: absent.onnx is not compiled' "$points" absent.onnx
