/* Core ML's models, written as texts of their messages: what they become, what is said of wrong ones, and what small
 * networks and programs compute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"
#include "wire/pb_text.h"

/* Version 1, an input x and an output y of arrays of these shapes; layers stand in a network (500). */
#define FEATURE(n, name, shape) n "{ 1'" name "' 3{ 5{ 1(" shape ") 2:65568 } } } "
#define DESCRIBED(in, out) "1:1 2{ " FEATURE("1", "x", in) FEATURE("10", "y", out) "} "
#define NET(in, out, layers) DESCRIBED(in, out) "500{ " layers " }"
#define NET_ND(in, out, layers) DESCRIBED(in, out) "500{ 5:1 " layers " }"
#define LAYER(params) "1{ 1'a' 2'x' 3'y' " params " } "
/* One function `main` with one block; `type` is that of a tensor [2] of float32. */
#define TYPE "{ 1{ 1:11 2:1 3{ 1{ 1:2 } } } }"
#define PROGRAM_OF(n, operations) \
    DESCRIBED(n, n) \
    "502{ 1:1 2{ 1'main' 2{ 1{ 1'x' 2{ 1{ 1:11 2:1 3{ 1{ 1:" n \
    " } } } } } 2'CoreML5' 3{ 1'CoreML5' 2{ 2'y' " operations " } } } } }"
#define PROGRAM(operations) PROGRAM_OF("2", operations)
#define CONST(name, type, value) \
    "3{ 1'const' 3{ 1'" name "' } 5{ 1'val' 2{ 2{ 1{ " type " } } 3{ 1{ " value " } } } } } "

/* Operations of a program, and layers of a network, whose results have a name. */
// clang-format off
#define ARG(key, name) "2{ 1'" key "' 2{ 1{ 1'" name "' } } } "
#define OP(type, args, out) "3{ 1'" type "' " args "3{ 1'" out "' } } "
#define TO(in, out, params) "1{ 1'" out "' 2'" in "' 3'" out "' " params " } "
#define COPY(in, out) TO(in, out, "600{ }")
#define NUMBER(name, value) CONST(name, "1:11 2:0", "1{ 1[" value "] }")
/* Their sum as s, and whether it is above 0 as p. */
#define SUM_CHECKED \
    CONST("a", "1:23 2:1 3{ 1{ 1:1 } }", "2{ 1(0) }") \
    CONST("k", "1:1 2:0", "3{ 1(0) }") \
    NUMBER("zero", "0") OP("reduce_sum", ARG("x", "x") ARG("axes", "a") ARG("keep_dims", "k"), "s") \
        OP("greater", ARG("x", "s") ARG("y", "zero"), "p")
/* The same of a network; numbers of layers. */
#define ABOVE TO("x", "s", "1270{ 1(0) }") TO("s", "p", "830{ 2=0 }")
#define TWICE(in, out) TO(in, out, "231{ 1=2 }")
#define PLUS(in, out) TO(in, out, "230{ 1=1 }")
#define BLOCK(takes, gives, operations) "4{ " takes "2'" gives "' " operations " } "

#define FLAT "3{ 1{ 1:4 } } " /* dimensions of constants */
#define RANK2(n) "3{ 1{ 1:1 } } 3{ 1{ 1:" n " } } "
#define TEXT(name, value) CONST(name, "1:2 2:0", "4{ 1'" value "' }")
#define INT(name, value) CONST(name, "1:23 2:0", "2{ 1(" value ") }")
/* x [4] as an image of 2 by 2, its whole cut out */
#define CROPPED(mode) \
    CONST("square", "1:23 2:1 " FLAT, "2{ 1(1 1 2 2) }") TEXT("mode", mode) INT("size", "2") \
    CONST("box", "1:11 2:5 3{ 1{ 1:1 } } " RANK2("4") RANK2("1"), "1{ 1[0 0 1 1] }") \
    OP("reshape", ARG("x", "x") ARG("shape", "square"), "image") \
    OP("crop_resize", ARG("x", "image") ARG("roi", "box") ARG("target_height", "size") ARG("target_width", "size") \
        ARG("sampling_mode", "mode"), "y")
/* x [2] as scores of two boxes, as far apart as it says */
#define SUPPRESSED(apart) \
    CONST("three", "1:23 2:1 3{ 1{ 1:3 } } ", "2{ 1(1 2 1) }") \
    NUMBER("overlap", "0.5") NUMBER("least", "0") INT("most", "2") \
    CONST("box", "1:11 2:3 3{ 1{ 1:1 } } 3{ 1{ 1:2 } } 3{ 1{ 1:4 } } ", "1{ 1[0 0 1 1 " apart " 0 1 1] }") \
    OP("reshape", ARG("x", "x") ARG("shape", "three"), "score") \
    "3{ 1'non_maximum_suppression' " ARG("boxes", "box") ARG("scores", "score") ARG("iou_threshold", "overlap") \
        ARG("score_threshold", "least") ARG("max_boxes", "most") "3{ 1'b' } 3{ 1'y' } 3{ 1'at' } 3{ 1'n' } } "
#define SCATTERED \
    CONST("at", "1:23 2:1 3{ 1{ 1:1 } }", "2{ 1(-1) }") CONST("u", "1:11 2:1 3{ 1{ 1:1 } }", "1{ 1[7] }") \
    TEXT("how", "add") \
    OP("scatter", ARG("data", "x") ARG("indices", "at") ARG("updates", "u") ARG("mode", "how"), "y")
