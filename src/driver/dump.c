/* `tenon dump`: what stands behind each door. */
#include "driver/chart.h"
#include "driver/driver.h"

#include <string.h>

const char *const tn_stage_names[] = {"relay",         "relay-fused", "tir",     "schedule", "space",
                                      "tir-scheduled", "flat",        "program", "c",        "ll",
                                      "asm",           "memory",      NULL};
enum { RELAY, RELAY_FUSED, TIR, SCHEDULE, SPACE, TIR_SCHEDULED, FLAT, PROGRAM, C, LL, ASM, MEMORY };

void tn_group_heading(const tn_group *g, uint32_t v, tn_buf *out)
{
    tn_buf_printf(out, "# %s%s%s", g->name, *g->source ? ": " : "", g->source);
    if (g->guard[v]) {
        tn_buf_str(out, " (where ");
        tn_expr_print(g->guard[v]->src[0], NULL, out);
        tn_buf_char(out, ')');
    }
    tn_buf_char(out, '\n');
}

static void print_groups(tn_build *b, int stage, tn_buf *out)
{
    for (size_t i = 0; i < b->groups.n; i++) {
        const tn_group *g = &b->groups.at[i];
        uint32_t n = stage == TIR ? 1 : g->n_variant;
        for (uint32_t v = 0; v < n; v++) {
            tn_buf_str(out, i || v ? "\n" : "");
            if (stage != TIR)
                tn_group_heading(g, v, out);
            if (stage == TIR)
                tn_func_print(g->te, out);
            else if (stage == SCHEDULE)
                tn_trace_print(&g->sched[v], out);
            else
                tn_func_print(stage == FLAT ? g->flat[v].func : g->sched[v].func, out);
        }
    }
}

static void print_size(const char *what, const tn_expr *e, tn_buf *out)
{
    tn_buf_printf(out, "%s ", what);
    tn_expr_print(e, NULL, out);
    tn_buf_str(out, " bytes\n");
}

/* The plan of each arena beside what no plan can do without. */
static void print_plans(const tn_build *b, tn_buf *out)
{
    for (uint32_t s = 0; s <= b->main->n_segment; s++) {
        const tn_arena_plan *a = &b->plan[s];
        if (tn_is_value(a->bytes, 0))
            continue;
        if (s) {
            tn_buf_printf(out, "segment %u ", s);
            tn_expr_print(a->bytes, NULL, out);
            tn_buf_str(out, " bytes, ");
        }
        tn_buf_str(out, "alive at once ");
        tn_expr_print(a->alive, NULL, out);
        tn_buf_printf(out, " bytes%s\n", a->smallest ? ": no plan is smaller" : "");
    }
}

static void print_memory(tn_build *b, tn_buf *out)
{
    static const char *const kinds[] = {"input", "output", "constant", "temporary", "state"};
    tn_pool *p = &b->pool;
    const tn_expr *sum[5] = {tn_idx(p, 0), tn_idx(p, 0), tn_idx(p, 0), tn_idx(p, 0), tn_idx(p, 0)};
    const tn_program_function_ir *r = b->main;
    for (uint32_t i = 0; i < r->n_slot; i++)
        sum[r->slot[i].kind] = tn_add(p, sum[r->slot[i].kind], r->slot[i].bytes);
    print_size("constants", tn_simplify(p, NULL, sum[TN_SLOT_CONST]), out);
    print_size("inputs", tn_simplify(p, NULL, sum[TN_SLOT_INPUT]), out);
    print_size("outputs", tn_simplify(p, NULL, sum[TN_SLOT_OUTPUT]), out);
    print_size("workspace", r->arena_bytes, out);
    print_plans(b, out);
    print_size("exact peak", b->peak, out);
    if (b->n_in_place)
        tn_buf_printf(out, "in place %u results\n", b->n_in_place);
    for (uint32_t i = 0; i < r->n_slot; i++) {
        const tn_slot_ir *s = &r->slot[i];
        tn_buf_printf(out, "slot %u %s %s%s", i, kinds[s->kind], s->name, *s->name ? " " : "");
        tn_expr_print(s->bytes, NULL, out);
        if (s->offset) {
            tn_buf_str(out, " at ");
            tn_expr_print(s->offset, NULL, out);
        }
        if (s->alias >= 0)
            tn_buf_printf(out, " copy of slot %lld", (long long)s->alias);
        if (s->over >= 0)
            tn_buf_printf(out, " over slot %lld", (long long)s->over);
        if (s->segment)
            tn_buf_printf(out, " in segment %u", s->segment);
        tn_buf_char(out, '\n');
    }
}

