/* The columns of a tile whose rows are vectors, by shuffles.
 *
 * Elements are numbered row by row (row number the high bits, lane the low ones), and to take the even ones of all
 * vectors and then the odd ones rotates the bits of the number by one. log2(lanes) times that is the transposition
 * (Stone 1971, the perfect shuffle), with one shuffle a vector each time. Lanes behind the last one that is asked for
 * are left out first, and vectors that no column asked for needs are not made.
 */
#include "lower/lower_impl.h"

enum { MAX_ROUNDS = 6 };

static const tn_expr *named(tn_columns *c, const tn_expr *e)
{
    const tn_expr *var = tn_func_add_var(c->f, "tile", e->dtype);
    tn_body_insert(c->before->list, c->before, tn_stmt_let(c->f, var, e));
    return var;
}

/* Vectors of the live lanes of several rows each, as long as a row was. */
static void leave_out_lanes(tn_columns *c, int lanes)
{
    c->n = c->width;
    for (c->each = c->live; c->each < lanes && c->n > 1; c->each *= 2) {
        for (int i = 0; i < c->n / 2; i++) {
            uint8_t lane[TN_MAX_SHUFFLED];
            int from = c->v[2 * i]->dtype.lanes;
            for (int l = 0; l < 2 * c->each; l++)
                lane[l] = (uint8_t)(l < c->each ? l : from + l - c->each);
            c->v[i] = named(c, tn_shuffle(c->f->pool, c->v[2 * i], c->v[2 * i + 1], 2 * c->each, lane));
        }
        c->n /= 2;
    }
}

/* One vector holds it all. */
static void transpose_one(tn_columns *c)
{
    uint8_t lane[TN_MAX_SHUFFLED];
    for (int l = 0; l < c->live; l++)
        for (int r = 0; r < c->width; r++)
            lane[l * c->width + r] = (uint8_t)(r * c->live + l);
    c->v[0] = named(c, tn_shuffle(c->f->pool, c->v[0], NULL, c->live * c->width, lane));
}

/* One round: the even elements of all vectors, then the odd ones, as far as vectors are needed. */
static void rotate(tn_columns *c, const bool needed[])
{
    const tn_expr *old[TN_MAX_ROWS], *made[TN_MAX_ROWS];
    int half = c->n / 2;
    for (int i = 0; i < c->n; i++)
        old[i] = c->v[i];
    for (int i = 0; i < c->n; i++) {
        const tn_expr *a = old[2 * (i % half)], *b = old[2 * (i % half) + 1];
        made[i] = needed[i] ? tn_lanes(c->f->pool, a, b, i >= half, c->each, 2) : NULL;
        int same = 0; /* rows that fill up are all one */
        while (made[same] != made[i])
            same++;
        if (made[i])
            c->v[i] = same < i ? c->v[same] : named(c, made[i]);
    }
}

static void transpose(tn_columns *c, const bool stored[])
{
    bool needed[MAX_ROUNDS + 1][TN_MAX_ROWS] = {0};
    int rounds = __builtin_ctz((unsigned)c->live), half = c->n / 2;
    for (int l = 0; l < c->live; l++)
        needed[rounds][l * c->width / c->each] |= stored[l];
    for (int k = rounds; k-- > 0;)
        for (int i = 0; i < half; i++)
            needed[k][2 * i] = needed[k][2 * i + 1] = needed[k + 1][i] || needed[k + 1][i + half];
    for (int k = 1; k <= rounds; k++)
        rotate(c, needed[k]);
}

void tn_columns_of(tn_columns *c, int rows, const tn_expr *const row[], const bool stored[])
{
    int lanes = row[0]->dtype.lanes;
    c->live = 1;
    for (int l = 0; l < lanes; l++)
        while (stored[l] && c->live <= l)
            c->live *= 2;
    for (int r = 0; r < c->width; r++)
        c->v[r] = r < rows ? named(c, row[r]) : c->v[r - 1];
    leave_out_lanes(c, lanes);
    if (c->n == 1)
        transpose_one(c);
    else
        transpose(c, stored);
}

const tn_expr *tn_column(const tn_columns *c, int l)
{
    return tn_lanes(c->f->pool, c->v[l * c->width / c->each], NULL, l * c->width % c->each, c->width, 1);
}
