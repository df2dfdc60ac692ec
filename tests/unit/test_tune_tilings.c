/* tune/tilings and schedule/tiling: what lines of TVM's MetaSchedule say of tile sizes, and which choices are near them
 * here. tests/tvm/meta_schedule is a database that TVM 0.16 wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "sanitized.h"
#include "schedule/run.h"
#include "schedule/space.h"
#include "schedule/tiling.h"
#include "tune/record.h"

static tn_file map_database(tn_ctx *ctx)
{
    const char *root = getenv("TENON_SOURCE_DIR");
    char path[4096];
    tn_file f;
    snprintf(path, sizeof path, "%s/tests/tvm/meta_schedule/database_tuning_record.json", root ? root : ".");
    assert_int_equal(tn_file_map(ctx, path, &f), TN_OK);
    return f;
}

/* ---- lines ---- */

enum {
    DENSE,
    CONV_NCHW,
    CONV_NHWC,
    CONV_NCHW8C,
    SOFTMAX,
    BATCH_MATMUL,
    DENSE_UNIT, /* of bytes, with dot_16x4_vnni */
    CONV_UNIT,
    TOTAL, /* in parts */
    COLUMNS,
    ROWS,
    WORKLOADS
};

static void assert_axis(const tn_tiling_axis *a, int64_t extent, int64_t inner, int64_t middle, int64_t outer)
{
    assert_int_equal(a->extent, extent);
    assert_int_equal(a->inner, inner);
    assert_int_equal(a->middle, middle);
    assert_int_equal(a->outer, outer);
}

static void lines_of_tvm(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, n_tiling, axes;
        double seconds;
    } want[WORKLOADS] = {{3, 1, 3, 1.25e-5}, {1, 1, 7, 4e-5}, {1, 1, 7, 5e-5}, {1, 1, 8, 3e-5},
                         {1, 2, 1, 1e-6},    {1, 1, 4, 1e-5}, {1, 1, 3, 6e-6}, {1, 1, 10, 2e-5},
                         {1, 1, 1, 9e-6},    {1, 1, 1, 8e-6}, {1, 1, 1, 7e-6}};
    tn_ctx ctx;
    tn_records r;
    uint32_t line;
    tn_ctx_init(&ctx);
    tn_records_init(&r);
    tn_file f = map_database(&ctx);
    assert_null(tn_records_parse(&r, (const char *)f.at, f.n, NULL, &line));
    assert_int_equal(r.all.n, 0);
    assert_int_equal(r.n_foreign, 13);
    assert_int_equal(r.tvm.n, WORKLOADS);
    for (uint32_t i = 0; i < WORKLOADS; i++) {
        const tn_tvm_lines *x = &r.tvm.at[i];
        assert_int_equal(x->workload, i);
        assert_int_equal(x->line, i ? i + 3 : 1);
        assert_int_equal(x->n, want[i].n);
        assert_int_equal(x->n_tiling, want[i].n_tiling);
        assert_true(x->seconds == want[i].seconds);
        assert_int_equal(x->tiling[0].n, want[i].axes);
    }
    const tn_tiling *t = &r.tvm.at[DENSE].tiling[0]; /* the second line: 4 2 2 4, 2 4 2 32, 32 8 */
    assert_int_equal(t->axis[0].extent, 64);
    assert_int_equal(t->axis[0].inner, 4);
    assert_int_equal(t->axis[1].extent, 512);
    assert_int_equal(t->axis[1].inner, 32);
    assert_int_equal(t->axis[1].middle, 2);
    assert_int_equal(t->axis[1].outer, 4);
    assert_false(t->axis[1].reduces);
    assert_true(t->axis[2].reduces);
    assert_int_equal(t->axis[2].extent, 256);
    assert_int_equal(t->axis[2].inner, 8);
    assert_int_equal(t->axis[2].middle, 0);
    assert_int_equal(t->n_operand, 3);
    assert_string_equal(t->operand[1].dtype, "float32");
    assert_int_equal(t->operand[1].elements, 512 * 256);
    t = &r.tvm.at[DENSE_UNIT].tiling[0]; /* 4 4 1 4; 2 2 1 2, of 16; 4 4, of 4 */
    assert_axis(&t->axis[0], 64, 4, 1, 4);
    assert_axis(&t->axis[1], 128, 32, 1, 2);
    assert_axis(&t->axis[2], 64, 16, 0, 0);
    assert_true(!t->axis[1].reduces && t->axis[2].reduces && t->parts == 0);
    t = &r.tvm.at[CONV_UNIT].tiling[0]; /* the unit has the fifth loop, of 16, and the last one, of 4 */
    assert_axis(&t->axis[4], 16, 16, 1, 1);
    assert_axis(&t->axis[7], 4, 1, 0, 0);
    assert_axis(&t->axis[8], 4, 2, 0, 0);
    assert_axis(&t->axis[9], 4, 4, 0, 0);
    static const struct {
        uint32_t workload;
        int64_t terms, parts;
        bool interleaved;
    } sums[] = {{TOTAL, 4096 * 64, 16, false}, {COLUMNS, 65536, 4, false}, {ROWS, 65536, 32, true}};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        t = &r.tvm.at[sums[i].workload].tiling[0];
        assert_axis(&t->axis[0], sums[i].terms, 0, 0, 0);
        assert_int_equal(t->parts, sums[i].parts);
        assert_int_equal(t->interleaved, sums[i].interleaved);
    }
    assert_int_equal(r.tvm.at[SOFTMAX].tiling[0].parts, 64); /* of the sum, and of the maximum */
    assert_int_equal(r.tvm.at[SOFTMAX].tiling[1].parts, 16);
    tn_file_unmap(&f);
    tn_records_deinit(&r);
    tn_ctx_deinit(&ctx);
}

