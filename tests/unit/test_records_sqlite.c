/* driver/records: databases of records, beside files of lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "driver/records.h"
#include "sanitized.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const tn_record one = {.workload = 0xf123456789abcdef,
                              .machine = "x86_64 l1=32768 l2=1048576 avx2",
                              .threads = 1,
                              .trials = 64,
                              .seconds = 1.25e-5,
                              .built_in = 2e-5,
                              .operations = 4194304,
                              .name = "a \"name\"",
                              .generator = "rules",
                              .version = 1,
                              .picks = "rule = gemm\ndense.rows = 14\n",
                              .trace = "i j = loops \"dense\"\n",
                              .form = 0xfedcba9876543210,
                              .sizes = "64 64 0 1"};
static const char later_line[] = "{\"tenon\": 2, \"anything\": []}";

/* Each test works in a folder of its own, which is the data folder too. */
static int enter(void **state)
{
    static char folder[64];
    snprintf(folder, sizeof folder, "/tmp/tenon-records.XXXXXX");
    *state = mkdtemp(folder);
    setenv("XDG_DATA_HOME", folder, 1);
    unsetenv("TENON_RECORDS");
    return !*state || chdir(folder) || mkdir("tenon", 0700);
}

static int leave(void **state)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", (const char *)*state);
    return chdir("/") || system(command);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static tn_record numbered(uint64_t i)
{
    tn_record r = one;
    r.workload = i;
    return r;
}

/* The texts of all records, in order, one below the other; -1 in *n: they could not be read. */
static char *all_of(const char *path, const char *machine, enum tn_severity severity, int *n, tn_ctx *ctx)
{
    tn_records r;
    tn_buf text = {0};
    tn_records_init(&r);
    *n = tn_records_read(ctx, path, &r, machine, severity) == TN_OK ? (int)r.all.n : -1;
    for (size_t i = 0; i < r.all.n; i++)
        tn_record_print_line(&r.all.at[i], &text);
    tn_records_deinit(&r);
    char *copy = strdup(tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return copy;
}

static int count_of(const char *path)
{
    int n;
    tn_ctx ctx;
    tn_ctx_init(&ctx);
    free(all_of(path, NULL, TN_ERROR, &n, &ctx));
    tn_ctx_deinit(&ctx);
    return n;
}

static tn_status append_one(const char *path, tn_record r)
{
    tn_ctx ctx;
    tn_ctx_init(&ctx);
    tn_status st = tn_records_append(&ctx, path, 1, &r);
    tn_ctx_deinit(&ctx);
    return st;
}

/* What reading a file reports, as text; "" for nothing. */
static char *said_of(const char *path, enum tn_severity severity, bool writes)
{
    int n;
    tn_ctx ctx;
    tn_buf text = {0};
    tn_ctx_init(&ctx);
    if (writes)
        (void)!tn_records_append(&ctx, path, 1, &one);
    else
        free(all_of(path, NULL, severity, &n, &ctx));
    tn_diag_print_all(&ctx, &text);
    tn_ctx_deinit(&ctx);
    char *copy = strdup(tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return copy;
}

static void says(const char *path, enum tn_severity severity, bool writes, const char *what)
{
    char *said = said_of(path, severity, writes);
    if (*what ? !strstr(said, what) : *said != 0)
        fail_msg("says \"%s\", not \"%s\"", said, what);
    assert_int_equal(strstr(said, severity == TN_WARNING ? "error:" : "warning:") != NULL, 0);
    free(said);
}

static void sql(const char *path, const char *statement)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, statement, NULL, NULL, NULL))
        fail_msg("%s: %s", statement, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static char *bytes_of(const char *path, size_t *n)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *at = malloc(*n + 1);
    assert_int_equal(fread(at, 1, *n, f), *n);
    fclose(f);
    return at;
}

static void assert_database(const char *path, bool is)
{
    size_t n;
    char *at = bytes_of(path, &n);
    assert_int_equal(n >= 16 && memcmp(at, "SQLite format 3", 16) == 0, is);
    free(at);
}

/* ---- forms ---- */

