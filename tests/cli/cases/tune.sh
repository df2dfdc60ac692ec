# tune: tasks, a search, what it leaves, and what compile makes of it.
digit=$here/../../examples/models/mnist_cntk.onnx
expect 0 "Available Tasks for tuning:" tune "$digit" --tasks list
expect 0 "  4. tvmgen_default_fused_nn_dense_add (len=~" tune "$digit" --tasks list
expect 4 'no task is "3-5"; the module has tasks 0 to 4' tune "$digit" -o found --tasks 0,3-5
must "no line of the list is longer than 100" sh -c '! tenon tune "$1" --tasks list | grep -q "^.\{101\}"' - "$digit"
expect 2 "--output FILE is required: the records are kept nowhere else" tune "$digit"
expect 2 "a time is expected, as 60s, 5m or 1h" tune "$digit" -o r --budget soon
expect 2 "a time is expected" tune "$digit" -o r --budget 0s
expect 4 'no task is "conv3d"' tune "$digit" -o r --tasks conv3d
expect 4 'no task is "9-"; the module has tasks 0 to 4, which `tune --tasks list` shows [driver-E163]' tune "$digit" -o r --tasks 9-
expect 4 "--rpc-key is not supported yet" tune "$digit" -o r --rpc-key k
expect 4 "No such file or directory" tune absent.onnx -o r
expect 4 "absent/r" tune "$digit" -o absent/r
expect 4 "nothing can be timed: this target makes no code in this process; use target llvm [driver-E164]" tune "$digit" -o r --target c
rm -f r

# a search of the dense layer and the first convolution: whether it gains depends on the machine
expect 0 "40 trials" tune "$digit" -o found --tasks 0,dense --trials 40 --min-repeat-ms 1
expect 0 "task  calls trials built-in us     best us" tune "$digit" -o found --tasks dense --trials 8 --tuner random
expect 0 "40 trials" tune "$digit" -o found --tasks conv --trials 40 --tuner xgb_knob
expect 0 "40 trials" tune "$digit" -o found --tasks conv --trials 40 --min-repeat-ms 1 --tuner xgb_rank_binary_curve
expect 0 "16 trials" tune "$digit" -o found --tasks dense,conv --trials 16 --generator sketch
expect 0 "8 trials" tune "$digit" -o found --tasks conv --trials 8 --tuner ga --enable-autoscheduler
expect 2 "" tune "$digit" -o found --generator oracle
expect 0 "8 trials" tune "$digit" -o found --tasks conv --trials 8 --generator sketch --fixed location,unroll --near rows=4
expect 4 '"all" is no part of a schedule that can be fixed; parts of schedules are way, inline' tune "$digit" -o found --fixed all
expect 4 '"tile" is no part with its odds, as in "tile=0.9"' tune "$digit" -o found --odds tile
expect 0 'as `tenon dump --stage space` lists them [driver-W006]' tune "$digit" -o found --tasks dense --trials 1 --near edges=14
case $(uname -m) in # each stands for a machine that this one is not
aarch64) other=x86_64 ;;
*) other=aarch64 ;;
esac
expect 4 "nothing can be timed: this package needs CPU feature" tune "$digit" -o found --trials 1 --target "llvm -mtriple=$other-linux-gnu"
expect 4 '"rows" is no role of a choice with a number above 0' tune "$digit" -o found --near rows
expect 0 "" tune "$digit" -o found --tasks dense --trials 4 --log-estimated-latency --budget 20s
TERM=xterm NO_COLOR= python3 "$here/terminal.py" raw tenon tune "$digit" -o found --trials 30 --min-repeat-ms 1 >shown
must "a table is drawn on a terminal" grep -q "task  trials      best us  GFLOP/s roofline    gain  kernel" shown
must "it tells how far the search is" grep -q "mnist_cntk.onnx: [0-9]* trials in [0-9]* s, [0-9]* s left, kernels" shown
TERM=xterm NO_COLOR= python3 "$here/terminal.py" screen tenon tune "$digit" -o found --trials 10 --min-repeat-ms 1 >shown
must "the table goes where the search ends" sh -c '! grep -q "task  trials" shown && grep -q "^task  calls trials" shown'
must "the time of the model is logged" grep -q "^ElapsedTime(s)	.*	EstimatedLatency(ms)	[0-9.]*	Trials	" total_latency.tsv
must "a file of records, whatever was found" test -f found
expect 0 "" compile "$digit" --tuning-records found -o tuned.tar
expect 0 "Plus214_Output_0: float32[1, 10]" compare "$digit" -- --tuning-records found

