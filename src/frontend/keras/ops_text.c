/* Vocabularies: StringLookup, IntegerLookup, TextVectorization. The numbers of a vocabulary are that of the mask (0; in
 * mode "int" only), those of unknown words, then those of the words. */
#include "frontend/keras/category.h"
#include "frontend/keras/rows.h"
#include "frontend/import/scan.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* The words as the file has them: a list of JSON, or lines. */
typedef struct words {
    size_t n;
    tn_bytes *text;
    int64_t *number; /* of numbers */
} words;

static bool is_word(const keras_vocabulary *v, const words *w, size_t i, const char *text, int64_t number)
{
    return v->texts ? text && imp_is(w->text[i], text) : w->number[i] == number;
}

/* Do the words begin with those that stand for the mask and for unknown ones? */
static bool has_special(const keras_vocabulary *v, const words *w)
{
    bool all = w->n >= (size_t)v->first;
    for (size_t i = 0; all && i < (size_t)v->first; i++) {
        bool mask = (int64_t)i < v->first - v->n_oov;
        all = is_word(v, w, i, mask ? v->mask : v->oov, mask ? v->mask_number : v->oov_number);
    }
    return all;
}

static bool read_list(imp_node *c, const keras_vocabulary *v, const tn_json *list, words *w)
{
    bool ok = list->kind == TN_JSON_ARRAY;
    w->n = ok ? list->n : 0;
    for (size_t i = 0; i < w->n && ok; i++) {
        ok = v->texts ? list->u.at[i].kind == TN_JSON_STRING : keras_whole(&list->u.at[i], &w->number[i]);
        w->text[i] = keras_bytes(&list->u.at[i]);
    }
    if (!ok)
        imp_refuse(c, IMP_BAD_VALUE, "the vocabulary must be a list of %s; the model is damaged",
                   v->texts ? "texts" : "integers");
    return ok;
}

/* Lines of a file; empty ones at its end do not count. */
static bool read_lines(imp_node *c, const keras_vocabulary *v, tn_bytes file, words *w)
{
    const uint8_t *at = file.at, *end = file.at + file.n;
    while (end > at && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    for (w->n = 0; at <= end && end > file.at; w->n++) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at)), *last;
        last = stop = stop ? stop : end;
        last -= last > at && last[-1] == '\r';
        w->text[w->n] = (tn_bytes){at, (size_t)(last - at)};
        char digits[24] = {0}, *rest = digits;
        memcpy(digits, at, (size_t)(last - at) < sizeof digits ? (size_t)(last - at) : 0);
        w->number[w->n] = strtoll(digits, &rest, 10);
        if (!v->texts && (rest == digits || *rest)) {
            imp_refuse(c, IMP_BAD_FILE, "line %zu of the vocabulary is no integer; the model is damaged",
                       w->n + 1);
            return false;
        }
        at = stop + 1;
    }
    return true;
}

static bool read_words(imp_node *c, const keras_vocabulary *v, words *w)
{
    const tn_json *list = keras_config(c, "vocabulary");
    const tn_json *inside = tn_json_find(tn_json_find(list, "config"), "value"); /* an array of NumPy */
    tn_bytes file = {0};
    size_t most = 1;
    list = inside ? inside : list;
    if (list && list->kind == TN_JSON_ARRAY)
        most = list->n + 1;
    else if (!list && keras_asset(c, "vocabulary.txt", &file))
        for (size_t i = 0; i < file.n; i++)
            most += file.at[i] == '\n';
    if (!list && !file.n)
        imp_refuse(c, IMP_BAD_FILE,
                   "the file does not have the vocabulary; save the model as .keras, or give the layer its "
                   "vocabulary "
                   "when you make it");
    if (c->bad)
        return false;
    w->text = TN_NEW_N(&c->im->scratch, tn_bytes, most + 1);
    w->number = TN_NEW_N(&c->im->scratch, int64_t, most + 1);
    return list ? read_list(c, v, list, w) : read_lines(c, v, file, w);
}

