# Flags of passes: levels, disabling, configuration, and looking at passes.
m=$models/two.relay
for level in 0 1 2 3 4; do
    expect 0 "peak memory" compile "$models/fixed.relay" -O$level -o level.tar
    expect 0 "" run level.tar -i "$npz/xy.npz" -o level.npz
    must "level $level: right" python3 "$here/look.py" level.npz output_0 '<f4' '(1, 4)' 2 -1 4 -3
done
expect 0 "" compile "$models/fixed.relay" --disabled-pass FuseOps,FoldConstant,AlterOpLayout -o off.tar
expect 0 "" run off.tar -i "$npz/xy.npz" -o off.npz
must "without passes: right" python3 "$here/look.py" off.npz output_0 '<f4' '(1, 4)' 2 -1 4 -3
expect 4 "a program cannot be made without InferType" compile "$m" --disabled-pass InferType
expect 0 "" compile "$m" --pass-config relay.FuseOps.max_depth=1 --pass-config tir.disable_vectorize=false -o c.tar
expect 4 "unknown key relay.FuseOps.depth; known are relay.FuseOps.max_depth" compile "$m" --pass-config relay.FuseOps.depth=1
for key in tir.lwp_max_depth=0 tir.lwp_min_height=1 tir.lwp_disable_func_prof=0 tir.instr_siblings=1 tir.reset_start_id=0 \
    relay.ext.vitis_ai.options.build_dir= relay.ext.vitis_ai.options.load_runtime_module= \
    tir.contrib.ethos-u.copy_compute_reordering_max_copy_movements=1; do
    expect 0 "" compile "$m" --pass-config $key -o c.tar
done
expect 4 "is not supported yet, only tir.lwp_max_depth=0" compile "$m" --pass-config tir.lwp_max_depth=3
expect 4 "must be a whole number" compile "$m" --pass-config relay.FuseOps.max_depth=deep
expect 4 "must be 0, 1, true or false" compile "$m" --pass-config tir.noalias
expect 4 "is not supported yet, only tir.usmp.enable=0" compile "$m" --pass-config tir.usmp.enable=1
for forms in 1 2; do
    expect 0 "warning: this part of the model runs as plain loops, which is slow; please report it [driver-W001]" \
        compile "$models/fixed.relay" --pass-config tenon.refuse_forms=$forms -o plain.tar
    expect 0 "" run plain.tar -i "$npz/xy.npz" -o plain.npz
    must "form $forms: right" python3 "$here/look.py" plain.npz output_0 '<f4' '(1, 4)' 2 -1 4 -3
done
expect 4 "error: internal error: Tenon cannot make code for this part of the model (tvmgen_default_fused_add, refused); please report it [driver-E012]" \
    compile "$models/fixed.relay" --pass-config tenon.refuse_forms=3 -o plain.tar
expect 0 "// after FuseOps" compile "$m" --print-ir-after FuseOps -o p.tar
expect 0 "# before Vectorize" compile "$m" --print-ir-before FoldConstant,Vectorize -o p.tar
expect 0 "// after InferType" compile "$m" --print-ir-after all -o p.tar
expect 4 "--print-ir-after: unknown pass Nonsense" compile "$m" --print-ir-after Nonsense
expect 0 "SimplifyInference" compile "$m" --print-pass-times -o p.tar
expect 4 "" compile --desired-layout NHWC no-such-model.onnx
expect 2 "--mixed-precision-acc-type: unknown value \"int8\"; choose from" compile "$m" --mixed-precision-acc-type int8
