/* TVM's operators of detectors and of parts of images: what they compute, worked out by hand, and what is said where
 * they cannot be read. */
#include "test_relay_forms.h"

#define BOXES \
    "%d = reshape(concatenate((%x, %x)), newshape=[1, 2, 8]); %n = cast(strided_slice(reshape(%x, " \
    "newshape=[8]), begin=[1], end=[2]), dtype=\"int32\"); %i = reshape(cast(strided_slice(reshape(%x, " \
    "newshape=[8]), begin=[0], end=[2]), dtype=\"int32\"), newshape=[1, 2]); "
#define CLASSES \
    "%b = reshape(%x, newshape=[1, 2, 4]); %s = reshape(strided_slice(reshape(%x, newshape=[8]), " \
    "begin=[0], end=[2]), newshape=[1, 1, 2]); "
#define ANCHORS \
    "%p = reshape(%x, newshape=[1, 4, 2]); %l = zeros(shape=[1, 8], dtype=\"float32\"); %a = reshape(%x, " \
    "newshape=[1, 2, 4]); "
#define IMAGE "%m = reshape(%x, newshape=[1, 1, 2, 4]); "

static const form_case cases[] = {
    {"%0 = vision.get_valid_counts(reshape(%x, newshape=[1, 2, 4]), 0f, id_index=0, score_index=1); %0.1",
     8,
     {1, 2, 3, 4, -1, -1, -1, -1}},
    {"%0 = vision.get_valid_counts(reshape(%x, newshape=[1, 2, 4]), 5f, id_index=-1, score_index=3); %0.1",
     8,
     {-5, 6, -7, 8, -1, -1, -1, -1}},
    {"%0 = vision.get_valid_counts(reshape(%x, newshape=[1, 2, 4]), 5f, id_index=-1, score_index=3); "
     "cast(concatenate((reshape(%0.0, newshape=[1]), reshape(%0.2, newshape=[2]))), dtype=\"float32\")",
     3,
     {1, 1, -1}},
    {BOXES "%0 = vision.non_max_suppression(%d, %n, %i, -1, 0.5f, score_index=0, id_index=1); "
           "cast(concatenate((%0.0, %0.1), axis=1), dtype=\"float32\")",
     3,
     {1, -1, 1}},
    {BOXES "%0 = vision.non_max_suppression(%d, %n, %i, -1, 0.5f, score_index=0, id_index=4); "
           "cast(concatenate((%0.0, %0.1), axis=1), dtype=\"float32\")",
     3,
     {1, 2, 2}},
    {BOXES "%0 = vision.non_max_suppression(%d, %n, %i, -1, 0.5f, score_index=0, id_index=4, "
           "force_suppress=True); cast(concatenate((%0.0, %0.1), axis=1), dtype=\"float32\")",
     3,
     {1, 2, 2}},
    {BOXES "%0 = vision.non_max_suppression(%d, %n, %i, 1, 1.5f, score_index=0, id_index=-1); "
           "cast(concatenate((%0.0, %0.1), axis=1), dtype=\"float32\")",
     3,
     {1, -1, 1}},
    {BOXES
     "vision.non_max_suppression(%d, %n, %n, -1, 0.5f, score_index=0, id_index=1, return_indices=False)",
     16,
     {1, 2, 3, 4, -5, 6, -7, 8, -1, -1, -1, -1, -1, -1, -1, -1}},
    {BOXES "vision.non_max_suppression(%d, %n, %n, -1, 0f, score_index=0, id_index=1, return_indices=False)",
     16,
     {1, 2, 3, 4, -5, 6, -7, 8, 1, 2, 3, 4, -5, 6, -7, 8}},
    {BOXES "vision.non_max_suppression(%d, %n, %n, -1, 1.5f, score_index=0, id_index=1, top_k=1, "
           "return_indices=False, invalid_to_bottom=True)",
     16,
     {1, 2, 3, 4, -5, 6, -7, 8, -1, -1, -1, -1, -1, -1, -1, -1}},
    {BOXES "%t = reshape(strided_slice(%d, begin=[0, 0, 0], end=[1, 1, 1]), newshape=[]); "
           "vision.non_max_suppression(%d, %n, %n, -1, %t, score_index=0, id_index=1, return_indices=False)",
     16,
     {1, 2, 3, 4, -5, 6, -7, 8, -1, -1, -1, -1, -1, -1, -1, -1}},
    {CLASSES "%0 = vision.all_class_non_max_suppression(%b, %s, -1, 0.5f, 0f); cast(%0.0, dtype=\"float32\")",
     6,
     {0, 0, 1, 0, 0, 0}},
    {CLASSES
     "%0 = vision.all_class_non_max_suppression(%b, %s, -1, 0.5f, 1.5f); cast(%0.1, dtype=\"float32\")",
     1,
     {1}},
    {CLASSES
     "%0 = vision.all_class_non_max_suppression(%b, %s, -1, 0.5f, 0f, output_format=\"tensorflow\"); %0.1",
     2,
     {2, 1}},
    {CLASSES "%0 = vision.all_class_non_max_suppression(%b, negative(%s), -1, 0.5f, -1.5f, "
             "output_format=\"tensorflow\"); cast(%0.2, dtype=\"float32\")",
     1,
     {0}},
    {CLASSES "%0 = vision.all_class_non_max_suppression(%b, %s / -2f, -1, 0.5f, -1.5f, "
             "output_format=\"tensorflow\"); %0.1",
     2,
     {-0.5f, 0}},
    {CLASSES "%0 = vision.regular_non_max_suppression(%b, reshape(%s, newshape=[1, 2, 1]), "
             "max_detections_per_class=5, max_detections=3, num_classes=1, iou_threshold=0.5f, "
             "score_threshold=0f); %0.0",
     12,
     {-5, 6, -7, 8, 1, 2, 3, 4, 0, 0, 0, 0}},
    {CLASSES "%0 = vision.regular_non_max_suppression(%b, reshape(%s, newshape=[1, 2, 1]), "
             "max_detections_per_class=5, max_detections=3, num_classes=1, iou_threshold=0.5f, "
             "score_threshold=0f); %0.2",
     3,
     {2, 1, 0}},
    {"vision.multibox_prior(reshape(%x, newshape=[1, 2, 2, 2]))",
     8,
     {-0.25f, -0.25f, 0.75f, 0.75f, 0.25f, -0.25f, 1.25f, 0.75f}},
    {"vision.multibox_prior(reshape(%x, newshape=[1, 2, 2, 2]), sizes=[0.5f], ratios=[9f, 4f], clip=True)",
     8,
     {0, 0, 0.5f, 0.5f, 0, 0.125f, 0.75f, 0.375f}},
    {ANCHORS "%0 = vision.multibox_transform_loc(%p, %l, %a, clip=False); %0.0",
     12,
     {0, 3, 1, 2, 3, 4, 2, 8, -5, 6, -7, 8}},
    {ANCHORS "%0 = vision.multibox_transform_loc(%p, %l, %a, threshold=5f); %0.0",
     12,
     {2, 8, 0, 1, 0, 1, -1, -1, -1, -1, -1, -1}},
    {ANCHORS "%0 = vision.multibox_transform_loc(%p, %l, %a, threshold=5f, keep_background=True); %0.0",
     12,
     {0, 3, 1, 1, 1, 1, 3, 8, 0, 1, 0, 1}},
    {"vision.yolo_reorg(reshape(concatenate((%x, %x)), newshape=[1, 4, 2, 2]), stride=2)",
     16,
     {1, 3, 1, 3, 2, 4, 2, 4, -5, -7, -5, -7, 6, 8, 6, 8}},
    {"vision.proposal(zeros(shape=[1, 2, 1, 1], dtype=\"float32\"), zeros(shape=[1, 4, 1, 1], "
     "dtype=\"float32\"), reshape(strided_slice(reshape(%x, newshape=[8]), begin=[0], end=[3]), newshape=[1, "
     "3]), scales=[1f], ratios=[1f], rpn_post_nms_top_n=2, rpn_min_size=0)",
     10,
     {0, 0, 0, 1, 0, 0, 0, 0, 1, 0}},
    {IMAGE "image.crop_and_resize(%m, strided_slice(%x, begin=[0, 0], end=[1, 4]), zeros(shape=[1], "
           "dtype=\"int32\"), crop_size=[2, 2], extrapolation_value=9f)",
     4,
     {9, 9, 9, 9}},
    {IMAGE "image.crop_and_resize(%m, full(0.5f, shape=[1, 4], dtype=\"float32\"), zeros(shape=[1], "
           "dtype=\"int32\"), crop_size=[1, 2])",
     2,
     {1, 1}},
    {IMAGE "image.resize2d(%m, size=[1, 2], roi=[0f, 0f, 0f, 1f], "
           "coordinate_transformation_mode=\"tf_crop_and_resize\", method=\"nearest_neighbor\")",
     2,
     {1, 4}},
    {IMAGE "image.resize2d(%m, size=[1, 2], roi=[0f, 0.5f, 0f, 1.5f], "
           "coordinate_transformation_mode=\"tf_crop_and_resize\", extrapolation_value=7f)",
     2,
     {2.5f, 7}},
    {"image.resize1d(reshape(%x, newshape=[1, 4, 2]), size=[2], roi=[0.5f, 1f], layout=\"NWC\", "
     "coordinate_transformation_mode=\"tf_crop_and_resize\")",
     4,
     {-1, 5, -7, 8}},
    {"image.resize3d(reshape(%x, newshape=[1, 1, 2, 2, 2]), size=[2, 1, 1], roi=[0f, 0f, 0f, 0f, 0f, 2f], "
     "coordinate_transformation_mode=\"tf_crop_and_resize\", extrapolation_value=9f)",
     2,
     {1, -5}},
    {IMAGE "dyn.image.resize2d(%m, full(2, shape=[2], dtype=\"int64\"), full(0.5f, shape=[4], "
           "dtype=\"float32\"), coordinate_transformation_mode=\"tf_crop_and_resize\")",
     4,
     {1, 1, 1, 1}},
    {"vision.roi_align(reshape(%x, newshape=[2, 1, 2, 2]), zeros(shape=[1, 5], dtype=\"float32\"), "
     "pooled_size=[1, 1], spatial_scale=1f, sample_ratio=2, mode=\"max\")",
     1,
     {3.25f}},
};