# records that were made by hand: the built-in schedule of the dense layer, and one with another tile
tenon dump "$digit" --stage schedule >built_in
record=$here/record.py
must "a record" sh -c 'python3 "$1" "$2" "a b c = loops \"dense\";" >by_hand' - "$record" "$digit"
expect 0 "# record by_hand: 1 us, the built-in schedule 2 us" dump "$digit" --stage schedule --tuning-records by_hand
expect 0 "1 scheduled by tuning records" compile "$digit" --tuning-records by_hand -o hand.tar
expect 0 "Plus214_Output_0: float32[1, 10]" compare "$digit" -- --tuning-records by_hand
must "a record that does not fit" sh -c 'python3 "$1" "$2" "a b c = loops \"none\";" >unfit' - "$record" "$digit"
must "is passed over" sh -c '! tenon compile "$1" --tuning-records unfit -o unfit.tar | grep -q records' - "$digit"
must "the kernel has its built-in schedule" sh -c \
    'tenon dump "$1" --stage schedule --tuning-records unfit | cmp - built_in' - "$digit"
must "what is computed is right" tenon compare "$digit" -- --tuning-records unfit
# made before the rule changed: of an older version, by choices that there are not any more, of steps that no rule takes now
must "an old record" sh -c 'python3 "$1" "$2" "a b c = loops \"dense\"; bo bi = split b 4; ko ki = split c 7 tail=mask; reorder a bo ko ki bi;
    vectorize bi; unroll ki; parallel a;" | sed "s/.picks.: ../\"picks\": \"rule = product\\\\ndense.panel_rows = 99\\\\n\"/" >old' - "$record" "$digit"
must "has these choices" grep -q '"version": 1, "picks": "rule = product\\ndense.panel_rows = 99\\n", "trace": "a b c = loops' old
expect 0 "1 scheduled by tuning records" compile "$digit" --tuning-records old -o old.tar
expect 0 "ko ki = split c 7 tail=mask" dump "$digit" --stage schedule --tuning-records old
expect 0 "Plus214_Output_0: float32[1, 10]" compare "$digit" -- --tuning-records old
must "part of its steps still fits" sh -c 'sed "s/unroll ki/tile_by_hand ki/" old >older' -
refused="warning: the tuning record of 1 us for kernel tvmgen_default_fused_nn_dense_add is passed over, because line 7 of its schedule is refused (the trace text does not parse). In its place stands"
ends="; tune again, and drop what does not fit by \`tenon records prune --file"
expect 0 "$refused the built-in schedule$ends older\` [driver-W008]" compile "$digit" --tuning-records older -o older.tar
must "all of it is passed over" sh -c 'tenon dump "$1" --stage schedule --tuning-records older | cmp - built_in' - "$digit"
expect 0 "Plus214_Output_0: float32[1, 10]" compare "$digit" -- --tuning-records older
must "two that fit, and one that claims to be faster" sh -c '{ cat by_hand | sed "s/1e-06/7e-06/"; sed "s/1e-06/4e-06/" old; cat older; } >three'
expect 0 "$refused the record of 4 us$ends" compile "$digit" --tuning-records three -o three.tar
expect 0 "ko ki = split c 7 tail=mask" dump "$digit" --stage schedule --tuning-records three
expect 0 "Plus214_Output_0: float32[1, 10]" compare "$digit" -- --tuning-records three
expect 0 "3 records added" records export three.db --file three
expect 0 "$refused the record of 4 us$ends" compile "$digit" --tuning-records three.db -o three.tar
must "another one does not fit, either" sh -c 'sed "s/split b 4/split none 4/; s/1e-06/2e-06/" old >>three'
expect 0 "is passed over, and so is 1 slower one, because line 7 of its schedule" compile "$digit" --tuning-records three -o three.tar
must "it is said once" sh -c 'test "$(tenon compile "$1" --tuning-records three -o three.tar 2>&1 | grep -c W008)" = 1' - "$digit"
must "nothing is said of one that is slower than what fits" sh -c '{ cat by_hand; sed "s/1e-06/4e-06/" older; } >slow
    ! tenon compile "$1" --tuning-records slow -o three.tar 2>&1 | grep W008' - "$digit"
