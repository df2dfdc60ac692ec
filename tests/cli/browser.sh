# Pages in a browser, for cases of run.sh.

# has_browser CASE: or says why the part of CASE that needs one is left out.
has_browser() {
    if [ -z "${TENON_SLOW:-}" ]; then
        echo "$1: the browser is left out; TENON_SLOW=1 runs it"
    elif ! command -v chromium >/dev/null; then
        echo "$1: the browser is left out: there is no chromium"
    else
        return 0
    fi
    return 1
}

# browse PAGE WIDTH: the page as it stands in `dom` once its scripts have run, in a window so wide; false: it does not
# load, or something was written on the console.
browse() {
    timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir=browser --window-size="$2,1000" \
        --virtual-time-budget=5000 --enable-logging=stderr --dump-dom "file://$PWD/$1" >dom 2>browser.log || return 1
    ! grep CONSOLE browser.log
}