static void forms_are_computed(void **state)
{
    (void)state;
    forms_compute(cases, sizeof cases / sizeof *cases);
}

static const form_said texts[] = {
    {"vision.get_valid_counts(reshape(%x, newshape=[1, 2, 4]), 0f, score_index=4)",
     "vision.get_valid_counts needs a score_index and an id_index of columns that data Tensor[(1, 2, 4), "
     "float32] has [tvm-E002]"},
    {"vision.get_valid_counts(reshape(cast(%x, dtype=\"float16\"), newshape=[1, 2, 4]), 0f)",
     "boxes Tensor[(1, 2, 4), float16] must be float32 or float64 in 3 dimensions; cast them [tvm-E002]"},
    {"vision.get_valid_counts(reshape(%x, newshape=[1, 2, 4]), %x)",
     "operand 1 is Tensor[(2, 4), float32], but must be one number [tvm-E002]"},
    {BOXES "vision.non_max_suppression(%d, %n, %i, -1, 0.5f, coord_start=5)",
     "vision.non_max_suppression needs a coord_start, score_index and id_index of columns that data "
     "Tensor[(1, 2, 8), float32] has [tvm-E002]"},
    {BOXES "vision.non_max_suppression(%d, %i, %i, -1, 0.5f)",
     "vision.non_max_suppression needs valid_count as a list of integers, not Tensor[(1, 2), int32] "
     "[tvm-E002]"},
    {BOXES "vision.non_max_suppression(%d, %n, %n, -1, 0.5f)",
     "indices Tensor[(1), int32] must be a matrix of integers [tvm-E002]"},
    {CLASSES "vision.all_class_non_max_suppression(%b, %s, -1, 0.5f, 0f, output_format=\"odd\")",
     "vision.all_class_non_max_suppression needs output_format onnx or tensorflow, not \"odd\" [tvm-E002]"},
    {CLASSES "vision.regular_non_max_suppression(%b, reshape(%s, newshape=[1, 2, 1]), "
             "max_detections_per_class=5, max_detections=3, "
             "num_classes=3, iou_threshold=0.5f, score_threshold=0f)",
     "vision.regular_non_max_suppression needs num_classes from 1 to what the scores Tensor[(1, 2, 1), "
     "float32] have [tvm-E002]"},
    {CLASSES "vision.regular_non_max_suppression(%b, reshape(%s, newshape=[1, 2, 1]), "
             "max_detections_per_class=5, max_detections=0, "
             "num_classes=1, iou_threshold=0.5f, score_threshold=0f)",
     "vision.regular_non_max_suppression needs max_detections and max_detections_per_class of at least 1 "
     "[tvm-E002]"},
    {CLASSES "vision.regular_non_max_suppression(%b, reshape(%s, newshape=[1, 2, 1]), "
             "max_detections_per_class=5, max_detections=3, "
             "num_classes=1, iou_threshold=-1f, score_threshold=0f)",
     "vision.regular_non_max_suppression needs an iou_threshold of at least 0 [tvm-E002]"},
    {CLASSES "vision.regular_non_max_suppression(%b, %s, max_detections_per_class=5, max_detections=3, "
             "num_classes=1, iou_threshold=0.5f, score_threshold=0f)",
     "scores Tensor[(1, 1, 2), float32] are not those of boxes Tensor[(1, 2, 4), float32] [tvm-E002]"},
    {BOXES "vision.non_max_suppression(%d, %n, %i, -1, 0.5f, coord_start=9223372036854775807)",
     "vision.non_max_suppression needs a coord_start, score_index and id_index of columns"},
    {"vision.multibox_prior(reshape(%x, newshape=[1, 2, 2, 2]), sizes=[0.5f], ratios=[1f, -1f])",
     "vision.multibox_prior needs from 1 to 256 sizes and ratios above 0 [tvm-E002]"},
    {"vision.multibox_prior(reshape(%x, newshape=[1, 2, 2, 2]), steps=[1f])",
     "vision.multibox_prior needs 2 numbers as steps, not 1 [tvm-E002]"},
    {"vision.multibox_prior(reshape(%x, newshape=[1, 2, 2, 2]), sizes=[])",
     "vision.multibox_prior needs from 1 to 256 sizes and ratios above 0 [tvm-E002]"},
    {"vision.multibox_prior(reshape(cast(%x, dtype=\"int32\"), newshape=[1, 2, 2, 2]))",
     "vision.multibox_prior needs float32 images, not Tensor[(1, 2, 2, 2), int32] [tvm-E002]"},
    {ANCHORS "vision.multibox_transform_loc(%p, %l, %l)",
     "scores Tensor[(1, 4, 2), float32], boxes Tensor[(1, 8), float32] and anchors Tensor[(1, 8), float32] "
     "do not fit [tvm-E002]"},
    {ANCHORS "vision.proposal(%l, %l, %l, scales=[])",
     "vision.proposal needs from 1 to 4096 pairs of scales and ratios above 0 [tvm-E002]"},
    {ANCHORS "vision.proposal(%l, %l, %l, rpn_post_nms_top_n=0)",
     "vision.proposal needs a feature_stride and a rpn_post_nms_top_n of at least 1, and a threshold of at "
     "least 0 [tvm-E002]"},
    {IMAGE "vision.yolo_reorg(%m, stride=2)",
     "vision.yolo_reorg needs images whose rows and columns the stride divides, and channels that its square "
     "divides, not Tensor[(1, 1, 2, 4), float32] with stride 2 [tvm-E002]"},
    {IMAGE
     "image.crop_and_resize(%m, %x, zeros(shape=[2], dtype=\"int32\"), crop_size=[2, 2], layout=\"NCHW4c\")",
     "image.crop_and_resize needs layout NCHW or NHWC, not \"NCHW4c\" [tvm-E002]"},
    {IMAGE
     "image.crop_and_resize(%m, %x, zeros(shape=[2], dtype=\"int32\"), crop_size=[2, 2], method=\"cubic\")",
     "image.crop_and_resize needs method bilinear or nearest_neighbor, not \"cubic\" [tvm-E002]"},
    {IMAGE "image.crop_and_resize(%m, %x, zeros(shape=[2], dtype=\"int32\"), crop_size=[0, 2])",
     "image.crop_and_resize needs a crop_size of two numbers that are at least 1 [tvm-E002]"},
    {IMAGE "image.crop_and_resize(%m, %m, zeros(shape=[2], dtype=\"int32\"), crop_size=[2, 2])",
     "image.crop_and_resize needs images, boxes [n, 4] of floats, and their images [n] [tvm-E002]"},
    {IMAGE "image.resize2d(%m, size=[1, 2], coordinate_transformation_mode=\"tf_crop_and_resize\")",
     "image.resize2d of a part of the image needs images in rows or with the channels last, and a size and a "
     "roi for each dimension [relay-E088]"},
    {IMAGE "image.resize2d(%m, size=[1, 2], roi=[0f, 0f, 1f, 1f], method=\"area\", "
           "coordinate_transformation_mode=\"tf_crop_and_resize\")",
     "image.resize2d needs method nearest_neighbor, linear or cubic [relay-E088]"},
    {IMAGE "image.resize2d(%m, size=[1, 2], roi=[0f, 0f, 1f, 1f], method=\"nearest_neighbor\", "
           "rounding_method=\"odd\", coordinate_transformation_mode=\"tf_crop_and_resize\")",
     "image.resize2d needs a roi of the image, and a rounding_method that is known [relay-E088]"},
    {"image.resize3d(reshape(%x, newshape=[1, 1, 2, 2, 2]), size=[2, 1, 1], roi=[0f, 0f, 0f, 0f, 0f, 2f], "
     "method=\"cubic\", cubic_exclude=1, coordinate_transformation_mode=\"tf_crop_and_resize\")",
     "image.resize3d of a part of a volume with cubic_exclude is not supported [relay-E088]"},
    {IMAGE "dyn.image.resize2d(%m, full(2, shape=[2], dtype=\"int64\"), reshape(%m, newshape=[8]), "
           "coordinate_transformation_mode=\"tf_crop_and_resize\")",
     "dyn.image.resize2d needs a roi of floats that is known when the text is read [relay-E088]"},
};

static void what_cannot_be_read_is_said(void **state)
{
    (void)state;
    forms_say(texts, sizeof texts / sizeof *texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_computed),
        cmocka_unit_test(what_cannot_be_read_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
