#ifndef TN_TUNE_RECORD_H
#define TN_TUNE_RECORD_H
/* What a search has found, kept in files: one record for the best schedule of a workload on a kind of machine.
 *
 * A file has a record a line, each an object of JSON:
 *
 *     {"tenon": 1, "workload": "9f3c…", "machine": "x86_64 l1=32768 l2=1048576 avx2 fma …", "threads": 1,
 *      "seconds": 1.9e-05, "default": 2.3e-05, "operations": 4194304, "trials": 64, "name": "conv2d_add",
 *      "generator": "rules", "version": 2, "picks": "rule = gemm\ndense.rows = 14\n", "trace": "i j k = loops …",
 *      "form": "81d2…", "sizes": "1 64 56 56 3", "function": "func @conv2d_add(…"}
 *
 * A line of AutoTVM's log, which has "input" and "result", may have such an object as its "record"; that is what counts
 * of it; so may one of AutoScheduler's, which has "i" and "r". MetaSchedule has a record in two files (database.h).
 * Lines of TVM's own, which have none, are passed over and counted; of MetaSchedule's the tile sizes are kept.
 *
 * Lines are only ever added, each by one write, so that a file is sound whenever its writer ends; a line that
 * is cut short is passed over, and so is one of a later format. Of records of one workload, machine and
 * number of threads the fastest counts. */
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "machine/machine.h"
#include "tune/tilings.h"

enum { TN_RECORD_FORMAT = 1 };

typedef struct tn_record {
    uint64_t workload;        /* tn_func_workload */
    const char *machine;      /* tn_record_machine */
    uint32_t threads;         /* that it was timed on */
    uint32_t trials;          /* of the search that found it */
    double seconds, built_in; /* of a call; of the built-in schedule beside it */
    double operations;        /* of a call; 0: not known */
    const char *name;         /* for people: of the kernel */
    const char *generator;    /* tn_sched_generator */
    uint32_t version;
    const char *picks, *trace; /* texts: tn_picks_print, tn_trace_print */
    /* tn_func_form, and the extents of the parameters one after the other, "1 64 56 56 3"; NULL: not known */
    uint64_t form;
    const char *sizes;
    const char *line;     /* that it was read from, without its end; NULL: none */
    const char *file;     /* by whose path it was read; NULL: none */
    const char *function; /* before scheduling, as text; NULL: not known, as in older lines */
    const char
        *parameters; /* its parameters, as a list of JSON, where a pair of MetaSchedule says them; NULL */
} tn_record;

typedef struct tn_record_workload { /* a line of the first file of that pair */
    bool is_sound;
    uint64_t number;
    const char *module; /* NULL: not known */
} tn_record_workload;

/* The machines on which times are about the same: by features and caches, not by name. */
const char *tn_record_machine(const tn_machine *m, tn_arena *arena);
/* Is it a text of a record: without characters that steer a terminal? lines: it may have several lines. */
bool tn_record_is_text(const char *s, size_t n, bool lines);
/* One line, with its end. */
void tn_record_print(const tn_record *r, tn_buf *out);
/* The same, but as it was read where that was a plain line: with keys that this version does not know. */
void tn_record_print_line(const tn_record *r, tn_buf *out);
/* The line that r was read from, of whatever form, with this function in its object, and with all other keys. */
const char *tn_record_line_with(const tn_record *r, const char *function, tn_arena *arena);

typedef struct tn_records {
    tn_arena arena; /* of all texts */
    tn_vec(tn_record) all;
    tn_vec(const char *) later;  /* lines that are not for this version: of later formats, of logs */
    uint32_t n_foreign, foreign; /* lines of the last text that TVM wrote; the number of the first */
    const char *path;            /* of the next text; NULL: not known */
    bool tells_foreign_later;    /* whoever reads files says nothing of lines of TVM */
    uint32_t n_text;             /* read so far */
    tn_vec(tn_tvm_lines) tvm;    /* all such lines, by file and workload */
    tn_map tvm_at;               /* number of the text and workload -> place there */
    bool has_workloads; /* the lines below are known; the next text is the second file of that pair */
    tn_vec(tn_record_workload) workloads;
    tn_map best; /* key of workload, machine and threads -> place in `all` */
} tn_records;

void tn_records_init(tn_records *r);
void tn_records_deinit(tn_records *r);
void tn_records_add(tn_records *r, const tn_record *x); /* copies texts */
/* Adds the records of a file; `machine`: those of one machine alone, NULL: all. NULL, or what is wrong with
 * line *out_line, the first that is damaged; all others are there. */
const char *tn_records_parse(tn_records *r, const char *text, size_t n, const char *machine,
                             uint32_t *out_line);
/* Adds the record of one line, which has no end; `number` is that of n_foreign and foreign, which go on.
 * NULL, or what is wrong with it. */
const char *tn_records_parse_line(tn_records *r, const char *line, size_t n, const char *machine,
                                  uint32_t number);
/* Is a record of the same schedule there? */
bool tn_records_has(const tn_records *r, const tn_record *x);
/* The fastest; NULL: none. threads 0: of any number. */
const tn_record *tn_records_find(const tn_records *r, uint64_t workload, const char *machine,
                                 uint32_t threads);
/* The one that is tried after x, of the same workload and machine: those of one thread come first, then the faster
 * ones, so tn_records_find with threads 1 and, if there is none, 0 gives the first. NULL: x was the last. Linear. */
const tn_record *tn_records_next(const tn_records *r, const tn_record *x);
/* Records whose choices may be good for a workload of this form and these sizes on this machine, the nearest first:
 * of the workload itself on other machines or threads, and of other workloads of its form. Of one generator; the
 * picks of no two of them are the same. Returns how many, at most `most`. */
uint32_t tn_records_near(const tn_records *r, const tn_record *like, uint32_t most, const tn_record *out[]);

#endif