/* One for each number: those of the words; where these lack the special ones, their mean; zeros behind. */
static void read_weights(imp_node *c, keras_vocabulary *v, bool special)
{
    const tn_json *list = keras_config(c, "idf_weights");
    size_t given = tn_json_is(list, TN_JSON_ARRAY) ? list->n : 0,
           n = (size_t)(v->n + (special ? v->first : 0));
    float *w = TN_NEW_N(c->arena, float, (size_t)v->all);
    double sum = 0, one;
    bool ok = given == n;
    for (size_t i = 0; i < n && ok; i++) {
        ok = keras_number(&list->u.at[i], &one);
        w[i + (special ? 0 : (size_t)v->first)] = (float)one;
        sum += one;
    }
    if (!ok)
        imp_refuse(c, IMP_BAD_VALUE,
                   "output_mode \"tf_idf\" needs idf_weights for each word in the configuration");
    for (int64_t i = 0; i < v->first && !special && ok; i++)
        w[i] = (float)(sum / (double)n);
    if (!c->bad)
        v->weights = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &v->all, w, NULL));
}

/* Puts the words that stand for the mask and for unknown ones before the others. */
static void add_special(imp_node *c, const keras_vocabulary *v, words *w)
{
    size_t first = (size_t)v->first, n = w->n + first;
    words all = {n, TN_NEW_N(&c->im->scratch, tn_bytes, n), TN_NEW_N(&c->im->scratch, int64_t, n)};
    for (size_t i = 0; i < n; i++) {
        bool mask = (int64_t)i < v->first - v->n_oov;
        const char *text = mask && v->mask ? v->mask : !mask && v->oov ? v->oov : "";
        all.text[i] = i < first ? (tn_bytes){(const uint8_t *)text, strlen(text)} : w->text[i - first];
        all.number[i] = i >= first ? w->number[i - first] : mask ? v->mask_number : v->oov_number;
    }
    *w = all;
}

bool keras_read_vocabulary(imp_node *c, const char *mode, keras_vocabulary *v)
{
    words w = {0};
    int64_t most = keras_int(c, "max_tokens", 0);
    bool pad = keras_bool(c, "pad_to_max_tokens", false), counts = strcmp(mode, "tf_idf") == 0;
    keras_ignore(c, "vocabulary_size");
    keras_ignore(c, "encoding");
    if (keras_bool(c, "sparse", false))
        imp_refuse(c, IMP_BAD_VALUE, "sparse results are not supported; save the model with sparse=False");
    if (!counts)
        keras_ignore(c, "idf_weights");
    v->first = v->n_oov + (v->masked && strcmp(mode, "int") == 0);
    if (!read_words(c, v, &w))
        return false;
    bool special = has_special(v, &w);
    size_t from = special ? (size_t)v->first : 0;
    v->n = (int64_t)(w.n - from);
    v->all = pad && most > v->first + v->n ? most : v->first + v->n;
    if (v->all > INT32_MAX)
        imp_refuse(c, IMP_TOO_LARGE, "a vocabulary of %lld words is not supported", (long long)v->all);
    if (c->bad)
        return false;
    if (v->whole && !special)
        add_special(c, v, &w);
    if (v->whole) {
        v->n += v->first;
        from = 0;
    }
    v->words = v->texts ? imp_text_list(c, (size_t)v->n, w.text + from)
                        : imp_const_ints(c, TN_I64, 1, (uint32_t)v->n, w.number + from);
    if (counts)
        read_weights(c, v, special);
    return !c->bad;
}

/* ---- looking up ---- */

/* bool: where x is the mask */
static tn_value where_masked(imp_node *c, const keras_vocabulary *v, tn_value x)
{
    if (!v->texts)
        return imp_binary(c, &tn_op_equal, x, imp_i64(c, v->mask_number));
    return imp_binary(c, &tn_op_string_equal, x, imp_const_text(c, v->mask));
}

