#ifndef TN_DRIVER_RECORDS_H
#define TN_DRIVER_RECORDS_H
/* Files of tuning records and their forms. A file that is there shows its form by its content; the name of one that is
 * not there yet says what it will be. The user's own file is a database, and takes over the lines that earlier versions
 * kept. */
#include "driver/driver.h"

typedef struct tn_record_form tn_record_form;

typedef struct tn_record_place {
    const tn_record_form *form;
    const char *records;   /* path: of the file, of a pair its second one */
    const char *workloads; /* path of a pair's first one; NULL: it is none */
    const char *earlier;   /* the lines that the user's own database takes over; NULL: it is another file */
} tn_record_place;

struct tn_record_form {
    /* Adds what is there to r; machine: of that machine alone, and of a database the fastest few of each workload and
     * number of threads; NULL: all. What is wrong is reported with this severity. */
    tn_status (*read)(tn_ctx *ctx, const tn_record_place *p, tn_records *r, const char *machine,
                      enum tn_severity severity);
    /* Adds n records at once or none; the file is made where it is not there. */
    tn_status (*append)(tn_ctx *ctx, const tn_record_place *p, uint32_t n, const tn_record *r);
    /* Leaves the `keep` fastest that still fit of each workload, machine and number of threads, and what is of later
     * formats; damaged lines go. Others that write wait meanwhile. */
    tn_status (*prune)(tn_ctx *ctx, const tn_record_place *p, uint32_t keep, uint32_t *out_dropped);
};

extern const tn_record_form tn_record_lines;    /* records_lines.c: of JSON */
extern const tn_record_form tn_record_pair;     /* the same file: the two files of MetaSchedule */
extern const tn_record_form tn_record_database; /* records_sqlite.c */

/* Texts are the context's or the caller's. */
tn_record_place tn_record_place_of(tn_ctx *ctx, const char *path);
bool tn_record_place_exists(const tn_record_place *p);

/* Is this file, which is a regular one, a database of SQLite? */
bool tn_record_database_is(tn_ctx *ctx, const char *path);
/* Opens a file with these flags and waits for its lock; the end of *out closes it. 0 or errno. */
int tn_record_lock(const char *path, int flags, tn_resource **out);

/* NULL: out is the record's schedule of f. Else why it does not fit f any more. */
const char *tn_record_replay(const tn_record *r, const tn_func *f, tn_arena *arena, tn_pool *pool,
                             tn_sched *out);

/* The function that the record tells, in `arena` (records_fit.c). NULL, without a word: its text cannot be read, or is
 * of another workload. */
tn_func *tn_record_function(const tn_record *x, tn_ctx *ctx, tn_arena *arena, tn_pool *pool);
/* What records tell of the functions of their workloads (records_fit.c). */
typedef struct tn_record_texts tn_record_texts;
tn_record_texts *tn_record_texts_new(tn_records *r);
void tn_record_texts_free(tn_record_texts *t);
/* Can x's schedule be made of its function, as the first record of its workload tells that whose text can be read?
 * Where none does, it is taken to fit. */
bool tn_record_fits(tn_record_texts *t, const tn_record *x);
/* Where none of the kept records of a workload has its text, the first one's line gets it. */
void tn_record_texts_keep(tn_record_texts *t, size_t n, const tn_record *const kept[]);
/* The `keep` fastest that fit of each workload, machine and number of threads, sorted by these. Texts of functions that
 * only others have are in their lines. */
const tn_record **tn_records_fastest(tn_ctx *ctx, tn_records *r, uint32_t keep, size_t *out_n);
/* Says what a reader found: lines of TVM, and `wrong` of a line (NULL: nothing), as driver-E160. */
tn_status tn_records_tell(tn_ctx *ctx, const char *path, const tn_records *r, const char *wrong,
                          uint32_t line, enum tn_severity severity);

#endif
