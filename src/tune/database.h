#ifndef TN_TUNE_DATABASE_H
#define TN_TUNE_DATABASE_H
/* Lines of the two files that MetaSchedule keeps what it finds in. A line of database_workload.json is
 *
 *     ["11477012305823817071", "func @conv2d(…)…"]
 *
 * a workload, as a decimal number, and its loops before scheduling (docs/tir.md), or null where they are not known. A
 * line of database_tuning_record.json is
 *
 *     [0, [[[["loops", ["\"dense\""], [], ["i", "j"]], …], []], [1.9e-05],
 *          {"kind": "llvm", "keys": ["cpu"], "tag": "", "record": {"tenon": 1, …}},
 *          [["TENSOR", "float32", [1, 64]], …]]]
 *
 * the number of its workload's line, from 0 on, and of one schedule: its steps (kind, operands, attributes, results),
 * with no decisions beside them; seconds; the target, with the record as a plain file has it, which is what counts;
 * and the parameters, or null. Lines of TVM have no `record`. */
#include "base/wire/json.h"
#include "tune/record.h"

#define TN_DATABASE_WORKLOADS "database_workload.json"
#define TN_DATABASE_RECORDS "database_tuning_record.json"

/* Text as JSON, which the end of *out frees. Where there is no memory for it, it raises: the line is not damaged. */
tn_json_doc tn_database_json(const char *text, size_t n, tn_resource **out);

/* Lines, with their ends. */
void tn_database_print_workload(const tn_record *r, tn_buf *out);
void tn_database_print_record(const tn_record *r, uint32_t workload, tn_buf *out);
/* The parameters of f as such a record has them, symbol i being sym[i]. */
struct tn_func;
void tn_database_print_parameters(const struct tn_func *f, const int64_t sym[], tn_buf *out);
/* The line of r's workload in the text of the first file: its number, or that of the line behind the last. If r tells
 * its function, the line must have that text: another one may be of a version whose texts nobody reads. */
uint32_t tn_database_find_workload(const char *text, size_t n, const tn_record *r, bool *out_known);
/* The record that a line of the second file has; NULL: it is none, or one of TVM. */
const tn_json *tn_database_find_record(const tn_json *line);

/* Takes the workloads of the first file, behind which tn_records_parse reads the second one. */
void tn_database_parse_workloads(tn_records *r, const char *text, size_t n);
/* Gives x, which `line` of the second file has, what the first one says of its workload; where there is none, nothing.
 * NULL, or what is wrong. */
const char *tn_database_complete(tn_records *r, const tn_json *line, tn_record *x);

#endif