must "as many as are tried, and one more" sh -c 'for i in 1 2 3 4 5 6 7; do sed "s/1e-06/${i}e-09/" older; done >eight
    { cat eight; sed "s/1e-06/8e-09/" older; cat by_hand; } >nine; cat by_hand >>eight' # the last one fits
expect 0 "and so are 6 slower ones, because line 7 of its schedule is refused (the trace text does not parse). In its place stands the record of 1 us" compile "$digit" --tuning-records eight -o eight.tar
expect 0 "and so are 7 slower ones, because line 7 of its schedule is refused (the trace text does not parse). In its place stands the built-in" compile "$digit" --tuning-records nine -o nine.tar
TENON_RECORDS=older expect 0 "by \`tenon records prune\` [driver-W008]" compile "$digit" -o own.tar
# prune drops what does not fit the function that a record of the workload tells, however fast it says to be
cp three pruned
expect 0 "3 records dropped" records prune --file pruned
must "without a function nobody can tell" sh -c 'tail -n 2 three | head -n 1 | cmp - pruned'
must "one that does not fit, with its function" sh -c 'python3 "$1" --function "$2" "a b c = loops \"none\";" 5e-7 none >fitting
    cat three >>fitting; cp fitting fitting.lines' - "$record" "$digit"
expect 0 "4 records dropped" records prune --file fitting.lines
must "the fastest that fits stays" sh -c 'sed -n 3p fitting >third; sed "s/, .function.*/}/" fitting.lines | cmp - third'
expect 0 "3 records dropped" records prune --file fitting --keep 5
must "with the function that others told" grep -q "\"function\": \"func @" fitting.lines
must "all that fit stay" sh -c 'test "$(wc -l <fitting)" = 2'
must "a text that cannot be read any more" sh -c 'python3 "$1" --function "$2" "a b c = loops \"none\";" 5e-7 none |
    sed "s/func @[^(]*/func @a text of an earlier version/" | cat - fitting.lines >unread
    python3 "$1" --function "$2" "a b c = loops \"dense\";" 3e-6 slow >>unread; tail -n 1 unread >read' - "$record" "$digit"
expect 0 "2 records dropped" records prune --file unread
must "that of another record says what fits" cmp unread read
must "with its function" sh -c 'python3 "$1" --function "$2" " a b c = loops \"dense\";" 3e-6 slow >late' - "$record" "$digit"
must "a fast one with no text, and a slower one with it" sh -c '{ sed "s/}$/, \"later\": {\"}\": 1}}/" by_hand && cat late; } >given' -
for form in given.db pair/ given.lines; do
    expect 0 "2 records added" records export "$form" --file given
    expect 0 "1 record dropped" records prune --file "$form"
    expect 0 "1 record added" records export "with" --file "$form"
    must "the text stays" grep -q "\"function\": \"func @" with
    [ "$form" = pair/ ] || must "with all other keys" grep -q "\"later\": {\"}\": 1}" with
    rm -rf pair with
done
must "the same record, without and with its function" sh -c 'python3 "$1" --function "$2" "a b c = loops \"dense\";" >told' - "$record" "$digit"
for form in database.db pair/ lines; do
    rm -rf "$form"
    expect 0 "1 record added" records export "$form" --file by_hand
    expect 0 "1 record added" records export "$form" --file told # which brings it
    expect 0 "0 records added" records export "$form" --file told
    expect 0 "0 records added" records export "$form" --file by_hand
    expect 0 "1 record dropped" records prune --file "$form"
    expect 0 "0 records added" records export "$form" --file told
