# tools/order.py: which calls leave the order of what they make to the compiler

cat >order.c <<'END'
static tn_value one(imp_node *c) { return tn_val(tn_node_new(c->g)); }
static tn_value two(imp_node *c) { return one(c); }
static tn_value add(imp_node *c, tn_value a, tn_value b) { return c->f(a, b); }
static void right(imp_node *c)
{
    tn_value a = two(c), b = one(c), pair[] = {one(c), two(c)}; /* add(c, one(c), one(c)) */
    add(c, add(c, a, one(c)), b);
    add(c, a, call(c, 2, (tn_value[]){one(c), two(c)}));
    if (one(c).def && two(c).def)
        add(c, fallen(c, one), pair[0]);
}
static void wrong(imp_node *c)
{
    add(c, add(c, a, one(c)),
        two(c));
}
END
cat >order.py <<END
import sys
sys.path.insert(0, "$tree/tools")
sys.dont_write_bytecode = True
import order
import source
print(*order.faults({"order.c": source.code(open("order.c").read())}))
END
expect 0 "^\('order.c', 14, 'add'\)\$" python3 order.py