#define LINE(steps, decisions, target, arguments) \
    "[0, [[" steps ", " decisions "], [1e-05], " target ", " arguments "]]\n"
#define STRUCTURE(s) "[\"Annotate\", [\"b0\", \"\\\"" s "\\\"\"], [\"meta_schedule.tiling_structure\"], []]"
#define LOOPS "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\"]]"
#define SPLIT(l, n) "[\"SamplePerfectTile\", [\"" l "\"], [], [" n "]]"
#define FOUR "\"a\", \"b\", \"c\", \"d\""
#define BLOCK "[" STRUCTURE("SSRSRS") ", " LOOPS ", " SPLIT("l1", FOUR) ", " SPLIT("l2", "\"e\", \"f\"") "]"
#define DECISIONS "[[2, [2, 1, 2, 4]], [3, [4, 2]]]"
#define LLVM "{\"kind\": \"llvm\"}"

/* A unit that takes the second loop whole, of 8, and four of the first, and a sum of three loops in parts. */
#define CUT(l, factors, n) "[\"Split\", [\"" l "\", " factors "], [1, 0], [" n "]]"
#define AROUND(b, n) "[\"GetLoops\", [\"" b "\"], [], [" n "]]"
#define BLOCKIZE "[\"Blockize\", [\"m2\"], [true], [\"b1\"]], " AROUND("b1", "\"p1\", \"p2\"")
#define UNIT(cuts, order, rest) \
    "[" STRUCTURE("SSRSRS") ", " LOOPS ", " cuts AROUND( \
        "b0", "\"m1\", \"m2\", \"m3\", \"m4\"") ", [\"Reorder\", [" order "], [], []], " rest "]"
#define CUTS CUT("l1", "\"None\", 4", "\"i1\", \"i2\"") ", " CUT("l2", "\"None\", 8", "\"k1\", \"k2\"") ", "
#define SAMPLES SPLIT("p1", FOUR) ", " SPLIT("p2", "\"e\", \"f\"")
#define UNIT_DECISIONS "[[8, [2, 1, 2, 4]], [9, [3, 2]]]"
#define FUSE(l) "[\"Fuse\", [" l "], [1], [\"s\"]], "
#define PARTS(fuse, loop, half, n_spatial) \
    "[" AROUND("b0", "\"l1\", \"l2\", \"l3\"") ", " fuse SPLIT(loop, "\"v1\", \"v2\"") ", " CUT( \
        loop, "\"v1\", \"v2\"", "\"h1\", \"h2\"") ", [\"RFactor\", [\"" half "\"], [" n_spatial \
                                                  "], [\"b1\"]]]"

