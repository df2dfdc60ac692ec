#ifndef TN_OP_HOST_HOST_H
#define TN_OP_HOST_HOST_H
/* Operators over values that no kernel computes with: sequences, optional values, texts. Host functions do
 * them in the run. */
#include "op/op.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/host/ops.def"
#undef OP

/* clang-format off */
#define TN_SEQ_SPLIT_ATTRS(ATTR, s) \
    ATTR(s, I64,  axis,     "0",    "which is cut") \
    ATTR(s, BOOL, keepdims, "True", "False: parts of 1 lose the axis, if no sizes are given")
TN_ATTR_STRUCT(tn_seq_split_attr, TN_SEQ_SPLIT_ATTRS);

#define TN_SEQ_CONCAT_ATTRS(ATTR, s) \
    ATTR(s, I64,  axis,     "0",     "along which the elements follow each other") \
    ATTR(s, BOOL, new_axis, "False", "the axis is a new one") \
    ATTR(s, BOOL, backward, "False", "the last element comes first")
TN_ATTR_STRUCT(tn_seq_concat_attr, TN_SEQ_CONCAT_ATTRS);

#define TN_STRING_SPLIT_ATTRS(ATTR, s) \
    ATTR(s, STR, delimiter, "\"\"", "between the parts; empty: white space") \
    ATTR(s, I64, maxsplit,  "-1",   "splits of a text at most; below 0: no limit") \
    ATTR(s, BOOL, ascii, "False", "white space is that of C (isspace), not all that Unicode has")
TN_ATTR_STRUCT(tn_string_split_attr, TN_STRING_SPLIT_ATTRS);

#define TN_STRING_TOKENIZE_ATTRS(ATTR, s) \
    ATTR(s, BOOL, separates, "False", "tokens are what lies between matches") \
    ATTR(s, BOOL, mark,      "False", "the characters 2 and 3 are before and behind the tokens of each text") \
    ATTR(s, STR,  pad,       "\"\"",  "behind the tokens of a row, where others have more") \
    ATTR(s, I64,  least,     "1",     "characters that a token has at least")
TN_ATTR_STRUCT(tn_string_tokenize_attr, TN_STRING_TOKENIZE_ATTRS);

#define TN_STRING_NORMALIZE_ATTRS(ATTR, s) \
    ATTR(s, STR,  case_change_action, "\"NONE\"", "LOWER, UPPER or NONE") \
    ATTR(s, BOOL, is_case_sensitive,  "False",    "are stop words compared as they are?") \
    ATTR(s, STR,  locale,             "\"\"",     "tr and az have cases of their own for i")
TN_ATTR_STRUCT(tn_string_normalize_attr, TN_STRING_NORMALIZE_ATTRS);

#define TN_IMAGE_DECODE_ATTRS(ATTR, s) ATTR(s, STR, pixel_format, "\"RGB\"", "RGB, BGR or Grayscale")
TN_ATTR_STRUCT(tn_image_decode_attr, TN_IMAGE_DECODE_ATTRS);

#define TN_STRING_MATCH_ATTRS(ATTR, s) ATTR(s, STR, pattern, NULL, "the regular expression")
TN_ATTR_STRUCT(tn_string_match_attr, TN_STRING_MATCH_ATTRS);

#define TN_STRING_REPLACE_ATTRS(ATTR, s) \
    ATTR(s, STR,  pattern, NULL,   "the regular expression") \
    ATTR(s, STR,  rewrite, "\"\"", "what stands in the place of matches, as it is") \
    ATTR(s, BOOL, all,     "True", "False: in the place of the first one of each text")
TN_ATTR_STRUCT(tn_string_replace_attr, TN_STRING_REPLACE_ATTRS);

#define TN_STRING_TRANSLATE_ATTRS(ATTR, s) \
    ATTR(s, STR, from,   "\"\"", "ASCII characters that change") \
    ATTR(s, STR, to,     "\"\"", "what each becomes") \
    ATTR(s, STR, remove, "\"\"", "which are left out then")
TN_ATTR_STRUCT(tn_string_translate_attr, TN_STRING_TRANSLATE_ATTRS);

#define TN_STRING_HASH_ATTRS(ATTR, s) \
    ATTR(s, I64,  buckets, "0",     "results are below it; 0: all 64 bits") \
    ATTR(s, BOOL, strong,  "False", "SipHash with the key, else FarmHash") \
    ATTR(s, BOOL, murmur,   "False", "MurmurHash3 of 32 bits, whose seed is the first half of the key") \
    ATTR(s, I64,  key0,    "0",     "the first half of the key") \
    ATTR(s, I64,  key1,    "0",     "the second half")
TN_ATTR_STRUCT(tn_string_hash_attr, TN_STRING_HASH_ATTRS);

#define TN_STRING_TO_NUMBER_ATTRS(ATTR, s) ATTR(s, DTYPE, dtype, NULL, "int64, uint64, float32 or float64")
TN_ATTR_STRUCT(tn_string_to_number_attr, TN_STRING_TO_NUMBER_ATTRS);
/* clang-format on */

#endif