done
for form in database.db pair/; do
    rm -rf "$form"
    python3 "$record" --function "$digit" 'a b c = loops "none";' 5e-7 none | cat - by_hand >source
    expect 0 "2 records added" records export "$form" --file source
    expect 0 ". In its place stands the record of 1 us; tune again, and drop what does not fit by \`tenon records prune --file $form\`" compile "$digit" --tuning-records "$form" -o form.tar
    expect 0 "1 record dropped" records prune --file "$form"
    expect 0 "1.00        2.00  2.00x      1  by_hand" records list --file "$form"
done
rm -rf pair
must "an older one that does not fit, and a function that came later" sh -c 'sed "s/1e-06/5e-07/; s/dense/none/" by_hand >early
    python3 "$1" --function "$2" "a b c = loops \"dense\";" >late' - "$record" "$digit"
expect 0 "1 record added" records export pair/ --file early
expect 0 "1 record added" records export pair/ --file late
expect 0 "1 record dropped" records prune --file pair
expect 0 "1.00        2.00  2.00x      1  by_hand" records list --file pair
expect 0 "back: 1 record added" records export back --file pair
must "the function is kept" grep -q "\"function\": \"func @" back
rm -rf pair
must "schedules that were timed before" sh -c 'cat by_hand source >taught
    python3 "$1" --function "$2" "a b c = loops \"dense\";" 3e-6 slow >>taught' - "$record" "$digit"
expect 0 "note: 2 schedules that were timed before taught the cost model; 1 is of no use to these tasks, cannot be made any more, or not in time [driver-N003]" tune "$digit" -o learnt --tasks conv --trials 2 --tuning-records taught
must "equal ones, more than teach, and one of another function" sh -c '
    python3 -c "import json,sys; r = json.loads(open(\"by_hand\").readline())
