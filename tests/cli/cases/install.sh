# What cmake --install brings, used as a user would: from another prefix, with nothing said about where things are.
model=$TENON_SOURCE_DIR/examples/models/dense.onnx
must "it installs" cmake --install "$TENON_LIBDIR/../.." --prefix "$work/prefix"
for file in bin/tenon bin/tvmc include/tenon/tenon.h include/tenon/runtime.h lib/libtenon.so lib/libtenon_runtime.so \
    lib/libtenon_runtime.a lib/tenon/libtenon-llvm.so lib/tenon/libtenon_bundle.a lib/pkgconfig/tenon.pc \
    lib/pkgconfig/tenon_runtime.pc lib/libtenon_host.so lib/libtenon_host.a include/tenon/host.h lib/pkgconfig/tenon_host.pc \
    lib/cmake/Tenon/TenonConfig.cmake share/man/man1/tenon-compile.1 \
    share/bash-completion/completions/tvmc share/zsh/site-functions/_tenon; do
    must "$file is installed" test -e "$work/prefix/$file"
done
if [ -e "$TENON_LIBDIR/../../build.ninja" ]; then
    # what is installed from the build's folder is among what `make demo` builds
    (cd "$TENON_LIBDIR/../.." && ninja -t inputs demo && ninja -t query demo) >inputs
    build=$(cd "$TENON_LIBDIR/../.." && pwd)
    grep -oE '"[^"]*"' "$build/cmake_install.cmake" | tr -d '"' | grep -E "^$build/(bin|lib)/.*(tenon|tvmc|\.so|\.a)$" |
        sort -u | sed "s|^$build/||" >installed.txt
    must "libraries and programs are installed" test "$(wc -l <installed.txt)" -ge 6
    while read -r file; do
        [ "$file" = bin/tvmc ] || must "make demo builds $file" grep -qxE " *$file(\.[0-9]+)?" inputs
    done <installed.txt
fi
tenon --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/tenon-\1/p' >pages
must "there are commands" grep -qx tenon-check pages
for page in tenon tvmc $(cat pages); do
    must "$page has a manual page" test -s "$work/prefix/share/man/man1/$page.1"
done
if command -v man >/dev/null; then
    must "man reads them" sh -c "man -l '$work/prefix/share/man/man1/tenon-compile.1' >/dev/null"
fi
must "pages offer what can be given" sh -c "tenon --manual compile | grep -F '{\\fIgraph, aot, vm\\fR}'"
must "pages offer nothing that is refused" sh -c "! tenon --manual compile | grep -E '\{[^}]*(mlf|crt)'"
must "completion offers nothing that is refused" sh -c "! tenon --completion bash | grep -wE 'mlf|crt|cuda'"
must "bash reads its completion" bash -n "$work/prefix/share/bash-completion/completions/tenon"
complete() { # line: what bash would offer for it
    bash -c '. "$0/share/bash-completion/completions/tenon"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenon
        printf "%s\n" "${COMPREPLY[@]}"' "$work/prefix" "$@"
}
must "commands are completed" sh -c "echo '$(complete tenon comp)' | grep -x compile"
must "flags are completed" sh -c "echo '$(complete tenon run --fill)' | grep -x -- --fill-mode"
must "choices are completed" test "$(complete tenon run --fill-mode z)" = zeros

mkdir installed && cd installed || exit 1
cat >both.c <<'C'
#include <stdio.h>
#include <tenon/runtime.h>
#include <tenon/tenon.h>
int main(int n, char **word)
{
    tnr_module *m;
    tnr_error err;
    tenon *t = tenon_new();
    if (n < 2 || tenon_build(tenon_module_read(t, word[1], NULL), NULL, "both.tar", NULL))
        return fputs(tenon_messages(t), stderr), 1;
    tenon_free(t);
    if (tnr_module_open("both.tar", NULL, &m, &err))
        return fputs(err.message, stderr), 1;
    printf("%s %u %s\n", tenon_version(), (unsigned)tnr_input_count(m), tnr_version());
    tnr_module_release(m);
    return 0;
}
C
if [ "$sanitizer" ]; then
    echo "cli: built with sanitizers: programs of other compilers cannot link it" # the release build's run does
else
    PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
    export PKG_CONFIG_PATH
    must "a program is built by pkg-config" sh -c \
        "cc -Wall -Werror both.c \$(pkg-config --cflags --libs tenon tenon_runtime) -Wl,-rpath,$work/prefix/lib -o both"
    must "it compiles and loads a model" env -u TENON_LIBDIR ./both "$model"
    cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.20)
project(both C)
find_package(Tenon REQUIRED)
add_executable(by_cmake both.c)
target_link_libraries(by_cmake Tenon::tenon Tenon::runtime)
C
    must "a program is built by CMake" sh -c "cmake -DCMAKE_PREFIX_PATH=$work/prefix -B b . && cmake --build b"
    must "it compiles and loads a model" env -u TENON_LIBDIR b/by_cmake "$model"
fi
must "the installed command compiles" env -u TENON_LIBDIR "$work/prefix/bin/tvmc" compile "$model" -o by_tvmc.so
cd .. || exit 1

# --config: defaults of flags, as tvmc reads them
mkdir configs
echo '{"targets": [{"kind": "llvm", "num-cores": 2}], "opt_level": 2, "fill-mode": "ones", "pass-config": {}}' >configs/two.json
echo '{"targets": [{"num-cores": 2}]}' >configs/unkind.json
echo '{"opt-level": 2' >configs/cut.json
expect 0 "llvm -num-cores=2" --config configs/two compile "$model" -o two.tar
TVM_CONFIGS_JSON_DIR=$work/configs
export TVM_CONFIGS_JSON_DIR
expect 0 "llvm -num-cores=2" --config two.json compile "$model" -o two.tar
expect 0 "" --config two run two.tar
must "flags of other commands are passed over in silence" sh -c "! tenon --config two run two.tar 2>&1 >/dev/null | grep Warning"
echo '{"opt_levell": 3, "bogus": {"a": 1}, "fill-mode": "ones"}' >configs/typing.json
expect 0 "tenon: warning: --config typing: no command has a flag --opt-levell; it is ignored" \
    --config typing compile "$model" -o two.tar
expect 0 "no command has a flag --bogus" --config typing run two.tar
expect 0 "" --config default run two.tar
expect 4 "expected an object with \"kind\"" --config unkind run two.tar
expect 4 "not valid JSON" --config cut run two.tar
expect 4 "no file three, here or below TVM_CONFIGS_JSON_DIR" --config three run two.tar
unset TVM_CONFIGS_JSON_DIR
for page in tenon compile run; do
    expect 0 ".SH FLAGS" --manual $page
done
expect 4 "--manual: unknown page" --manual nothing
