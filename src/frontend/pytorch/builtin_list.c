/* Functions of lists and dicts. */
#include "frontend/pytorch/builtin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIST = 1 << 20 };

static void refuse(pt_import *p, const char *why) { pt_fail(p, "pytorch-E013", "%s", why); }

/* ---- lists ---- */

/* A list may change only where it was made: a branch or loop that the run decides on would change it otherwise. */
static bool may_change(pt_import *p, pt_value list)
{
    if (!list.list->owner && pt_keep_list(p, list.list)) { /* of the file: read again, with one of the run */
        p->stop = true;
        return false;
    }
    if (list.list->of_file) {
        refuse(
            p,
            "a list or dict of the model changes that no attribute holds any more, or an object in a list");
        return false;
    }
    if (p->logging && list.list->owner != p->im.r) {
        if (pt_make_late(p, list.list))
            return false;
        refuse(p, "a list or dict changes in a branch or loop that only the run decides on");
        return false;
    }
    if (list.list->chosen) {
        pt_fail(
            p, "pytorch-E072",
            "a list or dict changes that a condition or a loop chose among several; that is not supported: "
            "assign a copy (copy) there");
        return false;
    }
    if (list.list->n >= MAX_LIST)
        pt_fail(p, "pytorch-E012", "a list has more than %d elements", MAX_LIST);
    return !p->stop;
}

pt_value pt_list_new(pt_import *p, enum pt_kind kind)
{
    pt_value v = pt_make(&p->im.scratch, kind, 0, NULL);
    v.list->owner = p->im.r;
    return v;
}

static bool append(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_LIST)
        return false;
    pt_may_take(a[0].list, a[1]);
    if (may_change(p, a[0]))
        pt_push(&p->im.scratch, a[0].list, a[1]);
    *out = a[0];
    return true;
}

static bool extend(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_LIST || !pt_is_sequence(a[1]))
        return false;
    for (size_t i = 0; i < a[1].list->n; i++)
        pt_may_take(a[0].list, pt_at(a[1], i));
    for (size_t i = 0, k = a[1].list->n; i < k && may_change(p, a[0]); i++)
        pt_push(&p->im.scratch, a[0].list, pt_at(a[1], i));
    *out = a[0];
    return true;
}

/* Position of a known index; -1: there is none, which is reported. */
static int64_t position(pt_import *p, pt_value at, pt_list *l)
{
    int64_t i = at.kind == PT_INT ? at.i : at.kind == PT_BOOL ? at.b : INT64_MAX;
    size_t n = l->n;
    if (at.kind == PT_NUMBER && !pt_make_late(p, l))
        refuse(p, "an element of a list is chosen by a number that only the run knows");
    i = i < 0 ? i + (int64_t)n : i;
    if (!p->stop && (i < 0 || i >= (int64_t)n))
        pt_fail(p, "pytorch-E013", "a list of %zu elements has no element at this position", n);
    return p->stop ? -1 : i;
}

/* l += m */
static bool add_in_place(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    return a[0].kind == PT_LIST && extend(p, a, n, out);
}

static bool insert(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_LIST || a[1].kind != PT_INT)
        return false;
    pt_list *l = a[0].list;
    int64_t k = (int64_t)l->n, at = a[1].i < 0 ? a[1].i + k : a[1].i;
    if (at > k)
        at = k;
    if (at < 0)
        at = 0;
    *out = pt_none();
    if (!may_change(p, a[0]))
        return true;
    pt_push(&p->im.scratch, l, a[2]);
    memmove(l->at + at + 1, l->at + at, (l->n - 1 - (size_t)at) * sizeof *l->at);
    l->at[at] = a[2];
    return true;
}

/* Takes n values out from position `at` on. */
static void take_out(pt_list *l, size_t at, size_t n)
{
    memmove(l->at + at, l->at + at + n, (l->n - at - n) * sizeof *l->at);
    l->n -= n;
}

