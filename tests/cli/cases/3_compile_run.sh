# Compiling and running small models.
expect 0 "exact peak memory: n*48 bytes" compile "$models/two.relay" -o two.tar
expect 0 "two.tar: " compile "$models/two.relay" --output=two.tar --executor graph --runtime cpp -f so --target llvm
expect 0 "seconds: import" compile "$models/fixed.relay" -v --output fixed.tar --target-llvm-num-cores 2 -O2
expect 0 "1 kernel for llvm -mcpu=native" compile "$models/fixed.relay" -o t.tar --target-llvm-mcpu=native
expect 0 "for c " compile "$models/fixed.relay" -o c.tar --target c
expect 0 "mod.params" verify two.tar
expect 0 "runs its native code" verify two.tar
expect 4 "not a package" verify "$models/two.relay"
expect 4 "" run "$models/two.relay"

# the way the tutorials type it: --output is the beginning of --outputs
expect 0 "" run --inputs "$npz/xy.npz" --output out.npz two.tar
must "out.npz holds relu(x + 1)" python3 "$here/look.py" out.npz output_0 '<f4' '(1, 4)' 2 0 4 0
expect 0 "" run -i "$npz/xy.npz" -o graph.npz fixed.tar --executor graph --threads 1
must "both executors say the same" python3 "$here/look.py" graph.npz output_0 '<f4' '(1, 4)' 2 -1 4 -3
expect 0 "" run -i "$npz/xy.npz" -o c.npz c.tar
must "the C target says the same" cmp graph.npz c.npz
expect 0 "" run fixed.tar --fill-mode ones -o ones.npz
must "ones" python3 "$here/look.py" ones.npz output_0 '<f4' '(1, 4)' 2 2 2 2
expect 0 "" run fixed.tar --fill-mode zeros -o zeros.npz
must "zeros" python3 "$here/look.py" zeros.npz output_0 '<f4' '(1, 4)' 0 0 0 0
expect 0 "" run fixed.tar -o r1.npz
expect 0 "" run fixed.tar --fill-mode random -o r2.npz
must "random inputs are the same each time" cmp r1.npz r2.npz
must "and not all the same" sh -c '! cmp -s r1.npz zeros.npz'
must "several outputs and types" sh -c "tenon compile '$models/small.relay' -o s.tar && tenon run s.tar -o s.npz"
must "uint8 in [0, 128)" python3 "$here/look.py" s.npz output_0 '|u1' '(8,)' 113 55 3 124 13 41 22 98
must "int32 is U(-1, 1) cast" python3 "$here/look.py" s.npz output_2 '<i4' '(8,)' 0 0 0 0 0 0 0 0

# symbols
expect 0 "note: n is taken as 1" run two.tar
expect 0 "" run two.tar -i "$npz/x2.npz" -o x2.npz
must "y takes the n of x" python3 "$here/look.py" x2.npz output_0 '<f4' '(2, 4)'
must "and nothing is noted" sh -c "test -z \"\$(tenon run two.tar -i '$npz/x2.npz' 2>&1)\""

# wrong inputs: what is wrong, what was expected, what the inputs are
expect 4 "the model has no input data" run two.tar -i "$npz/unknown.npz"
expect 4 "    y: float32[n, 4]" run two.tar -i "$npz/unknown.npz"
expect 4 "x is float64[1, 4], but the model takes float32[n, 4]" run two.tar -i "$npz/double.npz"
expect 4 "x is float32[4], but the model takes float32[n, 4]" run two.tar -i "$npz/rank.npz"
expect 4 "x is float32[1, 3], but the model takes float32[1, 4]" run fixed.tar -i "$npz/extent.npz"
expect 4 "dimension 0 is 2, expected 1" run two.tar -i "$npz/contradict.npz"
expect 0 "" run two.tar -i "$npz/fortran.npz"
expect 4 "x.npy: big-endian element type '>f4'" run two.tar -i "$npz/big_endian.npz"
expect 4 "element type '<U3' is not supported" run two.tar -i "$npz/text.npz"
expect 4 "cannot read it as .npz" run two.tar -i "$models/two.relay"
expect 4 "No such file" run two.tar -i absent.npz
expect 4 "No such file" run absent.tar

# tables
expect 0 "Execution time summary:" run fixed.tar --print-time --repeat 3 --number 2 --end-to-end
expect 0 " mean (ms)   median (ms)    max (ms)     min (ms)     std (ms)  " run fixed.tar --print-time
expect 0 "[[2 0 1]" run -i "$npz/xy.npz" fixed.tar --print-top 3
expect 0 " [4 2 -1]]" run -i "$npz/xy.npz" fixed.tar --print-top=3
expect 0 "Duration (us)  Percent  Device  Count  " run fixed.tar --profile
expect 0 "float32[1, 4], float32[1, 4], float32[1, 4]" run fixed.tar --profile
expect 0 "Number of threads: 1" run fixed.tar --profile --threads 1
expect 0 "Executor: Graph" run fixed.tar --profile --executor graph