/* The run fails where a word is unknown (number 0 of found), if there is no number for it. */
static void demand_known(imp_node *c, tn_value found, tn_value masked)
{
    tn_value known = imp_binary(c, &tn_op_greater, found, imp_i64(c, 0));
    if (masked.def)
        known = imp_binary(c, &tn_op_logical_or, known, masked);
    known = imp_cast(c, known, TN_I64);
    if (!c->bad && imp_rank(known))
        known = imp_reduce(c, &tn_op_min, imp_flat(c, known), 0);
    imp_demand(c, known, 1, "a value is not in the vocabulary, and the layer has no number for unknown ones");
}

/* Which of several numbers an unknown word gets, from 0: its remainder, or its hash's. */
static tn_value spread(imp_node *c, const keras_vocabulary *v, tn_value x)
{
    tn_string_hash_attr a = {.buckets = v->n_oov};
    tn_value n = imp_i64(c, v->n_oov);
    if (v->texts)
        return imp_call1(c, &tn_op_string_hash, &a, x);
    tn_value times = imp_binary(c, &tn_op_divide, x, n);
    return imp_binary(c, &tn_op_subtract, x, imp_binary(c, &tn_op_multiply, times, n));
}

tn_value keras_look_up(imp_node *c, const keras_vocabulary *v, tn_value x, const char *mode)
{
    tn_value masked = {0}, rest = imp_i64(c, v->first - v->n_oov), found;
    if (c->bad)
        return x;
    found = v->texts ? imp_find_text(c, x, v->words, v->n) : imp_find_number(c, x, v->words, v->n, false);
    if (v->texts)
        found = keras_shaped_like(c, found, x);
    if (v->masked)
        masked = keras_shaped_like(c, where_masked(c, v, x), found);
    if (v->n_oov == 0)
        demand_known(c, found, masked);
    else if (v->n_oov > 1)
        rest = imp_binary(c, &tn_op_add, keras_shaped_like(c, spread(c, v, x), found), rest);
    tn_value known = imp_binary(c, &tn_op_greater, found, imp_i64(c, 0));
    tn_value at = imp_choose(c, known, imp_with(c, &tn_op_add, found, (double)(v->first - 1)), rest);
    tn_value no = imp_i64(c, strcmp(mode, "int") == 0 ? 0 : -1);
    return masked.def ? imp_choose(c, masked, no, at) : at;
}

/* ---- StringLookup, IntegerLookup ---- */

/* Numbers to words; those beyond the vocabulary become the unknown word. */
static void invert(imp_node *c, const keras_vocabulary *v, tn_value x)
{
    tn_value zero = imp_i64(c, 0), at = imp_with(c, &tn_op_add, imp_cast(c, x, TN_I64), 1);
    tn_value inside = imp_binary(c, &tn_op_less_equal, at, imp_i64(c, v->n));
    at = imp_binary(c, &tn_op_maximum, imp_choose(c, inside, at, zero), zero);
    tn_value rest = v->texts ? imp_const_text(c, v->oov ? v->oov : "") : imp_i64(c, v->oov_number);
    tn_value y = imp_looked_up(c, rest, v->words, at);
    keras_out(c, y);
}

static void read_tokens(imp_node *c, keras_vocabulary *v)
{
    v->masked = keras_config(c, "mask_token") != NULL;
    v->n_oov = keras_int(c, "num_oov_indices", 1);
    if (v->texts) {
        v->mask = keras_text(c, "mask_token", NULL);
        v->oov = keras_text(c, "oov_token", NULL);
    } else {
        v->mask_number = keras_int(c, "mask_token", 0);
        v->oov_number = keras_int(c, "oov_token", -1);
    }
    if (!c->bad && (v->n_oov < 0 || v->n_oov > INT32_MAX))
        imp_refuse(c, IMP_BAD_VALUE, "num_oov_indices is %lld; the model is damaged", (long long)v->n_oov);
    const tn_json *salt = keras_config(c, "salt");
    const char *method = keras_text(c, "oov_method", "floormod");
    if (salt || (!v->texts && v->n_oov > 1 && strcmp(method, "floormod") != 0))
        imp_refuse(c, IMP_BAD_VALUE, "oov_method \"%s\" with salt or integers is not supported", method);
}