static void records_read_back(void **state)
{
    (void)state;
    static const char *const path[] = {"a.db", "a.sqlite", "a.sqlite3", "a.records", ":memory:", "file:b.db"};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        int n;
        tn_ctx ctx;
        tn_buf want = {0};
        tn_ctx_init(&ctx);
        tn_record r[3] = {one, one, one};
        r[1].sizes = NULL;
        r[2].name = "";
        for (int k = 0; k < 3; k++)
            tn_record_print(&r[k], &want);
        assert_int_equal(tn_records_append(&ctx, path[i], 2, r), TN_OK);
        assert_int_equal(tn_records_append(&ctx, path[i], 1, r + 2), TN_OK);
        assert_int_equal(tn_records_append(&ctx, path[i], 0, NULL), TN_OK);
        char *text = all_of(path[i], NULL, TN_ERROR, &n, &ctx);
        assert_string_equal(text, tn_buf_cstr(&want));
        assert_database(path[i], strstr(path[i], ".db") || strstr(path[i], ".sqlite"));
        assert_int_equal(ctx.n_diag, 0);
        free(text);
        tn_buf_deinit(&want);
        tn_ctx_deinit(&ctx);
    }
}

/* What is there decides, not the name. */
static void content_says_the_form(void **state)
{
    (void)state;
    append_one("a.db", one);
    append_one("b", one);
    assert_int_equal(rename("a.db", "a"), 0);
    assert_int_equal(rename("b", "b.db"), 0);
    append_one("a", numbered(2));
    append_one("b.db", numbered(2));
    assert_int_equal(count_of("a"), 2);
    assert_int_equal(count_of("b.db"), 2);
    assert_database("a", true);
    assert_database("b.db", false);
    write_text("empty.db", "");
    assert_int_equal(count_of("empty.db"), 0);
    append_one("empty.db", one);
    assert_database("empty.db", true);
}

/* For a build: the eight fastest of each workload and number of threads on a machine. */
static void the_best_of_a_machine_are_read(void **state)
{
    (void)state;
    enum { N = 14, BEST = 8, OTHERS = 3 };
    int n;
    tn_ctx ctx;
    tn_ctx_init(&ctx);
    tn_record r[N];
    char name[N][16];
    for (int i = 0; i < N; i++) { /* the later, the faster, but for two that are as fast */
        r[i] = one;
        snprintf(name[i], sizeof name[i], "number %d", i);
        r[i].name = name[i];
        r[i].seconds = 1e-6 * (i == N - 2 ? 2 : N - i);
    }
    r[0].machine = "another";
    r[1].threads = 2;
    r[2].workload = 7;
    assert_int_equal(tn_records_append(&ctx, "a.db", N, r), TN_OK);
    char *text = all_of("a.db", one.machine, TN_ERROR, &n, &ctx);
    assert_int_equal(n, BEST + OTHERS - 1);
    assert_memory_equal(text, "{\"tenon\": 1, \"workload\": \"f123456789abcdef\"", 43);
    for (int i = 0; i < N; i++)
        assert_int_equal(strstr(text, name[i]) != NULL, i == 1 || i == 2 || i >= N - BEST);
    free(text);
    free(all_of("a.db", "a third", TN_ERROR, &n, &ctx));
    assert_int_equal(n, 0);
    tn_ctx_deinit(&ctx);
}

static void keys_of_later_versions_stay(void **state)
{
    (void)state;
    int n;
    tn_ctx ctx;
    tn_buf line = {0};
    tn_records r;
    uint32_t number;
    tn_ctx_init(&ctx);
    tn_record_print(&one, &line);
    line.n -= 2; /* }\n */
    tn_buf_str(&line, ", \"unknown\": [1, {}]}\n");
    tn_records_init(&r);
    assert_null(tn_records_parse(&r, line.at, line.n, NULL, &number));
    static const char *const path[] = {"a.db", "a"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tn_records_append(&ctx, path[i], 1, r.all.at), TN_OK);
        char *text = all_of(path[i], NULL, TN_ERROR, &n, &ctx);
        assert_string_equal(text, line.at);
        free(text);
    }
    tn_records_deinit(&r);
    tn_buf_deinit(&line);
    tn_ctx_deinit(&ctx);
}

static uint32_t prune(const char *path, uint32_t keep)
{
    tn_ctx ctx;
    uint32_t dropped = 0;
    tn_ctx_init(&ctx);
    const tn_record_place p = tn_record_place_of(&ctx, path);
    assert_int_equal(p.form->prune(&ctx, &p, keep, &dropped), TN_OK);
    tn_ctx_deinit(&ctx);
    return dropped;
}

