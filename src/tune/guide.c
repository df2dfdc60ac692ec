/* What a search learns. */
#include "tune/guide.h"

#include "base/vec.h"

#include <string.h>

typedef struct of_task {
    tn_knobs knobs;
    uint32_t n, first; /* rows; the first of them */
    uint32_t fitted;   /* rows that the model was fitted to */
    void *model;       /* NULL: none, or there is one of all tasks */
} of_task;

struct tn_guide {
    tn_guide_options o;
    void *with; /* the learner's */
    of_task *task;
    void *model; /* of all tasks; NULL: none */
    uint32_t n;  /* rows */
    tn_vec(float) x;
    tn_vec(double) y;
};

tn_guide *tn_guide_new(const tn_guide_options *o, char why[TN_MODEL_WHY])
{
    void *with = o->learner->open ? o->learner->open(why) : NULL;
    if (o->learner->open && !with)
        return NULL;
    tn_guide *g = tn_alloc_array(1, sizeof *g);
    g->o = *o;
    g->with = with;
    g->task = tn_alloc_array(o->n_task, sizeof *g->task);
    return g;
}

void tn_guide_free(tn_guide *g)
{
    if (!g)
        return;
    for (uint32_t i = 0; i < g->o.n_task; i++)
        g->o.learner->free(g->task[i].model);
    g->o.learner->free(g->model);
    tn_vec_deinit(&g->x);
    tn_vec_deinit(&g->y);
    tn_free(g->task);
    tn_free(g->with);
    tn_free(g);
}

const float *tn_guide_features(tn_guide *g, uint32_t task, const tn_featured *x, tn_arena *arena)
{
    float *f = TN_NEW_N(arena, float, g->o.features->n);
    tn_featured one = *x;
    one.knobs = &g->task[task].knobs;
    g->o.features->of(&one, f);
    return f;
}

void tn_guide_clear(tn_guide *g)
{
    g->n = 0;
    tn_vec_clear(&g->x);
    tn_vec_clear(&g->y);
    for (uint32_t i = 0; i < g->o.n_task; i++)
        g->task[i].n = 0;
}

void tn_guide_add(tn_guide *g, uint32_t task, const float *feature, double y)
{
    uint32_t n = g->o.features->n;
    if (g->task[task].n++ == 0)
        g->task[task].first = g->n;
    tn_vec_reserve(&g->x, n);
    memcpy(g->x.at + g->x.n, feature, n * sizeof *feature);
    g->x.n += n;
    tn_vec_push(&g->y, y);
    g->n++;
}

static bool fit(tn_guide *g, const tn_rows *r, void **model, char why[TN_MODEL_WHY])
{
    void *fresh = tn_model_fit(g->o.learner, g->with, g->o.loss, r, why);
    if (!fresh)
        return false;
    g->o.learner->free(*model);
    *model = fresh;
    return true;
}

static bool fit_each(tn_guide *g, char why[TN_MODEL_WHY])
{
    bool ok = true;
    for (uint32_t i = 0; i < g->o.n_task && ok; i++) {
        of_task *t = &g->task[i];
        const tn_rows r = {.n = t->n,
                           .n_feature = g->o.features->n,
                           .x = g->x.at + (size_t)t->first * g->o.features->n,
                           .y = g->y.at + t->first};
        if (t->n < g->o.least || t->n == t->fitted)
            continue;
        ok = fit(g, &r, &t->model, why);
        t->fitted = t->n;
    }
    return ok;
}

static bool fit_all(tn_guide *g, char why[TN_MODEL_WHY])
{
    if (g->n < g->o.least)
        return true;
    uint32_t *group = tn_alloc_array(g->o.n_task, sizeof *group);
    for (uint32_t i = 0; i < g->o.n_task; i++)
        group[i] = g->task[i].n;
    const tn_rows r = {g->n, g->o.features->n, g->x.at, g->y.at, g->o.n_task, group};
    bool ok = fit(g, &r, &g->model, why);
    tn_free(group);
    return ok;
}

bool tn_guide_fit(tn_guide *g, char why[TN_MODEL_WHY])
{
    return g->o.features->alone ? fit_each(g, why) : fit_all(g, why);
}

static void *model_of(const tn_guide *g, uint32_t task)
{
    return g->o.features->alone ? g->task[task].model : g->model;
}

bool tn_guide_knows(const tn_guide *g, uint32_t task) { return model_of(g, task) != NULL; }

bool tn_guide_judge(tn_guide *g, uint32_t task, uint32_t n, const float *const feature[], double out[],
                    char why[TN_MODEL_WHY])
{
    uint32_t width = g->o.features->n;
    float *x = tn_alloc_array((size_t)n * width, sizeof *x);
    for (uint32_t i = 0; i < n; i++)
        memcpy(x + (size_t)i * width, feature[i], width * sizeof *x);
    bool ok = n == 0 || g->o.learner->predict(model_of(g, task), n, x, out, why);
    tn_free(x);
    return ok;
}
