/* The reader of TFLite on models written from text (tests/tflite/write.h): the numbers of integer kernels, worked out
 * by hand, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tflite/run.h"

/* One row of two columns, SAME, two channels of the result. */
static void float_convolution_has_the_channels_last(void **state)
{
    (void)state;
    static const float x[] = {1, 2};
    static const double y[] = {1 + 20 + 0.5, 0, 2 + 0.5, 0};
    expect("tensor x float32 1,1,2,1\n"
           "tensor w float32 2,1,2,1 data=1,10,-1,-1\n"
           "tensor b float32 2 data=0.5,0\n"
           "tensor y float32 1,1,2,2\n"
           "op CONV_2D stride_w=1 stride_h=1 fused_activation_function=1 : x w b -> y\n" ARGS,
           x, sizeof x, 4, y);
}

/* A quarter of 6 and -6: 3 and -3 halves, and ties go away from 0. */
static void integer_convolution_rounds_ties_away(void **state)
{
    (void)state;
    static const int8_t x[] = {6, -6};
    static const double y[] = {2 + 1, -2 + 1};
    expect("tensor x int8 1,1,2,1 scale=0.25\n"
           "tensor w int8 1,1,1,1 scale=1 data=1\n"
           "tensor b int32 1 scale=0.25 data=0\n"
           "tensor y int8 1,1,2,1 scale=1 zero=1\n"
           "op CONV_2D padding=1 stride_w=1 stride_h=1 : x w b -> y\n" ARGS,
           x, sizeof x, 2, y);
    /* a scale for each channel; old files give the bias, which has one dimension, that of the weights */
    static const double both[] = {3 + 1, 2 + 1, -3 + 1, -1 + 1};
    expect("tensor x int8 1,1,2,1 scale=0.25\n"
           "tensor w int8 2,1,1,1 scale=2,1 data=1,1\n"
           "tensor b int32 2 scale=0.5,0.25 axis=3 data=0,1\n"
           "tensor y int8 1,1,2,2 scale=1 zero=1\n"
           "op CONV_2D padding=1 stride_w=1 stride_h=1 : x w b -> y\n" ARGS,
           x, sizeof x, 4, both);
}

/* The same quarters in a fully connected layer, which rounds once: ties go up. */
static void fully_connected_layers_round_ties_up(void **state)
{
    (void)state;
    static const int8_t x[] = {6, -6};
    static const double y[] = {2, -1};
    expect("tensor x int8 2,1 scale=0.25\n"
           "tensor w int8 1,1 scale=1 data=1\n"
           "tensor y int8 2,1 scale=1\n"
           "op FULLY_CONNECTED : x w - -> y\n" ARGS,
           x, sizeof x, 2, y);
}

static void sums_of_integers_meet_on_a_common_grid(void **state)
{
    (void)state;
    static const uint8_t x[] = {10, 200};
    expect("tensor x uint8 2 scale=0.5 zero=0\n"
           "tensor k uint8 1 scale=0.25 zero=2 data=18\n"
           "tensor y uint8 2 scale=0.5 zero=-4\n"
           "op ADD : x k -> y\n" ARGS,
           x, sizeof x, 2, (const double[]){10 + 8 - 4, 200 + 8 - 4});
}

/* A shape without elements has no data in the file. */
static void scalars_have_empty_shapes(void **state)
{
    (void)state;
    expect("tensor x float32 1\ntensor s int32 0\ntensor r float32 scalar\ntensor y float32 scalar\n"
           "op RESHAPE : x s -> r\nop NEG : r -> y\n" ARGS,
           (const float[]){3}, 4, 1, (const double[]){-3});
}

