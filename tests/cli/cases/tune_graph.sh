# tune --graph: choices of the graph, a record of them, and what compile makes of it.
digit=$here/../../examples/models/mnist_cntk.onnx
expect 0 "the built-in choices" tune "$digit" -o found --graph --tasks dense --budget 6s
expect 4 "nothing can be timed: this target makes no code in this process" tune "$digit" -o found --graph --target c
cat >free.relay <<'E1'
#[version = "0.0.5"]
def @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }
E1
expect 4 "the graph cannot be timed: x has no fixed size; give all sizes (--input-shapes) [driver-E195]" tune free.relay -o found --graph

cat >roi.relay <<'E1'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 8, 8), float32], %r: Tensor[(16, 4), float32], %b: Tensor[(16), int64]) {
  vision.roi_align(%x, %r, %b, pooled_size=[2, 2], spatial_scale=1f)
}
E1
expect 4 "the graph cannot be timed: a run with random inputs fails:" tune roi.relay -o found --graph
cat >text.relay <<'E1'
#[version = "0.0.5"]
def @main(%x: Tensor[(4), string]) { string.equal(%x, %x) }
E1
expect 4 "x is of a type that is not drawn at random; tune its kernels alone, without --graph [driver-E195]" tune text.relay -o found --graph
expect 4 "its choices are given by tenon.picks; leave them out [driver-E195]" tune "$digit" -o found --graph --pass-config tenon.picks=random:1
cat >state.relay <<'E1'
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32], %h: Tensor[(4, 8), float32]) {
  %0 = nn.softmax(%x);
  %1 = nn.relu(%0);
  (add(%1, %h), %1)
}
E1
expect 0 "graph: " tune state.relay -o found --graph --state h=output_0 --tasks 0 --trials 1
expect 2 "--graph is no list" tune "$digit" -o found --graph --tasks list

# a record by hand: all layouts plain, and a pick that is not there any more
tenon dump "$digit" --stage space >space
must "the graph stands before the tasks" sh -c 'head -1 space | grep -q "^# graph, workload [0-9a-f]\{16\}, [0-9]* picks$"'
must "its convolutions have layouts" sh -c 'tenon dump "$1" --stage relay-fused | grep -q "NCHW[0-9]*c"' - "$digit"
cat >record.py <<'EOF'
import json, re, subprocess
space = open("space").read()
m = json.loads(subprocess.run(["tenon", "version", "--print-machine"], capture_output=True, text=True, check=True).stdout)
machine = f"{m['triple'].split('-')[0]} l1={m['l1_bytes']} l2={m['l2_bytes']}" + "".join(" " + f for f in m["features"])
names = re.findall(r"^(\S+\.layout) = ", space, re.M) + ["gone.0.layout"]
print(json.dumps({"tenon": 1, "workload": re.search("workload ([0-9a-f]+)", space)[1], "machine": machine, "threads": 1,
                  "seconds": 1e-6, "default": 2e-6, "operations": 0, "trials": 4, "name": "graph", "generator": "graph",
                  "version": 1, "picks": "".join(n + " = plain\n" for n in names), "trace": ""}))
EOF
must "a record" sh -c 'python3 record.py >by_hand'
expect 0 "choices of the graph by a tuning record" compile "$digit" --tuning-records by_hand -o plain.tar
must "no value has a layout" sh -c \
    '! tenon dump "$1" --stage relay-fused --tuning-records by_hand | grep -q "NCHW[0-9]*c"' - "$digit"
expect 0 "Plus214_Output_0: float32[1, 10]" compare "$digit" -- --tuning-records by_hand
must "a record whose picks are damaged" sh -c 'sed "s/gone.0.layout = plain/some thing odd/" by_hand >odd'
must "is passed over" sh -c '! tenon compile "$1" --tuning-records odd -o odd.tar | grep -q record' - "$digit"
must "all of it" sh -c \
    'tenon dump "$1" --stage relay-fused --tuning-records odd | grep -q "NCHW[0-9]*c"' - "$digit"
must "a record that takes nothing is none" sh -c '! tenon compile "$1" -O0 --tuning-records by_hand -o o0.tar | grep -q "choices of the graph"' - "$digit"
must "another one" sh -c 'sed "s/1e-06/5e-07/; s/gone.0.layout = plain/gone.0.layout = other/" by_hand >other'
cp by_hand both
expect 0 "1 record added" records merge other --file both
expect 0 "0 records added" records merge other --file both
expect 0 "1 record dropped" records prune --file both
must "tasks are those of the recorded graph" sh -c \
    'tenon tune "$1" --tuning-records by_hand --tasks list >tasks; tenon tune "$1" -o by_hand --tasks list | cmp - tasks || exit 2; tenon tune "$1" --tasks list | cmp -s - tasks; test $? = 1' - "$digit"
expect 0 "graph" records list --file by_hand
expect 0 "gone.0.layout = plain" records show graph --file by_hand
: >empty
must "what is asked for counts more" sh -c \
    'tenon dump "$1" --stage relay-fused --tuning-records by_hand --pass-config tenon.picks=empty | grep -q "NCHW[0-9]*c"' - "$digit"
