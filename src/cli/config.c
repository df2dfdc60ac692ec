/* Files of argument defaults as tvmc has them (--config): JSON to words of a command line.
 *
 *   "targets": [{"kind": "llvm", "mattr": "+avx2"}]  --target=llvm --target-llvm-mattr=+avx2
 *   "executor": {"kind": "aot", "link-params": 1}    --executor=aot --executor-aot-link-params=1      (runtime alike)
 *   "pass-config": {"a": 1}                          --pass-config=a=1
 *   "opt-level": 3, "verbose": true                  --opt-level=3, --verbose */
#include "cli/config.h"

#include "base/file.h"
#include "base/vec.h"
#include "base/wire/json.h"
#include "cli/args.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    tn_ctx *ctx;
    const char *path;
    tn_vec(const char *) words;
} reader;

static tn_status fail(reader *r, const char *what, const tn_json *key)
{
    return tn_error(r->ctx, "driver-E056", &(tn_loc){.file = r->path}, "\"%.*s\": %s", key ? (int)key->n : 0,
                    key ? key->u.s : "", what);
}

/* A name of JSON as a flag's: '_' is '-'. */
static void flag(const tn_json *key, tn_buf *out)
{
    for (uint32_t i = 0; i < key->n; i++)
        tn_buf_char(out, key->u.s[i] == '_' ? '-' : key->u.s[i]);
}

/* false: no scalar. */
static bool value(const tn_json *v, tn_buf *out)
{
    switch (v->kind) {
    case TN_JSON_STRING: tn_buf_add(out, v->u.s, v->n); return memchr(v->u.s, 0, v->n) == NULL;
    case TN_JSON_INT: tn_buf_printf(out, "%" PRId64, v->u.i); return true;
    case TN_JSON_REAL: tn_buf_printf(out, "%.17g", v->u.r); return true;
    case TN_JSON_BOOL: tn_buf_str(out, v->u.b ? "1" : "0"); return true;
    default: return false;
    }
}

static void push(reader *r, tn_buf *word)
{
    tn_vec_push(&r->words, tn_arena_strndup(&r->ctx->arena, word->at, word->n));
    tn_buf_clear(word);
}

/* {"kind": K, "opt": v}: --<what>=K and --<what>-K-opt=v. */
static tn_status kinds(reader *r, const char *what, const tn_json *key, const tn_json *o, tn_buf *names)
{
    const tn_json *kind = tn_json_find(o, "kind");
    tn_buf w = {0};
    if (!tn_json_is(kind, TN_JSON_STRING))
        return fail(r, "expected an object with \"kind\"", key);
    tn_buf_printf(names, "%s%.*s", names->n ? ", " : "", (int)kind->n, kind->u.s);
    for (uint32_t i = 0; i < o->n; i++) {
        const tn_json *k = &o->u.at[2 * i], *v = k + 1;
        if (tn_json_is_text(k, "kind"))
            continue;
        tn_buf_printf(&w, "--%s-%.*s-", what, (int)kind->n, kind->u.s);
        flag(k, &w);
        tn_buf_char(&w, '=');
        if (!value(v, &w)) {
            tn_buf_deinit(&w);
            return fail(r, "expected a text, a number, true or false", k);
        }
        push(r, &w);
    }
    tn_buf_deinit(&w);
    return TN_OK;
}

static tn_status targets(reader *r, const tn_json *key, const tn_json *list, const char *what)
{
    tn_buf names = {0}, w = {0};
    tn_status st = TN_OK;
    for (uint32_t i = 0; i < (list->kind == TN_JSON_ARRAY ? list->n : 1) && st == TN_OK; i++)
        st = kinds(r, what, key, list->kind == TN_JSON_ARRAY ? &list->u.at[i] : list, &names);
    if (st == TN_OK && names.n) {
        tn_buf_printf(&w, "--%s=%s", what, tn_buf_cstr(&names));
        push(r, &w);
    }
    tn_buf_deinit(&names);
    tn_buf_deinit(&w);
    return st;
}

static tn_status pairs(reader *r, const tn_json *key, const tn_json *o)
{
    tn_buf w = {0};
    tn_status st = TN_OK;
    for (uint32_t i = 0; i < o->n && st == TN_OK; i++) {
        const tn_json *k = &o->u.at[2 * i];
        tn_buf_str(&w, "--");
        flag(key, &w);
        tn_buf_printf(&w, "=%.*s=", (int)k->n, k->u.s);
        st = value(k + 1, &w) ? TN_OK : fail(r, "expected a text, a number, true or false", k);
        push(r, &w);
    }
    tn_buf_deinit(&w);
    return st;
}

