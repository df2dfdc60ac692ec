# What dump prints reads back: each stage of real models to the same bytes, constants and schedules too.
real=$here/../../examples/models
for model in dense mnist_cntk super_resolution; do
    for stage in relay relay-fused tir tir-scheduled flat schedule; do
        expect 0 "" dump "$real/$model.onnx" --stage $stage -o trip.$stage
        [ $stage = schedule ] && continue
        expect 0 "" opt trip.$stage --pass=Verify -o again.$stage
        must "$model, $stage: the same bytes" cmp trip.$stage again.$stage
    done
    expect 0 "" opt trip.tir --pass=Schedule=trip.schedule,Verify -o again.tir-scheduled
    must "$model: kernels and variants get their schedules" cmp trip.tir-scheduled again.tir-scheduled
done
expect 0 "" interpret "$real/mnist_cntk.onnx" -o direct.npz
expect 0 "" dump "$real/mnist_cntk.onnx" --stage relay -o trip.relay
expect 0 "" interpret trip.relay -o text.npz
must "a text computes with its .params what the model does" cmp direct.npz text.npz
expect 0 "a.tar:" compile trip.relay -o a.tar
rm trip.relay.params
expect 4 "relay-E204" interpret trip.relay
printf '# other: x\nn = loops "y"\n' >wrong.schedule
expect 4 "[driver-E032]" opt trip.tir --pass=Schedule=wrong.schedule
head -3 trip.schedule >short.schedule
expect 4 "[driver-E034]" opt trip.tir --pass=Schedule=short.schedule
expect 0 "" dump "$real/dense.onnx" --stage tir -o cases.tir
expect 0 "" dump "$real/dense.onnx" --stage schedule -o cases.schedule
must "a case that is none" sh -c 'grep -q "(where " cases.schedule && sed "s/(where \\(.*\\))$/(where \\1 or n == 2)/" cases.schedule >none.schedule'
expect 4 "[driver-E140]" opt cases.tir --pass=Schedule=none.schedule
head -c 300 trip.relay-fused.params >trip.relay.params
expect 4 "[driver-E033]" opt trip.relay --pass=Verify
