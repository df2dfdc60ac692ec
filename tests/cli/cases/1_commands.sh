# Finding the command; help, version and their exit codes.
version=$(sed -n 's/^project(tenon VERSION \([0-9.]*\).*/\1/p' "$here/../../CMakeLists.txt")
expect 1 "commands:"
expect 1 "commands:" -v
expect 0 "commands:" --help
expect 0 "commands:" -h
expect 0 "tenon $version" --version
expect 0 "tenon $version" version
expect 0 "tenon $version" -v version
expect 2 "there is no command comp" comp x.onnx
expect 2 "there is no flag --nonsense" --nonsense
for command in compile run dump opt interpret verify version; do
    expect 0 "usage: tenon $command" $command --help
    expect 0 "--verbose" $command -h
    expect 2 "there is no flag --nonsense" $command --nonsense
done
for command in compile run dump opt interpret verify; do
    expect 2 "is missing" $command
done
for command in compile run opt interpret verify; do
    expect 4 "No such file or directory" $command absent
done
expect 4 "No such file or directory" dump absent --stage tir
for command in tune micro compare rpc; do
    expect 4 "Error: $command is not supported yet" $command
    expect 4 "Error: $command is not supported yet" $command --help
done
must "help without a command goes to stderr" sh -c 'test -z "$(tenon 2>/dev/null)"'
must "tvmc is the same" sh -c 'test "$(tvmc version)" = "$(tenon version)"'
must "a full disk under stdout is an error" sh -c 'tenon compile --help >/dev/full; test $? = 4'
must "flags, options and what is written about them are one list" python3 "$here/flags.py" "$here/../.."