static void lookup(imp_node *c)
{
    keras_vocabulary v = {.texts = c->row->op[0] == 'S', .whole = keras_bool(c, "invert", false)};
    const char *mode = keras_text(c, "output_mode", "int");
    tn_value x = keras_in(c, 0);
    keras_ignore(c, "vocabulary_dtype");
    read_tokens(c, &v);
    if (c->bad || !keras_read_vocabulary(c, mode, &v))
        return;
    if (imp_is_text(x) != (v.texts && !v.whole)) {
        imp_refuse(c, IMP_OPERANDS, "the layer cannot look up %s", imp_type_text(c, imp_type(x)));
        return;
    }
    if (v.whole) {
        invert(c, &v, x);
        return;
    }
    x = v.texts ? x : imp_cast(c, x, TN_I64);
    tn_dtype t = c->version >= 3 ? TN_I64 : keras_encoded_type(c);
    keras_encode(c, keras_look_up(c, &v, x, mode), v.all, mode, t, v.weights);
}

/* ---- TextVectorization ---- */

static tn_value standardized(imp_node *c, tn_value x)
{
    static const char lower[] = "abcdefghijklmnopqrstuvwxyz", upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char marks[] = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'";
    const char *how = keras_text(c, "standardize", "");
    bool lowers = strncmp(how, "lower", 5) == 0, strips = strstr(how, "strip_punctuation") != NULL;
    tn_string_translate_attr a = {lowers ? upper : "", lowers ? lower : "", strips ? marks : ""};
    if (*how && !lowers && !strips)
        imp_refuse(c, IMP_BAD_VALUE,
                   "standardize \"%s\" is not supported, only lower and strip_punctuation are", how);
    return lowers || strips ? imp_call1(c, &tn_op_string_translate, &a, x) : x;
}

/* The words of each text in a new last dimension, with empty ones behind where others have more. */
static tn_value split(imp_node *c, tn_value x)
{
    const tn_string_split_attr spaces = {"", -1, true};
    const char *how = keras_text(c, "split", "");
    if (*how && strcmp(how, "whitespace") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "split \"%s\" is not supported, only whitespace is", how);
    return *how ? imp_call1(c, &tn_op_string_split, &spaces, x) : x;
}

/* Is there a dimension of words? */
static bool has_words(imp_node *c, tn_value at)
{
    if (!c->bad && imp_rank(at) < 1)
        imp_refuse(c, IMP_OPERANDS, "the text is one alone, but the layer takes lists of texts");
    return !c->bad;
}

/* As many numbers in the last dimension: 0 behind them, or the last ones left out. */
static tn_value padded(imp_node *c, tn_value at, int64_t n)
{
    const tn_expr *dim[IMP_MAX_RANK];
    int last = imp_rank(at) - 1;
    if (n < 1 || !has_words(c, at))
        return at;
    at = tn_unboxed(c->g, at);
    for (int i = 0; i <= last; i++)
        dim[i] = i == last ? tn_idx(c->pool, n) : imp_type(at)->dim[i];
    tn_value both[] = {at, imp_zeros_of(c, tn_type_tensor(c->pool, TN_I64, last + 1, dim, NULL))};
    at = imp_slice(c, imp_concat(c, 2, both, last), last, 0, n);
    (void)imp_with_extent(c, &at, last, dim[last]);
    return at;
}

/* ---- n-grams: words that stand beside each other, with blanks between ---- */

enum { MOST_GRAMS = 16, MOST_WORDS = 1024 };