#define PAIRS(n) "3{ 1{ 1:1 } } 3{ 1{ 1:" n " } } "
/* x [2] and four weights w [1,4] of 4 bits, -8 to 7: 1 -2 3 -4, of which two have one scale */
#define SCALED \
    CONST("q", "1:25 2:2 " PAIRS("4"), "7{ 1'\xe1\xc3' }") CONST("s", "1:11 2:2 " PAIRS("2"), "1{ 1[0.5 2] }") \
    OP("constexpr_blockwise_shift_scale", ARG("data", "q") ARG("scale", "s"), "w")
/* ... of 2 bits, 3 0 2 1, in a table for each two of them */
#define LOOKED_UP(bytes) \
    CONST("q", "1:36 2:2 " PAIRS("4"), "7{ 1'" bytes "' }") \
    CONST("t", "1:11 2:4 3{ 1{ 1:1 } } 3{ 1{ 1:2 } } 3{ 1{ 1:4 } } 3{ 1{ 1:1 } } ", "1{ 1[0 1 2 3 10 11 12 13] }") \
    OP("constexpr_lut_to_dense", ARG("indices", "q") ARG("lut", "t"), "w")
#define MASKED \
    CONST("m", "1:37 2:2 " PAIRS("4"), "7{ 1'\x0a' }") CONST("v", "1:11 2:1 3{ 1{ 1:2 } } ", "1{ 1[5 6] }") \
    OP("constexpr_sparse_to_dense", ARG("nonzero_data", "v") ARG("mask", "m"), "w")
/* ... in a table of 1 2 3 4 for each two, less 1 and halved, less 2 and doubled */
#define BLOCKS(n, entries) "3{ 1{ 1:1 } } 3{ 1{ 1:" n " } } 3{ 1{ 1:" entries " } } 3{ 1{ 1:1 } } "
#define LOOKED_UP_TWICE(blocks, scales) \
    CONST("q", "1:36 2:2 " PAIRS("4"), "7{ 1'\x63' }") \
    CONST("ts", "1:11 2:4 " BLOCKS(blocks, "1"), "1{ 1[" scales "] }") \
    CONST("t8", "1:31 2:4 " BLOCKS("2", "4"), "7{ 1'\x01\x02\x03\x04\x01\x02\x03\x04' }") \
    CONST("to", "1:31 2:4 " BLOCKS("2", "1"), "7{ 1'\x01\x02' }") \
    OP("constexpr_blockwise_shift_scale", ARG("data", "t8") ARG("scale", "ts") ARG("offset", "to"), "t") \
    OP("constexpr_lut_to_dense", ARG("indices", "q") ARG("lut", "t"), "w")
/* the second and the fourth element of w: what an operation of two results makes of v, 8 bits each */
#define KEPT(values, n, type, args) \
    CONST("m", "1:37 2:2 " PAIRS("4"), "7{ 1'\x0a' }") CONST("v", "1:31 2:1 3{ 1{ 1:" n " } } ", "7{ 1'" values "' }") \
    args "3{ 1'" type "' " KEPT_ARGS "3{ 1'm2' } 3{ 1'v2' } } " \
    OP("constexpr_sparse_to_dense", ARG("nonzero_data", "v2") ARG("mask", "m2"), "w")
#define KEPT_ARGS ARG("indices_mask", "m") ARG("indices_nonzero_data", "v") ARG("lut", "t")
#define KEPT_TABLE(values, n) \
    KEPT(values, n, "constexpr_lut_to_sparse", CONST("t", "1:11 2:4 " BLOCKS("2", "4"), "1{ 1[0 1 2 3 10 11 12 13] }"))
#define KEPT_SCALED(blocks, scales) \
    CONST("m", "1:37 2:2 " PAIRS("4"), "7{ 1'\x0a' }") CONST("v", "1:31 2:1 3{ 1{ 1:2 } } ", "7{ 1'\x05\x06' }") \
    CONST("s", "1:11 2:2 " PAIRS(blocks), "1{ 1[" scales "] }") \
    "3{ 1'constexpr_sparse_blockwise_shift_scale' " ARG("data_mask", "m") ARG("nonzero_data", "v") ARG("scale", "s") \
        "3{ 1'm2' } 3{ 1'v2' } } " OP("constexpr_sparse_to_dense", ARG("nonzero_data", "v2") ARG("mask", "m2"), "w")
/* A list l of two zeros, or of one that may grow; x [2] is written to element `at`, and element `from` is y. */
#define LIST(n, grows, extent) \
    LIST_OF(n, grows, INT("e", extent))
#define LIST_OF(n, grows, extent) \
    INT("n", n) CONST("g", "1:1 2:0", "3{ 1(" grows ") }") extent \
    OP("make_list", ARG("init_length", "n") ARG("dynamic_length", "g") ARG("elem_shape", "e"), "l")
#define WRITTEN(at) INT("at", at) OP("list_write", ARG("ls", "l") ARG("index", "at") ARG("value", "x"), "l2")
#define ELEMENT(list, from) INT("from", from) OP("list_read", ARG("ls", list) ARG("index", "from"), "y")
#define LENGTH \
    OP("list_length", ARG("ls", "l2"), "i") TEXT("f", "fp32") OP("cast", ARG("x", "i") ARG("dtype", "f"), "w") ADDED
