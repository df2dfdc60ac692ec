# Finding the command; help, version and their exit codes.
version=$(sed -n 's/^project(tenon VERSION \([0-9.]*\).*/\1/p' "$here/../../CMakeLists.txt")
expect 1 "commands:"
expect 1 "commands:" -v
expect 0 "commands:" --help
expect 0 "commands:" -h
expect 0 "tenon $version" --version
expect 0 "tenon $version" version
expect 0 "tenon $version" -v version
expect 2 "unknown command \"comp\"; run `tenon --help` for the list" comp x.onnx
expect 2 "did you mean compile?" compil x.onnx
expect 2 "unknown flag --nonsense" --nonsense
expect 2 "did you mean --opt-level?" compile x.onnx --opt_levle 3
expect 2 "did you mean tir-scheduled?" dump x.onnx --stage tir-schedule
expect 4 "did you mean FoldConstant?" compile x.onnx --disabled-pass foldconstant
expect 0 "--workspace-pools" compile --help-all
expect 0 "Commands of tvmc that are not supported yet: micro" --help-all
expect 0 "  tenon compile model.onnx -o model.tar" compile --help
must "unsupported flags are shown on request alone" sh -c '! tenon compile --help | grep -q workspace-pools'
must "tvmc speaks of tvmc" sh -c 'tvmc run --no-such 2>&1 | grep -q "^tvmc: error: unknown flag --no-such"'
for columns in 40 60 80 100; do
    must "help fits $columns columns" sh -c \
        'COLUMNS=$0 tenon compile --help | grep -v "^  tenon\|^usage\|{" | awk -v most=$0 "length(\$0) > most {print; bad = 1} END {exit bad}"' $columns
done
for command in compile run dump opt interpret tune verify version; do
    expect 0 "usage: tenon $command" $command --help
    expect 0 "--verbose" $command -h
    expect 2 "unknown flag --nonsense" $command --nonsense
done
for command in compile run dump opt interpret verify; do
    expect 2 "is missing" $command
done
for command in compile run opt interpret verify; do
    expect 4 "No such file or directory" $command absent
done
expect 4 "No such file or directory" dump absent --stage tir
for command in micro rpc; do
    expect 4 "tenon: error: $command is not supported yet" $command
    expect 4 "tenon: error: $command is not supported yet" $command --help
done
must "help without a command goes to stderr" sh -c 'test -z "$(tenon 2>/dev/null)"'
must "tvmc is the same" sh -c 'test "$(tvmc version)" = "$(tenon version)"'
must "a full disk under stdout is an error" sh -c 'tenon compile --help >/dev/full; test $? = 4'
must "flags, options and what is written about them are one list" python3 "$here/flags.py" "$here/../.."
if command -v bash >/dev/null; then # what the shell proposes: stages, passes, files of the right kind
    mkdir complete && : >complete/net.onnx && : >complete/net.tar && : >complete/in.npz
    must "completion" bash -c 'cd complete && source <(tenon --completion bash)
        words() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=(); _tenon; echo "${COMPREPLY[*]}"; }
        set -e
        test "$(words tenon compi)" = compile
        test "$(words tenon dump --stage tir-)" = tir-scheduled
        test "$(words tenon opt --pass FoldC)" = FoldConstant
        test "$(words tenon compile n)" = net.onnx
        test "$(words tenon run n)" = net.tar
        test "$(words tenon run net.tar --inputs "")" = in.npz'
fi

# what was built, and the machine it sees; the description reads back
expect 0 "commit      " version -v
expect 0 "LLVM        19." version -v
expect 0 "features    " --version -v
must "where numbers come from" sh -c "tenon version -v | grep -E '^clock .* GHz \((measured|sysfs|cpuid|/proc|assumed)' && tenon version -v | grep '^float32 .* GFLOP/s a core ('"
must "version alone is one line" test "$(tenon version | wc -l)" = 1
tenon version --print-machine >machine.json
expect 0 "" compile "$TENON_SOURCE_DIR/examples/models/dense.onnx" --machine machine.json -o m.tar
must "without a cache the machine is measured" sh -c "TENON_CACHE=off tenon version -v | grep '^clock '"
# another clock and other rates make the same bytes: measurements waver
sed 's/"clock_ghz": [0-9.]*/"clock_ghz": 1.7/; s/"\(peak_gflops\|int8_gops\|mem_gb_s\|l3_gb_s\)": [0-9.]*/"\1": 7/' machine.json >slow.json
must "the descriptions differ" sh -c "! cmp -s machine.json slow.json"
for model in mnist_cntk super_resolution; do
    for json in machine slow; do
        SOURCE_DATE_EPOCH=0 tenon compile "$TENON_SOURCE_DIR/examples/models/$model.onnx" --machine $json.json -o $json.tar >/dev/null
    done
    must "rates do not change $model" cmp machine.tar slow.tar
done
