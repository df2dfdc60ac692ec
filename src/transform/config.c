/* --pass-config: typed keys in one table. A key that nothing here reads is taken with its default and refused with
 * another value: what a user asks for is never dropped in silence. */
#include "transform/pass.h"

#include <stdlib.h>
#include <string.h>

enum type { INT, BOOL, STR };
enum support { USED, FIXED };

static const struct {
    const char *key;
    enum type type;
    const char *def;
    enum support support;
} rows[] = {
#define CONFIG(id, key, type, def, known) {key, type, def, known},
#include "transform/config.def"
#undef CONFIG
};

static bool read_int(const char *text, int64_t *out)
{
    char *end;
    *out = strtoll(text, &end, 10);
    return *text && !*end;
}

static bool read_bool(const char *text, int64_t *out)
{
    static const char *const words[] = {"0", "1", "false", "true", "False", "True"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i & 1;
            return true;
        }
    return false;
}

static bool read_value(enum type t, const char *text, int64_t *out)
{
    *out = 0;
    return t == STR || (t == INT ? read_int(text, out) : read_bool(text, out));
}

static tn_status unknown(tn_ctx *ctx, const char *text, int n)
{
    tn_buf b = {0};
    for (int i = 0; i < TN_N_CONFIG; i++)
        tn_buf_printf(&b, "%s%s", i ? ", " : "", rows[i].key);
    tn_status s = tn_error(ctx, "driver-E060", NULL, "--pass-config: unknown key %.*s; known are %s", n, text,
                           tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

tn_status tn_pass_configure(tn_ctx *ctx, tn_pass_options *o, const char *text)
{
    static const char *const types[] = {"a whole number", "0, 1, true or false", "text"};
    size_t n = strcspn(text, "=");
    int i = 0;
    int64_t value, def;
    while (i < TN_N_CONFIG && (strlen(rows[i].key) != n || memcmp(rows[i].key, text, n) != 0))
        i++;
    if (i == TN_N_CONFIG)
        return unknown(ctx, text, (int)n);
    const char *v = text[n] ? text + n + 1 : "";
    if (!text[n] || !read_value(rows[i].type, v, &value))
        return tn_error(ctx, "driver-E061", NULL, "--pass-config %s: the value of %s must be %s", text,
                        rows[i].key, types[rows[i].type]);
    (void)read_value(rows[i].type, rows[i].def, &def);
    bool same = rows[i].type == STR ? strcmp(v, rows[i].def) == 0 : value == def;
    if (rows[i].support == FIXED && !same)
        return tn_error(ctx, "driver-E062", NULL, "--pass-config %s is not supported yet, only %s=%s", text,
                        rows[i].key, rows[i].def);
    o->config[i] = tn_intern(ctx, v);
    return TN_OK;
}

int64_t tn_pass_config_int(const tn_pass_options *o, enum tn_config key)
{
    int64_t v;
    TN_ASSERT(rows[key].type != STR);
    (void)read_value(rows[key].type, o && o->config[key] ? o->config[key] : rows[key].def, &v);
    return v;
}