/* What has no tile sizes is passed over; what cannot be is an error. */
static void lines_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong; /* NULL: it is sound */
        uint32_t n_tiling;
    } all[] = {
        {LINE(BLOCK, DECISIONS, LLVM, "[[\"TENSOR\", \"float32\", [16, 8]]]"), NULL, 1},
        {LINE(BLOCK, DECISIONS, "null", "null"), NULL, 1},
        {LINE(BLOCK, DECISIONS, "{\"kind\": \"cuda\"}", "null"), NULL, 0},
        {LINE(BLOCK, DECISIONS, LLVM, "[[\"TENSOR\", 1, [16, 8]], 3]"), NULL, 1},
        {LINE(BLOCK, "[[2, [2, 1, 2, 4]]]", LLVM, "null"), NULL, 0},
        {LINE(BLOCK, "[]", LLVM, "null"), NULL, 0},
        {LINE(BLOCK, "[[2, [2000000, 1, 2, 4000000]], [3, [4, 2]]]", LLVM, "null"), NULL, 0},
        {LINE("[" STRUCTURE("SRSR") ", " LOOPS "]", "[]", LLVM, "null"), NULL, 0},
        {LINE("[" STRUCTURE("") "]", "[]", LLVM, "null"), NULL, 0},
        {LINE("[" STRUCTURE("SSXSRS") ", " LOOPS "]", "[]", LLVM, "null"), NULL, 0},
        {LINE("[]", "[]", LLVM, "null"), NULL, 0},
        {LINE(UNIT(CUTS, "\"m3\", \"m2\"", BLOCKIZE ", " SAMPLES), UNIT_DECISIONS, LLVM, "null"), NULL, 1},
        {LINE(UNIT(CUTS, "\"m3\", \"i2\"", BLOCKIZE ", " SAMPLES), UNIT_DECISIONS, LLVM, "null"), NULL, 1},
        {LINE(UNIT(CUTS, "\"m2\", \"m2\"", BLOCKIZE ", " SAMPLES), UNIT_DECISIONS, LLVM, "null"), NULL, 0},
        {LINE(UNIT(CUTS, "\"m3\", \"m9\"", BLOCKIZE ", " SAMPLES), UNIT_DECISIONS, LLVM, "null"), NULL, 0},
        /* in this order the unit has three loops, one of them of unknown length */
        {LINE(UNIT(CUTS, "\"m1\", \"m2\"", BLOCKIZE ", " SAMPLES), UNIT_DECISIONS, LLVM, "null"), NULL, 0},
        {LINE(UNIT(CUT("l1", "\"None\", \"v9\"", "\"i1\", \"i2\"") ", " CUT("l2", "null, 8",
                                                                            "\"k1\", \"k2\"") ", ",
                   "\"m3\", \"m2\"", BLOCKIZE ", " SAMPLES),
              UNIT_DECISIONS, LLVM, "null"),
         NULL, 0},
        {LINE(UNIT(CUT("l1", "null, 4", "\"i1\", \"i2\"") ", " CUT("l2", "8", "\"k1\", \"k2\"") ", ",
                   "\"m3\", \"m2\"", BLOCKIZE ", " SAMPLES),
              UNIT_DECISIONS, LLVM, "null"),
         NULL, 0},
        {LINE(UNIT(CUTS, "\"m3\", \"m2\"", BLOCKIZE ", " SAMPLES), "[[8, [2, 1, 2, 4]], [9, [300000000, 2]]]",
              LLVM, "null"),
         NULL, 0},
        {LINE(UNIT(CUTS, "\"m3\", \"m2\"", BLOCKIZE), "[]", LLVM, "null"), NULL, 0},
        {LINE(UNIT(CUTS, "\"m3\", \"m2\"", SAMPLES), "[[6, [2, 1, 2, 4]], [7, [4, 2]]]", LLVM, "null"), NULL,
         0},
        {LINE(PARTS(FUSE("\"l2\", \"l3\""), "s", "h1", "1"), "[[2, [4, 8]]]", LLVM, "null"), NULL, 1},
        {LINE(PARTS("", "l3", "h2", "2"), "[[1, [4, 8]]]", LLVM, "null"), NULL, 1},
        {LINE(PARTS("", "l3", "h2", "1"), "[[1, [4, 8]]]", LLVM, "null"), NULL,
         0}, /* not all of the reduction */
        {LINE(PARTS("", "l3", "h2", "-1"), "[[1, [4, 8]]]", LLVM, "null"), NULL, 0},
        {LINE(PARTS("", "l3", "h2", "null"), "[[1, [4, 8]]]", LLVM, "null"), NULL, 0},
        {LINE(PARTS("", "l3", "h3", "2"), "[[1, [4, 8]]]", LLVM, "null"), NULL, 0},
        {LINE(PARTS("", "l9", "h2", "2"), "[[1, [4, 8]]]", LLVM, "null"), NULL, 0},
        {LINE(PARTS("", "l3", "h2", "2"), "[]", LLVM, "null"), NULL, 0},
        {LINE(PARTS("", "l3", "h2", "2"), "[[1, [4000000, 8000000]]]", LLVM, "null"), NULL, 0},
        {LINE(PARTS("", "l3", "h2", "2"), "[[1, [4, 8, 1]]]", LLVM, "null"), "as many factors above 0", 0},
        {LINE(PARTS("", "l3", "h2", "2"), "[[1, [4, 0]]]", LLVM, "null"), "as many factors above 0", 0},
        {"[0, [[[], []], null, null, null]]\n", NULL, 0},
        {"[0, [[], []]]\n", NULL, 0}, /* of some other form */
        {"[0, [null, null, null, null]]\n", "not a list of steps and one of decisions", 0},
        {"[0, [[[]], null, null, null]]\n", "not a list of steps and one of decisions", 0},
        {LINE("[1]", "[]", LLVM, "null"), "not a kind, operands, attributes and results", 0},
        {LINE("[[\"GetLoops\", [], []]]", "[]", LLVM, "null"), "not a kind, operands, attributes and results",
         0},
        {LINE(BLOCK, "[[4, [1]]]", LLVM, "null"), "of no step", 0},
        {LINE(BLOCK, "[[-1, [1]]]", LLVM, "null"), "of no step", 0},
        {LINE(BLOCK, "[2]", LLVM, "null"), "of no step", 0},
        {LINE(BLOCK, "[[2, [1, 2, 3]]]", LLVM, "null"), "as many factors above 0 as its step has results", 0},
        {LINE(BLOCK, "[[3, [0, 2]]]", LLVM, "null"), "as many factors above 0 as its step has results", 0},
        {LINE(BLOCK, "[[3, [\"4\", 2]]]", LLVM, "null"), "as many factors above 0", 0},
        {LINE(BLOCK, "[[3, null]]", LLVM, "null"), "as many factors above 0", 0},
        {LINE(BLOCK, "[[0, null], [1, 7]]", LLVM, "null"), NULL,
         0}, /* of other steps, which say what they like */
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tn_records r;
        uint32_t line;
        tn_records_init(&r);
        const char *wrong = tn_records_parse(&r, all[i].text, strlen(all[i].text), NULL, &line);
        if (all[i].wrong ? !wrong || !strstr(wrong, all[i].wrong) : wrong != NULL)
            fail_msg("%s%s", all[i].text, wrong ? wrong : "is sound");
        assert_int_equal(r.tvm.n, 1);
        assert_int_equal(r.tvm.at[0].n, !all[i].wrong);
        if (r.tvm.at[0].n_tiling != all[i].n_tiling)
            fail_msg("%s%u tilings", all[i].text, (unsigned)r.tvm.at[0].n_tiling);
        tn_records_deinit(&r);
    }
}