/* How many widths there are: those from 1 to a number, or those of a list; 0: words alone. */
static int read_ngrams(imp_node *c, int64_t width[MOST_GRAMS])
{
    const tn_json *v = keras_config(c, "ngrams"), *inside = tn_json_find(v, "items");
    int64_t most = 0;
    v = inside ? inside : v;
    bool list = tn_json_is(v, TN_JSON_ARRAY), ok = !v || list || keras_whole(v, &most);
    const int n = list ? (v->n > MOST_GRAMS ? -1 : (int)v->n) : most > MOST_GRAMS ? -1 : (int)most;
    for (int i = 0; i < n && ok; i++) {
        width[i] = i + 1;
        ok = !list || keras_whole(&v->u.at[i], &width[i]);
        ok = ok && width[i] >= 1 && width[i] <= MOST_WORDS;
    }
    if (!ok || n < 0 || (v && n < 1))
        imp_refuse(c, IMP_BAD_VALUE, "ngrams must be a number, or up to %d of them, from 1 to %d", MOST_GRAMS,
                   MOST_WORDS);
    return c->bad ? 0 : n;
}

typedef struct sentence {
    tn_value text, at; /* its words, [..., n], and their numbers, `none` where there is no word */
    tn_value place;    /* of each word among all of them */
    tn_value step;     /* 0 to n - 1 */
    const tn_expr *n;
    int axis; /* the last one */
    tn_value none;
} sentence;

static tn_value shaped_like(imp_node *c, tn_value v, tn_value x)
{
    for (int d = 0; d < imp_rank(x) && !c->bad; d++)
        (void)imp_with_extent(c, &v, d, imp_type(x)->dim[d]);
    return c->bad ? v : tn_unboxed(c->g, v);
}

static tn_value later(imp_node *c, const sentence *s, tn_value v, int64_t by)
{
    return imp_take(c, v, imp_with(c, &tn_op_add, s->step, (double)by), s->axis);
}

/* Numbers of what `width` words from each on are; `none` where the text has fewer left. */
static tn_value grams(imp_node *c, const sentence *s, const keras_vocabulary *v, const char *mode,
                      int64_t width)
{
    tn_value text = s->text;
    if (width == 1)
        return s->at;
    for (int64_t i = 1; i < width && !c->bad; i++) {
        tn_value next = imp_take_texts(c, s->text, later(c, s, s->place, i));
        text = imp_binary(c, &tn_op_string_concat, text, imp_const_text(c, " "));
        text = imp_binary(c, &tn_op_string_concat, text, next);
    }
    tn_value found = c->bad ? text : shaped_like(c, keras_look_up(c, v, text, mode), s->at);
    tn_value end = imp_with(c, &tn_op_add, s->step, (double)(width - 1)),
             n = imp_extent_of(c, s->at, s->axis);
    tn_value inside = imp_binary(c, &tn_op_less, end, n);
    tn_value word = imp_binary(c, &tn_op_not_equal, later(c, s, s->at, width - 1), s->none);
    return imp_choose(c, imp_binary(c, &tn_op_logical_and, word, inside), found, s->none);
}

/* The numbers of each text in front of what is `none`, cut to as many as the longest text has. */
static tn_value closed_up(imp_node *c, const sentence *s, tn_value all, int n, const int64_t width[])
{
    const tn_expr *most = tn_idx(c->pool, 0), *zero = most, *m = c->bad ? zero : imp_type(all)->dim[s->axis];
    const tn_axis_attr along = {s->axis};
    for (int i = 0; i < n; i++)
        most = tn_add(c->pool, most,
                      tn_max(c->pool, tn_sub(c->pool, s->n, tn_idx(c->pool, width[i] - 1)), zero));
    tn_value none = imp_cast(c, imp_binary(c, &tn_op_equal, all, s->none), TN_I64);
    tn_value behind = imp_binary(c, &tn_op_multiply, none, imp_extent_of(c, all, s->axis));
    tn_value key = imp_binary(c, &tn_op_add, behind, imp_count_up(c, m));
    tn_topk_attr a = {
        .k = tn_dims_make(c->arena, 1, &m), .axis = s->axis, .is_ascend = true, .dtype = TN_I64};
    tn_value order = imp_call1(c, &tn_op_topk, &a, key);
    tn_value y = imp_call2(c, &tn_op_gather, &along, all, (tn_value){order.def, 1});
    return c->bad ? y : imp_slice_to(c, y, s->axis, zero, imp_simplify(c, most));
}

