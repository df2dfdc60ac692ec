#ifndef TN_CLI_REPORT_H
#define TN_CLI_REPORT_H
/* What `tenon run` prints about a run, in the form that users of tvmc know. */
#include "tenon/runtime.h"
#include "tenon/tenon.h"

#include <stdbool.h>
#include <stdio.h>

/* The table of --print-time over n means, in nanoseconds each; sorts `ns`. */
void tn_print_times(int n, double ns[]);

/* A JSON string of n bytes. */
void tn_print_json_text(FILE *to, const char *text, size_t n);
/* Element i of a tensor as a number; false for a type that has none. */
bool tn_value_at(const DLTensor *t, size_t i, double *out);
/* The largest n values of the first row of output 0, with their places; or an error for a type that has no order. */
int tn_print_top(const DLTensor *t, int n);

typedef struct tn_profile tn_profile; /* calls of one run, equal ones as one row */

tn_profile *tn_profile_new(void); /* NULL: out of memory */
void tn_profile_free(tn_profile *p);
/* dump_outputs.c: NULL or a code where something was printed. */
typedef struct tn_dump tn_dump;
tn_dump *tn_dump_new(const char *folder, const tnr_instance *of);
tnr_profile_fn tn_dump_add;  /* user is the dump */
int tn_dump_end(tn_dump *d); /* writes the lists */

tnr_profile_fn tn_profile_add; /* for tnr_profile_set; user is the profile */
typedef struct tn_profile_run {
    uint64_t total; /* wall time, in nanoseconds */
    int threads;
    const char *executor;
    tenon_rates rates; /* of this machine; all 0: unknown */
    bool wide;         /* with all columns, whatever the terminal's width */
} tn_profile_run;

/* Prints the table. Returns 0, or 1 if memory ran out meanwhile. */
int tn_profile_print(tn_profile *p, const tn_profile_run *run);

#endif
