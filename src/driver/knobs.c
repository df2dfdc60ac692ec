/* Knobs: choices that functions of the user declare (templates, rules of sketches), and their candidates.
 *
 * A candidate of a split, an order or a list of annotations is a number for each loop. A policy makes them all, each
 * once and always in the same order, because a point's number counts them; a record has them as words. What is offered
 * is polled and bounded, so that neither an extent nor a user's filter makes a call endless. */
#include "driver/template.h"

#include "base/map.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum {
    MOST_LOOPS = 16,
    MOST_CANDIDATES = 1 << 16,
    MOST_OFFERED = 1 << 22,  /* of which a filter may leave some out */
    MOST_FACTORS = 1536 + 31 /* divisors of a number below 2^31, and powers of 2 */
};
_Static_assert(MOST_LOOPS == 16 && MOST_CANDIDATES == 65536, "as the messages say");

static tn_status refuse(tn_object *x, const char *name, const char *what_to_do)
{
    return tn_error(&x->ctx, "driver-E168", NULL, "the candidates of \"%s\" cannot be chosen from; %s",
                    name ? name : "", what_to_do);
}

/* ---- words ---- */

typedef struct choose_call {
    const char *name;
    uint32_t n;
    const char *const *word;
    uint32_t *out;
} choose_call;

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
        return refuse(
            x, a->name,
            "give up to 65536 different words without blanks, `=` and `#`, for a name of that kind");
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

/* ---- candidates ---- */

typedef struct numbers { /* one for each loop */
    int64_t at[MOST_LOOPS];
} numbers;

enum knob_kind { SPLIT, ORDER, ANNOTATIONS };

typedef struct knob {
    const char *name;
    enum knob_kind kind;
    uint32_t n;           /* loops */
    int64_t extent, most; /* of a split; most: of the innermost loop, 0: any */
    const tenon_knob *given;
    tenon_knob how;
    tn_vec(numbers) candidate;
    uint32_t offered;
    bool too_many;
    numbers chosen;
} knob;

/* False: there are too many, so that further ones need not come. */
static bool offer(knob *k, const numbers *v)
{
    tn_poll();
    k->too_many = k->too_many || k->offered++ == MOST_OFFERED;
    if (!k->too_many && k->how.keep && !k->how.keep(k->how.user, k->n, v->at))
        return true;
    k->too_many = k->too_many || k->candidate.n == MOST_CANDIDATES;
    if (!k->too_many)
        tn_vec_push(&k->candidate, *v);
    return !k->too_many;
}

/* ---- splits ---- */

typedef struct splits {
    knob *k;
    bool exact;                   /* without a rest */
    int64_t factor[MOST_FACTORS]; /* that inner loops may have, small ones first */
    uint32_t n_factor;
    numbers size; /* the first is -1 */
} splits;

static void add_factor(splits *s, int64_t f)
{
    const int64_t most = s->k->how.max_factor;
    if (most == 0 || f <= most)
        s->factor[s->n_factor++] = f;
}

/* All ways to split what is left between the parts up to `at`, the innermost first: small inner parts first. */
static bool split_all(splits *s, uint32_t at, int64_t inner)
{
    knob *k = s->k;
    if (at == 0)
        return offer(k, &s->size);
    const int64_t room = k->extent / inner;
    const int64_t most = k->most > 0 && at + 1 == k->n && k->most < room ? k->most : room;
    for (uint32_t i = 0; i < s->n_factor && s->factor[i] <= most; i++) {
        s->size.at[at] = s->factor[i];
        if ((!s->exact || k->extent % (inner * s->factor[i]) == 0) &&
            !split_all(s, at - 1, inner * s->factor[i]))
            return false;
    }
    return true;
}

static uint32_t find_divisors(int64_t extent, int64_t divisor[])
{
    uint32_t n = 0, low;
    for (int64_t d = 1; d * d <= extent; d++)
        if (extent % d == 0)
            divisor[n++] = d;
    for (low = n; low-- > 0;)
        if (extent / divisor[low] != divisor[low])
            divisor[n++] = extent / divisor[low];
    return n;
}

