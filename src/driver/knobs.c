/* Choices that functions of the user declare: templates, rules of sketches. */
#include "driver/template.h"

#include "base/map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 8, MOST_CANDIDATES = 1 << 16, MOST_DIVISORS = 1536 }; /* of a number below 2^31 */

/* ---- choices ---- */

typedef struct choose_call {
    const char *name;
    uint32_t n;
    const char *const *word;
    uint32_t *out;
} choose_call;

static tn_status refuse_candidates(tn_object *x, const char *name)
{
    return tn_error(
        &x->ctx, "driver-E168", NULL,
        "the candidates of \"%s\" cannot be chosen from; give up to %d different words without blanks, "
        "`=` and `#`, for a name of that kind, and splits of an extent of 1 to 2^31 - 1 into 2 to 8 parts",
        name, MOST_CANDIDATES);
}

static bool is_word(const char *s) { return s && *s && s[strcspn(s, " \t\n\r=#")] == 0; }

static tn_status choose(tn_object *x, void *user)
{
    tenon_config *c = (tenon_config *)x;
    const choose_call *a = user;
    bool sound = is_word(a->name) && a->n > 0 && a->n <= MOST_CANDIDATES;
    tn_choice *candidate = sound ? TN_NEW_N(&c->arena, tn_choice, a->n) : NULL;
    tn_strmap known = {0};
    uint64_t old;
    for (uint32_t i = 0; sound && i < a->n; i++) {
        const char *word = is_word(a->word[i]) ? tn_arena_strdup(&c->arena, a->word[i]) : "";
        sound = tn_choice_parse(word, &candidate[i]) && !tn_strmap_get(&known, word, strlen(word), &old);
        tn_strmap_put(&known, word, strlen(word), i);
    }
    tn_strmap_deinit(&known);
    if (!sound)
        return refuse_candidates(x, a->name ? a->name : "");
    if (tn_pick_do(&c->asked, a->name, a->n, candidate, a->out) == TN_DONE)
        return TN_OK;
    tn_buf value = {0};
    const tn_choice *v = tn_picks_find(c->asked.given, a->name);
    if (v)
        tn_choice_print(v, &value);
    (void)tn_error(&x->ctx, "driver-E167", NULL, "%s cannot be \"%s\": that is none of its %u candidates",
                   a->name, tn_buf_cstr(&value), (unsigned)a->n);
    tn_buf_deinit(&value);
    return TN_FAIL;
}

int tenon_config_choose(tenon_config *c, const char *name, uint32_t n, const char *const candidate[],
                        uint32_t *out_index)
{
    *out_index = 0;
    return !c ? 1 : tn_object_change(&c->object, NULL, choose, &(choose_call){name, n, candidate, out_index});
}

/* ---- splits ---- */

typedef struct splits {
    tn_arena *arena;
    int64_t part[MOST_PARTS];
    int64_t divisor[MOST_DIVISORS]; /* of the extent, small ones first */
    uint32_t n_divisor, n_part, n;  /* n: of word */
    const char **word;              /* MOST_CANDIDATES */
    int64_t most;
} splits;

static const char *split_word(splits *s)
{
    tn_buf text = {0};
    for (uint32_t i = 1; i < s->n_part; i++)
        tn_buf_printf(&text, "%s%" PRId64, i > 1 ? "x" : "", s->part[i]);
    const char *word = tn_arena_strdup(s->arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return word;
}

/* All ways to split what is left between the parts below `at`, the innermost first: small inner parts first. */
static void split_all(splits *s, uint32_t at, int64_t left)
{
    if (at == 0) {
        s->part[0] = left;
        if (s->n < MOST_CANDIDATES)
            s->word[s->n++] = split_word(s);
        return;
    }
    const int64_t most = s->most > 0 && at + 1 == s->n_part && s->most < left ? s->most : left;
    for (uint32_t i = 0; i < s->n_divisor && s->divisor[i] <= most && s->n < MOST_CANDIDATES; i++)
        if (left % s->divisor[i] == 0) {
            s->part[at] = s->divisor[i];
            split_all(s, at - 1, left / s->divisor[i]);
        }
}

static void find_divisors(splits *s, int64_t extent)
{
    uint32_t n = 0;
    for (int64_t d = 1; d * d <= extent; d++)
        if (extent % d == 0)
            s->divisor[n++] = d;
    s->n_divisor = n;
    while (n-- > 0)
        if (extent / s->divisor[n] != s->divisor[n])
            s->divisor[s->n_divisor++] = extent / s->divisor[n];
}

typedef struct split_call {
    const char *name;
    int64_t extent, most;
    uint32_t n;
    int64_t *out;
} split_call;

static void read_split(const char *word, const split_call *a)
{
    a->out[0] = a->extent;
    for (uint32_t i = 1; i < a->n; i++) {
        char *end;
        a->out[i] = strtoll(word, &end, 10);
        a->out[0] /= a->out[i];
        word = end + (*end == 'x');
    }
}

static tn_status split(tn_object *x, void *user)
{
    tenon_config *c = (tenon_config *)x;
    const split_call *a = user;
    if (a->n < 2 || a->n > MOST_PARTS || a->extent < 1 || a->extent > INT32_MAX)
        return refuse_candidates(x, a->name ? a->name : "");
    splits s = {.arena = &c->arena, .n_part = a->n, .most = a->most};
    s.word = tn_alloc_array(MOST_CANDIDATES, sizeof *s.word);
    find_divisors(&s, a->extent);
    split_all(&s, a->n - 1, a->extent);
    if (s.n == MOST_CANDIDATES) {
        tn_free(s.word);
        return refuse_candidates(x, a->name);
    }
    uint32_t at = 0;
    tn_status status = choose(x, &(choose_call){a->name, s.n, s.word, &at});
    if (status == TN_OK)
        read_split(s.word[at], a);
    tn_free(s.word);
    return status;
}

int tenon_config_split(tenon_config *c, const char *name, int64_t extent, uint32_t n, int64_t most,
                       int64_t out[])
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = i == 0 ? extent : 1;
    return !c ? 1 : tn_object_change(&c->object, NULL, split, &(split_call){name, extent, most, n, out});
}
