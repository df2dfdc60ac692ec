# States: an input that is kept between runs. `step` gives h * 0.5 + x and the same as the next h.
expect 0 "states 16 bytes" compile "$models/step.relay" --state h=output_1 -o step.tar -v
expect 0 "state        h: float32 [4]" verify step.tar
must "no graph executor" sh -c '! tar tf step.tar | grep -q mod.json'
expect 0 "" run step.tar --fill-mode ones --states h.npz -o y.npz
must "h begins with zeros" python3 "$here/look.py" y.npz output_0 '<f4' '(4,)' 1 1 1 1
expect 0 "" run step.tar --fill-mode ones --states h.npz -o y.npz --print-time --repeat 3
must "and goes on from the file, by one run" python3 "$here/look.py" y.npz output_0 '<f4' '(4,)' 1.5 1.5 1.5 1.5
must "which then has what became of it" python3 "$here/look.py" h.npz h '<f4' '(4,)' 1.5 1.5 1.5 1.5
expect 0 "" run step.tar --fill-mode ones -o y.npz
must "without the flag it begins anew" python3 "$here/look.py" y.npz output_0 '<f4' '(4,)' 1 1 1 1
expect 4 "no state is called" run step.tar --fill-mode ones --states y.npz
expect 4 "the model has no input \"h\"" run step.tar -i h.npz
for stage in relay flat; do
    expect 0 "" interpret "$models/step.relay" --state h=output_1 --stage $stage --fill-mode ones -o i.npz
    must "interpret begins with zeros" python3 "$here/look.py" i.npz output_0 '<f4' '(4,)' 1 1 1 1
done
expect 4 "did you mean output_1?" compile "$models/step.relay" --state h=output_11 -o no.tar
expect 0 "" compile "$models/step.relay" -o plain.tar
expect 4 "the model has no states; compile it with --state INPUT=OUTPUT" run plain.tar --states h.npz
expect 0 "" compile "$models/step.relay" --state h=output_1 --target c -o step.c
must "the C text has its reset" sh -c 'grep -q tvmgen_default_reset step.c && grep -q tvmgen_default_reset step.h'