/* With divisors, with powers of 2, or both. */
static void split_by(knob *k, bool divisors, bool powers)
{
    splits s = {.k = k, .exact = k->how.no_tail || !powers, .size = {{-1}}};
    int64_t divisor[MOST_FACTORS], power = powers ? 1 : INT64_MAX;
    const uint32_t n = divisors ? find_divisors(k->extent, divisor) : 0;
    for (uint32_t i = 0; i < n; i++) {
        for (; power < divisor[i]; power *= 2)
            add_factor(&s, power);
        power *= power == divisor[i] ? 2 : 1;
        add_factor(&s, divisor[i]);
    }
    for (; power <= k->extent; power *= 2)
        add_factor(&s, power);
    (void)split_all(&s, k->n - 1, 1);
}

static void split_factors(knob *k) { split_by(k, true, false); }
static void split_power2(knob *k) { split_by(k, false, true); }
static void split_verbose(knob *k) { split_by(k, true, true); }

static bool is_split(const knob *k, const numbers *v)
{
    int64_t product = 1;
    for (uint32_t i = 0; i < k->n; i++) {
        const int64_t part = i == 0 && v->at[0] == -1 ? 1 : v->at[i];
        if (part < 1 || part > INT32_MAX / product)
            return false;
        product *= part;
    }
    return true;
}

static void print_split(const numbers *v, uint32_t n, tn_buf *out)
{
    const uint32_t first = v->at[0] == -1;
    for (uint32_t i = first; i < n; i++)
        tn_buf_printf(out, "%s%" PRId64, i > first ? "x" : "", v->at[i]);
    if (first == n)
        tn_buf_str(out, "1");
}

/* ---- orders ---- */

static numbers identity(void)
{
    numbers v;
    for (int i = 0; i < MOST_LOOPS; i++)
        v.at[i] = i;
    return v;
}

/* The next one in the order of a dictionary; false: it was the last. */
static bool next_order(int64_t v[], uint32_t n)
{
    uint32_t i = n, j = n;
    while (i > 1 && v[i - 2] > v[i - 1])
        i--;
    if (i < 2)
        return false;
    const int64_t turned = v[i - 2];
    while (v[j - 1] < turned)
        j--;
    v[i - 2] = v[j - 1];
    v[j - 1] = turned;
    for (j = n; i < j; i++, j--) {
        const int64_t kept = v[i - 1];
        v[i - 1] = v[j - 1];
        v[j - 1] = kept;
    }
    return true;
}

static void order_all_of(knob *k, uint32_t begin, uint32_t end)
{
    numbers v = identity();
    while (offer(k, &v) && next_order(v.at + begin, end - begin))
        continue;
}

static void order_all(knob *k) { order_all_of(k, 0, k->n); }
static void order_identity(knob *k) { order_all_of(k, 0, 0); }

/* Two runs of loops beside each other change places: [a, b) and [b, c). */
static numbers exchanged(uint32_t a, uint32_t b, uint32_t c)
{
    numbers v = identity();
    for (uint32_t i = a; i < c; i++)
        v.at[i] = i < a + c - b ? i + b - a : i + b - c;
    return v;
}

static void order_runs(knob *k)
{
    order_identity(k);
    for (uint32_t a = 0; a < k->n; a++)
        for (uint32_t b = a + 1; b < k->n; b++)
            for (uint32_t c = b + 1; c <= k->n; c++) {
                const numbers v = exchanged(a, b, c);
                if (!offer(k, &v))
                    return;
            }
}

static void order_interval(knob *k)
{
    if (k->how.end > 0)
        order_all_of(k, k->how.begin, k->how.end);
    else
        order_runs(k);
}

static bool is_order(const knob *k, const numbers *v)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < k->n; i++)
        seen |= v->at[i] >= 0 && v->at[i] < k->n ? 1u << v->at[i] : 0;
    return seen == (1u << k->n) - 1;
}