/* The value of a key; NULL: there is none, or which key it is only the run knows (p->stop). */
static pt_value *entry(pt_import *p, pt_value dict, pt_value key)
{
    if (key.kind == PT_NUMBER || key.kind == PT_MESSAGE)
        pt_refuse_late(p, "a key of a dict");
    return p->stop ? NULL : pt_dict_find(dict, key);
}

void pt_dict_put(pt_import *p, pt_value dict, pt_value key, pt_value value)
{
    pt_value *v = entry(p, dict, key);
    if (v) {
        *v = value;
    } else {
        pt_push(&p->im.scratch, dict.list, key);
        pt_push(&p->im.scratch, dict.list, value);
    }
}

static bool pop_key(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    pt_value *v = entry(p, a[0], a[1]);
    *out = v ? *v : n > 2 ? a[2] : pt_bad();
    if (!v && n < 3 && !p->stop)
        refuse(p, "a dict has no such key");
    else if (v && may_change(p, a[0]))
        take_out(a[0].list, (size_t)(v - a[0].list->at) - 1, 2);
    return true;
}

static bool pop(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    if (a[0].kind == PT_DICT && n > 1)
        return pop_key(p, a, n, out);
    if (a[0].kind != PT_LIST || n > 2)
        return false;
    pt_list *l = a[0].list;
    int64_t at = position(p, n > 1 ? a[1] : pt_int(-1), l);
    *out = pt_bad();
    if (at < 0 || !may_change(p, a[0]))
        return true;
    *out = l->at[at];
    take_out(l, (size_t)at, 1);
    return true;
}

/* del l[i] */
static bool delete(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    bool done = pop(p, a, n, out);
    *out = pt_none();
    return done;
}

static bool clear(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_none();
    if (a[0].kind != PT_LIST && a[0].kind != PT_DICT)
        return false;
    if (may_change(p, a[0]))
        a[0].list->n = 0;
    return true;
}

static bool reverse(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_none();
    if (a[0].kind != PT_LIST)
        return false;
    pt_list *l = a[0].list;
    if (may_change(p, a[0]))
        for (size_t i = 0; i < l->n / 2; i++) {
            pt_value v = l->at[i];
            l->at[i] = l->at[l->n - 1 - i];
            l->at[l->n - 1 - i] = v;
        }
    return true;
}

/* ---- values of lists that are known ---- */

static bool is_known(pt_value v)
{
    return v.kind == PT_INT || v.kind == PT_FLOAT || v.kind == PT_BOOL || v.kind == PT_TEXT;
}

static bool all_known(pt_value list)
{
    bool is = list.kind == PT_LIST;
    for (size_t i = 0; is && i < list.list->n; i++)
        is = is_known(pt_at(list, i));
    return is;
}

/* How many times a list has a value, and where first; false: that is not known. */
static bool find(const pt_value *a, size_t *at, int64_t *times)
{
    *times = 0;
    if (!is_known(a[1]) || !all_known(a[0]))
        return false;
    for (size_t i = a[0].list->n; i-- > 0;)
        if (pt_same(pt_at(a[0], i), a[1])) {
            *at = i;
            ++*times;
        }
    return true;
}

static bool count(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)n;
    size_t at;
    int64_t times;
    bool known = find(a, &at, &times);
    *out = pt_int(times);
    return known;
}

static bool index_of(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    size_t at = 0;
    int64_t times;
    bool known = find(a, &at, &times);
    if (known && !times)
        refuse(p, "a list has no such element");
    *out = pt_int((int64_t)at);
    return known;
}

static bool remove_value(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    pt_value at;
    bool known = index_of(p, a, n, &at);
    if (known && !p->stop && may_change(p, a[0]))
        take_out(a[0].list, (size_t)at.i, 1);
    *out = pt_none();
    return known;
}

static double number(pt_value v) { return v.kind == PT_FLOAT ? v.f : v.kind == PT_INT ? (double)v.i : v.b; }