/* Lines of TVM with bytes changed, left out, or cut off. */
static void damaged_lines(void **state)
{
    (void)state;
    static const char bytes[] = "[]{},\":0-9e.lbR\n";
    enum { TRIES = RUN_SANITIZED ? 300 : 3000 };
    tn_ctx ctx;
    tn_rng rng = {7};
    tn_ctx_init(&ctx);
    tn_file f = map_database(&ctx);
    char *text = tn_alloc(f.n);
    for (int i = 0; i < TRIES; i++) {
        tn_records r;
        uint32_t line = 0;
        size_t n = i % 4 ? f.n : (size_t)tn_rng_below(&rng, f.n);
        memcpy(text, f.at, n);
        for (uint64_t k = tn_rng_below(&rng, 4) + 1; k > 0 && n > 0; k--)
            text[tn_rng_below(&rng, n)] = bytes[tn_rng_below(&rng, sizeof bytes - 1)];
        tn_records_init(&r);
        const char *wrong = tn_records_parse(&r, text, n, NULL, &line);
        assert_true(!wrong || (*wrong && line > 0));
        for (size_t k = 0; k < r.tvm.n; k++)
            assert_true(r.tvm.at[k].n_tiling <= TN_MOST_TILINGS);
        tn_records_deinit(&r);
    }
    tn_free(text);
    tn_file_unmap(&f);
    tn_ctx_deinit(&ctx);
}

/* ---- choices ---- */

/* clang-format off */
static const char dense[] =
    "func @dense(A: f32[64, 256], W: f32[512, 256, NK32n], b: f32[512]) -> (out: f32[64, 512]) {\n"
    "  buffer acc: f32[64, 512]\n"
    "  for i < 64, j < 512, k < 256:\n"
    "    block acc(i: spatial, j: spatial, k: reduce):\n"
    "      init acc[i, j] = 0\n"
    "      acc[i, j] = acc[i, j] + A[i, k] * W[j, k]\n"
    "  for i < 64, j < 512:\n"
    "    block out(i: spatial, j: spatial):\n"
    "      out[i, j] = max(acc[i, j] + b[j], 0)\n"
    "}\n";
static const char rows_of_batch[] =
    "func @dense(A: f32[4, 16, 256], W: f32[512, 256, NK32n]) -> (out: f32[4, 16, 512]) {\n"
    "  for b < 4, i < 16, j < 512, k < 256:\n"
    "    block out(b: spatial, i: spatial, j: spatial, k: reduce):\n"
    "      init out[b, i, j] = 0\n"
    "      out[b, i, j] = out[b, i, j] + A[b, i, k] * W[j, k]\n"
    "}\n";