/* Damaged lines go, and those of later formats stay. */
static void the_slow_ones_are_pruned(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        tn_record r = one;
        r.seconds = (5 - i) * 1e-6;
        append_one("a.db", r);
    }
    append_one("a.db", numbered(1));
    sql("a.db", "INSERT INTO record(line) VALUES('{\"tenon\": 2, \"anything\": []}'), ('words')");
    says("a.db", TN_ERROR, false, "a.db:8:1: error: no tuning record of Tenon: ");
    says("a.db", TN_WARNING, false, "a.db:8:1: warning: no tuning record of Tenon: ");
    assert_int_equal(prune("a.db", 2), 3);
    says("a.db", TN_ERROR, false, "");
    assert_int_equal(count_of("a.db"), 3);
    assert_int_equal(prune("a.db", 1), 1);
    assert_int_equal(prune("a.db", 1), 0);
    int n;
    tn_ctx ctx;
    tn_records r;
    tn_ctx_init(&ctx);
    tn_records_init(&r);
    assert_int_equal(tn_records_read(&ctx, "a.db", &r, NULL, TN_ERROR), TN_OK);
    assert_int_equal(r.all.n, 2);
    assert_int_equal((int)(r.all.at[0].seconds * 1e6 + 0.5), 1);
    assert_int_equal(r.later.n, 1);
    assert_string_equal(r.later.at[0], later_line);
    tn_records_deinit(&r);
    free(all_of("a.db", one.machine, TN_ERROR, &n, &ctx));
    assert_int_equal(n, 2);
    tn_ctx_deinit(&ctx);
}

/* ---- databases that are not ours, or not sound ---- */

static void others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *statement, *id;
    } other[] = {
        {"later.db", "PRAGMA user_version = 2", "driver-E202"},
        {"old.db", "PRAGMA user_version = 0", "driver-E203"},
        {"foreign.db", "PRAGMA application_id = 7", "driver-E203"},
        {"table.db", "ALTER TABLE record RENAME TO records", "no such table: record); move it away"},
        {"column.db", "ALTER TABLE record RENAME COLUMN line TO text", "driver-E201"},
        {"view.db", "ALTER TABLE record RENAME TO r; CREATE VIEW record AS SELECT id, line FROM r",
         "driver-E201"},
    };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        size_t n, k;
        append_one(other[i].path, one);
        sql(other[i].path, other[i].statement);
        char *before = bytes_of(other[i].path, &n);
        says(other[i].path, TN_ERROR, false, other[i].id);
        says(other[i].path, TN_WARNING, false, other[i].id);
        says(other[i].path, TN_ERROR, true, other[i].id);
        char *after = bytes_of(other[i].path, &k);
        assert_int_equal(n, k);
        assert_memory_equal(before, after, n);
        free(before);
        free(after);
    }
    sql("plain.db", "CREATE TABLE words(word)");
    says("plain.db", TN_ERROR, true,
         "this is a database of another program; name a file of records [driver-E203]");
    says("absent.db", TN_ERROR, false,
         "cannot be read: No such file or directory; name one that you may read");
    says("absent/a.db", TN_ERROR, true,
         "absent/a.db: error: cannot write the file: No such file or directory [base-E003]");
}

/* Before a search begins: neither a file nor a folder that cannot be written to. */
static void what_cannot_be_written_is_told(void **state)
{
    (void)state;
    static const struct {
        mode_t file, folder;
        bool sound;
    } all[] = {{0666, 0777, true}, {0444, 0777, false}, {0666, 0755, false}};
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(mkdir("in", 0755), 0);
    append_one("in/a.db", one);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int status;
        assert_int_equal(chmod("in/a.db", all[i].file), 0);
        assert_int_equal(chmod("in", all[i].folder), 0);
        pid_t child = fork();
        if (!child) { /* as somebody to whom the file does not belong */
            tn_ctx ctx;
            if (setgid(65534) || setuid(65534))
                _exit(2);
            tn_ctx_init(&ctx);
            bool sound = tn_records_append(&ctx, "in/a.db", 0, NULL) == TN_OK;
            _exit(sound != all[i].sound || (!sound && strcmp(ctx.diag[0].id, "base-E003") != 0) ||
                  count_of("in/a.db") != 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2));
    }
}