for i in range(600): print(json.dumps({**r, \"seconds\": 1e-6 * (i + 1), \"trace\": r[\"trace\"] + \"\\n\" * (i // 2)}))
print(json.dumps({**r, \"workload\": \"0\" * 16}))" >many'
expect 0 "note: 256 schedules that were timed before taught the cost model; 1 is of a function that is not known; 91 are left out, because others are newer or the time was short [driver-N003]" tune "$digit" -o learnt --tasks conv --trials 2 --tuning-records many
must "nobody is told of nothing" sh -c '! tenon tune "$1" -o learnt --tasks conv --trials 2 --tuning-records taught --tuner xgb_knob 2>&1 | grep N003' - "$digit"
must "who does not learn is told nothing" sh -c '! tenon tune "$1" -o learnt --tasks conv --trials 2 --tuning-records taught --tuner ga 2>&1 | grep N003' - "$digit"
for function in '' '\n\n' '// x\n'; do
    must "a text without a function" sh -c 'line=$(cat by_hand) && printf "%s, \"function\": \"%s\"}\n" "${line%\}}" "$1" >hollow' - "$function"
    expect 0 "0 records dropped" records prune --file hollow
    expect 0 "0 tasks gained" tune "$digit" -o learnt --tasks dense --trials 1 --tuning-records hollow
done
must "a function that is no text" sh -c 'sed "s/\"trace\"/\"function\": 1, \"trace\"/" by_hand >bad'
expect 4 "bad:1:1: error: no tuning record of Tenon: \"function\" is not a text, or has control characters; make records" compile "$digit" --tuning-records bad -o bad.tar
cp older continued
expect 0 "$refused the built-in schedule$ends" tune "$digit" -o continued --tasks dense --trials 4 # which begins with its choices
must "it stays" sh -c 'cat older - <continued | head -n 2 | uniq -d | cmp - older'
must "a line cut short" sh -c 'cat by_hand >cut; head -c 100 by_hand >>cut'
expect 0 "1 scheduled by tuning records" compile "$digit" --tuning-records cut -o cut.tar
expect 0 "" tune "$digit" -o cut --tasks dense --trials 4
expect 0 "scheduled by tuning records" compile "$digit" --tuning-records cut -o cut.tar
must "a line of something else" sh -c 'cat by_hand >bad; echo "{\"tenon\": 1, \"workload\": \"0123456789abcdef\"}" >>bad'
expect 4 "bad:2:1: error: no tuning record of Tenon: " compile "$digit" --tuning-records bad -o bad.tar
must "nothing is left of that" test ! -e bad.tar
expect 4 "control characters; make records by \`tune\` [driver-E160]" tune "$digit" -o bad --trials 1
echo '{"input": ["llvm", "conv2d_nchw", [], {}], "config": {}, "result": [[1e-5], 0, 1, 1], "version": 0.2, "tvm_version": "0.9"}' >autotvm
echo '{"i": [["[]", "llvm"], [[], []]], "r": [[1e-5], 0, 1, 1], "v": "v0.6"}' >ansor
expect 0 "autotvm:1:1: warning: records of TVM name no schedules of Tenon and are passed over, 1 from this line on; make records by \`tune\` [driver-W003]" compile "$digit" --tuning-records autotvm -o t.tar
expect 0 "ansor:1:1: warning: records of TVM" compile "$digit" --tuning-records ansor -o t.tar
must "a log with a record of Tenon" sh -c 'printf "{\"input\": [], \"config\": {}, \"result\": [], \"record\": %s}\n" "$(cat by_hand)" >log'
expect 0 "1 scheduled by tuning records" compile "$digit" --tuning-records log -o log.tar
must "a log of AutoScheduler with one" sh -c 'printf "{\"i\": [[\"[]\", \"llvm\"], [[], []]], \"r\": [[1e-6], 0, 0, 1], \"v\": \"v0.6\", \"record\": %s}\n" "$(cat by_hand)" >log'
expect 0 "1 scheduled by tuning records" compile "$digit" --tuning-records log -o log.tar
expect 0 "1.00        2.00  2.00x      1  by_hand" records list --file log
{ head -c 300 by_hand && cat by_hand; } >joined # a cut line has no end, and the next begins right behind it
expect 0 "1.00        2.00  2.00x      1  by_hand" records list --file joined
expect 2 "records list takes no \"log\"; name a file by --file" records list log
expect 2 "records prune takes no \"log\"; name a file by --file" records prune log
must "lines of logs stay" sh -c 'cat autotvm by_hand >mixed; sed "s/1e-06/3e-06/; s/loops/ loops/" by_hand >>mixed'
expect 0 "1 record dropped" records prune --file mixed
must "those of TVM, too" sh -c 'cat autotvm by_hand | cmp - mixed'
expect 4 "No such file or directory" compile "$digit" --tuning-records absent -o t.tar

# the user's own file of records, which compile reads by itself
expect 4 "or the path is too long; name a file [driver-E162]" records list
TENON_RECORDS=/dev/null/records.jsonl
expect 4 "/dev/null/records.jsonl: error: cannot" tune "$digit" --tasks dense --trials 4
TENON_RECORDS=$work/own/records.jsonl
expect 0 "0 records" records list
expect 0 "0 records dropped" records prune
expect 0 "" tune "$digit" --tasks dense --trials 4
must "a slower one of the same workload" sh -c 'sed "s/1e-06/3e-06/; s/loops/ loops/" by_hand >slower'
rm -f own/records.jsonl
expect 0 "1 record added" records merge slower
expect 0 "1 record added" records merge by_hand
expect 0 "0 records added" records merge by_hand
expect 0 "2 records" records list
expect 0 "1.00        2.00  2.00x      1  by_hand" records list
expect 0 'a b c = loops "dense"' records show by_hand
expect 4 "no record is of conv3d" records show conv3d
expect 2 'unknown action "lst"; choose from list, show, merge, prune, export' records lst
expect 2 "which file?" records merge
expect 0 "1 scheduled by tuning records" compile "$digit" -o own.tar
expect 0 "5 kernels" compile "$digit" --no-records -o own.tar
must "left alone" sh -c '! tenon compile "$1" --no-records -o own.tar | grep -q records' - "$digit"
expect 0 "rule gemm/vector" dump "$digit" --stage space # tasks begin with the built-in schedules
expect 0 "out: 2 records added" records export out
expect 0 "1 record dropped" records prune
expect 0 "1 record" records list
must "the fastest stays" grep -q 1e-06 own/records.jsonl
expect 0 "0 records dropped" records prune --keep 3
expect 0 "2 records" records list --file out
expect 0 "1 record added" records merge out
printf '{"a": 1}\nwords\n' >foreign
cp foreign foreign.copy
expect 4 "foreign: error: no record of Tenon is in this file, which stays as it is; name a file of records [driver-E166]" records prune --file foreign
must "nothing of it is lost" cmp foreign foreign.copy
echo "{}" >>own/records.jsonl
expect 0 "own/records.jsonl:3:1: warning: no tuning record of Tenon: it is no record of Tenon: \"tenon\" is missing" compile "$digit" -o own.tar
expect 4 "records.jsonl:3:1: error" records list
TENON_RECORDS=off

# a folder: the pair of files of MetaSchedule
cat >pair.py <<'EOS'
import json, sys
workloads, records = ([json.loads(row) for row in open(f"{sys.argv[1]}/database_{name}.json")]
                      for name in ("workload", "tuning_record"))
assert all(len(w) == 2 and int(w[0]) < 2 ** 64 for w in workloads), workloads
assert len({w[0] for w in workloads}) == len(workloads)
for index, (trace, seconds, target, parameters) in records:
    steps, decisions = trace
    assert steps and decisions == [] and all(isinstance(s, float) for s in seconds) and target["kind"] == "llvm"
    assert all(isinstance(kind, str) and len(rest) == 3 for kind, *rest in steps)
    number, module = workloads[index]
    assert target["record"]["workload"] == f"{int(number):016x}" and target["record"]["seconds"] == seconds[0]
    if sys.argv[2] == "searched":
        assert module.startswith("func @") and all(kind == "TENSOR" and shape for kind, dtype, shape in parameters)
        assert len(module.split(") {")[0].split(",")) >= len(parameters)
    else:
        assert module is None and parameters is None
print(len(workloads), len(records))
EOS
expect 0 "pair/: 1 record added" records export pair/ --file by_hand
expect 0 "1.00        2.00  2.00x      1  by_hand" records list --file pair
expect 0 'a b c = loops "dense"' records show by_hand --file pair/
expect 0 "1 record added" records merge slower --file pair
expect 0 "0 records added" records merge by_hand --file pair
must "one workload, two records" test "$(python3 pair.py pair known)" = "1 2"
expect 0 "1 scheduled by tuning records" compile "$digit" --tuning-records pair -o pair.tar
expect 0 "1 scheduled by tuning records" compile "$digit" --tuning-records pair/database_tuning_record.json -o pair.tar
expect 0 "Plus214_Output_0: float32[1, 10]" compare "$digit" -- --tuning-records pair
expect 0 "2 records added" records merge pair --file plain
must "a file has the same" python3 -c 'import json
assert [json.loads(r) for r in open("plain")] == [json.loads(r) for f in ("by_hand", "slower") for r in open(f)]'
must "a copy" cp -r pair damaged
echo '[0, [[[["GetBlock", [], ["C", "main"], ["b0"]]], []], [1e-05], {"kind": "llvm", "keys": ["cpu"]}, [["TENSOR", "float32", [8]]]]]' >>pair/database_tuning_record.json
expect 0 "pair/database_tuning_record.json:3:1: warning: records of TVM name no schedules of Tenon and are passed over, 1 from this line on; make records by \`tune\` [driver-W003]" compile "$digit" --tuning-records pair -o pair.tar
printf '[0, [[[["lo' >>pair/database_tuning_record.json
expect 0 "0 records added" records merge slower --file pair
expect 0 "1 record dropped" records prune --file pair
must "the line of TVM stays" grep -q GetBlock pair/database_tuning_record.json
expect 0 "1.00        2.00  2.00x      1  by_hand" records list --file pair
sed 's/^\[0/[1/' pair/database_tuning_record.json >damaged/database_tuning_record.json
expect 4 "damaged/database_tuning_record.json:2:1: error: no tuning record of Tenon: the line of database_workload.json that it names is another workload, or is not there; make records by \`tune\` [driver-E160]" compile "$digit" --tuning-records damaged -o pair.tar
rm damaged/database_workload.json
expect 4 "damaged/database_workload.json: error: the workloads of the records beside it cannot be read: No such file or directory; name a folder that \`tune --work-dir\` made [driver-E189]" compile "$digit" --tuning-records damaged -o pair.tar
TENON_RECORDS=damaged expect 0 "5 kernels" compile "$digit" -o pair.tar # a warning, of the user's own
expect 2 "either --output or --work-dir says where records go" tune "$digit" -o r --work-dir r
expect 2 "the path of a folder is expected" tune "$digit" --work-dir ""
tvm=$here/../tvm/meta_schedule # which TVM wrote
expect 0 "/meta_schedule/database_tuning_record.json:1:1: warning: records of TVM name no schedules of Tenon and are passed over, 13 from this line on; make records by \`tune\`, which begins near their tile sizes where \`--tuning-records\` names them [driver-W003]" compile "$digit" --tuning-records "$tvm" -o pair.tar
expect 0 "/meta_schedule/database_tuning_record.json:1:1: warning: 13 of 13 records of TVM have no tile sizes that fit a task and are passed over, the first of them here; name a database of this model [driver-W003]" tune "$digit" -o near_tvm --tuning-records "$tvm" --trials 2
must "a database of TVM of this model" sh -c 'mkdir digit && echo "[\"1\", \"eyJyb290IjogMX0=\"]" >digit/database_workload.json
    sed -n 1p "$1/database_tuning_record.json" | sed "s/\[16,1,2,2\]/[1,1,1,1]/; s/\[4,2,2,32\]/[1,1,2,5]/; s/\[64,256\]/[1,256]/; s/\[512,256\]/[10,256]/
        s/\[64,512\]/[1,10]/" >digit/database_tuning_record.json' - "$tvm"
must "its record fits" sh -c '! tenon tune "$1" -o near_tvm --tasks dense --tuning-records digit --trials 2 2>&1 | grep W003' - "$digit"
must "a damaged one" sh -c 'sed "s/\[64,4\]/[64]/" digit/database_tuning_record.json >digit/d && mv digit/d digit/database_tuning_record.json'
expect 4 "digit/database_tuning_record.json:1:1: error: no tuning record of Tenon: a decision of the trace of TVM in it is not as many factors above 0 as its step has results; make records by \`tune\` [driver-E160]" tune "$digit" -o near_tvm --tuning-records digit --trials 2
cp -r "$tvm" theirs && cp -r "$tvm" as_it_was
expect 4 "theirs/database_tuning_record.json:1:1: error: TVM wrote this database, and could not read it with lines of Tenon; name another folder, and this one as records that are tried first [driver-E204]" tune "$digit" --work-dir theirs --trials 2
must "it stays as it was" diff -r theirs as_it_was
expect 4 "/dev/null/r/database_tuning_record.json: error: cannot write the file" tune "$digit" --work-dir /dev/null/r
expect 0 "40 trials" tune "$digit" --work-dir searched/here --trials 40 --min-repeat-ms 1
expect 0 "" tune "$digit" -o searched/here --tasks conv --trials 8
must "workloads have their loops" python3 pair.py searched/here searched
expect 0 "5 kernels" compile "$digit" --tuning-records searched/here -o pair.tar
expect 0 "Plus214_Output_0: float32[1, 10]" compare "$digit" -- --tuning-records searched/here

# stopped at any moment: the file stays sound, nothing that stood in it is lost, and no process is left
. "$here/killed.sh"
killed killed "$digit"
timeout -s INT 1.5 tenon tune "$digit" -o stopped --budget 20s >/dev/null 2>&1
must "Ctrl-C ends it, as a signal does" test $? = 124
must "nobody goes on" sh -c '! pgrep -f "tune.*-o (killed|stopped)" >/dev/null'
