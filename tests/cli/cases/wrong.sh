# Wrong files and calls, each answered with what it is and what to do: the table wrong.txt.
must "files that are wrong" python3 "$here/wrong_files.py" wrong "$here/../../examples/models/dense.onnx"
cp "$here/../../examples/models/dense.onnx" wrong/m.onnx
cd wrong || exit 1
expect 0 "" compile m.onnx -o m.tar
while IFS='|' read -r code words call; do
    case $code in '#'* | '') continue ;; esac
    words=${words# } words=${words% }
    eval "expect ${code% } \"\$words\" $(printf %s "$call" | sed "s/[][()*]/\\\\&/g")"
done <"$here/wrong.txt"
expect 0 "def @main" dump m.onnx --stage relay -o -
cd .. || exit 1