static void print_order(const numbers *v, uint32_t n, tn_buf *out)
{
    for (uint32_t i = 0; i < n; i++)
        tn_buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", v->at[i]);
    if (n == 0)
        tn_buf_str(out, "none");
}

/* ---- annotations ---- */

static const char *const annotation_word[] = {
    [TENON_ANNOTATION_NONE] = "none", [TENON_ANNOTATION_UNROLL] = "unroll", [TENON_ANNOTATION_VEC] = "vec"};

/* Each of the first n loops is one of plain[0], plain[1], the others as they are. */
static void annotate_each(knob *k, numbers v, uint32_t n, const int64_t plain[2])
{
    const uint32_t all = plain[0] == plain[1] ? 1 : 1u << n;
    for (uint32_t bits = 0; bits < all; bits++) {
        for (uint32_t i = 0; i < n; i++)
            v.at[i] = plain[bits >> (n - 1 - i) & 1];
        if (!offer(k, &v))
            return;
    }
}

/* The policy's words say what a loop may be; a vector is the innermost one alone, but where they are all vectors. */
static void annotate(knob *k)
{
    const char *policy = k->how.policy;
    const bool vec = strstr(policy, "vec"), unroll = strstr(policy, "unroll");
    const bool none = strstr(policy, "none") || strstr(policy, "try");
    const int64_t outer = vec && !unroll && !none ? TENON_ANNOTATION_VEC
                          : none                  ? TENON_ANNOTATION_NONE
                                                  : TENON_ANNOTATION_UNROLL;
    const int64_t plain[2] = {outer, unroll ? TENON_ANNOTATION_UNROLL : outer};
    numbers v = {{0}};
    annotate_each(k, v, k->n, plain);
    if (!vec || outer == TENON_ANNOTATION_VEC || k->n == 0)
        return;
    v.at[k->n - 1] = TENON_ANNOTATION_VEC;
    annotate_each(k, v, k->n - 1, plain);
}

static bool are_annotations(const knob *k, const numbers *v)
{
    for (uint32_t i = 0; i < k->n; i++)
        if (v->at[i] < TENON_ANNOTATION_NONE || v->at[i] > TENON_ANNOTATION_VEC)
            return false;
    return true;
}

static void print_annotations(const numbers *v, uint32_t n, tn_buf *out)
{
    for (uint32_t i = 0; i < n; i++)
        tn_buf_printf(out, "%s%s", i > 0 ? "," : "", annotation_word[v->at[i]]);
    if (n == 0)
        tn_buf_str(out, "none");
}

/* ---- policies ---- */

static const struct kind {
    bool (*is_value)(const knob *k, const numbers *v);
    void (*print)(const numbers *v, uint32_t n, tn_buf *out);
    const char *form;
} kinds[] = {
    {is_split, print_split,
     "name the extents of all loops, outermost first, whose product is below 2^31; the first may be -1"},
    {is_order, print_order, "name each loop once, by its number from 0 on"},
    {are_annotations, print_annotations, "name an annotation of enum tenon_annotation for each loop"}};

static numbers given_number(const knob *k, uint32_t at)
{
    numbers v = {{0}};
    for (uint32_t i = 0; i < k->n; i++)
        v.at[i] = k->how.candidate[(size_t)at * k->n + i];
    return v;
}

/* Of the user's own; is_value has seen them. */
static void offer_given(knob *k)
{
    for (uint32_t i = 0; i < k->how.n_candidate; i++) {
        const numbers v = given_number(k, i);
        if (!offer(k, &v))
            return;
    }
}

/* AutoTVM's; the first of a kind is the default. Those without a function are not here, and there is something
 * `instead`. */
typedef struct policy {
    enum knob_kind kind;
    const char *name;
    void (*offer)(knob *k);
    const char *instead;
} policy;