static tn_status print_code(tn_build *b, int stage, tn_buf *out)
{
    const tn_llvm_api *llvm;
    if (stage == C)
        return tn_emit_c(&b->unit, out);
    tn_code_options o = {.triple = b->target.triple, .opt_level = b->opt.opt_level};
    TN_TRY(tn_llvm_open(b->ctx, &llvm));
    return llvm->emit(&b->unit, &o, stage == LL ? TN_LLVM_LL : TN_LLVM_ASM, out);
}

/* The graph as a picture: "svg", "dot" or "html". */
static void print_picture(tn_build *b, const char *stage, tn_buf *out)
{
    const char *format = b->opt.dump_format, *file = b->model ? b->model : "";
    const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    tn_chart *c = tn_chart_make(&b->graph, &b->arena, false);
    const char *title = tn_arena_printf(&b->arena, "%s  \xc2\xb7  %s", base, stage);
    if (strcmp(format, "dot") == 0) {
        tn_chart_dot(c, title, out);
    } else {
        tn_chart_layout(c, &b->arena);
        if (strcmp(format, "html") == 0)
            tn_chart_html(&(tn_chart_page){.title = title, .chart = {c}, .label = {stage}}, out);
        else
            tn_chart_svg(c, title, out);
    }
    tn_chart_deinit(c);
}

/* What `format` asks for: 0 text, 1 a picture, -1 neither. */
static int is_picture(const char *format)
{
    if (!format || strcmp(format, "text") == 0)
        return 0;
    return strcmp(format, "svg") == 0 || strcmp(format, "dot") == 0 || strcmp(format, "html") == 0 ? 1 : -1;
}

tn_status tn_dump(tn_build *b, const char *stage, tn_buf *out)
{
    int s = 0;
    while (tn_stage_names[s] && strcmp(tn_stage_names[s], stage) != 0)
        s++;
    if (!tn_stage_names[s])
        return tn_error(
            b->ctx, "driver-E030", NULL,
            "unknown stage %s; use relay, relay-fused, tir, schedule, space, tir-scheduled, flat, "
            "program, c, ll, asm or memory",
            stage);
    const char *format = b->opt.dump_format;
    const tn_export_format *model = format ? tn_export_find(format) : NULL;
    const int picture = model ? 0 : is_picture(format);
    if (picture < 0 || (picture && s > RELAY_FUSED))
        return tn_error(b->ctx, "driver-E090", NULL,
                        picture < 0 ? "unknown format %s; use text, svg, dot, html or nnvm"
                                    : "stage %s is text only; svg, dot and html show relay and relay-fused",
                        picture < 0 ? format : stage);
    if (model && s != RELAY)
        return tn_error(b->ctx, "driver-E193", NULL, "format %s writes the model; use --stage relay, not %s",
                        format, stage);
    TN_TRY(tn_target_parse(b));
    if (s > RELAY)
        TN_TRY(tn_stage_graph(b));
    if (s <= RELAY_FUSED) {
        if (model)
            return model->write(&b->graph, &b->arena, out, &b->exported);
        if (picture)
            print_picture(b, stage, out);
        else
            tn_relay_print(&b->graph, out);
        return TN_OK;
    }
    TN_TRY(tn_stage_tir(b));
    if (s > TIR)
        TN_TRY(tn_stage_schedule(b));
    if (s > TIR_SCHEDULED)
        TN_TRY(tn_stage_lower(b));
    if (s == SPACE) {
        tn_space_print(b, out);
        return TN_OK;
    }
    if (s <= FLAT) {
        print_groups(b, s, out);
        return TN_OK;
    }
    TN_TRY(tn_stage_program(b));
    if (s == MEMORY)
        print_memory(b, out);
    else if (s == PROGRAM)
        tn_program_print(&b->pool, &b->program, b->unit.n_kernel, b->signature, out);
    if (s == MEMORY || s == PROGRAM)
        return TN_OK;
    return print_code(b, s, out);
}