/* What a schema may do on its own is not done. */
static void triggers_do_not_run(void **state)
{
    (void)state;
    append_one("a.db", one);
    sql("a.db", "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END");
    append_one("a.db", one);
    assert_int_equal(count_of("a.db"), 2);
}

/* Any damage: what is said is one of few things, and nothing else happens. */
static void damage_is_told(void **state)
{
    (void)state;
    size_t n;
    uint64_t seed = 1;
    for (uint64_t i = 0; i < 40; i++)
        append_one("sound.db", numbered(i / 2));
    char *sound = bytes_of("sound.db", &n);
    unsigned told = 0;
    for (int i = 0; i < (RUN_FEWER ? 60 : 200); i++) {
        FILE *f = fopen("a.db", "w");
        size_t size = i % 4 ? n : n - (size_t)i * 37 % n;
        assert_int_equal(fwrite(sound, 1, size, f), size);
        for (int k = 0; k < 1 + i % 30; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            fseek(f, (long)(16 + (seed >> 33) % (i % 3 ? 4096 : n - 16)), SEEK_SET);
            fputc((int)(seed >> 25 & 255), f);
        }
        fclose(f);
        char *said = said_of("a.db", TN_WARNING, false);
        if (*said && !strstr(said, "[driver-E201]") && !strstr(said, "[driver-E160]") &&
            !strstr(said, "[driver-E202]") && !strstr(said, "[driver-E203]") &&
            !strstr(said, "[driver-E200]"))
            fail_msg("says \"%s\"", said);
        told += *said != 0;
        free(said);
        if (i % 4 == 0)
            free(said_of("a.db", TN_ERROR, true));
    }
    assert_true(told > 10);
    free(sound);
    write_text("tenon/records.db",
               "this is no database, and is as long as one may be expected to be at least");
    says("tenon/records.db", TN_WARNING, false,
         "warning: this database of records is damaged (file is not a database)");
    says("tenon/records.db", TN_ERROR, true,
         "move it away, and take out of it what is sound by `sqlite3 FILE .recover` [driver-E201]");
}

/* ---- the user's own ---- */

static void write_earlier(void)
{
    tn_buf text = {0};
    tn_record a = numbered(1), b = numbered(2);
    tn_record_print(&a, &text);
    tn_buf_printf(&text, "%s\nwords\n", later_line);
    tn_record_print(&b, &text);
    tn_buf_str(&text, "{\"tenon\": 1, \"wor"); /* whose writer was ended */
    write_text("tenon/records.jsonl", tn_buf_cstr(&text));
    tn_buf_deinit(&text);
}

static void earlier_lines_are_taken_over(void **state)
{
    size_t n, k;
    char own[TN_RECORDS_PATH], want[TN_RECORDS_PATH];
    assert_true(tn_records_home(own));
    snprintf(want, sizeof want, "%s/tenon/records.db", (const char *)*state);
    assert_string_equal(own, want);
    write_earlier();
    char *before = bytes_of("tenon/records.jsonl", &n);
    says(own, TN_WARNING, false,
         "tenon/records.jsonl:3:1: warning: no tuning record of Tenon"); /* where they are */
    assert_int_equal(access(own, F_OK), -1);
    write_text(own, ""); /* of a writer that was ended */
    says(own, TN_WARNING, false, "tenon/records.jsonl:3:1: warning: ");
    tn_ctx ctx;
    tn_records r;
    tn_ctx_init(&ctx);
    tn_records_init(&r);
    const tn_record more = numbered(3);
    assert_int_equal(tn_records_append(&ctx, "tenon/../tenon/records.db", 1, &more), TN_OK); /* the same */
    assert_int_equal(ctx.n_diag, 1);                                                         /* words */
    assert_int_equal(tn_records_read(&ctx, own, &r, NULL, TN_ERROR), TN_OK);
    assert_int_equal(r.all.n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(r.all.at[i].workload, i + 1);
    assert_int_equal(r.later.n, 1);
    tn_records_deinit(&r);
    tn_ctx_deinit(&ctx);
    assert_int_equal(prune(own, 1), 0); /* once is enough */
    assert_int_equal(count_of(own), 3);
    char *after = bytes_of("tenon/records.jsonl", &k);
    assert_int_equal(n, k);
    assert_memory_equal(before, after, n);
    free(before);
    free(after);
}

static void other_databases_take_nothing_over(void **state)
{
    (void)state;
    write_earlier();
    append_one("tenon/other.db", one);
    assert_int_equal(count_of("tenon/other.db"), 1);
    assert_int_equal(mkdir("elsewhere", 0700), 0);
    assert_int_equal(rename("tenon/records.jsonl", "elsewhere/records.jsonl"), 0);
    append_one("elsewhere/records.db", one);
    assert_int_equal(count_of("elsewhere/records.db"), 1);
}

/* ---- processes ---- */

static void wait_for(pid_t child, int want)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, want);
}