/* Elements 3 and 0 are x and 2 x; y is element 0 and twice element 3. */
#define TWO_WRITTEN \
    CONST("axis", "1:23 2:0", "2{ 1(0) }") CONST("at", "1:23 2:1 3{ 1{ 1:2 } }", "2{ 1(3 0) }") NUMBER("two", "2") \
    OP("mul", ARG("x", "x") ARG("y", "two"), "x2") \
    "3{ 1'stack' 2{ 1'values' 2{ 1{ 1'x' } 1{ 1'x2' } } } " ARG("axis", "axis") "3{ 1'both' } } " \
    OP("list_scatter", ARG("ls", "l") ARG("indices", "at") ARG("value", "both"), "l2") \
    OP("list_gather", ARG("ls", "l2") ARG("indices", "at"), "rows") \
    CONST("k", "1:1 2:0", "3{ 1(0) }") CONST("a", "1:23 2:1 3{ 1{ 1:1 } }", "2{ 1(0) }") \
    CONST("by", "1:11 2:2 3{ 1{ 1:2 } } 3{ 1{ 1:1 } }", "1{ 1[2 1] }") \
    OP("mul", ARG("x", "rows") ARG("y", "by"), "p") \
    OP("reduce_sum", ARG("x", "p") ARG("axes", "a") ARG("keep_dims", "k"), "y")
#define ADDED OP("add", ARG("x", "x") ARG("y", "w"), "y")
// clang-format on

static tn_status import_text(model *m, const char *text, tn_buf *file)
{
    (void)pb_text(file, text);
    m->file = (tn_file){(const uint8_t *)file->at, file->n, 0};
    TN_TRY(tn_import(&m->g, "a.mlmodel", &m->file, "coreml", NULL));
    return tn_relay_verify(&m->g);
}

