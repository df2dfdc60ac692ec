# dump, opt and interpret.
expect 0 "relay-fused" dump --list
expect 2 "--stage is missing" dump "$models/two.relay"
expect 2 "did you mean tir?" dump "$models/two.relay" --stage tirr
for stage in $(tenon dump --list); do
    expect 0 "" dump "$models/two.relay" --stage "$stage"
    expect 0 "" dump "$models/two.relay" --stage="$stage" -o "dump.$stage"
    must "the file of $stage holds what is printed" sh -c "tenon dump '$models/two.relay' --stage $stage | cmp - dump.$stage"
done
must "relay goes with its constants" test -f dump.relay.params -a -f dump.relay-fused.params
must "no other stage does" test ! -e dump.tir.params
expect 0 "def @main" opt dump.relay --pass=InferType
expect 0 "" opt dump.relay --pass=InferType,SimplifyInference --pass=FuseOps -o opt.relay
must "the passes ran" grep -q "def @main" opt.relay
expect 0 "FuseOps" opt --list
expect 4 "unknown graph pass Nonsense" opt dump.relay --pass Nonsense
expect 0 "" compile "$models/fixed.relay" -o d.tar --dump-code relay,tir,ll,asm,c
must "a file each" test -s d.tar.relay -a -f d.tar.relay.params -a -s d.tar.tir -a -s d.tar.ll -a -s d.tar.asm -a -s d.tar.c
for stage in relay tir tir-scheduled flat; do
    expect 0 "" interpret "$models/fixed.relay" --stage $stage -i "$npz/xy.npz" -o $stage.npz
    must "$stage: right" python3 "$here/look.py" $stage.npz output_0 '<f4' '(1, 4)' 2 -1 4 -3
done
expect 0 "output_0: float32[1, 4]" interpret "$models/fixed.relay"
expect 0 "" interpret "$models/fixed.relay" -o same.npz
must "a package" tenon compile "$models/fixed.relay" -o fixed.tar
expect 0 "" run fixed.tar -o run.npz
must "inputs are made up as run does" cmp same.npz run.npz
expect 4 "the model has no input \"data\"" interpret "$models/fixed.relay" -i "$npz/unknown.npz"
expect 2 "--stage: unknown value \"ll\"; choose from relay, tir, tir-scheduled, flat" interpret "$models/fixed.relay" --stage ll
