#ifndef TN_TIR_UNIT_H
#define TN_TIR_UNIT_H
/* Units that compute several products at once (unit.def), and the loop nests that call them. */
#include "tir/tir.h"

enum tn_unit_id {
#define UNIT(id, ...) TN_UNIT_##id,
#include "tir/unit.def"
    TN_N_UNITS
};

enum tn_unit_kind { TN_UNIT_LANES, TN_UNIT_MATRIX };

/* The axes of a call; a nest has a loop for each that has more than one element, in this order. */
enum { TN_UNIT_ROWS, TN_UNIT_COLUMNS, TN_UNIT_GROUPS, TN_UNIT_TERMS, TN_UNIT_AXES };

typedef struct tn_unit_row {
    const char *name;
    uint8_t kind;               /* enum tn_unit_kind */
    int16_t most[TN_UNIT_AXES]; /* of each axis in a call */
    tn_dtype x, w, sum;
    enum tn_intrin function; /* that computes a group */
    const char *what;
} tn_unit_row;
extern const tn_unit_row tn_units[TN_N_UNITS];

int tn_unit_named(const char *name); /* its number, or -1 */
/* The tag of blocks in which no factor, no product and no sum of some products is denormal, whatever the
 * operands are, or where those may count as 0. Units of floats, which may flush them, are for such blocks alone. */
#define TN_TAG_NORMAL "normal"
bool tn_unit_suits(const tn_unit_row *row, const tn_stmt *block);
/* The first row of that kind for factors of these types in groups of so many terms (0: any number); -1: none. */
int tn_unit_of(enum tn_unit_kind kind, tn_dtype x, tn_dtype w, tn_dtype sum, int64_t group);
/* Is it worth its layout on machine m? `given` tells whether a machine is of an architecture and has a feature of it
 * (tn_machine_given). */
struct tn_machine;
bool tn_unit_on(int id, const struct tn_machine *m,
                bool (*given)(const struct tn_machine *m, const char *arch, const char *feature));
/* The row of that kind for factors of these types in groups of so many terms (0: any number) that is worth it on m;
 * NULL: none. */
const tn_unit_row *tn_unit_here(enum tn_unit_kind kind, tn_dtype x, tn_dtype w, tn_dtype sum, int64_t group,
                                const struct tn_machine *m,
                                bool (*given)(const struct tn_machine *m, const char *arch,
                                              const char *feature));
/* Is it worth moving factor x of unit id once, on m, so that unit `other` computes the products? */
bool tn_unit_moves(int id, int other, const struct tn_machine *m,
                   bool (*given)(const struct tn_machine *m, const char *arch, const char *feature));

/* A nest of tensor loops around sum = sum + x * w, the factors widened. Of a MATRIX unit also one over rows and columns
 * alone around sum = 0, which clears a tile. */
typedef struct tn_unit_nest {
    const tn_unit_row *row;
    tn_stmt *loop[TN_UNIT_AXES];  /* NULL: an axis of one element */
    int64_t extent[TN_UNIT_AXES]; /* 1 there */
    tn_stmt *inner;               /* the innermost loop */
    tn_stmt *block, *store;       /* around the store: NULL: none */
    const tn_expr *cond;          /* on the store, NULL: none */
    const tn_expr *x, *w;         /* loads; NULL: the nest clears */
} tn_unit_nest;
/* The nest that begins with `loop`: its innermost list is the store, or a block of it alone, or a condition around it.
 * Returns NULL, or why it is no call of the row; for texts. */
const char *tn_unit_read(tn_stmt *loop, const tn_unit_row *row, tn_unit_nest *out);
/* Makes a nest of a unit of floats, outside of blocks, serial loops that add in the unit's order, those of a MATRIX
 * unit in registers; false: it is another nest. */
bool tn_unit_write_out(tn_func *f, tn_stmt *loop);
/* The sum of a nest of a MATRIX unit, and its factors, as tiles in flat code: each row is contiguous, and the rows are
 * evenly spaced. */
enum tn_unit_part { TN_UNIT_X, TN_UNIT_W, TN_UNIT_SUM };
typedef struct tn_unit_tile {
    const tn_expr *first,
        *stride; /* where it begins, and a row after the one before, in elements of its buffer */
} tn_unit_tile;
bool tn_unit_tile_of(tn_pool *p, const tn_unit_nest *n, enum tn_unit_part part, tn_unit_tile *out);
/* Which axes are the rows of a part, and what is in a row. */
typedef struct tn_unit_sides {
    int row, column, lacks;
} tn_unit_sides;
tn_unit_sides tn_unit_sides_of(enum tn_unit_part part);
/* Why a nest of tensor loops with `loop` in it has not the loops of its unit; NULL: it has. */
const char *tn_unit_fault(const tn_stmt *loop);

#endif