static const struct {
    const char *text, *want[2];
} cases[] = {
    /* a list is [1, c, 1, 1] inside */
    {NET("3", "3", LAYER("130{ 10{ } }")), {"reshape(%x, newshape=[1, 3, 1, 1])", "outputs = [\"y\"]"}},
    {NET("2 3 4", "2 3 4", LAYER("130{ 25{ 1{ 1[0.5] } } }")), {"nn.prelu(", "Tensor[(2, 3, 4), float32]"}},
    {NET_ND("2 3", "2 3", LAYER("950{ 1:1 }")), {"nn.softmax(%x, axis=1)", NULL}},
    {NET("1 3 4", "1 3 4", LAYER("120{ 10(2 2) 20(1 1) 31{ 1:1 } }")),
     {"nn.max_pool2d(", "padding=[1, 1, 0, 0]"}},
    {NET("1 4 4", "1 4 4", LAYER("100{ 1:1 2:1 20(1 1) 51{ } 90{ 1[2] } }")), {"nn.conv2d(", "channels=1"}},
    /* an image with its preprocessing */
    {"1:1 2{ 1{ 1'x' 3{ 4{ 1:4 2:3 3:30 } } } 10{ 1'y' 3{ 5{ } } } } 500{ 2{ 10{ 10=0.5 20=1 21=2 22=3 } "
     "} " LAYER("130{ 40{ } }") "}",
     {"%x: Tensor[(1, 3, 3, 4), float32]", "multiply(%x, 0.5f)"}},
    {PROGRAM("3{ 1'relu' 2{ 1'x' 2{ 1{ 1'x' } } } 3{ 1'y' } }"), {"nn.relu(%x)", "outputs = [\"y\"]"}},
    {PROGRAM(CONST("k", "1:23 2:0", "2{ 1(0) }") CONST(
         "e", "1:1 2:0", "3{ 1(1) }") "3{ 1'cumsum' 2{ 1'x' 2{ 1{ 1'x' } } } 2{ 1'axis' 2{ 1{ 1'k' "
                                      "} } } 2{ 1'exclusive' 2{ 1{ 1'e' } } } 3{ 1'y' } }"),
     {"cumsum(%x, axis=0, exclusive=True)", NULL}},
    /* the last type counts, whatever it said before */
    {"1:1 2{ 1{ 1'x' 3{ 5{ 1(1 1 1 1 1 1 1 1) } 5{ 1(3 1 1 1 1 1 1 1) } 5{ 1(2) } } } " FEATURE(
         "10", "y", "2") "} "
                         "500{ 5:1 " LAYER("130{ 10{ } }") "}",
     {"@main(%x: Tensor[(2), float32]", NULL}},
    /* a state, which the run adds to */
    {"1:1 2{ " FEATURE("1", "x", "2") FEATURE(
         "10", "y", "2") "13{ 1's' 3{ 8{ 1{ 1(2) 2:65568 } } } } } 502{ 2{ 1'main' 2{ "
                         "1{ 1'x' 2" TYPE " } 1{ 1's' 2{ 5{ 1" TYPE
                         " } } } 3{ 1'C' 2{ 2'y' 3{ 1'read_state' 2{ 1'input' 2{ 1{ 1's' } } } 3{ "
                         "1'r' } } 3{ 1'add' 2{ 1'x' 2{ 1{ 1'x' } } } 2{ 1'y' 2{ 1{ 1'r' } } } 3{ 1'y' } } "
                         "3{ 1'write_state' 2{ "
                         "1'input' 2{ 1{ 1's' } } } 2{ 1'data' 2{ 1{ 1'y' } } } } } } } } }",
     {"#[state = [\"s\", ", "add(%x, %s)"}},
    /* a state is written, and read again: the result is made of what was written */
    {"1:1 2{ " FEATURE("1", "x", "2")
         FEATURE("10", "y", "2") "13{ 1's' 3{ 8{ 1{ 1(2) 2:65568 } } } } } 502{ 2{ 1'main' 2{ "
                                 "1{ 1'x' 2" TYPE " } 1{ 1's' 2{ 5{ 1" TYPE
                                 " } } } 3{ 1'C' 2{ 2'y' 3{ 1'write_state' 2{ 1'input' 2{ 1{ 1's' } } } "
                                 "2{ 1'data' 2{ 1{ 1'x' } } } } "
                                 "3{ 1'read_state' 2{ 1'input' 2{ 1{ 1's' } } } 3{ 1'r' } } "
                                 "3{ 1'relu' 2{ 1'x' 2{ 1{ 1'r' } } } 3{ 1'y' } } } } } } }",
     {"#[state = [\"s\", ", "nn.relu(%x)"}},
    /* wrong */
    {"1:1 2{ }", {"it has neither layers nor a program; download or export it again [coreml-E001]"}},
    {"1:1 2{ } 402{ }", {"this is a tree ensemble; only neural networks", "[coreml-E002]"}},
    {NET("2", "2", "1{ 1'a' 2'q' 3'y' 130{ 10{ } } }"), {"operand \"q\" is not an input", "[coreml-E001]"}},
    {NET("2", "2", "1{ 1'a' 2'x' 3'y' }"),
     {"node a (unknown): error: operator unknown is not supported", "[coreml-E004]"}},
    {NET("2", "2", LAYER("500{ 10'Glow' }")),
     {"node a (custom): error: the layer is code of an app, class \"Glow\", which the file does not have",
      "[coreml-E004]"}},
    {PROGRAM("3{ 1'custom_layer' 3{ 1'y' } 5{ 1'class_name' 2{ 3{ 1{ 4{ 1'Glow' } } } } } }"),
     {"(custom_layer): error: the layer is code of an app, class \"Glow\"", "[coreml-E004]"}},
    {PROGRAM("3{ 1'write_state' 2{ 1'input' 2{ 1{ 1'x' } } } 2{ 1'data' 2{ 1{ 1'x' } } } 3{ 1'y' } }"),
     {"operand input is no state; the model is damaged", "[coreml-E006]"}},
    {NET_ND("1 2 3 4 5", "1", LAYER("1465{ 1:1 2:-9223372036854775808 3:1 4:1 5:1 6:1 7:1 15:2 }")),
     {"strides, dilations and windows must be at least 1, and smaller than 2^31", "[coreml-E005]"}},
    {NET("1 3 4", "1 3 4", LAYER("310{ 1(0 1) }")),
     {"an order of 2 dimensions does not fit", "[coreml-E005]"}},
    {PROGRAM("3{ 1'conv_quantized' 2{ 1'x' 2{ 1{ 1'x' } } } 3{ 1'y' } }"),
     {"(conv_quantized)", "[coreml-E006]"}},
    {NET_ND("2", "2", LAYER("1170{ 1:-1 }")),
     {"warning: it has no seed; the compiled model draws the same random numbers in every run "
      "[coreml-W001]"}},
    {NET_ND("2", "2", LAYER("1230{ 1:3 2:1 3:1 }")),
     {"classes are drawn of Tensor[(2), float32] at temperature 0, which must be above 0", "[coreml-E005]"}},
    {NET("2", "2", LAYER("140{ 1:2 2:1 20{ 1[1 2 3] } }")),
     {"weights has 12 bytes, but its dimensions need 8", "[coreml-E001]"}},
    {NET("2", "2", LAYER("140{ 1:2 2:1 20{ 30'ab' 40{ 1:9 } } }")),
     {"quantised weights have 1 to 8 bits", "[coreml-E001]"}},
    {NET("2", "3", LAYER("140{ 1:2 2:3 20{ 31'abcdef' 40{ 1:8 101{ 1[1 2] } } } }")),
     {"they have neither one scale nor one for each channel", "[coreml-E001]"}},
    {PROGRAM(CONST("q", "1:31 2:1 3{ 1{ 1:1 } }", "7{ 1'a' }")
                 CONST("t", "1:21 2:1 3{ 1{ 1:16 } }", "7{ 1'0123456789abcdef' }")
                     CONST("n", "1:24 2:1 3{ 1{ 1:1 } }",
                           "5{ 1(4611686018427387904) }") "3{ 1'constexpr_lut_to_dense' 2{ 1'indices' 2{ 1{ "
                                                          "1'q' } } } 2{ 1'lut' 2{ 1{ 1't' } } } "
                                                          "2{ 1'shape' 2{ 1{ 1'n' } } } 3{ 1'y' } }"),
     {"a table of 16 entries and 1 bytes of positions do not fit", "[coreml-E001]"}},
    {NET("2", "2", LAYER("220{ 1:9 }")),
     {"type 9 of a unary function is not known; export the model again, or "
      "report this if it runs elsewhere [coreml-E005]"}},
    {NET("2", "2", LAYER("270{ }")), {"operand 1 is missing", "[coreml-E006]"}},
    {"1:1 2{ 1{ 1'x' 3{ 3{ } } } 10{ 1'y' 3{ 5{ } } } } 500{ }",
     {"neither an array nor an image nor a number; export the model again, or "
      "report this if it runs elsewhere [coreml-E007]"}},
    {PROGRAM("3{ 1'relu' 2{ 1'x' 2{ 1{ 2{ 2" TYPE " 5{ 1'@model_path/w.bin' 2:64 } } } } } 3{ 1'y' } }"),
     {"there is no file \"w.bin\" beside the model", "[coreml-E003]"}},
    {PROGRAM("3{ 1'relu' 2{ 1'x' 2{ 1{ 1'x' } } } 2{ 1'z' 2{ 1{ 1'x' } } } 3{ 1'y' } }"),
     {"operand z is not supported, or it must be known at compile time; export"}},
    /* ranks other than the operators read */
    {NET_ND("2 3", "2 3", LAYER("1350{ 1:1 1:1 1:1 1:1 1:1 1:1 1:1 1:1 1:1 1:1 }")),
     {"must have at least 10 dimensions", "[coreml-E006]"}},
    {PROGRAM(NUMBER("a", "2") OP("prelu", ARG("x", "x") ARG("alpha", "a"), "y")), {"nn.prelu(%x, 2f)", NULL}},
    {PROGRAM(OP("instance_norm", ARG("x", "x"), "y")),
     {"data Tensor[(2), float32] has no channels of images", "[coreml-E006]"}},
    {PROGRAM("3{ 1'while_loop' 3{ 1'y' } }"),
     {"it has 0 blocks, not 2; the model is damaged", "[coreml-E006]"}},
    {PROGRAM("3{ 1'while_loop' 2{ 1'loop_vars' 2{ 1{ 1'x' } } } 3{ 1'y' } 4{ 2'x' } 4{ 1{ 1'v' } 2'v' } }"),
     {"a block takes 0 values, but the loop carries 1", "[coreml-E006]"}},
    {PROGRAM("3{ 1'while_loop' 2{ 1'loop_vars' 2{ 1{ 1'x' } } } 4{ 1{ 1'v' } 2'v' } 4{ 1{ 1'v' } 2'v' } }"),
     {"it has 0 results, but carries 1 values", "[coreml-E006]"}},
    {PROGRAM(SUM_CHECKED "3{ 1'cond' " ARG("pred", "p") "3{ 1'y' } 4{ } 4{ 2'x' } }"),
     {"a block gives 0 values, not 1", "[coreml-E006]"}},
    {PROGRAM(SUM_CHECKED "3{ 1'cond' " ARG("pred", "p") "3{ 1'y' } 4{ 2'q' } 4{ 2'x' } }"),
     {"\"q\" is used, but nothing has computed it; the model is damaged", "[coreml-E001]"}},
    {PROGRAM(SUM_CHECKED "3{ 1'cond' " ARG("pred", "x") "3{ 1'y' } 4{ 2'x' } 4{ 2'x' } }"),
     {"the condition is Tensor[(2), float32], but must be one bool", "[coreml-E005]"}},
    {PROGRAM(OP("branch", "", "y")), {"operator branch is not supported", "[coreml-E004]"}},
    {PROGRAM(OP("non_zero", ARG("x", "x"), "y")), {"where_true(%0, extent=[u0])", "-> Tensor[(u0), int32]"}},
    {NET_ND("2 3", "2 3", LAYER("1313{ }")), {"-> Tensor[(u0, 2), float32]", NULL}},
    {PROGRAM_OF("4", CROPPED("NO_CORNERS")),
     {"sampling_mode \"NO_CORNERS\" is not supported", "[coreml-E005]"}},
    {NET_ND("2", "2", "1{ 1'a' 2'x' 2'x' 3'y' 212{ 1(2 2) } }"),
     {"boxes are Tensor[(2), float32], but must be rows of 4 numbers", "[coreml-E006]"}},
    {NET_ND("1 2 4", "1 2 4", "1{ 1'a' 2'x' 2'x' 3'y' 1400{ 1=0.5 3:1 4:1 } }"),
     {"suppression by class of several classes is not supported", "[coreml-E005]"}},
    {NET_ND("1 2 4", "1 2 4", "1{ 1'a' 2'x' 2'x' 3'y' 1400{ 1=0.5 3:0 } }"),
     {"0 boxes are asked for, but must be 1 to 65536", "[coreml-E005]"}},
    {NET_ND("2 3", "2 3", "1{ 1'a' 2'x' 2'x' 2'x' 3'y' 935{ } }"),
     {"updates Tensor[(2, 3), float32] do not fit data", "[coreml-E006]"}},
    {PROGRAM("3{ 1'const' 3{ 1'k' } 5{ 1'val' 2{ 2{ 2{ } } 3{ 3{ } } } } } 3{ 1'classify' " ARG(
         "probabilities", "x") ARG("classes", "k") "3{ 1'label' } 3{ 1'y' } }"),
     {"def @main(%x: Tensor[(2), float32]", "outputs = [\"y\"]"}},
    {PROGRAM("3{ 1'const' 3{ 1'k' } 5{ 1'val' 2{ 2{ 2{ } } 3{ 3{ } } } } } 3{ 1'reduce_sum' " ARG("x", "x")
                 ARG("axes", "k") "3{ 1'y' } }"),
     {"attribute axes is of an unknown type", "[coreml-E005]"}},
    {PROGRAM_OF("4", LOOKED_UP("\x63\x01") ADDED),
     {"it has another number of bytes than its type", "[coreml-E001]"}},
    {PROGRAM_OF("4", CONST("q", "1:31 2:1 3{ 1{ 1:1 } }", "7{ 1'a' }")
                         CONST("t", "1:11 2:3 3{ 1{ 1:1 } } 3{ 1{ 1:2 } } 3{ 1{ 1:1 } }", "1{ 1[0 1] }")
                             OP("constexpr_lut_to_dense", ARG("indices", "q") ARG("lut", "t"), "w") ADDED),
     {"position 97 is beyond a table of 2 entries", "[coreml-E001]"}},
    {PROGRAM_OF("4", CONST("q", "1:31 2:1 3{ 1{ 1:1 } }", "7{ 1'a' }") CONST("s", "1:11 2:0", "1{ 1[2] }") OP(
                         "constexpr_blockwise_shift_scale", ARG("data", "q") ARG("scale", "s"), "w") ADDED),
     {"scales float32 do not fit Tensor[(1), uint8]", "[coreml-E006]"}},
    {NET_ND("2", "2", "1{ 1'l' 615{ 3{ " COPY("x", "q") "} 4{ } } }"),
     {"conditionVar is missing", "[coreml-E005]"}},
    {NET_ND("2", "2", "1{ 1'l' 620{ } }"), {"it stands in no loop; the model is damaged", "[coreml-E006]"}},
    {PROGRAM_OF("4", LOOKED_UP_TWICE("3", "1 2 3") ADDED), {"scales", "do not fit"}},
    {PROGRAM_OF("4", KEPT_TABLE("abc", "3") ADDED), {"the mask has 2 bits for 3 values", "[coreml-E001]"}},
    {PROGRAM_OF("4", KEPT_TABLE("ab", "2") ADDED),
     {"position 97 is beyond a table of 4 entries", "[coreml-E001]"}},
    {PROGRAM_OF("4", KEPT_SCALED("3", "1 2 3") ADDED), {"scales", "do not fit"}},
    {PROGRAM(LIST("2", "0", "-2") ELEMENT("l", "0")),
     {"elements of a list have an extent of -2", "[coreml-E005]"}},
    {PROGRAM(LIST("2", "0", "2") WRITTEN("2") ELEMENT("l2", "0")), {"2", "error"}},
    {NET_ND("2", "2", "1{ 1'l' 615{ 2'q' 3{ } 4{ } } }"),
     {"\"q\" is used, but nothing has computed it", "[coreml-E001]"}},
    {NET_ND("2", "2", ABOVE "1{ 1'b' 2'p' 605{ 1{ " TWICE("x", "c") "} } } " COPY("c", "y")),
     {"operand \"c\" is output 0 of node b (branch), which is not supported", "[coreml-E004]"}},
    {NET_ND("2", "2", TWICE("x", "y") PLUS("x", "y")), {"two values are called \"y\"", "[coreml-E001]"}},
    {NET_ND("2", "2", "1{ 1'c' 2'x' 3'y' 3'z' 600{ } }"), {"it copies 1 values to 2 names", "[coreml-E006]"}},
    {"1:1 2{ 1{ 1'x' 3{ 5{ 1(2) } } } } 502{ 1:1 }",
     {"its program has no function; download or export it again [coreml-E001]"}},
};