/* A process that has read and written may fork; children and parents write at once. */
static void processes_write_at_once(void **state)
{
    (void)state;
    enum { CHILDREN = 4, EACH = 10 };
    static const char *const path[] = {"a.db", "a", "tenon/records.db"};
    for (size_t p = 0; p < sizeof path / sizeof *path; p++) {
        pid_t child[CHILDREN];
        append_one(path[p], one);
        assert_int_equal(count_of(path[p]), 1);
        for (int i = 0; i < CHILDREN; i++)
            if (!(child[i] = fork())) {
                int failed = 0;
                for (uint64_t k = 0; k < EACH; k++)
                    failed |= append_one(path[p], numbered(k)) != TN_OK || count_of(path[p]) < 1 + (int)k;
                _exit(failed);
            }
        for (uint64_t k = 0; k < EACH; k++)
            assert_int_equal(append_one(path[p], numbered(k)), TN_OK);
        for (int i = 0; i < CHILDREN; i++)
            wait_for(child[i], 0);
        assert_int_equal(count_of(path[p]), 1 + (CHILDREN + 1) * EACH);
    }
}

typedef struct shared {
    _Atomic(uint64_t) begun, done;
} shared;

/* Appends until it is killed. */
_Noreturn static void write_on(const char *path, shared *s)
{
    for (;;) {
        s->begun++;
        if (append_one(path, numbered(s->begun)) != TN_OK)
            _exit(1);
        s->done++;
    }
}

static void sleep_micro(long micro) { nanosleep(&(struct timespec){.tv_nsec = micro * 1000}, NULL); }

/* What was written before a writer was killed is there, whatever it was doing, and nothing that it had not begun. */
static void a_killed_writer_loses_nothing(void **state)
{
    (void)state;
    static const char *const path[] = {"a.db", "a"};
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(s != MAP_FAILED);
    for (int p = 0; p < 2; p++) {
        int known = 0, journals = 0;
        for (int i = 0; i < 100; i++) {
            s->begun = s->done = 0;
            pid_t child = fork();
            if (!child)
                write_on(path[p], s);
            while (!s->begun || (known == 0 && !s->done))
                sleep_micro(50);
            sleep_micro(i * 97 % 5000);
            kill(child, SIGKILL);
            wait_for(child, SIGKILL);
            journals += access("a.db-journal", F_OK) == 0;
            int n = count_of(path[p]);
            if (n < known + (int)s->done || n > known + (int)s->begun)
                fail_msg("%s: %d before, %d written, %d there", path[p], known, (int)s->done, n);
            known = n;
        }
        assert_true(journals > 0 || p > 0); /* in the middle of a transaction */
        assert_true(known > 0);
    }
    sql("a.db", "PRAGMA integrity_check");
    munmap(s, sizeof *s);
}

/* The lines of earlier versions are there before, while and after they are taken over. */
static void a_killed_take_over_loses_nothing(void **state)
{
    (void)state;
    enum { LINES = 200 };
    tn_buf text = {0};
    for (uint64_t i = 0; i < LINES; i++) {
        tn_record r = numbered(i);
        tn_record_print(&r, &text);
    }
    write_text("tenon/records.jsonl", tn_buf_cstr(&text));
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (!child)
            _exit(append_one("tenon/records.db", one) != TN_OK);
        sleep_micro(i * 200);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        int n = count_of("tenon/records.db");
        if (n != LINES && n != LINES + 1)
            fail_msg("%d there", n);
        unlink("tenon/records.db");
    }
    assert_int_equal(append_one("tenon/records.db", one), TN_OK);
    assert_int_equal(count_of("tenon/records.db"), LINES + 1);
    tn_buf_deinit(&text);
}

/* ---- calls that end early ---- */

