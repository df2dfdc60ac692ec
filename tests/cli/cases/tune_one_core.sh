# tune on one core: one process compiles and times in turn, and the search ends by itself.
digit=$here/../../examples/models/mnist_cntk.onnx
core=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
mkdir one
cat >one/tenon <<END
#!/bin/sh
exec taskset -c $core timeout 100 "$bin/tenon" "\$@"
END
chmod +x one/tenon
PATH=$work/one:$PATH
expect 0 "cores       1 (sysfs and the process's affinity)" version -v
expect 0 "24 trials" tune "$digit" -o found --trials 24 --min-repeat-ms 1 --generator sketch --report page.html
cp said log
must "the page has all trials" python3 "$here/tune_page.py" page.html log
must "records of what gained, and no others" sh -c 'tenon records prune --file found &&
    gained=$(sed -n "s/.*; \([0-9]*\) tasks* gained.*/\1/p" log) && tenon records list --file found | grep -q "^$gained records*$"'
expect 0 "Plus214_Output_0: float32[1, 10]" compare "$digit" -- --tuning-records found
expect 0 "8 trials" tune "$digit" -o found --tasks conv --trials 8 --min-repeat-ms 1 --run-threads 2
expect 0 "; kernels " tune "$digit" -o found --budget 2s
expect 0 "" compile "$digit" --tuning-records found -o tuned.tar