static void models_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model m;
        tn_buf file = {0};
        model_init(&m);
        bool read = import_text(&m, cases[i].text, &file) == TN_OK;
        const char *warned = model_errors(&m),
                   *said = tn_arena_printf(&m.arena, "%s%s", read ? model_text(&m) : "", warned);
        for (int k = 0; k < 2 && cases[i].want[k]; k++)
            if (!strstr(said, cases[i].want[k]))
                fail_msg("case %zu: no \"%s\" in\n%s", i, cases[i].want[k], said);
        model_deinit(&m);
        tn_buf_deinit(&file);
    }
}

static void nesting_has_an_end(void **state)
{
    tn_buf text = {0}, file = {0};
    model m;
    (void)state;
    model_init(&m);
    tn_buf_str(&text, DESCRIBED("2", "2") "500{ 5:1 " ABOVE COPY("x", "y"));
    for (int i = 0; i < 40; i++)
        tn_buf_str(&text, "1{ 1'b' 2'p' 605{ 1{ ");
    tn_buf_str(&text, TWICE("x", "z") COPY("z", "y"));
    for (int i = 0; i < 40; i++)
        tn_buf_str(&text, "} } } ");
    tn_buf_str(&text, "}");
    assert_int_equal(import_text(&m, tn_buf_cstr(&text), &file), TN_FAIL);
    assert_non_null(strstr(model_errors(&m), "nested more than 32 deep; simplify the model [coreml-E006]"));
    model_deinit(&m);
    tn_buf_deinit(&text);
    tn_buf_deinit(&file);
}

