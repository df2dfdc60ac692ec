#ifndef TN_BASE_TAKE_H
#define TN_BASE_TAKE_H
/* How elements of several tensors of strings are known by number (docs/relay.md, string.take): element i of operand k
 * has the number k << TN_TAKE_BITS | i. The importer makes such numbers, the host function takes them apart. */
enum { TN_TAKE_BITS = 40 };
#endif
