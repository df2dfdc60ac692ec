# Compiling and running small models.
expect 0 "peak memory: n*48 bytes (n=1: 48 bytes)" compile "$models/two.relay" -o two.tar
expect 0 "two.tar: " compile "$models/two.relay" --output=two.tar --executor graph --runtime cpp -f so --target llvm
expect 0 "seconds: import" compile "$models/fixed.relay" -v --output fixed.tar --target-llvm-num-cores 2 -O2
expect 0 ", lower 0." compile "$models/fixed.relay" -v -o t.tar
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
expect 0 "" run two.tar -i "$npz/x2.npz" --fill-mode random -o x2.npz
must "y takes the n of x" python3 "$here/look.py" x2.npz output_0 '<f4' '(2, 4)'
must "and nothing is noted" sh -c "test -z \"\$(tenon run two.tar -i '$npz/x2.npz' --fill-mode random 2>&1)\""

# wrong inputs: what is wrong, what was expected, what the inputs are
expect 4 "the model has no input \"data\"" run two.tar -i "$npz/unknown.npz"
expect 4 "    y: float32[n, 4]" run two.tar -i "$npz/unknown.npz"
expect 4 "x is float64[1, 4], but the model takes float32[n, 4]" run two.tar -i "$npz/double.npz"
expect 4 "x is float32[4], but the model takes float32[n, 4]" run two.tar -i "$npz/rank.npz"
expect 4 "x is float32[1, 3], but the model takes float32[1, 4]" run fixed.tar -i "$npz/extent.npz"
expect 4 "dimension 0 is 2, expected 1" run two.tar -i "$npz/contradict.npz"
expect 0 "" run two.tar -i "$npz/fortran.npz" -o fortran.npz
must "Fortran order is read" python3 "$here/look.py" fortran.npz output_0 '<f4' '(2, 4)' 1 2 3 4 5 6 7 8
expect 4 "x.npy: big-endian element type '>f4'" run two.tar -i "$npz/big_endian.npz"
expect 4 "but the model takes" run two.tar -i "$npz/text.npz"
expect 4 "not an .npz archive of arrays" run two.tar -i "$models/two.relay"
expect 4 "No such file" run two.tar -i absent.npz
expect 4 "No such file" run absent.tar

# tables
expect 0 "Execution time summary:" run fixed.tar --print-time --repeat 3 --number 2 --end-to-end
expect 0 " mean (ms)   median (ms)    max (ms)     min (ms)     std (ms)  " run fixed.tar --print-time
expect 0 "[[2 0 1]" run -i "$npz/xy.npz" fixed.tar --print-top 3
expect 0 " [4 2 -1]]" run -i "$npz/xy.npz" fixed.tar --print-top=3
expect 0 "Duration (us)  Percent  Device  Count  GFLOP/s  % of Peak  " run fixed.tar --profile
must "a kernel with arithmetic has its speed" sh -c \
    'tenon run fixed.tar --profile | grep -Eq "cpu0 +1 +[0-9]+[.][0-9]+ +[0-9]+[.][0-9]+ +float32"'
sed 's/add/maximum/' "$models/fixed.relay" >maximum.relay
expect 0 "" compile maximum.relay -o maximum.tar
must "a kernel without arithmetic has none" sh -c \
    'tenon run maximum.tar --profile | grep -Eq "cpu0 +1 +- +- +float32"'
expect 0 "float32[1, 4], float32[1, 4], float32[1, 4]" run fixed.tar --profile
expect 0 "Number of threads: 1" run fixed.tar --profile --threads 1
for columns in 50 80 120; do
    must "the table fits $columns columns" sh -c \
        'COLUMNS=$0 tenon run fixed.tar --profile | awk -v most=$0 "length(\$0) > most {print; bad = 1} END {exit bad}"' $columns
done
must "all columns on request" sh -c 'COLUMNS=50 tenon run fixed.tar --profile --wide | grep -q "Argument Shapes"'
expect 0 "Executor: Graph" run fixed.tar --profile --executor graph

# how far a compilation is: a line on a terminal, nothing of it elsewhere or in the end
mkdir progress && cd progress || exit 1
watched="python3 $here/terminal.py"
dense=$TENON_SOURCE_DIR/examples/models/dense.onnx
must "a terminal is told" sh -c "TERM=xterm $watched raw tenon compile '$dense' -o d.tar >raw"
for stage in import graph tir schedule lower code package; do
    must "of the stage $stage" grep -q "dense.onnx: $stage" raw
done
must "of kernels" grep -qE 'schedule \[-+\] 0 of [0-9]+ kernels' raw
must "NO_COLOR: no escape sequence" sh -c "! grep -q '$(printf '\033')' raw"
must "no line reaches the last column" python3 -c "
assert max(len(s) for s in open('raw', newline='').read().replace('\r', '\n').split('\n')) < 80"
must "in the end it is gone" sh -c "TERM=xterm $watched screen tenon compile '$dense' -o d.tar >screen; ! grep dense.onnx screen"
must "what is said stands" grep -q '^peak memory' screen
must "colours where they are wanted" sh -c "NO_COLOR= TERM=xterm $watched raw tenon compile '$dense' -o d.tar | grep -q '$(printf '\033')'"
must "an error stands alone" sh -c "TERM=xterm $watched screen tenon compile absent.onnx -o d.tar >screen; ! grep import screen"
must "a dumb terminal is told nothing" sh -c "! TERM=dumb $watched raw tenon compile '$dense' -o d.tar | grep import"
must "nor is a file" sh -c "TERM=xterm tenon compile '$dense' -o d.tar 2>errors >/dev/null && ! test -s errors"
cd .. || exit 1

# the formula of a peak that nobody can read is cut
{
    printf 'def @main('
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '%%x%d: Tensor[(number_of_rows_%d, %d), float32], ' $i $i $i; done
    printf '%%y: float32) {\n  ('
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf 'exp(%%x%d), ' $i; done
    printf '%%y)\n}\n'
} >long.relay
expect 0 "for every symbol at its smallest (the formula: -v)" compile long.relay -o long.tar
must "the line is short" sh -c "test \$(tenon compile long.relay -o long.tar | grep '^peak memory' | wc -c) -lt 280"
expect 0 "number_of_rows_12" dump long.relay --stage memory