/* What LiteRT's reference kernels give. */
static void functions_of_integers_have_their_bits(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        int bits;
        int16_t x[6];
        const char *in, *out; /* scales and zero points */
        double y[6];
    } rows[] = {
        {"RELU_0_TO_1",
         8,
         {-5, 1, 3, 5, 9, 20},
         "scale=0.25 zero=1",
         "scale=0.125 zero=-2",
         {-2, -2, 2, 6, 6, 6}},
        {"SQRT",
         8,
         {-10, -9, 0, 50, 127, 0},
         "scale=0.25 zero=-10",
         "scale=0.125 zero=3",
         {3, 7, 15, 33, 49, 15}},
        {"LOG",
         8,
         {-10, -9, 0, 50, 127, 0},
         "scale=0.25 zero=-10",
         "scale=0.125 zero=3",
         {-128, -8, 10, 25, 31, 10}},
        {"RSQRT",
         8,
         {-10, -9, 0, 50, 127, 0},
         "scale=0.25 zero=-10",
         "scale=0.125 zero=3",
         {127, 19, 8, 5, 4, 8}},
        {"SQRT", 16, {0, 1, 7, 5000, 32767, 1}, "scale=0.25", "scale=0.01", {0, 50, 132, 3535, 9050, 50}},
        {"EXP", 16, {-3000, -1, 0, 100, 3000, 0}, "scale=0.001", "scale=0.01", {6, 100, 100, 110, 2009, 100}},
        {"LOG",
         16,
         {-5, 0, 1, 500, 3000, 1},
         "scale=0.001",
         "scale=0.001",
         {-25726, -25440, -25257, -694, 1099, -25257}},
        {"RSQRT",
         16,
         {0, 1, 129, 500, 3000, 1},
         "scale=0.001",
         "scale=0.001",
         {25860, 25679, 2742, 1415, 578, 25679}},
        {"GELU",
         16,
         {-3000, -500, 0, 1500, 3001, 0},
         "scale=0.001",
         "scale=0.001",
         {-4, -155, -1, 1400, 2996, -1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        int8_t bytes[6];
        for (int k = 0; k < 6; k++)
            bytes[k] = (int8_t)rows[i].x[k];
        (void)snprintf(text, sizeof text, "tensor x int%d 6 %s\ntensor y int%d 6 %s\nop %s : x -> y\n" ARGS,
                       rows[i].bits, rows[i].in, rows[i].bits, rows[i].out, rows[i].op);
        expect(text, rows[i].bits == 8 ? (const void *)bytes : rows[i].x, (size_t)(6 * rows[i].bits / 8), 6,
               rows[i].y);
    }
}

/* Four products of 30 bits. */
static void products_of_words_have_sums_of_64_bits(void **state)
{
    (void)state;
    static const int16_t x[] = {32767, 32767, 32767, 32767};
    expect("tensor x int16 1,4 scale=1\ntensor w int16 4,1 scale=1 data=32767,32767,32767,32767\n"
           "tensor y int16 1,1 scale=131072\nop BATCH_MATMUL : x w -> y\n" ARGS,
           x, sizeof x, 1, (const double[]){32766});
}

static void averages_round_ties_away(void **state)
{
    (void)state;
    static const int8_t x[] = {1, 2, -1, -2};
    static const double y[] = {2, -2};
    expect(
        "tensor x int8 1,2,2,1 scale=1\n"
        "tensor y int8 1,2,1,1 scale=1\n"
        "op AVERAGE_POOL_2D padding=1 stride_w=1 stride_h=1 filter_width=2 filter_height=1 : x -> y\n" ARGS,
        x, sizeof x, 2, y);
}

static void slices_drop_and_add_dimensions(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6};
    static const double y[] = {6, 4};
    expect("tensor x float32 2,3\n"
           "tensor b int32 2 data=-1,0\n"
           "tensor e int32 2 data=0,0\n"
           "tensor s int32 2 data=1,-2\n"
           "tensor y float32 2\n"
           "op STRIDED_SLICE begin_mask=2 end_mask=2 shrink_axis_mask=1 : x b e s -> y\n" ARGS,
           x, sizeof x, 2, y);
}

/* Doubled while it is below 10. */
static void loops_run_other_graphs(void **state)
{
    (void)state;
    static const float x[] = {3};
    static const double y[] = {12};
    expect("tensor x float32 1\n"
           "tensor y float32 1\n"
           "op WHILE cond_subgraph_index=1 body_subgraph_index=2 : x -> y\n" ARGS "graph\n"
           "tensor a float32 1\n"
           "tensor k float32 1 data=10\n"
           "tensor c bool 1\n"
           "op LESS : a k -> c\n"
           "in a\n"
           "out c\n"
           "graph\n"
           "tensor a float32 1\n"
           "tensor b float32 1\n"
           "op ADD : a a -> b\n"
           "in a\n"
           "out b\n",
           x, sizeof x, 1, y);
}

static void branches_are_other_graphs(void **state)
{
    (void)state;
    static const char text[] = "tensor x float32 1\n"
                               "tensor k float32 1 data=10\n"
                               "tensor c bool 1\n"
                               "tensor y float32 1\n"
                               "op LESS : x k -> c\n"
                               "op IF then_subgraph_index=1 else_subgraph_index=2 : c x -> y\n" ARGS "graph\n"
                               "tensor a float32 1\n"
                               "tensor b float32 1\n"
                               "op ADD : a a -> b\n"
                               "in a\n"
                               "out b\n"
                               "graph\n"
                               "tensor a float32 1\n"
                               "tensor b float32 1\n"
                               "op NEG : a -> b\n"
                               "in a\n"
                               "out b\n";
    expect(text, (const float[]){3}, 4, 1, (const double[]){6});
    expect(text, (const float[]){30}, 4, 1, (const double[]){-30});
}

/* Halfway between 1 and 2, and between -1 and -2. */
static void resizing_integers_rounds_ties_away(void **state)
{
    (void)state;
    static const int8_t x[] = {1, -1, 2, -2};
    static const double y[] = {1, -1, 2, -2, 2, -2};
    expect("tensor x int8 1,2,1,2 scale=1\n"
           "tensor s int32 2 data=3,1\n"
           "tensor y int8 1,3,1,2 scale=1\n"
           "op RESIZE_BILINEAR align_corners=1 : x s -> y\n" ARGS,
           x, sizeof x, 6, y);
}