static int compare(const void *left, const void *right)
{
    const pt_value *a = left, *b = right;
    if (a->kind == PT_TEXT && b->kind == PT_TEXT) {
        size_t n = a->text.n < b->text.n ? a->text.n : b->text.n;
        int order = n ? memcmp(a->text.at, b->text.at, n) : 0;
        return order ? order : (a->text.n > b->text.n) - (a->text.n < b->text.n);
    }
    if (a->kind == PT_INT && b->kind == PT_INT)
        return (a->i > b->i) - (a->i < b->i);
    return (number(*a) > number(*b)) - (number(*a) < number(*b));
}

static bool sort(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    *out = pt_none();
    if (!all_known(a[0]) || (n > 1 && a[1].kind != PT_BOOL))
        return false;
    for (size_t i = 0; i < a[0].list->n; i++)
        if (a[0].list->at[i].kind == PT_FLOAT && isnan(a[0].list->at[i].f))
            return false;
    if (may_change(p, a[0]) && a[0].list->n > 1) {
        qsort(a[0].list->at, a[0].list->n, sizeof *a[0].list->at, compare);
        if (n > 1 && a[1].b)
            (void)reverse(p, a, 1, out);
    }
    return true;
}

pt_value pt_item(pt_import *p, pt_value of, pt_value at)
{
    if (of.kind == PT_DICT) {
        pt_value *v = entry(p, of, at);
        if (!v && !p->stop)
            refuse(p, "a dict has no such key");
        return v ? *v : pt_bad();
    }
    if (of.kind == PT_LATE_LIST)
        return pt_late_item(p, of, at);
    if (!pt_is_sequence(of) || pt_is_bad(at)) {
        if (!pt_is_bad(of) && !pt_is_bad(at))
            pt_fail(p, "pytorch-E013", "%s has no elements", pt_kind_name(of.kind));
        return pt_bad();
    }
    int64_t i = position(p, at, of.list);
    return i < 0 ? pt_bad() : of.list->at[i];
}

static bool get_item(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (pt_is_tensor(a[0]))
        return false;
    *out = pt_item(p, a[0], a[1]);
    return true;
}

static bool set_item(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_none();
    if (a[0].kind == PT_DICT && may_change(p, a[0])) {
        pt_dict_put(p, a[0], a[1], a[2]);
    } else if (a[0].kind == PT_LIST) {
        pt_may_take(a[0].list, a[2]);
        int64_t at = position(p, a[1], a[0].list);
        if (at >= 0 && may_change(p, a[0]))
            a[0].list->at[at] = a[2];
    }
    return a[0].kind == PT_DICT || a[0].kind == PT_LIST;
}

/* A dict updated by itself stays as it is: its keys are all there. */
static bool update(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    bool done = a[0].kind == PT_DICT && a[1].kind == PT_DICT;
    for (size_t i = 0; done && i + 1 < a[1].list->n && !p->stop; i += 2)
        done = set_item(p, (const pt_value[]){a[0], pt_at(a[1], i), pt_at(a[1], i + 1)}, 3, out);
    (void)n;
    *out = pt_none();
    return done;
}

static bool contains(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind == PT_DICT) {
        *out = pt_bool(entry(p, a[0], a[1]) != NULL);
        return true;
    }
    if (!pt_is_sequence(a[0]))
        return false;
    *out = pt_bool(false);
    for (size_t i = 0; i < a[0].list->n && !p->stop; i++)
        *out = pt_binary(p, "__or__", *out, pt_binary(p, "eq", pt_at(a[0], i), a[1]));
    return true;
}

static bool copy(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (!pt_is_sequence(a[0]) && a[0].kind != PT_DICT)
        return false;
    *out = pt_make(&p->im.scratch, a[0].kind == PT_DICT ? PT_DICT : PT_LIST, a[0].list->n, a[0].list->at);
    out->list->owner = p->im.r;
    out->list->made = a[0].list->made;
    return true;
}

/* A bound of a slice of k elements as Python takes it: it may be -1 where steps lead down. */
static int64_t bound(pt_value v, int64_t k, bool down, int64_t def)
{
    if (v.kind != PT_INT)
        return def;
    int64_t low = down ? -1 : 0, high = down ? k - 1 : k, i = v.i < 0 ? v.i + k : v.i;
    return i < low ? low : i > high ? high : i;
}

