# records: the user's own database, and files of all forms beside it.
digit=$here/../../examples/models/mnist_cntk.onnx
record=$here/record.py
own=$work/data/tenon/records.db earlier=$work/data/tenon/records.jsonl
unset TENON_RECORDS
XDG_DATA_HOME=$work/data
export XDG_DATA_HOME
must "a record" sh -c 'python3 "$1" "$2" "a b c = loops \"dense\";" >fast' - "$record" "$digit"
must "a slower one of the same workload" sh -c 'sed "s/1e-06/3e-06/; s/loops/ loops/; s/by_hand/slow/" fast >slow'

# what another program sees in a database
cat >sql.py <<'EOS'
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2]):
    print(*row)
EOS
sql() {
    python3 sql.py "$@"
}

# the user's own
expect 0 "0 records" records list
expect 0 "0 records dropped" records prune
must "reading makes nothing" test ! -e data
expect 0 "1 record added" records merge slow
expect 0 "1 record added" records merge fast
expect 0 "0 records added" records merge fast
must "it is a database" test "$(sql "$own" "PRAGMA integrity_check")" = ok
must "one file" test "$(ls data/tenon)" = records.db
cat slow fast >both
must "of lines" sh -c 'python3 sql.py "$1" "select line from record" | cmp - both' - "$own"
must "and columns" test "$(sql "$own" "select seconds, name, generator, threads from record order by seconds limit 1")" = "1e-06 by_hand rules 1"
expect 0 "2 records" records list
expect 0 'a b c = loops "dense"' records show by_hand
expect 0 "1 scheduled by tuning records" compile "$digit" -o own.tar
expect 0 "# record by_hand: 1 us, the built-in schedule 2 us" dump "$digit" --stage schedule
must "left alone" sh -c '! tenon compile "$1" --no-records -o own.tar | grep -q records' - "$digit"
expect 0 "out: 2 records added" records export out
must "as they were" cmp out both
expect 0 "out.db: 2 records added" records export out.db
expect 0 "1 record dropped" records prune
expect 0 "1 record" records list
must "the fastest stays" test "$(sql "$own" "select name from record")" = by_hand
expect 0 "0 records dropped" records prune --keep 3
expect 0 "1 record added" records merge out.db
expect 0 "8 trials" tune "$digit" --tasks conv --trials 8 --min-repeat-ms 1

# other files: what is in them says what they are
mv out.db out.records
expect 0 "2 records" records list --file out.records
expect 0 "1 record dropped" records prune --file out.records
expect 0 "1 scheduled by tuning records" compile "$digit" --no-records --tuning-records out.records -o own.tar
expect 0 "pair/: 1 record added" records export pair/ --file out.records
expect 0 "1 record added" records merge slow --file out.records
expect 0 "1 record added" records merge pair --file new.sqlite3
must "that is a database, too" test "$(sql new.sqlite3 "select count(*) from record")" = 1
expect 0 "4 trials" tune "$digit" --no-records -o searched.db --tasks dense --trials 4 --tuning-records out.records
must "a search makes one" sh -c 'head -c 15 searched.db | grep -q "SQLite format 3"'
TENON_RECORDS=$work/out.records expect 0 "2 records" records list
must "a copy is whole" cp "$own" copy.db
expect 0 "by_hand" records list --file copy.db

# what is refused
expect 4 "absent.db: error: this database of records cannot be read: No such file or directory; name one" compile "$digit" --tuning-records absent.db -o t.tar
expect 4 "absent/a.db: error: cannot write the file: No such file or directory [base-E003]" tune "$digit" -o absent/a.db --tasks dense --trials 1
sql out.records "PRAGMA user_version = 9"
expect 4 "out.records: error: this database of records has format 9, of a later version of Tenon, and this version knows up to 1; have that version write a file of lines: \`tenon records export FILE\` [driver-E202]" compile "$digit" --tuning-records out.records -o t.tar
expect 4 "driver-E202" records merge slow --file out.records
sql foreign.db "CREATE TABLE t(x)"
expect 4 "foreign.db: error: this is a database of another program; name a file of records [driver-E203]" records prune --file foreign.db
head -c 5000 new.sqlite3 >cut.db
expect 4 "cut.db: error: this database of records is damaged (database disk image is malformed); move it away, and take out of it what is sound by \`sqlite3 FILE .recover\` [driver-E201]" records list --file cut.db
cp "$own" kept.db
cp cut.db "$own"
expect 0 "records.db: warning: this database of records is damaged" compile "$digit" -o own.tar # the user's own
expect 4 "records.db: error: this database of records is damaged" tune "$digit" --tasks dense --trials 1
expect 4 "driver-E201" records list
cp kept.db "$own"
if [ "${TENON_SLOW:-}" ]; then
    python3 -c 'import sqlite3, sys, time
db = sqlite3.connect("kept.db", isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
time.sleep(100)' &
    holder=$!
    sleep 1
    expect 4 "kept.db: error: this database of records has been locked by somebody else for 30 seconds; end what holds it, or name another file [driver-E199]" records list --file kept.db
    kill $holder
fi
if [ "$(id -u)" != 0 ]; then
    chmod a-w "$own"
    expect 4 "cannot write the file: Permission denied [base-E003]" records merge slow
    expect 0 "1 scheduled by tuning records" compile "$digit" -o own.tar
    chmod u+w "$own"
fi

# lines that versions before the database kept: read where they are, and taken over by the first who writes
rm "$own"
{ cat slow && echo '{"tenon": 2, "later": 1}' && echo "{}" && cat fast; } >"$earlier"
cp "$earlier" lines
expect 0 "records.jsonl:3:1: warning: no tuning record of Tenon: it is no record of Tenon: \"tenon\" is missing" compile "$digit" -o own.tar
expect 0 "1 scheduled by tuning records" compile "$digit" -o own.tar
must "reading takes nothing over" test ! -e "$own"
expect 0 "1 record dropped" records prune
expect 0 "1 record" records list
must "with what is of later formats" test "$(sql "$own" "select line from record where workload is null")" = '{"tenon": 2, "later": 1}'
must "the lines stay" cmp lines "$earlier"
sed 's/3e-06/2e-06/; s/by_hand/of_an_earlier_version/; s/dense/other/' fast >>"$earlier"
expect 0 "1 record" records list # once was enough
expect 0 "1 scheduled by tuning records" compile "$digit" -o own.tar

# stopped at any moment
TENON_RECORDS=off
export TENON_RECORDS
. "$here/killed.sh"
killed killed.db "$digit"
must "it is sound" test "$(sql killed.db "PRAGMA integrity_check")" = ok
timeout -s INT 1.5 tenon tune "$digit" -o killed.db --budget 20s >/dev/null 2>&1
must "Ctrl-C ends it, as a signal does" test $? = 124
expect 0 "" records list --file killed.db