static void segments_are_joined_by_number(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 4, 8};
    static const double y[] = {8, 0, 5};
    expect("tensor x float32 4\n"
           "tensor i int32 4 data=2,-1,2,0\n"
           "tensor n int32 scalar data=3\n"
           "tensor y float32 3\n"
           "op UNSORTED_SEGMENT_SUM : x i n -> y\n" ARGS,
           x, sizeof x, 3, y);
}

static void elements_move_apart(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4};
    static const double y[] = {1, 9, 9, 2, 3, 9, 9, 4};
    expect("tensor x float32 2,2\n"
           "tensor b int32 2 data=1,3\n"
           "tensor k float32 scalar data=9\n"
           "tensor y float32 2,4\n"
           "op DILATE : x b k -> y\n" ARGS,
           x, sizeof x, 8, y);
}

#define JOIN(op) \
    "graph\ntensor a float32 scalar\ntensor b float32 scalar\ntensor c float32 scalar\n" op \
    " : a b -> c\nin a b\nout c\n"
#define REDUCE \
    "tensor x float32 2,3\ntensor k float32 scalar data=1\ntensor y float32 2\n" \
    "op STABLEHLO_REDUCE dimensions=1 body_subgraph_index=1 : x k -> y\n" ARGS

static void reductions_name_a_graph(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6};
    expect(REDUCE JOIN("op STABLEHLO_ADD"), x, sizeof x, 2, (const double[]){7, 16});
    expect(REDUCE JOIN("op STABLEHLO_MAXIMUM"), x, sizeof x, 2, (const double[]){3, 6});
}

/* A number beyond the branches is the last one. */
static void cases_are_other_graphs(void **state)
{
    (void)state;
    static const char text[] =
        "tensor x int32 scalar\ntensor y float32 scalar\n"
        "op STABLEHLO_CASE branch_subgraph_indices=1,2 : x -> y\n" ARGS
        "graph\ntensor a float32 scalar data=3\nout a\ngraph\ntensor a float32 scalar data=5\nout a\n";
    expect(text, (const int32_t[]){0}, 4, 1, (const double[]){3});
    expect(text, (const int32_t[]){7}, 4, 1, (const double[]){5});
}

/* ---- signatures ---- */

/* Two graphs of one operator; the first one's names are TensorFlow's. */
static const char signatures[] =
    "tensor serving_default_x:0 float32 1\ntensor StatefulPartitionedCall:0 float32 1\n"
    "op NEG : serving_default_x:0 -> StatefulPartitionedCall:0\n"
    "in serving_default_x:0\nout StatefulPartitionedCall:0\n"
    "signature minus 0 in=serving_default_x:0 -> out=StatefulPartitionedCall:0\n"
    "graph\ntensor a float32 1\ntensor b float32 1\nop ABS : a -> b\nin a\nout b\n"
    "signature size 1 value=a -> result=b\n";

static void signatures_name_and_choose(void **state)
{
    (void)state;
    static const struct {
        const char *signature, *op, *in, *out, *chosen;
    } rows[] = {{NULL, "negative", "in", "out", "minus"},
                {"minus", "negative", "in", "out", "minus"},
                {"size", "abs", "value", "result", "size"}};
    for (size_t i = 0; i < 3; i++) {
        model m;
        tn_buf file, text = {0};
        tn_import_options o = {.signature = rows[i].signature};
        if (import_text(&m, signatures, &file, &o) != TN_OK)
            fail_msg("%s", model_errors(&m));
        tn_relay_print(&m.g, &text);
        assert_non_null(strstr(tn_buf_cstr(&text), rows[i].op));
        assert_string_equal(m.g.func->body->param[0]->name, rows[i].in);
        assert_string_equal(m.g.result_name[0], rows[i].out);
        assert_string_equal(m.g.metadata.at[0].key, "signatures");
        assert_string_equal(m.g.metadata.at[0].value, "minus, size");
        assert_string_equal(m.g.metadata.at[1].key, "signature");
        assert_string_equal(m.g.metadata.at[1].value, rows[i].chosen);
        tn_buf_deinit(&text);
        model_deinit(&m);
        tn_buf_deinit(&file);
    }
}

static void models_say_who_made_them(void **state)
{
    (void)state;
    static const char *const want[][2] = {{"name", "Detector"}, {"author", "Somebody"}};
    model m;
    tn_buf file;
    assert_int_equal(import_text(&m,
                                 "tensor x float32 1\ntensor y float32 1\nop ABS : x -> y\n" ARGS
                                 "about Detector Somebody\n",
                                 &file, NULL),
                     TN_OK);
    assert_int_equal(m.g.metadata.n, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(m.g.metadata.at[i].key, want[i][0]);
        assert_string_equal(m.g.metadata.at[i].value, want[i][1]);
    }
    model_deinit(&m);
    tn_buf_deinit(&file);
}

/* ---- audio ---- */

/* The run knows that there are no samples: less than one window would be less than none. */
static void no_samples_have_no_windows(void **state)
{
    (void)state;
    expect("tensor x float32 -1,1\ntensor y float32 1,-1,5\n"
           "custom AudioSpectrogram window_size=8 stride=4 magnitude_squared=1 : x -> y\n" ARGS,
           "", 0, 0, NULL);
}

/* ---- custom operators of MediaPipe ---- */