static void errors_have_an_end(void **state)
{
    tn_buf text = {0}, file = {0};
    model m;
    (void)state;
    model_init(&m);
    tn_buf_str(&text, DESCRIBED("2", "2") "500{ ");
    for (int i = 0; i < 300; i++)
        tn_buf_printf(&text, "1{ 1'n%d' 2'x' 3'y%d' 500{ } } ", i, i);
    tn_buf_str(&text, "}");
    assert_int_equal(import_text(&m, tn_buf_cstr(&text), &file), TN_FAIL);
    assert_non_null(
        strstr(model_errors(&m), "more than 200 errors; only the first are reported [coreml-E008]"));
    model_deinit(&m);
    tn_buf_deinit(&text);
    tn_buf_deinit(&file);
}

/* What a model with an input of n numbers gives: as many, or fewer. */
static void computes(const char *text, int64_t n, const float x[], const float want[])
{
    tn_buf file = {0};
    tn_tensor_value have, in = {.dtype = TN_F32,
                                .ndim = 1,
                                .dim = {n},
                                .n = (size_t)n * 4,
                                .borrowed = true,
                                .at = (char *)(uintptr_t)x};
    model m;
    model_init(&m);
    if (import_text(&m, text, &file) != TN_OK ||
        tn_relay_run(&m.g, 1, &in, 1, &have, tn_eval_interp, NULL) != TN_OK)
        fail_msg("%s", model_errors(&m));
    assert_in_range(have.n, 4, (size_t)n * 4);
    for (size_t i = 0; i < have.n / 4; i++)
        assert_float_equal(((const float *)have.at)[i], want[i], 1e-6);
    tn_tensor_value_deinit(&have);
    model_deinit(&m);
    tn_buf_deinit(&file);
}

