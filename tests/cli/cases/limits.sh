# Limits: which one was reached, and nothing is left: no output, no process.
example=$here/../../examples/models/squeezenet.onnx
expect 4 "the limit of memory, 1 MiB, is reached; allow more [base-E005]" compile "$example" -o limit.tar --max-memory 1
expect 4 "the limit of memory, 1 MiB, is reached" dump --stage flat "$example" --max-memory 1
expect 4 "the model needs more than 50 nodes, which is the limit; allow more [base-E007]" check "$example" --max-nodes 50
expect 2 "--max-seconds 0 is out of range; give at least 1" compile "$example" --max-seconds 0
expect 0 "" check "$example" --max-nodes 5000 --max-seconds 1000 --max-memory 4000
# a compiler that does not return
printf '#!/bin/sh\necho $$ >>"%s/pids"\nsleep 100\n' "$work" >slow_cc && chmod +x slow_cc
expect 4 "the limit of time, 1 seconds, is reached; allow more [base-E006]" compile "$models/small.relay" \
    -o limit.tar --target c --cross-compiler ./slow_cc --max-seconds 1
must "no output" test ! -e limit.tar
must "the compiler was called" test -s pids
must "no process is left" sh -c 'for p in $(cat pids); do kill -0 $p 2>/dev/null && exit 1; done; true'
must "no temporary folder is left" sh -c 'test -z "$(ls tmp)"'
