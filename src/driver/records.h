#ifndef TN_DRIVER_RECORDS_H
#define TN_DRIVER_RECORDS_H
/* Files of tuning records and their forms. */
#include "driver/driver.h"

typedef struct tn_record_form tn_record_form;

typedef struct tn_record_place {
    const tn_record_form *form;
    const char *records;   /* path: of the file, of a pair its second one */
    const char *workloads; /* path of a pair's first one; NULL: it is none */
} tn_record_place;

struct tn_record_form {
    /* Adds what is there to r; machine: of that machine alone, NULL: all. What is wrong is reported with this severity. */
    tn_status (*read)(tn_ctx *ctx, const tn_record_place *p, tn_records *r, const char *machine,
                      enum tn_severity severity);
    /* Adds n records at once or none; the file is made where it is not there. */
    tn_status (*append)(tn_ctx *ctx, const tn_record_place *p, uint32_t n, const tn_record *r);
    /* Leaves the `keep` fastest of each workload, machine and number of threads, and what is of later formats; damaged
     * lines go. Others that write wait meanwhile. */
    tn_status (*prune)(tn_ctx *ctx, const tn_record_place *p, uint32_t keep, uint32_t *out_dropped);
};

extern const tn_record_form tn_record_lines; /* records_lines.c: of JSON */
extern const tn_record_form tn_record_pair;  /* the same file: the two files of MetaSchedule */

/* Texts are the context's or the caller's. */
tn_record_place tn_record_place_of(tn_ctx *ctx, const char *path);
bool tn_record_place_exists(const tn_record_place *p);

/* The `keep` fastest of each workload, machine and number of threads, sorted by these. */
const tn_record **tn_records_fastest(tn_ctx *ctx, const tn_records *r, uint32_t keep, size_t *out_n);
/* Says what a reader found: lines of TVM, and `wrong` of a line (NULL: nothing), as driver-E160. */
tn_status tn_records_tell(tn_ctx *ctx, const char *path, const tn_records *r, const char *wrong,
                          uint32_t line, enum tn_severity severity);

#endif
