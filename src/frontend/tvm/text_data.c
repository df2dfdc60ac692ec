/* Data types of a saved module as Relay text: their definitions, their names in types, and match. */
#include "frontend/tvm/text.h"

enum { MAX_PATTERNS = 32 };

static tn_bytes name_of(const tvm_writer *w, const tn_json *n) { return tvm_string(w->s, n, "name_hint"); }

/* ---- types ---- */

static bool put_types(tvm_writer *w, const tn_json *list, const char *open, const char *close, int depth)
{
    for (uint32_t i = 0; i < tvm_length(list); i++) {
        tn_buf_str(w->out, i ? ", " : open);
        if (!tvm_put_type(w, tvm_element(w, list, i), depth + 1))
            return false;
    }
    tn_buf_str(w->out, tvm_length(list) ? close : "");
    return true;
}

bool tvm_put_data_type(tvm_writer *w, const tn_json *t, int depth)
{
    if (tvm_is(t, "TypeVar") || tvm_is(t, "GlobalTypeVar")) {
        tvm_put_name(w->out, name_of(w, t));
        return true;
    }
    const tn_json *of = tvm_is(t, "TypeCall") ? tvm_ref(w->s, t, "func") : NULL;
    if (!tvm_is(of, "GlobalTypeVar"))
        return tvm_fail(w, "a parameter or result has no type, or one that is not supported");
    tvm_put_name(w->out, name_of(w, of));
    return put_types(w, tvm_list_of(tvm_ref(w->s, t, "args")), "[", "]", depth);
}

bool tvm_put_type_params(tvm_writer *w, const tn_json *params)
{
    return put_types(w, tvm_list_of(params), "[", "]", 0);
}

/* ---- definitions ---- */

static bool put_definition(tvm_writer *w, const tn_json *data)
{
    const tn_json *list = tvm_list_of(tvm_ref(w->s, data, "constructors"));
    if (!tvm_is(data, "TypeData"))
        return tvm_fail(w, "a type of the module is no definition of a data type");
    tn_buf_str(w->out, "type ");
    tvm_put_name(w->out, name_of(w, tvm_ref(w->s, data, "header")));
    if (!tvm_put_type_params(w, tvm_ref(w->s, data, "type_vars")))
        return false;
    for (uint32_t i = 0; i < tvm_length(list); i++) {
        const tn_json *c = tvm_element(w, list, i);
        tn_buf_str(w->out, i ? ", " : " { ");
        tvm_put_name(w->out, name_of(w, c));
        if (!put_types(w, tvm_list_of(tvm_ref(w->s, c, "inputs")), "(", ")", 0))
            return false;
    }
    tn_buf_str(w->out, tvm_length(list) ? " }\n" : " { }\n");
    return tvm_has_room(w);
}

bool tvm_put_data(tvm_writer *w, const tn_json *definitions)
{
    const tn_json *list = tvm_list_of(definitions);
    bool paired = !definitions || !tn_json_is(tn_json_find(definitions, "keys"), TN_JSON_ARRAY);
    for (uint32_t i = 0; i + paired < tvm_length(list); i += paired ? 2 : 1)
        if (!put_definition(w, tvm_element(w, list, i + paired)))
            return false;
    return true;
}

/* ---- match ---- */

static bool put_pattern(tvm_writer *w, const tn_json *p, int depth)
{
    const tn_json *constructor = tvm_ref(w->s, p, "constructor"),
                  *list = tvm_list_of(tvm_ref(w->s, p, "patterns"));
    bool tuple = tvm_is(p, "PatternTuple");
    if (depth > MAX_PATTERNS || !tvm_has_room(w))
        return tvm_fail(w, "patterns are nested too deep");
    if (tvm_is(p, "PatternVar")) {
        tvm_put_variable(w, tvm_ref(w->s, p, "var"));
        return true;
    }
    if (tvm_is(p, "PatternWildcard")) {
        tn_buf_char(w->out, '_');
        return true;
    }
    if (!tuple && !(tvm_is(p, "PatternConstructor") && tvm_is(constructor, "Constructor")))
        return tvm_fail(w, "a pattern is of a kind that is not supported");
    if (!tuple)
        tvm_put_name(w->out, name_of(w, constructor));
    tn_buf_str(w->out, tuple || tvm_length(list) ? "(" : "");
    for (uint32_t i = 0; i < tvm_length(list); i++) {
        tn_buf_str(w->out, i ? ", " : "");
        if (!put_pattern(w, tvm_element(w, list, i), depth + 1))
            return false;
    }
    tn_buf_str(w->out, tuple && tvm_length(list) == 1 ? ",)" : tuple || tvm_length(list) ? ")" : "");
    return true;
}

bool tvm_put_match(tvm_writer *w, const tn_json *match)
{
    const tn_json *list = tvm_list_of(tvm_ref(w->s, match, "clauses"));
    tn_buf_str(w->out, tvm_number(tvm_attr(match, "complete"), 1) ? "match (" : "match? (");
    if (!tvm_put_operand(w, tvm_ref(w->s, match, "data")))
        return false;
    tn_buf_str(w->out, ") {\n");
    for (uint32_t i = 0; i < tvm_length(list); i++) {
        const tn_json *clause = tvm_element(w, list, i);
        if (!put_pattern(w, tvm_ref(w->s, clause, "lhs"), 0))
            return false;
        tn_buf_str(w->out, " => ");
        if (!tvm_put_block(w, tvm_ref(w->s, clause, "rhs")))
            return false;
        tn_buf_str(w->out, ",\n");
    }
    tn_buf_char(w->out, '}');
    return true;
}
