/* cli/args: command lines, what they mean and how they are refused. Help and errors go to a file here. */
#include "cli/args.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const tn_flag flags[] = {
    TN_ROW_TEXT("output", 'o', "PATH", "module.tar", "where to"),
    TN_ROW_TEXT("outputs", 0, "PATH", NULL, "where else"),
    TN_ROW_CHOICE("format", 'f', "so|mlf!|tar", "so", "kind"),
    TN_ROW_INT("level", 'O', -1, 3, "2", "how much"),
    TN_ROW_INT("top", 0, 1, INT_MAX, NULL, "how many"),
    TN_ROW(REPEAT, "pass", 'p', "NAME", NULL, "passes", 0, 0),
    TN_ROW_REFUSED("mixed"),
    TN_ROW_FAMILY("target-cuda-"),
    {0},
};
static const tn_flag common[] = {
    TN_ROW_SWITCH("verbose", 'v', "more"),
    TN_ROW_SWITCH("quick", 'q', "faster"),
    TN_ROW_ALONE("help", 'h', "this"),
    {0},
};
static const tn_command command = {"make", "FILE", NULL, {flags, common}, "makes a thing", NULL};
static const tn_command bare = {"version", NULL, NULL, {common}, "says what it is", NULL};

enum { MAX_WORDS = 8 };
typedef struct {
    const char *word[MAX_WORDS];
    int status;
    const char *shows; /* what stderr holds; or, when status is 0, "flag=value" lines and "FILE=operand" */
} row;

/* Runs the parser with stderr in a file; the text is in `said`. */
static int parse(tn_args *a, const tn_command *c, const char *const word[], char said[2048])
{
    int n = 0, keep = dup(2);
    FILE *f = tmpfile();
    assert_non_null(f);
    while (n < MAX_WORDS && word[n])
        n++;
    fflush(stderr);
    dup2(fileno(f), 2);
    int status = tn_args_parse(a, c, n, (char *const *)word);
    fflush(stderr);
    dup2(keep, 2);
    close(keep);
    rewind(f);
    said[fread(said, 1, 2047, f)] = 0;
    fclose(f);
    return status;
}

static void show(const tn_args *a, char out[2048])
{
    int n = snprintf(out, 2048, "FILE=%s", a->operand ? a->operand : "-");
    for (int i = 0; i < a->n_given; i++)
        n += snprintf(out + n, 2048 - (size_t)n, " %s=%s", a->given[i].flag->name,
                      a->given[i].text ? a->given[i].text : "on");
}