static const char any_rows[] =
    "func @dense(A: f32[n, 256], W: f32[512, 256, NK32n]) -> (out: f32[n, 512]) {\n"
    "  for i < n, j < 512, k < 256:\n"
    "    block out(i: spatial, j: spatial, k: reduce):\n"
    "      init out[i, j] = 0\n"
    "      out[i, j] = out[i, j] + A[i, k] * W[j, k]\n"
    "}\n";
static const char half[] =
    "func @dense(A: f16[64, 256], W: f16[512, 256, NK32n]) -> (out: f16[64, 512]) {\n"
    "  for i < 64, j < 512, k < 256:\n"
    "    block out(i: spatial, j: spatial, k: reduce):\n"
    "      init out[i, j] = 0\n"
    "      out[i, j] = out[i, j] + A[i, k] * W[j, k]\n"
    "}\n";
static const char conv[] =
    "func @conv(x: f32[1, 32, 14, 14, NCHW16c], w: f32[64, 32, 3, 3, OIHW16i16o]) -> "
    "(out: f32[1, 64, 14, 14, NCHW16c]) {\n"
    "  for n < 1, oc < 64, oh < 14, ow < 14, ic < 32, kh < 3, kw < 3:\n"
    "    block out(n: spatial, oc: spatial, oh: spatial, ow: spatial, ic: reduce, kh: reduce, kw: reduce) "
    "mask 0 < oh + kh and oh + kh < 15 and 0 < ow + kw and ow + kw < 15:\n"
    "      init out[n, oc, oh, ow] = 0\n"
    "      out[n, oc, oh, ow] = out[n, oc, oh, ow] + x[n, ic, oh + kh - 1, ow + kw - 1] * w[oc, ic, kh, kw]\n"
    "}\n";
static const char strided[] = /* the same loops */
    "func @conv(x: f32[1, 32, 28, 28, NCHW16c], w: f32[64, 32, 3, 3, OIHW16i16o]) -> "
    "(out: f32[1, 64, 14, 14, NCHW16c]) {\n"
    "  for n < 1, oc < 64, oh < 14, ow < 14, ic < 32, kh < 3, kw < 3:\n"
    "    block out(n: spatial, oc: spatial, oh: spatial, ow: spatial, ic: reduce, kh: reduce, kw: reduce) "
    "mask 0 < oh*2 + kh and 0 < ow*2 + kw:\n"
    "      init out[n, oc, oh, ow] = 0\n"
    "      out[n, oc, oh, ow] = out[n, oc, oh, ow] + x[n, ic, oh*2 + kh - 1, ow*2 + kw - 1] * w[oc, ic, kh, kw]\n"
    "}\n";
static const char batch_matmul[] =
    "func @bmm(A: f32[8, 64, 32], B: f32[8, 48, 32]) -> (out: f32[8, 64, 48]) {\n"
    "  for b < 8, i < 64, j < 48, k < 32:\n"
    "    block out(b: spatial, i: spatial, j: spatial, k: reduce):\n"
    "      init out[b, i, j] = 0\n"
    "      out[b, i, j] = out[b, i, j] + A[b, i, k] * B[b, j, k]\n"
    "}\n";
static const char bytes[] =
    "func @dense(A: u8[64, 64], W: i8[128, 64, NK16n4k]) -> (out: i32[64, 128]) {\n"
    "  for i < 64, j < 128, k < 64:\n"
    "    block out(i: spatial, j: spatial, k: reduce):\n"
    "      init out[i, j] = 0\n"
    "      out[i, j] = out[i, j] + i32(A[i, k]) * i32(W[j, k])\n"
    "}\n";
static const char rows_of_weights[] = /* which sketches put into tiles */
    "func @dense(A: u8[64, 64], W: i8[64, 128]) -> (out: i32[64, 128]) {\n"
    "  for i < 64, j < 128, k < 64:\n"
    "    block out(i: spatial, j: spatial, k: reduce):\n"
    "      init out[i, j] = 0\n"
    "      out[i, j] = out[i, j] + i32(A[i, k]) * i32(W[k, j])\n"
    "}\n";