/* clang-format off */
static const policy policies[] = {
    {SPLIT,       "factors",          split_factors,  NULL},
    {SPLIT,       "power2",           split_power2,   NULL},
    {SPLIT,       "verbose",          split_verbose,  NULL},
    {SPLIT,       "candidate",        offer_given,    NULL},
    {ORDER,       "all",              order_all,      NULL},
    {ORDER,       "identity",         order_identity, NULL},
    {ORDER,       "interval_all",     order_interval, NULL},
    {ORDER,       "candidate",        offer_given,    NULL},
    {ORDER,       "interleave",       NULL,           "it is one order of all loops: name that as the candidate"},
    {ORDER,       "interleave_cuda",  NULL,           "it is one order of all loops: name that as the candidate"},
    {ANNOTATIONS, "try_unroll_vec",   annotate,       NULL},
    {ANNOTATIONS, "try_unroll",       annotate,       NULL},
    {ANNOTATIONS, "try_vec",          annotate,       NULL},
    {ANNOTATIONS, "unroll_vec",       annotate,       NULL},
    {ANNOTATIONS, "none",             annotate,       NULL},
    {ANNOTATIONS, "unroll",           annotate,       NULL},
    {ANNOTATIONS, "vec",              annotate,       NULL},
    {ANNOTATIONS, "candidate",        offer_given,    NULL},
    {ANNOTATIONS, "bind_gpu",         NULL,           "no target binds loops to threads: make them tasks by parallel"},
    {ANNOTATIONS, "bind_gpu_virtual", NULL,           "no target binds loops to threads: make them tasks by parallel"},
    {ANNOTATIONS, "locate_cache",     NULL,           "choose the loop of a copy by its number, as one of some words"},
};
/* clang-format on */

enum { N_POLICIES = sizeof policies / sizeof *policies };

static tn_status refuse_policy(tn_object *x, const knob *k, const policy *known)
{
    tn_buf others = {0};
    for (uint32_t i = 0; i < N_POLICIES && !known; i++)
        if (policies[i].kind == k->kind && policies[i].offer)
            tn_buf_printf(&others, "%s%s", others.n > 0 ? ", " : "there are ", policies[i].name);
    (void)tn_error(&x->ctx, "driver-E208", NULL, "knob %s has no policy \"%s\"; %s", k->name ? k->name : "",
                   k->how.policy, known ? known->instead : tn_buf_cstr(&others));
    tn_buf_deinit(&others);
    return TN_FAIL;
}

static tn_status find_policy(tn_object *x, knob *k, const policy **out)
{
    const policy *p = NULL;
    for (uint32_t i = 0; i < N_POLICIES && !p; i++)
        if (policies[i].kind == k->kind && (!k->how.policy || strcmp(policies[i].name, k->how.policy) == 0))
            p = &policies[i];
    if (!p || !p->offer)
        return refuse_policy(x, k, p);
    k->how.policy = p->name;
    *out = p;
    return TN_OK;
}

/* ---- knobs ---- */

static tn_status check_given(tn_object *x, const knob *k, const policy *p)
{
    const tenon_knob *how = &k->how;
    if (k->kind == SPLIT && (k->n < 1 || k->n > MOST_LOOPS || k->extent < 1 || k->extent > INT32_MAX))
        return refuse(x, k->name, "split an extent of 1 to 2^31 - 1 into 1 to 16 loops");
    if (k->n > MOST_LOOPS)
        return refuse(x, k->name, "give up to 16 loops");
    if (p->offer == order_interval && (how->begin > how->end || how->end > k->n))
        return refuse(x, k->name, "give an interval of loops that there are");
    const uint32_t n = p->offer == offer_given ? how->n_candidate : 0;
    if (n > 0 && !how->candidate)
        return refuse(x, k->name, kinds[k->kind].form);
    for (uint32_t i = 0; i < n; i++) {
        const numbers v = given_number(k, i);
        if (!kinds[k->kind].is_value(k, &v))
            return refuse(x, k->name, kinds[k->kind].form);
    }
    return TN_OK;
}