static void small_models_compute(void **state)
{
    static const float x[] = {1, -2}, product[] = {-3, 10}, plus[] = {1.5F, -1}, columns[] = {-3, -5},
                       less[] = {0, 3}, e[] = {1.7182818F, 6.3890561F}, logs[] = {3};
    (void)state;
    /* weights of 2 bits, 00 01 10 11 as -1 1 3 5; then a bias */
    computes(
        NET("2", "2", LAYER("140{ 1:2 2:2 10:1 20{ 30'\x1b' 40{ 1:2 101{ 1[2] 2[-1] } } } 21{ 1[0 17] } }")),
        2, x, product);
    computes(
        NET("2", "2", LAYER("140{ 1:2 2:2 10:1 20{ 30'\x1b' 40{ 1:2 102{ 1[-1 1 3 5] } } } 21{ 1[0 17] } }")),
        2, x, product);
    /* weights [2, 2] that lie column by column */
    computes(NET_ND("2", "2", LAYER("1045{ 5:2 6:2 8{ 1[1 2 3 4] } }")), 2, x, columns);
    /* subtracted where the positions say: at 1 and 0 */
    computes(NET_ND("2", "2",
                    "1{ 1'i' 3'i' 1070{ 1(2) 2{ 1[1 0] } } } 1{ 1'u' 3'u' 1070{ 1(2) 2{ 1[-5 1] } } } "
                    "1{ 1'a' 2'x' 2'i' 2'u' 3'y' 935{ 2:2 } }"),
             2, x, less);
    /* a sum of logarithms of e and e^2, with 1 added to each number */
    computes(NET("2", "1", LAYER("280{ 1:3 2=1 }")), 2, e, logs);
    computes(PROGRAM(CONST("k", "1:11 2:1 3{ 1{ 1:2 } }",
                           "1{ 1[0.5 1] }") "3{ 1'add' 2{ 1'x' 2{ 1{ 1'x' } } } 2{ 1'y' "
                                            "2{ 1{ 1'k' } } } 3{ 1'y' } }"),
             2, x, plus);
}

// clang-format off
/* Where the sum is above 0, c is 2 x, else x + 1; then c is tripled as often as `most` says. */
#define COND \
    "3{ 1'cond' " ARG("pred", "p") "3{ 1'c' } " BLOCK( \
        "", "t", NUMBER("two", "2") OP("mul", ARG("x", "x") ARG("y", "two"), "t")) \
        BLOCK("", "f", NUMBER("one", "1") OP("add", ARG("x", "x") ARG("y", "one"), "f")) "} "
#define BOTH "1{ 1'v' } 1{ 1'n' } "
#define WHILE(start) \
    "3{ 1'while_loop' 2{ 1'loop_vars' 2{ 1{ 1'" start "' } 1{ 1'count' } } } 3{ 1'y' } 3{ 1'many' } " BLOCK( \
        BOTH, "go", OP("less", ARG("x", "n") ARG("y", "most"), "go")) \
        BLOCK(BOTH "2'v2' ", "n2", \
              NUMBER("one", "1") NUMBER("three", "3") OP("mul", ARG("x", "v") ARG("y", "three"), "v2") \
                  OP("add", ARG("x", "n") ARG("y", "one"), "n2")) "} "
// clang-format on

static void programs_branch_and_loop(void **state)
{
    static const float up[] = {1, 2}, down[] = {1, -2}, doubled[] = {2, 4}, more[] = {2, -1},
                       grown[] = {18, 36}, shifted[] = {18, -9};
    (void)state;
    computes(PROGRAM(SUM_CHECKED COND OP("identity", ARG("x", "c"), "y")), 2, up, doubled);
    computes(PROGRAM(SUM_CHECKED COND OP("identity", ARG("x", "c"), "y")), 2, down, more);
#define LOOPED PROGRAM(SUM_CHECKED COND NUMBER("count", "0") NUMBER("most", "2") WHILE("c"))
    computes(LOOPED, 2, up, grown);
    computes(LOOPED, 2, down, shifted);
}