// clang-format off
static const row rows[] = {
    /* what is understood */
    {{"m"}, 0, "FILE=m"},
    {{"m", "-o", "x"}, 0, "FILE=m output=x"},
    {{"-ox", "m"}, 0, "FILE=m output=x"},
    {{"-o=x", "m"}, 0, "FILE=m output=x"},
    {{"--output=x", "m"}, 0, "FILE=m output=x"},
    {{"--output=", "m"}, 0, "FILE=m output="},
    {{"--output=a=b", "m"}, 0, "FILE=m output=a=b"},
    {{"--output", "x", "m"}, 0, "FILE=m output=x"},       /* whole name of one, beginning of another */
    {{"--outputs", "x", "m"}, 0, "FILE=m outputs=x"},
    {{"--fo", "tar", "m"}, 0, "FILE=m format=tar"},
    {{"--le=0", "m"}, 0, "FILE=m level=0"},
    {{"--level", "-1", "m"}, 0, "FILE=m level=-1"},       /* a negative number is a value */
    {{"-O-1", "m"}, 0, "FILE=m level=-1"},
    {{"-O3", "m"}, 0, "FILE=m level=3"},
    {{"-p", "a", "--pass=b", "m"}, 0, "FILE=m pass=a pass=b"},
    {{"-vqO1", "m"}, 0, "FILE=m verbose=on quick=on level=1"},
    {{"-vv", "m", "--verbose"}, 0, "FILE=m verbose=on verbose=on verbose=on"},
    {{"--", "-o"}, 0, "FILE=-o"},
    {{"-v", "--", "--help"}, 0, "FILE=--help verbose=on"},
    {{"-o", "-", "m"}, 0, "FILE=m output=-"},
    {{"-"}, 0, "FILE=-"},
    {{"-5"}, 0, "FILE=-5"},
    {{"--help"}, 0, "FILE=- help=on"},
    {{"-h", "--nonsense"}, 0, "FILE=- help=on"},          /* help looks no further */
    /* usage */
    {{NULL}, 2, "FILE is missing"},
    {{"-v"}, 2, "FILE is missing"},
    {{"m", "n"}, 2, "unexpected argument \"n\"; `make` takes one FILE, and \"m\" is it already"},
    {{"m", "--nonsense"}, 2, "unknown flag --nonsense; run `tenon make --help` for the list"},
    {{"m", "--nonsense=3"}, 2, "unknown flag --nonsense; run `tenon make --help` for the list"},
    {{"m", "-x"}, 2, "unknown flag -x"},
    {{"m", "-vx"}, 2, "unknown flag -x"},
    {{"m", "--ouput=3"}, 2, "unknown flag --ouput; did you mean --output?"},
    {{"m", "--Level=3"}, 2, "unknown flag --Level; did you mean --level?"},
    {{"m", "--a\033[2J"}, 2, "unknown flag --a\\x1b[2J"}, /* nothing drives the terminal */
    {{"m", "--\303\244\377"}, 2, "unknown flag --\303\244\\xff"},
    {{"m", "--=3"}, 2, "unknown flag --"},
    {{"m", "--out=x"}, 2, "--out is ambiguous: it could be --output, --outputs"},
    {{"m", "-o"}, 2, "--output needs a value"},
    {{"m", "-o", "-v"}, 2, "--output needs a value"},
    {{"m", "--verbose=2"}, 2, "--verbose takes no value"},
    {{"m", "-f", "zip"}, 2, "--format: unknown value \"zip\"; choose from so, tar"},
    {{"m", "-f", "s"}, 2, "--format: unknown value \"s\"; choose"},
    {{"m", "-O", "4"}, 2, "--level 4 is out of range; give -1 to 3"},
    {{"m", "-O", "99999999999999999999"}, 2, "is out of range"},
    {{"m", "-O", "two"}, 2, "--level takes a whole number, not \"two\""},
    {{"m", "-O="}, 2, "--level takes a whole number, not \"\""},
    {{"m", "--top", "0"}, 2, "--top 0 is out of range; give at least 1"},
    /* known, not supported */
    {{"m", "--mixed"}, 4, "tenon: error: --mixed is not supported yet"},
    {{"m", "--mixed=x"}, 4, "tenon: error: --mixed is not supported yet"},
    {{"m", "--mi"}, 4, "tenon: error: --mixed is not supported yet"},
    {{"m", "-f", "mlf"}, 4, "tenon: error: --format mlf is not supported yet"},
    {{"m", "--target-cuda-arch=sm_80"}, 4, "tenon: error: --target-cuda-arch is not supported yet"},
    {{"m", "--target-cuda-"}, 2, "unknown flag --target-cuda-"},
};
// clang-format on

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_args a;
        char said[2048], text[2048];
        int status = parse(&a, &command, rows[i].word, said);
        show(&a, text);
        const char *got = status ? said : text;
        bool right = status == rows[i].status &&
                     (status ? strstr(got, rows[i].shows) != NULL : strcmp(got, rows[i].shows) == 0);
        if (!right)
            fail_msg("row %zu (%s): status %d, \"%s\"; wanted %d, \"%s\"", i,
                     rows[i].word[0] ? rows[i].word[0] : "", status, got, rows[i].status, rows[i].shows);
        if (status == TN_EXIT_USAGE)
            assert_true(strncmp(said, "usage: tenon make [flags] FILE\ntenon: error: ", 44) == 0);
        tn_args_deinit(&a);
    }
}

