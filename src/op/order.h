#ifndef TN_OP_ORDER_H
#define TN_OP_ORDER_H
/* Sorting in the body of an operator: elements become whole numbers in the same order (keys), which are sorted with the
 * places where they came from. For record files of op/ only. */
#include "op/code.h"

typedef struct tn_order {
    tn_code *c;
    const tn_expr *capacity; /* entries of a list */
    const tn_expr *row;      /* memory of the call: which part is this task's; NULL: memory of the task */
    uint32_t keys, places, count; /* two lists of each; places before each digit's */
} tn_order;

/* The number that stands for x: least where x is first, NaN beyond +inf, all zeros alike. uint32, of wider x uint64. */
const tn_expr *tn_order_key(tn_pool *p, const tn_expr *x, bool ascend);
/* Memory for lists of `capacity` keys for elements of t. Where that is not constant, memory of the call for `rows`
 * tasks, so open stands before the tasks; `begin` stands inside them, `row` being the task's number. */
tn_order tn_order_open(tn_code *c, tn_dtype t, const tn_expr *rows, const tn_expr *capacity);
void tn_order_begin(tn_order *o, tn_code *c, const tn_expr *row, tn_dtype t);
/* An entry of a list (0 or 1). */
const tn_expr *tn_order_at(tn_order *o, const tn_expr *list, const tn_expr *at); /* its key */
const tn_expr *tn_order_place(tn_order *o, const tn_expr *list, const tn_expr *at);
void tn_order_put(tn_order *o, const tn_expr *list, const tn_expr *at, const tn_expr *key,
                  const tn_expr *place);
/* Sorts the first n entries of list 0, equal ones in their order; gives the list in which the result is. */
const tn_expr *tn_order_sort(tn_order *o, const tn_expr *n);

#endif
