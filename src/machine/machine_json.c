/* Machines as JSON. One table of members drives reading and printing, so the two cannot differ. */
#include "machine/machine.h"

#include "base/file.h"
#include "base/wire/json.h"

#include <string.h>

enum kind { TEXT, NAMES, U32, U64, REAL };

typedef struct member {
    const char *key;
    enum kind kind;
    bool derived; /* may be absent */
    size_t offset;
    double min, max;
} member;

/* clang-format off */
#define AT(field) offsetof(tn_machine, field)
static const member members[] = {
    { "name",             TEXT,  false, AT(name),          0,    0 },
    { "triple",           TEXT,  false, AT(triple),        0,    0 },
    { "features",         NAMES, false, AT(feature),       0,    0 },
    { "cores",            U32,   false, AT(cores),         1,    65536 },
    { "vector_bits",      U32,   false, AT(vector_bits),   32,   16384 },
    { "vector_registers", U32,   false, AT(n_vector_regs), 1,    1024 },
    { "fma_ports",        U32,   false, AT(fma_ports),     1,    64 },
    { "clock_ghz",        REAL,  false, AT(clock_ghz),     1e-3, 100 },
    { "l1_bytes",         U64,   false, AT(l1_bytes),      0,    0x1p50 },
    { "l2_bytes",         U64,   false, AT(l2_bytes),      0,    0x1p50 },
    { "l3_bytes",         U64,   false, AT(l3_bytes),      0,    0x1p50 },
    { "l1_gb_s",          REAL,  true,  AT(l1_gb_s),       1e-6, 1e9 },
    { "l2_gb_s",          REAL,  true,  AT(l2_gb_s),       1e-6, 1e9 },
    { "l3_gb_s",          REAL,  true,  AT(l3_gb_s),       1e-6, 1e9 },
    { "mem_gb_s",         REAL,  true,  AT(mem_gb_s),      1e-6, 1e9 },
    { "peak_gflops",      REAL,  true,  AT(peak_gflops),   1e-6, 1e9 },
    { "int8_gops",        REAL,  true,  AT(int8_gops),     1e-6, 1e9 },
    { "bf16_gflops",      REAL,  true,  AT(bf16_gflops),   0,    1e9 },
};
/* clang-format on */
enum { MEMBERS = sizeof members / sizeof *members, FEATURES_MAX = 1024, NAME_BYTES_MAX = 200 };

static tn_status wrong(tn_ctx *ctx, const tn_loc *loc, const member *m, const char *what)
{
    return tn_error(ctx, "machine-E004", loc, "member \"%s\" must be %s", m->key, what);
}

static bool name_char(char c, bool feature)
{
    bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr("+-._", c));
    return plain || (!feature && c >= ' ' && c <= '~');
}

/* A short text of printable ASCII; features in lower case, as LLVM spells them. */
static bool is_name(const tn_json *v, bool feature)
{
    if (!tn_json_is(v, TN_JSON_STRING) || v->n == 0 || v->n > NAME_BYTES_MAX)
        return false;
    for (uint32_t i = 0; i < v->n; i++)
        if (!name_char(v->u.s[i], feature))
            return false;
    return true;
}

static tn_status read_names(tn_ctx *ctx, const tn_loc *loc, const member *m, const tn_json *v,
                            tn_machine *out)
{
    if (!tn_json_is(v, TN_JSON_ARRAY) || v->n > FEATURES_MAX)
        return wrong(ctx, loc, m, "an array of feature names");
    const char **name = TN_NEW_N(&ctx->arena, const char *, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        if (!is_name(&v->u.at[i], true))
            return wrong(ctx, loc, m, "an array of feature names in LLVM's spelling, such as \"avx512f\"");
        name[i] = tn_intern_n(ctx, v->u.at[i].u.s, v->u.at[i].n);
    }
    out->feature = name;
    out->n_feature = v->n;
    return TN_OK;
}

static tn_status read_number(tn_ctx *ctx, const tn_loc *loc, const member *m, const tn_json *v, void *at)
{
    bool whole = tn_json_is(v, TN_JSON_INT);
    if (!whole && (m->kind != REAL || !tn_json_is(v, TN_JSON_REAL)))
        return wrong(ctx, loc, m, m->kind == REAL ? "a number" : "an integer");
    double r = whole ? (double)v->u.i : v->u.r;
    if (!(r >= m->min && r <= m->max)) {
        return tn_error(ctx, "machine-E004", loc, "member \"%s\" must be from %g to %g", m->key, m->min,
                        m->max);
    }
    if (m->kind == REAL)
        *(double *)at = r;
    else if (m->kind == U64)
        *(uint64_t *)at = (uint64_t)v->u.i;
    else
        *(uint32_t *)at = (uint32_t)v->u.i;
    return TN_OK;
}