/* Results as the kernels of MediaPipe define them: two windows of two rows and two columns. */
static void mediapipe_operators_compute(void **state)
{
    (void)state;
    static const float x[] = {1, 7, 3, 4, 5, 6, 2, 8}, small[] = {3, -4};
    static const double largest[] = {7, 8}, at[] = {1.1, 3.1}, relu6[] = {6, 6};
    static const double spread[] = {0, 3, 0, 0, 0, 0, 0, -4};
#define POOL(activation, y) \
    "tensor x float32 1,2,4,1\ntensor y float32 1,1,2,1\ntensor i float32 1,1,2,1\n" \
    "custom MaxPoolingWithArgmax2D 1 2 2 2 2 " activation " : x -> y i\nin x\nout " y "\n"
#define UNPOOL(at) \
    "tensor x float32 1,1,2,1\ntensor i float32 1,1,2,1 data=" at "\ntensor y float32 1,2,4,1\n" \
    "custom MaxUnpooling2D 1 2 2 2 2 0 : x i -> y\n" ARGS
    expect(POOL("0", "y"), x, sizeof x, 2, largest);
    expect(POOL("0", "i"), x, sizeof x, 2, at);
    expect(POOL("3", "y"), x, sizeof x, 2, relu6);
    expect(UNPOOL("1.1,3.1"), small, sizeof small, 8, spread);
    expect(UNPOOL("2.1,4.1"), small, sizeof small, 8, (const double[]){0, 0, 0, 0, 3, 0, 0, 0});
    expect("tensor x float32 1,1,2,1\ntensor w float32 1,1,2,1 data=1,10\ntensor b float32 1 data=0.5\n"
           "tensor y float32 1,1,4,1\ncustom Convolution2DTransposeBias 2 2 1 : x w b -> y\n" ARGS,
           small, sizeof small, 4, (const double[]){3.5, 30.5, -3.5, -39.5});
}

/* Landmarks (0,0), (4,0), (0,2), the first and the last of which shall lie level: the part is turned by a right angle.
 * Worked out by hand from what MediaPipe's kernels are defined to give. */