typedef struct raising {
    uint64_t n, at; /* allocations until now; the one that fails */
} raising;

static bool fails(void *user)
{
    raising *r = user;
    return ++r->n == r->at;
}

static void use_all(void *user)
{
    int n;
    tn_ctx *ctx = user;
    uint32_t dropped;
    tn_ctx_init(ctx);
    const tn_record_place p = tn_record_place_of(ctx, "tenon/records.db");
    (void)!tn_records_append(ctx, "tenon/records.db", 1, &one);
    (void)!p.form->prune(ctx, &p, 1, &dropped);
    free(all_of("tenon/records.db", NULL, TN_ERROR, &n, ctx));
}

/* Each allocation fails once: connections are closed and nothing is locked, so the next one works. */
static void an_exhausted_call_lets_go(void **state)
{
    (void)state;
    raising r = {.at = 1};
    for (bool raised = true; raised; r.at += RUN_FEWER ? 7 : 1) {
        tn_heap heap;
        tn_ctx ctx;
        unlink("tenon/records.db");
        write_earlier();
        tn_heap_init(&heap);
        heap.fail = fails;
        heap.fail_user = &r;
        r.n = 0;
        raised = tn_protect(&heap, use_all, &ctx).kind != TN_RAISED_NOTHING;
        heap.fail = NULL;
        tn_heap_free(&heap);
        sql("tenon/records.db", "BEGIN EXCLUSIVE"); /* nobody has it */
    }
    assert_true(r.at > 10);
}

/* The same of SQLite's own memory. */
static void exhausted_memory_of_sqlite_is_raised(void **state)
{
    (void)state;
    unsigned raised = 0;
    write_earlier();
    append_one("tenon/records.db", one);
    for (sqlite3_int64 i = 1; i < 400000; i += i / 8 + 1) {
        tn_heap heap;
        tn_ctx ctx;
        tn_heap_init(&heap);
        sqlite3_hard_heap_limit64(i);
        enum tn_raised_kind kind = tn_protect(&heap, use_all, &ctx).kind;
        sqlite3_hard_heap_limit64(0);
        assert_true(kind == TN_RAISED_NOTHING || kind == TN_RAISED_OUT_OF_MEMORY);
        raised += kind == TN_RAISED_OUT_OF_MEMORY;
        tn_heap_free(&heap);
        sql("tenon/records.db", "BEGIN EXCLUSIVE");
        assert_true(count_of("tenon/records.db") >= 2);
    }
    assert_true(raised > 5);
}

static void append_locked(void *user)
{
    tn_ctx *ctx = user;
    tn_ctx_init(ctx);
    (void)!tn_records_append(ctx, "a.db", 1, &one);
}

/* Who waits for another one's lock looks whether its call is to end. */
static void waiting_ends_with_the_call(void **state)
{
    (void)state;
    sqlite3 *other;
    append_one("a.db", one);
    assert_int_equal(sqlite3_open("a.db", &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(count_of("a.db"), 1); /* reading goes on */
    tn_heap heap;
    tn_ctx ctx;
    tn_heap_init(&heap);
    tn_heap_limit(&heap, &(tn_limits){.seconds = 0.1});
    double begin = tn_now();
    assert_int_equal(tn_protect(&heap, append_locked, &ctx).kind, TN_RAISED_SECONDS);
    assert_true(tn_now() - begin < 5);
    tn_heap_free(&heap);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_int_equal(append_one("a.db", one), TN_OK);
    assert_int_equal(count_of("a.db"), 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(records_read_back),
        TEST(content_says_the_form),
        TEST(the_best_of_a_machine_are_read),
        TEST(keys_of_later_versions_stay),
        TEST(the_slow_ones_are_pruned),
        TEST(others_are_refused),
        TEST(what_cannot_be_written_is_told),
        TEST(triggers_do_not_run),
        TEST(damage_is_told),
        TEST(earlier_lines_are_taken_over),
        TEST(other_databases_take_nothing_over),
        TEST(processes_write_at_once),
        TEST(a_killed_writer_loses_nothing),
        TEST(a_killed_take_over_loses_nothing),
        TEST(an_exhausted_call_lets_go),
        TEST(exhausted_memory_of_sqlite_is_raised),
        TEST(waiting_ends_with_the_call),
    };
    return cmocka_run_group_tests_name("records_sqlite", tests, NULL, NULL);
}