static const char softmax[] =
    "func @softmax(x: f32[64, 512]) -> (y: f32[64, 512]) {\n"
    "  buffer m: f32[64]\n"
    "  buffer e: f32[64, 512]\n"
    "  buffer t: f32[64]\n"
    "  for i < 64, j < 512:\n"
    "    block m(i: spatial, j: reduce):\n"
    "      init m[i] = f32(-inf)\n"
    "      m[i] = max(m[i], x[i, j])\n"
    "  for i < 64, j < 512:\n"
    "    block e(i: spatial, j: spatial):\n"
    "      e[i, j] = exp(x[i, j] - m[i])\n"
    "  for i < 64, j < 512:\n"
    "    block t(i: spatial, j: reduce):\n"
    "      init t[i] = 0\n"
    "      t[i] = t[i] + e[i, j]\n"
    "  for i < 64, j < 512:\n"
    "    block y(i: spatial, j: spatial):\n"
    "      y[i, j] = e[i, j]/t[i]\n"
    "}\n";
static const char conv_of_bytes[] =
    "func @conv(x: u8[1, 64, 14, 14, NCHW16c], w: i8[32, 64, 3, 3, OIHW4i16o4i]) -> "
    "(out: i32[1, 32, 14, 14, NCHW16c]) {\n"
    "  for n < 1, oc < 32, oh < 14, ow < 14, ic < 64, kh < 3, kw < 3:\n"
    "    block out(n: spatial, oc: spatial, oh: spatial, ow: spatial, ic: reduce, kh: reduce, kw: reduce) "
    "mask 0 < oh + kh and oh + kh < 15 and 0 < ow + kw and ow + kw < 15:\n"
    "      init out[n, oc, oh, ow] = 0\n"
    "      out[n, oc, oh, ow] = out[n, oc, oh, ow] + i32(x[n, ic, oh + kh - 1, ow + kw - 1]) * i32(w[oc, ic, kh, kw])\n"
    "}\n";
static const char total[] =
    "func @total(x: f32[4096, 64]) -> (out: f32[]) {\n"
    "  for i < 4096, j < 64:\n"
    "    block out(i: reduce, j: reduce):\n"
    "      init out[] = 0\n"
    "      out[] = out[] + x[i, j]\n"
    "}\n";
static const char columns[] =
    "func @columns(x: f32[65536, 64]) -> (out: f32[64]) {\n"
    "  for j < 64, i < 65536:\n"
    "    block out(j: spatial, i: reduce):\n"
    "      init out[j] = 0\n"
    "      out[j] = out[j] + x[i, j]\n"
    "}\n";
static const char more_columns[] = /* of as many terms */
    "func @columns(x: f32[65536, 128]) -> (out: f32[128]) {\n"
    "  for j < 128, i < 65536:\n"
    "    block out(j: spatial, i: reduce):\n"
    "      init out[j] = 0\n"
    "      out[j] = out[j] + x[i, j]\n"
    "}\n";
static const char sums_of_rows[] =
    "func @rows(x: f32[8, 65536]) -> (out: f32[8]) {\n"
    "  for i < 8, j < 65536:\n"
    "    block out(i: spatial, j: reduce):\n"
    "      init out[i] = 0\n"
    "      out[i] = out[i] + x[i, j]\n"
    "}\n";
static const char elementwise[] =
    "func @ew(x: f32[64, 512]) -> (out: f32[64, 512]) {\n"
    "  for i < 64, j < 512:\n"
    "    block out(i: spatial, j: spatial):\n"
    "      out[i, j] = max(x[i, j], 0)\n"
    "}\n";

/* The loops of functions, whose lanes are 16, and which lines of the database fit them. */
static const struct { const char *func; uint32_t fits; int strange; const char *wishes; } rows[] = {
    {dense,         1u << DENSE, 0,
     "rows=4 pixels=4 vectors=2 lanes=1 inner0=4 middle0=2 outer0=2 inner1=2 middle1=2 outer1=4 sum2=8"},
    {rows_of_batch, 1u << DENSE, 0,
     "rows=4 pixels=4 vectors=2 lanes=1 inner0=4 middle0=2 outer0=2 inner1=2 middle1=2 outer1=4 sum2=8"},
    {any_rows,      1u << DENSE, 0,
     "rows=4 pixels=4 vectors=2 lanes=1 inner0=4 middle0=2 outer0=2 inner1=2 middle1=2 outer1=4 sum2=8"},
    {half,          0, 0, NULL},
    {conv,          1u << CONV_NCHW | 1u << CONV_NHWC | 1u << CONV_NCHW8C, 0, /* of 64 channels, 14 rows and columns */
     "rows=7 pixels=7 vectors=2 lanes=1 inner0=1 middle0=1 outer0=1 inner1=2 middle1=1 outer1=1 inner2=1 middle2=2 "
     "outer2=1 inner3=7 middle3=1 outer3=1 sum4=4 sum5=1 sum6=3"},
    {strided,       1u << CONV_NCHW | 1u << CONV_NHWC | 1u << CONV_NCHW8C, 1, NULL},
    {batch_matmul,  1u << BATCH_MATMUL, 0, NULL},
    {elementwise,   0, 0, NULL},
    {bytes,         1u << DENSE_UNIT, 0,
     "rows=4 pixels=4 vectors=2 lanes=1 inner0=4 middle0=1 outer0=4 inner1=2 middle1=1 outer1=2 sum2=16"},
    {conv_of_bytes, 1u << CONV_UNIT, 0, /* 64 input channels by 4, 4 and 4 */
     "rows=7 pixels=7 vectors=1 lanes=1 inner0=1 middle0=1 outer0=1 inner1=1 middle1=1 outer1=1 inner2=1 middle2=1 "
     "outer2=1 inner3=7 middle3=1 outer3=2 sum4=8 sum5=1 sum6=1"},
    {total,         1u << TOTAL, 0, "rfactor=1 parts=16"},
    {columns,       1u << COLUMNS, 0, "rfactor=1 parts=4"},
    {more_columns,  0, 0, NULL},
    {softmax,       1u << SOFTMAX, 0, "rfactor=1 parts=64"},
    {sums_of_rows,  1u << ROWS, 0, "chains=2 lanes=1"},
};
/* clang-format on */