static void test_values(void **state)
{
    static const char *const word[MAX_WORDS] = {"-o", "x", "-o", "y", "-p", "b", "m", "-pa"};
    tn_args a;
    char said[2048];
    (void)state;
    assert_int_equal(parse(&a, &command, word, said), 0);
    assert_string_equal(tn_args_text(&a, "output"), "y"); /* the last one counts */
    assert_string_equal(tn_args_text(&a, "format"), "so");
    assert_null(tn_args_text(&a, "outputs"));
    assert_int_equal(tn_args_int(&a, "level"), 2);
    assert_int_equal(tn_args_count(&a, "pass"), 2);
    assert_string_equal(tn_args_at(&a, "pass", 0), "b");
    assert_string_equal(tn_args_at(&a, "pass", 1), "a");
    assert_null(tn_args_at(&a, "pass", 2));
    assert_int_equal(a.verbose, 0);
    tn_args_deinit(&a);
}

typedef struct {
    const char *name, *kind, *words;
    const char *const *list;
    int level, quick;
    char end;
} values;

static const tn_flag stored[] = {
    TN_STORED(TEXT, values, name, "name", 'n', "NAME", NULL, "what", 0, 0),
    TN_STORED(CHOICE, values, kind, "kind", 0, "so|tar", "so", "which", 0, 0),
    TN_STORED(WORDS, values, words, "words", 'w', "W...", NULL, "more", 0, 0),
    TN_STORED(REPEAT, values, list, "list", 'l', "ITEM", NULL, "again", 0, 0),
    TN_STORED(INT, values, level, "level", 0, "N", "2", "how much", 0, 9),
    TN_STORED(SWITCH, values, quick, "quick", 'q', NULL, NULL, "faster", 0, 0),
    TN_ROW_SWITCH("apart", 0, "has no place"),
    {0},
};
static const tn_command storing = {"store", NULL, NULL, {stored}, "puts things away", NULL};

/* Values lie where the rows say, whether given or not; a flag without a place changes nothing. */
static void test_store(void **state)
{
    static const char *const all[MAX_WORDS] = {"--words", "a", "b", "-lx", "-ly", "-qq", "-nz", "--apart"};
    static const char *const none[MAX_WORDS] = {NULL};
    tn_args a;
    char said[2048];
    void *made[TN_ARGS_MADE] = {NULL};
    values v = {.end = 7};
    (void)state;
    assert_int_equal(parse(&a, &storing, none, said), TN_EXIT_OK);
    assert_int_equal(tn_args_store(&a, &v, made), TN_EXIT_OK);
    assert_true(!v.name && !v.words && !v.list && v.quick == 0 && v.level == 2 && v.end == 7 && !made[0]);
    assert_string_equal(v.kind, "so");
    tn_args_deinit(&a);
    assert_int_equal(parse(&a, &storing, all, said), TN_EXIT_OK);
    assert_int_equal(tn_args_store(&a, &v, made), TN_EXIT_OK);
    assert_string_equal(v.name, "z");
    assert_string_equal(v.words, "a b");
    assert_string_equal(v.list[0], "x");
    assert_string_equal(v.list[1], "y");
    assert_null(v.list[2]);
    assert_true(v.quick == 1 && v.level == 2 && v.end == 7);
    for (int i = 0; i < TN_ARGS_MADE; i++)
        free(made[i]);
    tn_args_deinit(&a);
}

static void test_no_operand(void **state)
{
    static const char *const one[MAX_WORDS] = {"x"}, *const none[MAX_WORDS] = {NULL};
    tn_args a;
    char said[2048];
    (void)state;
    assert_int_equal(parse(&a, &bare, one, said), TN_EXIT_USAGE);
    assert_non_null(strstr(said, "unexpected argument \"x\"; `version` takes flags only"));
    tn_args_deinit(&a);
    assert_int_equal(parse(&a, &bare, none, said), TN_EXIT_OK);
    tn_args_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_no_operand),
    };
    setenv("NO_COLOR", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