static tn_status scalar(reader *r, const tn_json *key, const tn_json *v)
{
    tn_buf w = {0};
    tn_status st = TN_OK;
    if (v->kind == TN_JSON_BOOL && !v->u.b)
        return TN_OK; /* a switch that is off */
    tn_buf_str(&w, "--");
    flag(key, &w);
    if (v->kind != TN_JSON_BOOL) {
        tn_buf_char(&w, '=');
        st = value(v, &w) ? TN_OK : fail(r, "expected a text, a number, true, false or an object", key);
    }
    if (st == TN_OK)
        push(r, &w);
    tn_buf_deinit(&w);
    return st;
}

static tn_status member(reader *r, const tn_json *key, const tn_json *v)
{
    if (tn_json_is_text(key, "targets"))
        return v->kind == TN_JSON_ARRAY ? targets(r, key, v, "target") : fail(r, "a list is needed", key);
    if (v->kind != TN_JSON_OBJECT)
        return scalar(r, key, v);
    if (tn_json_is_text(key, "executor"))
        return targets(r, key, v, "executor");
    return tn_json_is_text(key, "runtime") ? targets(r, key, v, "runtime") : pairs(r, key, v);
}

static void free_document(tn_resource *r) { tn_json_free(&(tn_json_doc){.memory = r->at}); }

static tn_status read_file(reader *r)
{
    tn_file f;
    TN_TRY(tn_file_map(r->ctx, r->path, &f));
    tn_resource *held = tn_resource_new(free_document);
    tn_json_doc doc = tn_json_read((const char *)f.at, f.n);
    held->at = doc.memory;
    tn_status st = TN_OK;
    if (doc.error)
        st = tn_error(r->ctx, "driver-E057", &(tn_loc){.file = r->path}, "not valid JSON: %s at byte %zu",
                      doc.error, doc.error_at);
    else if (doc.root->kind != TN_JSON_OBJECT)
        st = tn_error(r->ctx, "driver-E057", &(tn_loc){.file = r->path},
                      "expected an object of flags, such as {\"opt-level\": 3}");
    for (uint32_t i = 0; st == TN_OK && i < doc.root->n; i++)
        st = member(r, &doc.root->u.at[2 * i], &doc.root->u.at[2 * i + 1]);
    tn_resource_end(held);
    tn_file_unmap(&f);
    return st;
}

/* The name itself, or below $TVM_CONFIGS_JSON_DIR; ".json" is added where it lacks. NULL: neither. */
static const char *find_config(tn_ctx *ctx, const char *name)
{
    const char *dir = getenv("TVM_CONFIGS_JSON_DIR"), *places[3][2] = {{"", ""}, {dir, "/"}, {dir, "/host/"}};
    size_t n = strlen(name);
    const char *suffix = n > 5 && strcmp(name + n - 5, ".json") == 0 ? "" : ".json";
    for (int i = 0; i < 3; i++) {
        if (!places[i][0])
            continue;
        const char *path = tn_arena_printf(&ctx->arena, "%s%s%s%s", places[i][0], places[i][1], name, suffix);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

int tn_defaults_read(tn_defaults *d, const char *name)
{
    tn_ctx_init(&d->ctx);
    reader r = {.ctx = &d->ctx, .path = find_config(&d->ctx, name)};
    tn_status st = TN_OK;
    if (r.path)
        st = read_file(&r);
    else if (strcmp(name, "default") != 0) /* which is what there is anyway */
        st = tn_error(&d->ctx, "driver-E058", NULL,
                      "--config %s: no file %s, here or below TVM_CONFIGS_JSON_DIR", name, name);
    d->n = r.words.n;
    d->word = TN_NEW_N(&d->ctx.arena, const char *, d->n);
    for (size_t i = 0; i < d->n; i++)
        d->word[i] = r.words.at[i];
    tn_vec_deinit(&r.words);
    tn_buf said = {0};
    tn_diag_print_all(&d->ctx, &said);
    tn_messages_print(tn_buf_cstr(&said));
    tn_buf_deinit(&said);
    return st == TN_OK ? TN_EXIT_OK : TN_EXIT_ERROR;
}

void tn_defaults_deinit(tn_defaults *d) { tn_ctx_deinit(&d->ctx); }