static const char *wishes(bench *x, const tn_tiling_fit *fit)
{
    const char *all = "";
    for (uint32_t i = 0; i < fit->n; i++)
        all = tn_arena_printf(&x->arena, "%s%s%s=%lld", all, i ? " " : "", fit->wish[i].role,
                              (long long)fit->wish[i].number);
    return all;
}

static void tile_sizes_find_their_loops(void **state)
{
    (void)state;
    bench x;
    tn_machine m;
    tn_records r;
    uint32_t line;
    bench_init(&x);
    machine_named(&x, "avx512", &m);
    tn_records_init(&r);
    tn_file f = map_database(&x.ctx);
    assert_null(tn_records_parse(&r, (const char *)f.at, f.n, NULL, &line));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_tiled_loops loops;
        bool any = tn_tiled_loops_read(read_func(&x, rows[i].func), &m, &x.arena, &x.pool, &loops);
        bool told = !rows[i].wishes;
        assert_true(any || !rows[i].fits);
        for (uint32_t w = 0; w < WORKLOADS && any; w++) {
            tn_tiling_fit fit;
            bool fits = r.tvm.at[w].n_tiling && tn_tiling_fits(&loops, r.tvm.at[w].tiling, &x.arena, &fit);
            if (fits != (rows[i].fits >> w & 1))
                fail_msg("row %zu, workload %u: %d", i, (unsigned)w, fits);
            if (!fits)
                continue;
            assert_int_equal(fit.strange, rows[i].strange);
            if (!told)
                assert_string_equal(wishes(&x, &fit), rows[i].wishes);
            told = true;
        }
    }
    tn_file_unmap(&f);
    tn_records_deinit(&r);
    bench_deinit(&x);
}

/* The lanes of a unit count in vectors of this machine. Parts of every so many'th term are lanes only where lanes run
 * along the reduction; and parts are of nothing where nobody knows how many results there are. */
static void lanes_are_of_this_machine(void **state)
{
    (void)state;
    static const tn_operand wide[] = {{"float32", 65536 * 64}, {"float32", 64}}, narrow[] = {{"float32", 64}};
    tn_tiling parts = {.n = 1,
                       .axis = {{.extent = 65536, .reduces = true}},
                       .n_operand = 2,
                       .operand = wide,
                       .parts = 4,
                       .interleaved = true};
    bench x;
    tn_machine m;
    tn_records r;
    tn_tiled_loops loops;
    tn_tiling_fit fit;
    uint32_t line;
    bench_init(&x);
    machine_named(&x, "avx2", &m);
    tn_records_init(&r);
    tn_file f = map_database(&x.ctx);
    assert_null(tn_records_parse(&r, (const char *)f.at, f.n, NULL, &line));
    assert_true(tn_tiled_loops_read(read_func(&x, rows_of_weights), &m, &x.arena, &x.pool, &loops));
    assert_true(tn_tiling_fits(&loops, r.tvm.at[DENSE_UNIT].tiling, &x.arena, &fit));
    assert_string_equal(wishes(&x, &fit), "rows=4 pixels=4 vectors=4 lanes=1 inner0=4 middle0=1 outer0=4 "
                                          "inner1=4 middle1=1 outer1=2 sum2=16");
    assert_true(tn_tiled_loops_read(read_func(&x, sums_of_rows), &m, &x.arena, &x.pool, &loops));
    assert_true(tn_tiling_fits(&loops, r.tvm.at[ROWS].tiling, &x.arena, &fit));
    assert_string_equal(wishes(&x, &fit), "chains=4 lanes=1");
    assert_true(tn_tiled_loops_read(read_func(&x, columns), &m, &x.arena, &x.pool, &loops));
    assert_true(tn_tiling_fits(&loops, &parts, &x.arena, &fit));
    assert_string_equal(wishes(&x, &fit), "chains=4 rfactor=1 parts=4");
    parts.n_operand = 1;
    parts.operand = narrow; /* of another number of results */
    assert_false(tn_tiling_fits(&loops, &parts, &x.arena, &fit));
    parts.n_operand = 0;
    assert_false(tn_tiling_fits(&loops, &parts, &x.arena, &fit));
    assert_true(tn_tiled_loops_read(read_func(&x, total), &m, &x.arena, &x.pool, &loops));
    assert_false(
        tn_tiling_fits(&loops, r.tvm.at[DENSE].tiling, &x.arena, &fit)); /* it is not put into tiles */
    tn_file_unmap(&f);
    tn_records_deinit(&r);
    bench_deinit(&x);
}