static bool slice(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    if (!pt_is_sequence(a[0]))
        return false;
    pt_value v[3] = {pt_none(), pt_none(), pt_int(1)};
    for (size_t i = 1; i < n; i++) {
        if (a[i].kind != PT_INT && a[i].kind != PT_NONE)
            return false;
        v[i - 1] = a[i].kind == PT_INT ? a[i] : v[i - 1];
    }
    int64_t k = (int64_t)a[0].list->n, step = v[2].i, most = k + 1;
    bool down = step < 0;
    int64_t i = bound(v[0], k, down, down ? k - 1 : 0), end = bound(v[1], k, down, down ? -1 : k);
    step = step > most ? most : step < -most ? -most : step;
    *out = pt_list_new(p, PT_LIST);
    for (; step && (down ? i > end : i < end); i += step)
        pt_push(&p->im.scratch, out->list, pt_at(a[0], (size_t)i));
    return step != 0;
}

static bool sorted(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    pt_value none;
    return all_known(a[0]) && copy(p, a, n, out) && sort(p, out, 1, &none);
}

/* ---- dicts ---- */

static pt_value half(pt_import *p, pt_value dict, size_t from)
{
    pt_value v = pt_list_new(p, PT_LIST);
    for (size_t i = from; i < dict.list->n; i += 2)
        pt_push(&p->im.scratch, v.list, pt_at(dict, i));
    return v;
}

static bool keys(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind == PT_DICT)
        *out = half(p, a[0], 0);
    return a[0].kind == PT_DICT;
}

static bool values(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind == PT_DICT)
        *out = half(p, a[0], 1);
    return a[0].kind == PT_DICT;
}

static bool dict_items(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_DICT)
        return false;
    *out = pt_list_new(p, PT_LIST);
    for (size_t i = 0; i + 1 < a[0].list->n; i += 2)
        pt_push(&p->im.scratch, out->list, pt_make(&p->im.scratch, PT_TUPLE, 2, a[0].list->at + i));
    return true;
}

static bool get(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    pt_value *v = entry(p, a[0], a[1]);
    *out = v ? *v : n > 2 ? a[2] : pt_none();
    return a[0].kind == PT_DICT;
}

static bool set_default(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    pt_value *v = entry(p, a[0], a[1]), none;
    *out = v ? *v : a[2];
    return a[0].kind == PT_DICT && (v || set_item(p, a, n, &none));
}

static bool make_dict(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    *out = pt_list_new(p, PT_DICT);
    for (size_t i = 0; n && pt_is_sequence(a[0]) && i < a[0].list->n; i++)
        if (pt_is_sequence(pt_at(a[0], i)))
            pt_dict_put(p, *out, pt_at(pt_at(a[0], i), 0), pt_at(pt_at(a[0], i), 1));
    return true;
}

const pt_builtin pt_builtins_list[] = {
    {"append", 2, 2, append},
    {"extend", 2, 2, extend},
    {"insert", 3, 3, insert},
    {"add_", 2, 2, add_in_place},
    {"pop", 1, 3, pop},
    {"Delete", 2, 2, delete},
    {"clear", 1, 1, clear},
    {"reverse", 1, 1, reverse},
    {"count", 2, 2, count},
    {"index", 2, 2, index_of},
    {"remove", 2, 2, remove_value},
    {"sort", 1, 2, sort},
    {"sorted", 1, 1, sorted},
    {"setdefault", 3, 3, set_default},
    {"__getitem__", 2, 2, get_item},
    {"_set_item", 3, 3, set_item},
    {"update", 2, 2, update},
    {"__contains__", 2, 2, contains},
    {"list", 1, 1, copy},
    {"copy", 1, 1, copy},
    {"slice", 1, 4, slice},
    {"keys", 1, 1, keys},
    {"values", 1, 1, values},
    {"items", 1, 1, dict_items},
    {"get", 2, 3, get},
    {"dict", 0, 1, make_dict},
    {0},
};
