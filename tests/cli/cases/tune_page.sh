# tune --report: the page of a search.
digit=$here/../../examples/models/mnist_cntk.onnx
expect 4 "no/page.html: cannot write the file" tune "$digit" --trials 1 -o page --report no/page.html
expect 4 "this does not go to standard output; name a file" tune "$digit" --trials 1 -o page --report -
must "nothing was searched before" test ! -e page
expect 0 "" tune "$digit" -o found --tasks dense --trials 8 --report one.html
must "the page of one task" python3 "$here/tune_page.py" one.html 8
expect 0 "" tune "$digit" -o found --trials 24 --min-repeat-ms 1 --generator sketch --report all.html
must "the page of several" python3 "$here/tune_page.py" all.html 24