/* The choices of both generators that are nearest. */
static void choices_are_near(void **state)
{
    (void)state;
    static const struct {
        const char *func;
        const tn_sched_generator *generator;
        uint32_t workload;
        const char *pick[3];
        int64_t number[3];
    } want[] = {
        {dense, &tn_rules_generator, DENSE, {"acc.rows", "acc.vectors"}, {4, 2}},
        {dense, &tn_sketch_generator, DENSE, {"acc.inner0", "acc.inner1", "acc.sum2"}, {4, 2, 8}},
        {conv, &tn_rules_generator, CONV_NHWC, {"out.pixels", "out.vectors"}, {14, 2}},
        {conv, &tn_sketch_generator, CONV_NCHW, {"out.inner1", "out.inner3", "out.sum4"}, {2, 7, 4}},
        {conv, &tn_sketch_generator, CONV_NCHW8C, {"out.inner1", "out.inner2", "out.sum4"}, {1, 1, 2}},
        {bytes, &tn_rules_generator, DENSE_UNIT, {"out.rows", "out.vectors"}, {4, 2}},
        {rows_of_weights,
         &tn_sketch_generator,
         DENSE_UNIT,
         {"out.inner0", "out.inner1", "out.sum2"},
         {4, 2, 16}},
        {conv_of_bytes, &tn_rules_generator, CONV_UNIT, {"out.pixels", "out.vectors"}, {7, 1}},
        {total, &tn_rules_generator, TOTAL, {"out.parts"}, {16}},
        {total, &tn_sketch_generator, TOTAL, {"out.parts"}, {16}},
        {columns, &tn_rules_generator, COLUMNS, {"out.parts"}, {4}},
        {columns, &tn_sketch_generator, COLUMNS, {"out.parts"}, {4}},
        {sums_of_rows, &tn_rules_generator, ROWS, {"out.chains"}, {2}},
    };
    bench x;
    tn_machine m;
    tn_records r;
    uint32_t n;
    bench_init(&x);
    machine_named(&x, "avx512", &m);
    tn_records_init(&r);
    tn_file f = map_database(&x.ctx);
    assert_null(tn_records_parse(&r, (const char *)f.at, f.n, NULL, &n));
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        tn_func *func = read_func(&x, want[i].func);
        const tn_space space = {want[i].generator, func, &m, 0};
        tn_tiled_loops loops;
        tn_tiling_fit fit;
        tn_sched s;
        assert_true(tn_tiled_loops_read(func, &m, &x.arena, &x.pool, &loops));
        assert_true(tn_tiling_fits(&loops, r.tvm.at[want[i].workload].tiling, &x.arena, &fit));
        assert_int_equal(tn_explore_near(&space, fit.n, fit.wish, &x.arena, &x.pool, &s, &n), TN_DONE);
        for (int w = 0; w < 3 && want[i].pick[w]; w++) {
            uint32_t k = 0;
            while (k < s.picked.n && strcmp(s.picked.at[k].name, want[i].pick[w]) != 0)
                k++;
            if (k == s.picked.n)
                fail_msg("row %zu: no %s", i, want[i].pick[w]);
            assert_int_equal(s.picked.at[k].candidate[s.picked.at[k].index].number, want[i].number[w]);
        }
    }
    tn_file_unmap(&f);
    tn_records_deinit(&r);
    bench_deinit(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_tvm),
        cmocka_unit_test(lines_by_hand),
        cmocka_unit_test(damaged_lines),
        cmocka_unit_test(tile_sizes_find_their_loops),
        cmocka_unit_test(lanes_are_of_this_machine),
        cmocka_unit_test(choices_are_near),
    };
    return cmocka_run_group_tests_name("tune_tilings", tests, NULL, NULL);
}
