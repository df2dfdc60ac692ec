# tune --graph: choices of the graph, a record of them, and what compile makes of it.
digit=$here/../../examples/models/mnist_cntk.onnx
expect 0 "the built-in choices" tune "$digit" -o found --graph --tasks dense --budget 6s
expect 4 "nothing can be timed: this target makes no code in this process" tune "$digit" -o found --graph --target c
cat >free.relay <<'E1'
#[version = "0.0.5"]
def @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }
E1
expect 4 "the graph cannot be timed: x has no fixed size; give all sizes (--input-shapes), or tune its kernels alone [driver-E195]" tune free.relay -o found --graph

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
must "tasks are those of the recorded graph" sh -c \
    'tenon tune "$1" --tuning-records by_hand --tasks list >tasks; tenon tune "$1" --tasks list | cmp -s - tasks; test $? = 1' - "$digit"
expect 0 "graph" records list --file by_hand
expect 0 "gone.0.layout = plain" records show graph --file by_hand
: >empty
must "what is asked for counts more" sh -c \
    'tenon dump "$1" --stage relay-fused --tuning-records by_hand --pass-config tenon.picks=empty | grep -q "NCHW[0-9]*c"' - "$digit"
