#ifndef TN_IR_METADATA_H
#define TN_IR_METADATA_H
/* What a model says of itself: "producer_name", "metadata_props.author", ... Both are text, as long as the module. */
typedef struct tn_metadata {
    const char *key, *value;
} tn_metadata;

#endif
