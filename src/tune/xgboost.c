/* XGBoost by its C API. What the library gives is a resource each: a call that is ended early leaves nothing behind. */
#include "tune/xgboost.h"

#include "base/alloc.h"
#include "base/guard.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the library ---- */

typedef void *handle; /* of a matrix, or of a booster */

/* Functions that return an int fail where that is not 0. CALL(type, name, (parameters)) */
#define XGBOOST_CALLS(CALL) \
    CALL(const char *, GetLastError, (void)) \
    CALL(int, DMatrixCreateFromMat_omp, \
         (const float *x, uint64_t n, uint64_t n_feature, float missing, handle *out, int threads)) \
    CALL(int, DMatrixSetFloatInfo, (handle m, const char *field, const float *at, uint64_t n)) \
    CALL(int, DMatrixSetUIntInfo, (handle m, const char *field, const unsigned *at, uint64_t n)) \
    CALL(int, DMatrixFree, (handle m)) \
    CALL(int, BoosterCreate, (const handle m[], uint64_t n, handle *out)) \
    CALL(int, BoosterSetParam, (handle b, const char *name, const char *value)) \
    CALL(int, BoosterUpdateOneIter, (handle b, int round, handle m)) \
    CALL(int, BoosterPredict, \
         (handle b, handle m, int what, unsigned most_trees, int training, uint64_t *out_n, \
          const float **out)) \
    CALL(int, BoosterFree, (handle b))

typedef struct library {
#define CALL(type, name, parameters) type(*name) parameters;
    XGBOOST_CALLS(CALL)
#undef CALL
    int major;
} library;

/* As it is exported: XGB, but for what begins with D or Booster. */
static void *find(void *lib, const char *name)
{
    char full[64];
    bool is_error = strcmp(name, "GetLastError") == 0;
    snprintf(full, sizeof full, "%s%s", is_error ? "XGB" : "XG", name);
    return dlsym(lib, full);
}