static tn_status choose_number(tn_object *x, knob *k)
{
    tenon_config *c = (tenon_config *)x;
    const uint32_t n = (uint32_t)k->candidate.n;
    const char **word = TN_NEW_N(&c->arena, const char *, n);
    tn_buf text = {0};
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        tn_buf_clear(&text);
        kinds[k->kind].print(&k->candidate.at[i], k->n, &text);
        word[i] = tn_arena_strdup(&c->arena, tn_buf_cstr(&text));
    }
    tn_buf_deinit(&text);
    TN_TRY(choose(x, &(choose_call){k->name, n, word, &at}));
    k->chosen = k->candidate.at[at];
    return TN_OK;
}

static tn_status define_by(tn_object *x, knob *k)
{
    const policy *p;
    if (k->given)
        TN_TRY(tn_options_copy(&x->ctx, "tenon_knob", &k->how, sizeof k->how, k->given, k->given->size,
                               offsetof(tenon_knob, n_candidate)));
    TN_TRY(find_policy(x, k, &p));
    TN_TRY(check_given(x, k, p));
    p->offer(k);
    if (k->too_many)
        return refuse(
            x, k->name,
            k->offered > MOST_OFFERED ? "there are millions to choose from; name fewer loops, or candidates"
            : k->kind == SPLIT ? "there are more than 65536; leave some out by max_factor, no_tail or a "
                                 "filter"
                               : "there are more than 65536; name fewer loops, or candidates");
    if (k->candidate.n == 0)
        return tn_error(&x->ctx, "driver-E209", NULL,
                        "knob %s has no candidate; let max_factor and the filter leave one",
                        k->name ? k->name : "");
    return choose_number(x, k);
}

static tn_status define(tn_object *x, void *user)
{
    knob *k = user;
    const tn_status status = define_by(x, k);
    tn_vec_deinit(&k->candidate);
    return status;
}

static int split(tenon_config *c, knob k, int64_t out[])
{
    for (uint32_t i = 0; i < k.n; i++)
        out[i] = i == 0 ? k.extent : 1;
    if (!c || tn_object_change(&c->object, NULL, define, &k) != 0)
        return 1;
    int64_t inner = 1;
    for (uint32_t i = 1; i < k.n; i++)
        inner *= out[i] = k.chosen.at[i];
    out[0] = k.chosen.at[0] == -1 ? (k.extent + inner - 1) / inner : k.chosen.at[0];
    return 0;
}

int tenon_config_split(tenon_config *c, const char *name, int64_t extent, uint32_t n, int64_t most,
                       int64_t out[])
{
    return split(c, (knob){.name = name, .kind = SPLIT, .n = n, .extent = extent, .most = most}, out);
}

int tenon_config_split_by(tenon_config *c, const char *name, int64_t extent, uint32_t n,
                          const tenon_knob *how, int64_t out[])
{
    return split(c, (knob){.name = name, .kind = SPLIT, .n = n, .extent = extent, .given = how}, out);
}

static int choose_numbers(tenon_config *c, knob k, uint32_t out[])
{
    if (!c || tn_object_change(&c->object, NULL, define, &k) != 0)
        return 1;
    for (uint32_t i = 0; i < k.n; i++)
        out[i] = (uint32_t)k.chosen.at[i];
    return 0;
}

int tenon_config_reorder(tenon_config *c, const char *name, uint32_t n, const tenon_knob *how, uint32_t out[])
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = i;
    return choose_numbers(c, (knob){.name = name, .kind = ORDER, .n = n, .given = how}, out);
}

int tenon_config_annotate(tenon_config *c, const char *name, uint32_t n, const tenon_knob *how,
                          uint32_t out[])
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = TENON_ANNOTATION_NONE;
    return choose_numbers(c, (knob){.name = name, .kind = ANNOTATIONS, .n = n, .given = how}, out);
}