static void networks_branch_and_loop(void **state)
{
    static const float up[] = {1, 2}, down[] = {1, -2}, doubled[] = {2, 4}, more[] = {2, -1}, once[] = {1, 2},
                       grown[] = {8, 16}, fourfold[] = {4, 8}, grown_less[] = {8, -16}, broken[] = {6, 10},
                       continued[] = {11, 19};
    (void)state;
    /* both sides give c */
#define BRANCH(sides) ABOVE "1{ 1'b' 2'p' 605{ " sides " } } "
    computes(NET_ND("2", "2",
                    BRANCH("1{ " TWICE("x", "t") COPY("t", "c") "} 2{ " PLUS("x", "f") COPY("f", "c") "}")
                        COPY("c", "y")),
             2, up, doubled);
    computes(NET_ND("2", "2",
                    BRANCH("1{ " TWICE("x", "t") COPY("t", "c") "} 2{ " PLUS("x", "f") COPY("f", "c") "}")
                        COPY("c", "y")),
             2, down, more);
    /* one side gives what has a value another one */
    computes(NET_ND("2", "2", COPY("x", "c") BRANCH("2{ " PLUS("x", "f") COPY("f", "c") "}") COPY("c", "y")),
             2, up, once);
    computes(NET_ND("2", "2", COPY("x", "c") BRANCH("2{ " PLUS("x", "f") COPY("f", "c") "}") COPY("c", "y")),
             2, down, more);
    /* three iterations; then as long as the counter is below 2; then at most one of them */
#define COUNTED COPY("x", "v") "1{ 1'k' 3'n' 1070{ 1(1) 2{ 1[0] } } } "
#define GROW TWICE("v", "w") COPY("w", "v")
#define COUNT PLUS("n", "m") COPY("m", "n")
    computes(NET_ND("2", "2", COUNTED "1{ 1'l' 615{ 1:3 4{ " GROW "} } } " COPY("v", "y")), 2, up, grown);
    computes(NET_ND("2", "2",
                    COUNTED "1{ 1'l' 615{ 2'go' 3{ " TO("n", "go", "825{ 2=3 }") "} 4{ " GROW COUNT
                                                                                 "} } } " COPY("v", "y")),
             2, down, grown_less);
    computes(NET_ND("2", "2",
                    COUNTED "1{ 1'l' 615{ 1:2 2'go' 3{ " TO("n", "go", "825{ 2=3 }") "} 4{ " GROW COUNT
                                                                                     "} } } " COPY("v", "y")),
             2, up, fourfold);
    /* left where the counter is not below 2; the rest of a body left out as long as it is */
#define BELOW(sides) "1{ 1'lt' 2'n' 3'lt' 825{ 2=2 } } 1{ 1'b' 2'lt' 605{ " sides " } } "
#define ADD_ONE PLUS("v", "u") COPY("u", "v")
    computes(NET_ND("2", "2",
                    COUNTED "1{ 1'l' 615{ 1:5 4{ " GROW COUNT BELOW("2{ 1{ 1'z' 620{ } } }") ADD_ONE
                    "} } } " COPY("v", "y")),
             2, up, broken);
    computes(NET_ND("2", "2",
                    COUNTED "1{ 1'l' 615{ 1:3 3{ } 4{ " GROW COUNT BELOW("1{ 1{ 1'z' 625{ } } }") ADD_ONE
                    "} } } " COPY("v", "y")),
             2, up, continued);
}

static void packed_weights_compute(void **state)
{
    static const float x[4] = {0}, scaled[] = {0.5F, -1, 6, -8}, looked_up[] = {3, 0, 12, 11},
                       masked[] = {0, 5, 0, 6}, scaled_table[] = {1.5F, 0, 2, 0}, kept[] = {0, 1, 0, 12},
                       kept_scaled[] = {0, 2.5F, 0, 12};
    (void)state;
    computes(PROGRAM_OF("4", SCALED ADDED), 4, x, scaled);
    computes(PROGRAM_OF("4", LOOKED_UP("\x63") ADDED), 4, x, looked_up);
    computes(PROGRAM_OF("4", MASKED ADDED), 4, x, masked);
    computes(PROGRAM_OF("4", LOOKED_UP_TWICE("2", "0.5 2") ADDED), 4, x, scaled_table);
    computes(PROGRAM_OF("4", KEPT_TABLE("\x01\x02", "2") ADDED), 4, x, kept);
    computes(PROGRAM_OF("4", KEPT_SCALED("2", "0.5 2") ADDED), 4, x, kept_scaled);
}

static void lists_compute(void **state)
{
    static const float x[] = {1, 2}, none[] = {0, 0}, longer[] = {6, 7}, sum[] = {4, 8};
    (void)state;
    computes(PROGRAM(LIST("2", "0", "2") WRITTEN("1") ELEMENT("l2", "1")), 2, x, x);
    computes(PROGRAM(LIST("2", "0", "2") WRITTEN("1") ELEMENT("l2", "0")), 2, x, none);
    computes(PROGRAM(LIST("1", "1", "2") WRITTEN("4") ELEMENT("l2", "3")), 2, x, none);
    computes(PROGRAM(LIST("1", "1", "2") WRITTEN("4") LENGTH), 2, x, longer);
    computes(PROGRAM(LIST("1", "1", "2") TWO_WRITTEN), 2, x, sum);
    computes(PROGRAM(LIST_OF("4", "0", TEXT("e", "unknown")) TWO_WRITTEN), 2, x, sum);
}

static void images_and_boxes_compute(void **state)
{
    static const float image[] = {0, 1, 2, 3}, inner[] = {0.75F, 1.25F, 1.75F, 2.25F},
                       scores[] = {0.25F, 0.75F}, one[] = {0.75F, 0}, both[] = {0.75F, 0.25F},
                       added[] = {0.25F, 7.75F};
    (void)state;
    computes(PROGRAM_OF("4", CROPPED("STRICT_ALIGN_CORNERS")), 4, image, image);
    computes(PROGRAM_OF("4", CROPPED("OFFSET_CORNERS")), 4, image, inner);
    computes(PROGRAM(SUPPRESSED("0.25")), 2, scores, one);
    computes(PROGRAM(SUPPRESSED("0.75")), 2, scores, both);
    computes(PROGRAM(SCATTERED), 2, scores, added);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_branch_and_loop), cmocka_unit_test(networks_branch_and_loop),
        cmocka_unit_test(models_are_read),          cmocka_unit_test(errors_have_an_end),
        cmocka_unit_test(nesting_has_an_end),       cmocka_unit_test(images_and_boxes_compute),
        cmocka_unit_test(packed_weights_compute),   cmocka_unit_test(lists_compute),
        cmocka_unit_test(small_models_compute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