static tn_status read_member(tn_ctx *ctx, const tn_loc *loc, const member *m, const tn_json *v,
                             tn_machine *out)
{
    void *at = (char *)out + m->offset;
    switch (m->kind) {
    case TEXT:
        if (!is_name(v, false))
            return wrong(ctx, loc, m, "a short text");
        *(const char **)at = tn_intern_n(ctx, v->u.s, v->n);
        return TN_OK;
    case NAMES: return read_names(ctx, loc, m, v, out);
    default: return read_number(ctx, loc, m, v, at);
    }
}

static const member *member_find(const tn_json *key)
{
    for (size_t i = 0; i < MEMBERS; i++)
        if (tn_json_is_text(key, members[i].key))
            return &members[i];
    return NULL;
}

/* All troubles are reported, not only the first. */
static tn_status read_members(tn_ctx *ctx, const tn_loc *loc, const tn_json *root, tn_machine *out)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < root->n; i++) {
        const tn_json *key = &root->u.at[2 * i];
        const member *m = member_find(key);
        tn_status s;
        if (m) {
            s = read_member(ctx, loc, m, key + 1, out);
        } else {
            int n = key->n < 80 ? (int)key->n : 80;
            s = tn_error(ctx, "machine-E002", loc, "unknown member \"%.*s\"; remove it, or correct its name",
                         n, key->u.s);
        }
        status = s == TN_OK ? status : s;
    }
    for (size_t i = 0; i < MEMBERS; i++)
        if (!members[i].derived && !tn_json_find(root, members[i].key))
            status = tn_error(ctx, "machine-E003", loc, "member \"%s\" is missing; add it", members[i].key);
    if (status == TN_OK && (out->vector_bits & (out->vector_bits - 1)) != 0)
        status = tn_error(ctx, "machine-E004", loc, "member \"vector_bits\" must be a power of two");
    return status;
}

static void free_document(tn_resource *r) { tn_json_free(&(tn_json_doc){.memory = r->at}); }

tn_status tn_machine_parse(tn_ctx *ctx, const char *file, const char *text, size_t n, tn_machine *out)
{
    tn_loc loc = {.file = file};
    tn_resource *held = tn_resource_new(free_document);
    tn_json_doc d = tn_json_read(text, n);
    tn_status status;
    held->at = d.memory;
    *out = (tn_machine){0};
    if (d.error) {
        loc.line = loc.col = 1;
        for (size_t i = 0; i < d.error_at; i++, loc.col++) {
            if (text[i] == '\n') {
                loc.line++;
                loc.col = 0;
            }
        }
        status = tn_error(ctx, "machine-E001", &loc, "not valid JSON: %s", d.error);
    } else if (!tn_json_is(d.root, TN_JSON_OBJECT)) {
        status = tn_error(ctx, "machine-E001", &loc, "a machine description must be a JSON object");
    } else {
        status = read_members(ctx, &loc, d.root, out);
    }
    tn_resource_end(held);
    if (status == TN_OK) {
        out->clock_from = "the machine description";
        out->rates_from = out->peak_gflops > 0 ? out->clock_from : NULL;
        tn_machine_derive(out);
    }
    return status;
}

tn_status tn_machine_read(tn_ctx *ctx, const char *path, tn_machine *out)
{
    tn_file f;
    *out = (tn_machine){0};
    TN_TRY(tn_file_map(ctx, path, &f));
    tn_status status = tn_machine_parse(ctx, path, (const char *)f.at, f.n, out);
    tn_file_unmap(&f);
    return status;
}

static void print_text(tn_buf *out, const char *s)
{
    tn_buf_char(out, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            tn_buf_char(out, '\\');
        tn_buf_char(out, *s); /* names are printable ASCII */
    }
    tn_buf_char(out, '"');
}

static void print_value(const tn_machine *m, const member *f, tn_buf *out)
{
    const void *at = (const char *)m + f->offset;
    switch (f->kind) {
    case TEXT: print_text(out, *(const char *const *)at); break;
    case NAMES:
        for (size_t i = 0; i < m->n_feature; i++) {
            tn_buf_str(out, i == 0 ? "[" : i % 8 ? ", " : ",\n    ");
            print_text(out, m->feature[i]);
        }
        tn_buf_str(out, m->n_feature ? "]" : "[]");
        break;
    case U32: tn_buf_printf(out, "%lu", (unsigned long)*(const uint32_t *)at); break;
    case U64: tn_buf_printf(out, "%llu", (unsigned long long)*(const uint64_t *)at); break;
    case REAL: tn_buf_real(out, *(const double *)at, 0); break;
    }
}

void tn_machine_print(const tn_machine *m, tn_buf *out)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        tn_buf_printf(out, "%s\n  \"%s\": ", i ? "," : "{", members[i].key);
        print_value(m, &members[i], out);
    }
    tn_buf_str(out, "\n}\n");
}