static bool bind(library *x, void *lib, char why[TN_MODEL_WHY])
{
    const char *missing = NULL;
    void (*version)(int *major, int *minor, int *patch) = NULL;
    int minor, patch;
#define CALL(type, name, parameters) \
    if (!(*(void **)&x->name = find(lib, #name))) \
        missing = #name;
    XGBOOST_CALLS(CALL)
#undef CALL
    *(void **)&version = dlsym(lib, "XGBoostVersion");
    if (version)
        version(&x->major, &minor, &patch);
    if (version && !missing && x->major >= 1)
        return true;
    snprintf(why, TN_MODEL_WHY, "the library of XGBoost is not one of version 1.0 or later%s%s",
             missing ? ": it has no " : "", missing ? missing : "");
    return false;
}

/* It stays open: others may have threads in what it brings along. */
static void *open_library(char why[TN_MODEL_WHY])
{
    static const char *const names[] = {"libxgboost.so.0", "libxgboost.so"};
    const char *path = getenv("TENON_XGBOOST");
    void *lib = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !lib && !(path && *path); i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        snprintf(why, TN_MODEL_WHY, "the library of XGBoost cannot be opened: %.300s", dlerror());
    return lib;
}

void *tn_xgboost_open(char why[TN_MODEL_WHY])
{
    void *lib = open_library(why);
    library *x = lib ? tn_alloc_array(1, sizeof *x) : NULL;
    if (x && bind(x, lib, why))
        return x;
    tn_free(x);
    return NULL;
}

/* The first line of what it says; false. */
static bool fails(const library *x, char why[TN_MODEL_WHY])
{
    const char *text = x->GetLastError();
    snprintf(why, TN_MODEL_WHY, "XGBoost fails: %.*s", (int)strcspn(text, "\n") % 300, text);
    return false;
}

/* ---- what it gives ---- */

typedef struct thing {
    handle at;
    int (*free)(handle at);
} thing;

static void release(tn_resource *r)
{
    thing *t = r->at;
    (void)t->free(t->at);
}

/* Made before the thing: `t` is to get it, and is the resource's from then on. */
static tn_resource *promise(thing **t, int (*free_it)(handle at))
{
    *t = tn_alloc_array(1, sizeof **t);
    (*t)->free = free_it;
    return tn_resource_new(release);
}

static void end(tn_resource *r, thing *t)
{
    tn_resource_end(r);
    tn_free(t);
}

typedef struct matrix {
    tn_resource *r;
    thing *t;
} matrix;

static bool make_matrix(const library *x, uint32_t n, uint32_t n_feature, const float *at, matrix *out,
                        char why[TN_MODEL_WHY])
{
    out->r = promise(&out->t, x->DMatrixFree);
    if (x->DMatrixCreateFromMat_omp(at, n, n_feature, NAN, &out->t->at, 1))
        return fails(x, why);
    out->r->at = out->t;
    return true;
}

/* ---- a model ---- */

typedef struct model {
    const library *x;
    uint32_t n_feature;
    tn_resource *r;
    thing *t;
} model;

static bool set_labels(const library *x, handle m, tn_loss loss, const tn_rows *r, char why[TN_MODEL_WHY])
{
    float *y = tn_alloc_array(r->n, sizeof *y);
    unsigned *group = tn_alloc_array(r->n_group + 1, sizeof *group), n = 0;
    for (uint32_t i = 0; i < r->n; i++)
        y[i] = (float)r->y[i];
    for (uint32_t i = 0; i < r->n_group; i++)
        if (r->group[i])
            group[n++] = r->group[i];
    if (r->n_group == 0)
        group[n++] = r->n;
    bool failed = x->DMatrixSetFloatInfo(m, "label", y, r->n) ||
                  (loss == TN_LOSS_PAIRS && x->DMatrixSetUIntInfo(m, "group", group, n));
    tn_free(y);
    tn_free(group);
    return failed ? fails(x, why) : true;
}

/* In thousandths, since what printf makes of a fraction depends on the locale. */
static bool set_number(const library *x, handle b, const char *name, double value)
{
    char text[40];
    long n = lround(value * 1000);
    snprintf(text, sizeof text, "%ld.%03ld", n / 1000, n % 1000);
    return x->BoosterSetParam(b, name, text) == 0;
}

static bool set_count(const library *x, handle b, const char *name, int n)
{
    char text[16];
    snprintf(text, sizeof text, "%d", n);
    return x->BoosterSetParam(b, name, text) == 0;
}

/* Of pairs a row of a leaf weighs at most a quarter. Which rows are pairs is drawn at random, by the seed. */
static bool set_parameters(const library *x, handle b, tn_loss loss, char why[TN_MODEL_WHY])
{
    bool pairs = loss == TN_LOSS_PAIRS, late = x->major >= 2;
    bool ok = x->BoosterSetParam(b, "objective", pairs ? "rank:pairwise" : "reg:squarederror") == 0 &&
              x->BoosterSetParam(b, "tree_method", "hist") == 0 && set_count(x, b, "verbosity", 0) &&
              set_count(x, b, "nthread", 1) && set_count(x, b, "seed", 0) &&
              set_count(x, b, "max_depth", TN_MODEL_DEPTH) && set_number(x, b, "eta", TN_MODEL_RATE) &&
              set_number(x, b, "lambda", TN_MODEL_SHRINK) &&
              set_number(x, b, "min_child_weight", pairs ? 0.25 * TN_MODEL_LEAST : TN_MODEL_LEAST);
    if (ok && pairs)
        ok = set_count(x, b, late ? "lambdarank_num_pair_per_sample" : "num_pairsample", 8) &&
             (!late || x->BoosterSetParam(b, "lambdarank_pair_method", "mean") == 0);
    return ok || fails(x, why);
}

static bool train(model *k, handle m, tn_loss loss, char why[TN_MODEL_WHY])
{
    const library *x = k->x;
    k->r = promise(&k->t, x->BoosterFree);
    if (x->BoosterCreate(&m, 1, &k->t->at))
        return fails(x, why);
    k->r->at = k->t;
    if (!set_parameters(x, k->t->at, loss, why))
        return false;
    for (int i = 0; i < TN_MODEL_ROUNDS; i++) {
        tn_poll();
        if (x->BoosterUpdateOneIter(k->t->at, i, m))
            return fails(x, why);
    }
    return true;
}

void *tn_xgboost_fit(void *with, tn_loss loss, const tn_rows *r, char why[TN_MODEL_WHY])
{
    const library *x = with;
    model *k = tn_alloc_array(1, sizeof *k);
    matrix m = {NULL, NULL};
    *k = (model){.x = x, .n_feature = r->n_feature};
    bool ok = make_matrix(x, r->n, r->n_feature, r->x, &m, why) && set_labels(x, m.t->at, loss, r, why) &&
              train(k, m.t->at, loss, why);
    if (!ok) {
        tn_xgboost_free(k);
        k = NULL;
    }
    end(m.r, m.t);
    return k;
}

bool tn_xgboost_predict(void *of, uint32_t n, const float *at, double out[], char why[TN_MODEL_WHY])
{
    const model *k = of;
    enum { MARGIN = 1 };
    uint64_t n_said = 0;
    const float *said = NULL; /* the booster's, until the next call */
    matrix m;
    bool ok = make_matrix(k->x, n, k->n_feature, at, &m, why);
    if (ok && k->x->BoosterPredict(k->t->at, m.t->at, MARGIN, 0, 0, &n_said, &said))
        ok = fails(k->x, why);
    if (ok && n_said != n) {
        snprintf(why, TN_MODEL_WHY, "XGBoost fails: it says %u numbers of %u rows", (unsigned)n_said,
                 (unsigned)n);
        ok = false;
    }
    for (uint32_t i = 0; i < n && ok; i++)
        out[i] = said[i];
    end(m.r, m.t);
    return ok;
}

void tn_xgboost_free(void *of)
{
    model *k = of;
    if (!k)
        return;
    end(k->r, k->t);
    tn_free(k);
}
