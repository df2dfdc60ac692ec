# tune --report: the page of a search, as text and as a browser lays it out.
digit=$here/../../examples/models/mnist_cntk.onnx
expect 4 "no/page.html: cannot write the file" tune "$digit" --trials 1 -o page --report no/page.html
expect 4 "this does not go to standard output; name a file" tune "$digit" --trials 1 -o page --report -
must "nothing was searched before" test ! -e page
expect 0 "8 trials" tune "$digit" -o found --tasks dense --trials 8 --report one.html
cp said log
must "the page of one task" python3 "$here/tune_page.py" one.html log
expect 0 "24 trials" tune "$digit" -o found --trials 24 --min-repeat-ms 1 --generator sketch --report all.html
cp said log
must "the page of several" python3 "$here/tune_page.py" all.html log
. "$here/browser.sh"
if has_browser tune_page; then # wide, the two charts of a task stand beside each other; narrow, one below the other
    must "a copy that tells how it is laid out" python3 "$here/tune_page.py" --look all.html look.html
    must "a browser shows it" browse look.html 1280
    must "its charts and its table" python3 "$here/tune_page.py" --seen dom all.html 2
    must "a narrow one does" browse look.html 600
    must "its charts and its table" python3 "$here/tune_page.py" --seen dom all.html 1
    must "an error would be seen" sh -c 'sed "s/ d=\"M/ d=\"X/" look.html >broken.html'
    browse broken.html 1280 >/dev/null
    must "it is" grep -q "CONSOLE.*moveto" browser.log
fi