/* at: the numbers of the words of text, with fixed or symbolic extents. */
static tn_value with_ngrams(imp_node *c, const keras_vocabulary *v, tn_value text, tn_value at,
                            const char *mode, int n, const int64_t width[])
{
    bool ordered = strcmp(mode, "int") == 0;
    tn_value part[MOST_GRAMS];
    if (!n || !has_words(c, at))
        return at;
    sentence s = {.text = text, .at = at, .axis = imp_rank(at) - 1, .none = imp_i64(c, ordered ? 0 : -1)};
    s.n = imp_type(at)->dim[s.axis];
    s.step = imp_count_up(c, s.n);
    s.place = shaped_like(c, imp_text_numbers(c, text, 0), at);
    for (int i = 0; i < n; i++)
        part[i] = grams(c, &s, v, mode, width[i]);
    at = imp_concat(c, (uint32_t)n, part, s.axis);
    return ordered ? closed_up(c, &s, at, n, width) : at;
}

static void text_vectorization(imp_node *c)
{
    int64_t width[MOST_GRAMS];
    int n_gram = read_ngrams(c, width);
    keras_vocabulary v = {.texts = true, .masked = true, .mask = "", .oov = "[UNK]", .n_oov = 1};
    const char *mode = keras_text(c, "output_mode", "int");
    tn_value x = keras_in(c, 0);
    int64_t length = keras_int(c, "output_sequence_length", 0);
    if (keras_bool(c, "ragged", false))
        imp_refuse(c, IMP_BAD_VALUE, "ragged results are not supported; save the model with ragged=False");
    if (length < 0 || length > INT32_MAX)
        imp_refuse(c, IMP_BAD_VALUE, "output_sequence_length is %lld; the model is damaged",
                   (long long)length);
    if (c->bad || !keras_read_vocabulary(c, mode, &v))
        return;
    if (!imp_is_text(x)) {
        imp_refuse(c, IMP_OPERANDS, "the layer takes texts, but its operand is %s",
                   imp_type_text(c, imp_type(x)));
        return;
    }
    bool splits = keras_config(c, "split") != NULL;
    int rank = imp_rank(x);
    if (n_gram && !splits)
        imp_refuse(c, IMP_BAD_VALUE, "ngrams of texts that are not split are not supported");
    tn_value text = split(c, standardized(c, x)), at = text;
    at = c->bad ? at : keras_look_up(c, &v, at, mode);
    at = keras_shaped_like(c, at, x);
    at = with_ngrams(c, &v, text, at, mode, n_gram, width);
    if (splits && rank > 1 && !c->bad)
        at = imp_squeeze(c, at, rank - 1);
    if (strcmp(mode, "int") == 0)
        at = padded(c, at, length);
    keras_encode(c, at, v.all, mode, c->version >= 3 ? TN_I64 : keras_encoded_type(c), v.weights);
}

// clang-format off
const keras_row keras_rows_text[] = {
    LAYER("StringLookup",      lookup,             NULL, NULL, KERAS_ANY_TYPE | KERAS_DROPS_MASK, NULL),
    LAYER("IntegerLookup",     lookup,             NULL, NULL, KERAS_ANY_TYPE | KERAS_DROPS_MASK, NULL),
    LAYER("TextVectorization", text_vectorization, NULL, NULL, KERAS_ANY_TYPE | KERAS_DROPS_MASK, NULL),
    END_OF_ROWS,
};
// clang-format on