static void mediapipe_landmarks_compute(void **state)
{
    (void)state;
    static const float marks[] = {0, 0, 9, 4, 0, 9, 0, 2, 9}, one[] = {1, 2, 7}, image[] = {1, 2, 3, 4};
    static const double pixels[] = {0, -1, 0, 4, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    static const double units[] = {0, -4, 0, 8, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
#define MATRIX(shape, options) \
    "tensor x float32 " shape "\ntensor y float32 1,4,4\ncustom Landmarks2TransformMatrix" options \
    " left_rotation_idx=0 right_rotation_idx=2 : x -> y\n" ARGS
#define BY(op, shape, to, matrix) \
    "tensor x float32 " shape "\ntensor m float32 1,4,4 data=" matrix \
    ",0,0,1,0,0,0,0,1\ntensor y float32 " to "\ncustom " op " : x m -> y\n" ARGS
#define TURN "0,-1,0,4,1,0,0,0"
    expect(MATRIX("1,3,3", ":2 output_width=2 output_height=4 scale_x=1.0 scale_y=1.0 subset_idxs=[0,1,2]"),
           marks, sizeof marks, 16, pixels);
    expect(MATRIX("1,1,1,9", ":1 input_hw=[5,9] output_hw=[3,3] landmarks_range=4 bbox_size_multiplier=1.0 "
                             "dimensions=3 subset=[0,1,2]"),
           marks, sizeof marks, 16, units);
    expect(BY("TransformLandmarks:2", "1,1,3", "1,1,3", TURN), one, sizeof one, 3, (const double[]){2, 1, 7});
    expect(BY("TransformLandmarks:1 dimensions=2 scale=2.0", "1,1,1,2", "1,1,1,2", TURN), one, 8, 2,
           (const double[]){6, 1});
#define CUT(version, options, matrix) \
    BY("TransformTensorBilinear:" version options, "1,2,2,1", "1,1,2,1", matrix)
    expect(CUT("1", " mode=bilinear output_size=[1,2]", "1,0,0,0.5,0,1,0,0"), image, sizeof image, 2,
           (const double[]){1.5, 0});
    expect(BY("TransformTensor:1 mode=bilinear output_size=[1,2]", "1,2,2,1", "1,1,2,1", "1,0,0,0.5,0,1,0,0"),
           image, sizeof image, 2, (const double[]){1.5, 0});
    expect(CUT("2", " output_height=1 output_width=2", "0.5,0,0,0,0,1,0,0"), image, sizeof image, 2,
           (const double[]){0, 1.25});
}

/* ---- states ---- */

/* Two steps of an integer layer with normalised gates; the bits are those of LiteRT 2.3. */
static void integer_gates_are_normalised(void **state)
{
    (void)state;
#define W(name, data) "tensor " name " int8 2,2 scale=0.0078125 data=" data "\n"
#define B(name, data) "tensor " name " int32 2 scale=1e-08 data=" data "\n"
#define N(name, data) "tensor " name " int16 2 scale=6.103515625e-05 data=" data "\n"
#define LAYER(n) \
    "tensor x int8 1,2,2 scale=0.03125 zero=5\ntensor y int8 1,2,2 scale=0.0078125 zero=3\n" \
    "tensor h int8 1,2 scale=0.0078125 zero=3 variable\ntensor s int16 1,2 scale=0.00048828125 variable\n" \
    "tensor g int16 scalar scale=0.001953125\ntensor i int8 scalar scale=0.0078125 zero=3\n" W( \
        "a0", "-8,4,33,-55") W("a1", "122,-114,-57,-30") W("a2", "18,-23,-94,-116") \
        W("a3", "-127,-115,-90,127") W("r0", "-79,39,64,-68") W("r1", "-56,-17,-60,121") \
            W("r2", "-82,101,76,88") W("r3", "-98,-27,33,-2") B("b0", "995198,1060136") \
                B("b1", "977558,-2635184") B("b2", "2754596,333576") B("b3", "2421070,-1371291") \
                    N("n0", "16953,29786") N("n1", "12629,9590") N("n2", "17260,24821") \
                        N("n3", "11027,29549") "op UNIDIRECTIONAL_SEQUENCE_LSTM : x a0 a1 a2 a3 r0 r1 r2 " \
                                               "r3 - - - b0 b1 b2 b3 - - h s " n \
                                               " n1 n2 n3 -> y | g g g g i\n" ARGS
    static const int8_t x[] = {100, -50, -20, 30}, y[] = {23, -8, -17, -33}, h[2] = {3, 3};
    static const int16_t s[2] = {0};
    tn_tensor_value in[3] = {
        {.dtype = TN_DT(TN_INT, 8), .ndim = 3, .dim = {1, 2, 2}, .at = (void *)(uintptr_t)x, .n = 4},
        {.dtype = TN_DT(TN_INT, 8), .ndim = 2, .dim = {1, 2}, .at = (void *)(uintptr_t)h, .n = 2},
        {.dtype = TN_DT(TN_INT, 16), .ndim = 2, .dim = {1, 2}, .at = (void *)(uintptr_t)s, .n = 4}};
    tn_tensor_value out[3];
    model m;
    tn_buf file;
    for (int i = 0; i < 3; i++)
        in[i].borrowed = true;
    if (import_text(&m, LAYER("n0"), &file, NULL) != TN_OK ||
        tn_relay_run(&m.g, 3, in, 3, out, tn_eval_interp, NULL) != TN_OK)
        fail_msg("%s", model_errors(&m));
    assert_memory_equal(out[0].at, y, sizeof y);
    for (int i = 0; i < 3; i++)
        tn_tensor_value_deinit(&out[i]);
    model_deinit(&m);
    tn_buf_deinit(&file);
}

/* Runs a model of one float32 input, one output and one state of the same type, both as operands and results. */
static void run_state(const char *text, float x, float state, float want, float left)
{
    model m;
    tn_buf file;
    tn_tensor_value in[2], out[2];
    float data[2] = {x, state};
    memset(out, 0, sizeof out);
    if (import_text(&m, text, &file, NULL) != TN_OK)
        fail_msg("%s", model_errors(&m));
    assert_int_equal(m.g.state.n, 1);
    for (int i = 0; i < 2; i++) {
        const tn_type *t = m.g.func->body->param[i]->type[0];
        in[i] = (tn_tensor_value){
            .dtype = TN_F32, .ndim = t->n, .dim = {1, 1}, .at = &data[i], .n = 4, .borrowed = true};
    }
    if (tn_relay_run(&m.g, 2, in, 2, out, tn_eval_interp, NULL) != TN_OK)
        fail_msg("%s", model_errors(&m));
    assert_float_equal(*(const float *)out[0].at, want, 1e-6);
    assert_float_equal(*(const float *)out[1].at, left, 1e-6);
    for (int i = 0; i < 2; i++)
        tn_tensor_value_deinit(&out[i]);
    model_deinit(&m);
    tn_buf_deinit(&file);
}

#define RNN \
    "tensor x float32 1,1\ntensor w float32 1,1 data=2\ntensor r float32 1,1 data=3\ntensor b float32 1 " \
    "data=1\n" \
    "tensor h float32 1,1 variable\ntensor y float32 1,1\nop RNN : x w r b h -> y\n"

static void variable_tensors_are_states(void **state)
{
    (void)state;
    run_state(RNN ARGS, 4, 0, 2 * 4 + 1, 2 * 4 + 1);
    run_state(RNN ARGS, 4, 5, 2 * 4 + 3 * 5 + 1, 2 * 4 + 3 * 5 + 1);
}

#define VARIABLE "op VAR_HANDLE shared_name=v : -> h\n"
#define COUNTER \
    "tensor x float32 scalar\ntensor h resource scalar\ntensor v float32 scalar\ntensor y float32 scalar\n" \
    "op CALL_ONCE init_subgraph_index=1 : ->\n" VARIABLE \
    "op READ_VARIABLE : h -> v\nop ADD : v x -> y\nop ASSIGN_VARIABLE : h y ->\n" ARGS
#define FIRST(data) \
    "graph\ntensor h resource scalar\ntensor k float32 scalar" data "\n" VARIABLE \
    "op ASSIGN_VARIABLE : h k " \
    "->\n"

static void variables_behind_handles_are_states(void **state)
{
    (void)state;
    model m;
    tn_buf file, text = {0};
    run_state(COUNTER FIRST(" data=5"), 4, 7, 11, 11);
    assert_int_equal(import_text(&m, COUNTER FIRST(" data=5"), &file, NULL), TN_OK);
    tn_relay_print(&m.g, &text);
    assert_non_null(strstr(tn_buf_cstr(&text), "#[state = [\"v\", \"v\", \"state0\"]]"));
    assert_non_null(strstr(tn_buf_cstr(&text), "5f"));
    tn_buf_deinit(&text);
    model_deinit(&m);
    tn_buf_deinit(&file);
}

/* ---- what is refused ---- */

typedef struct refusal {
    const char *id, *text;
} refusal;

#define X "tensor x float32 1,2\n"
#define Y "tensor y float32 1,2\n"

static const refusal refusals[] = {
    {"tflite-E002", X "in x\n"},
    {"tflite-E004", X Y "op LSH_PROJECTION : x -> y\n" ARGS},
    {"tflite-E004", X Y "custom Nonsense : x -> y\n" ARGS},
    {"tflite-E009", X Y "custom MaxUnpooling2D 1 2 2 : x x -> y\n" ARGS},
    {"tflite-E009", MATRIX("1,1,3", ":2 output_width=2 output_height=4 subset_idxs=[0,1]")},
    {"tflite-E009", CUT("1", " mode=nearest output_size=[1,2]", TURN)},
    {"tflite-E009", CUT("1", " output_size=[1,2,3]", TURN)},
    {"tflite-E010", LAYER("b0")},
    {"tflite-E009", CUT("2", " output_height=0 output_width=2", TURN)},
    {"tflite-E009", X Y "custom MaxPoolingWithArgmax2D 1 1 1 2 2 0 : x -> y y\n" ARGS},
    {"tflite-E005", X Y "op RELU:0 : x -> y\n" ARGS},
    {"tflite-E007", X Y "op RESHAPE : x -> y\n" ARGS},
    {"tflite-E008", X Y "op RELU fused_activation_function=1 : x -> y\n" ARGS},
    {"tflite-E008", X Y "op RESHAPE new_shape=2 unknown=1 : x -> y\n" ARGS},
    {"tflite-E009", X Y "op CONCATENATION axis=7 : x x -> y\n" ARGS},
    {"tflite-E009", X Y "op ADD fused_activation_function=9 : x x -> y\n" ARGS},
    {"tflite-E009", X Y "op WHILE cond_subgraph_index=3 body_subgraph_index=4 : x -> y\n" ARGS},
    {"tflite-E009", "tensor x bool 1\n" Y "op IF then_subgraph_index=0 : x -> y\n" ARGS},
    {"tflite-E010", X Y "tensor k float32 3 data=1,2\nop ADD : x k -> y\n" ARGS},
    {"tflite-E010", X Y "tensor k string 1 data=1\nop RESHAPE : k - -> y\n" ARGS},
    {"tflite-E010", "tensor x string 1\n" Y "op RELU : x -> y\n" ARGS},
    {"tflite-E063", "tensor x int64 1\ntensor h resource scalar\ntensor k int64 1 data=1\ntensor y int64 1\n"
                    "op HASHTABLE table_id=1 : -> h\nop HASHTABLE_FIND : h x k -> y\n" ARGS},
    {"tflite-E009", "tensor x int64 1\ntensor h resource scalar\ntensor y int64 1\n"
                    "op HASHTABLE table_id=1 : -> h\nop HASHTABLE_IMPORT : h x x ->\nop ABS : x -> y\n" ARGS},
    {"tflite-E013", X Y "tensor z float32 1\nop ADD : x z -> y\n" ARGS},
    {"tflite-E014", X Y "op RELU : x -> y\nop RELU : x -> y\n" ARGS},
    {"tflite-E015", "tensor x complex64 1\n" Y "op RELU : x -> y\n" ARGS},
    {"tflite-E016", X Y "tensor s int32 2\nop TRANSPOSE : x s -> y\nin x s\nout y\n"},
    {"tflite-E017", X Y "op ADD : x -> y\n" ARGS},
    {"tflite-E017", X Y "op RELU : x x -> y\n" ARGS},
    {"tflite-E020", X Y "tensor z float32 1,2\nop RELU : x -> z y\n" ARGS},
    {"tflite-E022", X Y "tensor w float32 1,1 data=1\nop CONV_2D stride_w=1 stride_h=1 : x w - -> y\n" ARGS},
    {"tflite-E009", REDUCE JOIN("op STABLEHLO_DIVIDE")},
    {"tflite-E009", "tensor x float32 1,2,2,2,1\ntensor s int32 2 data=4,4\n" Y
                    "op RESIZE_NEAREST_NEIGHBOR : x s -> y\n" ARGS},
    {"tflite-E061",
     "tensor h resource scalar\ntensor y float32 scalar\n" VARIABLE "op READ_VARIABLE : h -> y\nout y\n"},
    {"tflite-E062", COUNTER "graph\ntensor h resource scalar\ntensor n int32 1 data=1\ntensor s float32 1\n"
                            "op RANDOM_UNIFORM : n -> s\n" VARIABLE "op ASSIGN_VARIABLE : h s ->\n"},
    {"tflite-E017", COUNTER FIRST(" data=1") "op ASSIGN_VARIABLE : k k ->\n"},
    {"tflite-E017", "tensor x float32 1,1\ntensor y float32 1,1\nop RNN : x x x x - -> y\n" ARGS},
    {"tflite-E009", X Y "op STABLEHLO_SLICE start_indices=0 limit_indices=1 strides=1 : x -> y\n" ARGS},
    {"tflite-E010", "tensor x int8 2 scale=1\ntensor y int8 2 scale=1\nop STABLEHLO_ADD : x x -> y\n" ARGS},
    {"tflite-E010", "tensor x float32 4,4\ntensor n int32 2 data=4,4\ntensor y complex64 4,3\n"
                    "op RFFT2D : x n -> y\n" ARGS},
    {"tflite-E010", "tensor x float32 4,4\ntensor n int32 2 data=4,4\ntensor c complex64 4,3\n"
                    "tensor y complex64 4,3\nop RFFT2D : x n -> c\nop ADD : c c -> y\n" ARGS},
    {"tflite-E022", "tensor x float32 1,1,1,1,1,1,1,1,1\n" Y "op RELU : x -> y\n" ARGS},
};

static void refuse(const refusal *r, const tn_import_options *o)
{
    model m;
    tn_buf file;
    tn_status s = import_text(&m, r->text, &file, o);
    const char *errors = model_errors(&m);
    if (s == TN_OK || !strstr(errors, r->id))
        fail_msg("%s\n%s is expected, not:\n%s", r->text, r->id, errors);
    model_deinit(&m);
    tn_buf_deinit(&file);
}

static void wrong_models_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        refuse(&refusals[i], NULL);
}

static void random_numbers_are_told_of(void **state)
{
    (void)state;
    static const char text[] =
        "tensor n int32 1 data=3\ntensor y float32 3\nop RANDOM_UNIFORM : n -> y\nout y\n";
    model m;
    tn_buf file;
    assert_int_equal(import_text(&m, text, &file, NULL), TN_OK);
    assert_non_null(strstr(model_errors(&m), "tflite-W001"));
    model_deinit(&m);
    tn_buf_deinit(&file);
}

/* TFLite does not say which numbers come, only how they are distributed. */
static void random_numbers_have_their_distribution(void **state)
{
    enum { N = 8000 };
    static double y[N];
#define DRAWN(t, op) "tensor r " t " 1,8000\ntensor y " t " 1,8000\nop " op " -> r\nop ADD : r x -> y\n" ARGS
#define OF_SHAPE(op) "tensor x float32 1\ntensor n int32 2 data=1,8000\n" DRAWN("float32", op " : n")
#define LOGITS "tensor x int64 1\ntensor p float32 1,3 data=0,.6931,1.609\ntensor n int32 scalar data=8000\n"
    static const struct {
        const char *text;
        double mean, variance, near; /* near: less than a deviation from the mean */
    } rows[] = {{OF_SHAPE("RANDOM_UNIFORM"), 0.5, 1.0 / 12, 0.57735},
                {OF_SHAPE("RANDOM_STANDARD_NORMAL"), 0, 1, 0.68269},
                {LOGITS DRAWN("int64", "MULTINOMIAL : p n"), 1.5, 0.5, 0.875}};
    (void)state;
    for (int k = 0; k < 3; k++) {
        double sum = 0, squares = 0, near = 0;
        run_text(rows[k].text, (const int64_t[]){0}, k < 2 ? 4 : 8, N, y);
        for (int i = 0; i < N; i++) {
            double d = y[i] - rows[k].mean;
            sum += d;
            squares += d * d;
            near += d * d < rows[k].variance;
        }
        if (fabs(sum / N) > 4 * sqrt(rows[k].variance / N) || fabs(near / N - rows[k].near) > 0.02 ||
            fabs(squares / N / rows[k].variance - 1) > 0.05)
            fail_msg("row %d: mean off by %g, variance %g, near %g", k, sum / N, squares / N, near / N);
    }
}

/* The sum of what a table has and of its size: 7 and 5 have values, 6 has none. */
static void tables_find_and_are_counted(void **state)
{
    (void)state;
#define TABLE "tensor h resource scalar\nop HASHTABLE table_id=1 : -> h\n"
    expect(
        "tensor x int64 3\ntensor d int64 1 data=-1\ntensor v int64 3\ntensor n int64 1\ntensor y int64 3\n"
        "op CALL_ONCE init_subgraph_index=1 : ->\n" TABLE
        "op HASHTABLE_FIND : h x d -> v\nop HASHTABLE_SIZE : h -> n\nop ADD : v n -> y\n" ARGS "graph\n" TABLE
        "tensor k int64 2 data=5,7\ntensor v int64 2 data=50,70\nop HASHTABLE_IMPORT : h k v ->\n",
        (const int64_t[]){7, 6, 5}, 24, 3, (const double[]){72, 1, 52});
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    static const char text[] = X Y "op RELU : x -> y\n" ARGS;
    static const int64_t dim[] = {1, 2};
    static const tn_input_sizes sizes[2] = {{.min = 5, .max = 3}};
    const tn_input_shape other = {.name = "z", .ndim = 2, .dim = dim},
                         rank = {.name = "x", .ndim = 1, .dim = dim},
                         open = {.name = "x", .ndim = 2, .dim = (const int64_t[]){-1, 2}, .sizes = sizes};
    refuse(&(refusal){"tflite-E018", text}, &(tn_import_options){.shape = &other, .n_shape = 1});
    refuse(&(refusal){"tflite-E019", text}, &(tn_import_options){.shape = &rank, .n_shape = 1});
    refuse(&(refusal){"tflite-E060", text}, &(tn_import_options){.shape = &open, .n_shape = 1});
    refuse(&(refusal){"tflite-E013", text}, &(tn_import_options){.signature = "none"});
}

/* 33 inputs of 8 open dimensions each; more errors than anybody reads; a chain of operators that all give one tensor of
 * eight dimensions to the next. */
static void too_much_is_refused(void **state)
{
    (void)state;
    tn_buf text = {0};
    for (int i = 0; i < 33; i++)
        tn_buf_printf(&text, "tensor x%d float32 -1,-1,-1,-1,-1,-1,-1,-1\n", i);
    tn_buf_str(&text, "op RELU : x0 -> x1\nin");
    for (int i = 0; i < 33; i++)
        tn_buf_printf(&text, " x%d", i);
    tn_buf_str(&text, "\nout x1\n");
    refuse(&(refusal){"tflite-E023", tn_buf_cstr(&text)}, NULL);
    tn_buf_deinit(&text);
}

/* Every prefix of a model, and the model with each of its bytes changed, is read or refused. */
static void damaged_models_are_refused(void **state)
{
    (void)state;
    tn_buf good = tfl_write(X Y "op RELU : x -> y\n" ARGS);
    for (size_t i = 0; i < 2 * good.n; i++) {
        model m;
        char *copy = malloc(good.n);
        memcpy(copy, good.at, good.n);
        bool cut = i < good.n;
        if (!cut)
            copy[i - good.n] = (char)(copy[i - good.n] ^ 0xff);
        tn_file f = {(const uint8_t *)copy, cut ? i : good.n, 0};
        model_init(&m);
        tn_status s = tn_import(&m.g, "model.tflite", &f, "tflite", NULL);
        if (cut && s != TN_OK && i >= 8)
            assert_non_null(strstr(model_errors(&m), "tflite-E"));
        assert_true((s == TN_OK) == (m.ctx.n_error == 0));
        model_deinit(&m);
        free(copy);
    }
    model m;
    model_init(&m);
    tn_file f = {(const uint8_t *)good.at, 20, 0};
    assert_int_equal(tn_import(&m.g, "model.tflite", &f, NULL, NULL), TN_FAIL);
    assert_non_null(strstr(model_errors(&m), "tflite-E001"));
    model_deinit(&m);
    tn_buf_deinit(&good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_convolution_has_the_channels_last),
        cmocka_unit_test(integer_convolution_rounds_ties_away),
        cmocka_unit_test(fully_connected_layers_round_ties_up),
        cmocka_unit_test(sums_of_integers_meet_on_a_common_grid),
        cmocka_unit_test(scalars_have_empty_shapes),
        cmocka_unit_test(functions_of_integers_have_their_bits),
        cmocka_unit_test(products_of_words_have_sums_of_64_bits),
        cmocka_unit_test(averages_round_ties_away),
        cmocka_unit_test(slices_drop_and_add_dimensions),
        cmocka_unit_test(loops_run_other_graphs),
        cmocka_unit_test(branches_are_other_graphs),
        cmocka_unit_test(resizing_integers_rounds_ties_away),
        cmocka_unit_test(segments_are_joined_by_number),
        cmocka_unit_test(elements_move_apart),
        cmocka_unit_test(reductions_name_a_graph),
        cmocka_unit_test(cases_are_other_graphs),
        cmocka_unit_test(random_numbers_are_told_of),
        cmocka_unit_test(random_numbers_have_their_distribution),
        cmocka_unit_test(tables_find_and_are_counted),
        cmocka_unit_test(signatures_name_and_choose),
        cmocka_unit_test(models_say_who_made_them),
        cmocka_unit_test(mediapipe_operators_compute),
        cmocka_unit_test(mediapipe_landmarks_compute),
        cmocka_unit_test(no_samples_have_no_windows),
        cmocka_unit_test(integer_gates_are_normalised),
        cmocka_unit_test(variable_tensors_are_states),
        cmocka_unit_test(variables_behind_handles_are_states),
        cmocka_unit_test(wrong_models_are_refused),
        cmocka_unit_test(wrong_shapes_are_refused),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(damaged_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
