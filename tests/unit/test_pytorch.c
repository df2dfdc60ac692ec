/* TorchScript archives, made here: a zip of stored entries, a pickle with an object of a class, its code. What they
 * give as Relay, and what is said of broken ones. */
#include "pytorch/archive.h"

/* An object of the class __torch__.M; a float tensor of this size over the 4 bytes of storage 0. */
#define TENSOR(size) \
    "ctorch._utils\n_rebuild_tensor_v2\n((" \
    "X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\1tQK\0(K" size "t(K\1t\x89}tR"
#define OBJECT(attributes) "\x80\2c__torch__\nM\n)\x81}(" attributes "ub."
#define PLAIN OBJECT("X\1\0\0\0wK\1")
#define WEIGHT(size) OBJECT("X\1\0\0\0w" TENSOR(size))

static archive make(const char *pickle, size_t n, const char *code, const char *order)
{
    static const float one = 1;
    archive a = {0};
    add(&a, "m/data.pkl", pickle, n);
    add(&a, "m/code/__torch__.py", code, strlen(code));
    add(&a, "m/data/0", &one, sizeof one);
    add(&a, "m/constants.pkl", "\x80\2).", 4);
    add(&a, "m/byteorder", order, strlen(order));
    finish(&a);
    return a;
}

/* ---- cases ---- */

#define CLASS "class M(Module):\n"
#define FORWARD CLASS "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
#define QUANTISED "    q = torch.quantize_per_tensor(x, 0.5, 3, 13)\n"
#define FOUND "    n = torch.nonzero(x)\n    l = torch.split(n, 2)\n"
#define LATE "    c = bool(torch.gt(torch.sum(x), 0))\n"

static const struct {
    const char *code, *want[3]; /* all are in the module's text or in what is reported */
} cases[] = {
    {FORWARD "    return torch.relu(x)\n", {"nn.relu(%x)", "%x: Tensor[(2, 3), float32]"}},
    /* numbers, lists and conditions are worked out */
    {FORWARD
     "    n, = [torch.size(x, 1)]\n    if torch.gt(n, 2):\n      y = torch.add(x, x, alpha=n)\n    else:\n"
     "      y = x\n    for i in range(2):\n      y0 = torch.neg(y)\n      y = y0\n    return y\n",
     {"multiply(%x, 3f)", "negative"}},
    {FORWARD "    if torch.all([True, torch.gt(torch.sum([1, 2]), 2)]):\n      y = torch.relu(x)\n    else:\n"
             "      y = x\n    return y\n",
     {"nn.relu(%x)"}},
    {FORWARD "    if torch.__and__(torch.any([False, torch.gt(torch.size(x, 1), 2)]), torch.all([2, 4])):\n"
             "      y = torch.relu(x)\n    else:\n      y = x\n    return y\n",
     {"nn.relu(%x)"}},
    {FORWARD LATE
     "    if torch.any([False, c]):\n      y = torch.relu(x)\n    else:\n      y = x\n    return y\n",
     {"nn.relu(%x)", "if ("}},
    /* what is uninitialized in one branch is what it is in the other */
    {FORWARD LATE "    u = uninitialized(Tensor)\n    b = uninitialized(bool)\n    if c:\n"
                  "      y, z, w = True, torch.relu(x), False\n    else:\n      y, z, w = False, u, b\n"
                  "    if w:\n      r = torch.neg(x)\n    elif y:\n      r = z\n    else:\n      r = x\n"
                  "    return r\n",
     {"(%2, True)", "(meta[relay.Constant][0] /* (2, 3) */, False)"}},
    {FORWARD "    y = uninitialized(Tensor)\n    d = False\n    go = bool(torch.gt(torch.sum(x), 0))\n"
             "    while go:\n      if bool(torch.lt(torch.max(x), 5)):\n        y0, d0, g = torch.relu(x), "
             "True, False\n"
             "      else:\n        y0, d0, g = y, False, True\n      y, d, go = y0, d0, g\n"
             "    if d:\n      r = y\n    else:\n      r = x\n    return r\n",
     {"loop", "meta[relay.Constant][0] /* (2, 3) */", "nn.relu"}},
    /* lists that loops of the run change behind a condition */
    {FORWARD "    l = annotate(List[Tensor], [])\n    y = x\n    i = 0\n    go = True\n    while go:\n"
             "      y0 = torch.mul(y, 0.5)\n      if bool(torch.lt(torch.sum(y0), 1)):\n        g = False\n"
             "      else:\n        _0 = torch.append(l, y0)\n        g = torch.lt(i, 12)\n"
             "      go, y, i = g, y0, torch.add(i, 1)\n    return torch.stack(l)\n",
     {"loop", "seq.insert", "seq.concat"}},
    {FORWARD "    l = [x]\n    y = x\n    for i in range(int(torch.sum(x))):\n      y0 = torch.mul(y, 0.5)\n"
             "      if bool(torch.lt(torch.sum(y0), 1)):\n        l0 = l\n      else:\n"
             "        l0 = torch.add(l, [y0])\n      l, y = l0, y0\n    return torch.stack(l)\n",
     {"loop", "seq.insert", "seq.concat"}},
    /* a check of a loop that gives nothing stays */
    {FORWARD
     "    for i in range(int(torch.sum(x))):\n      if bool(torch.lt(torch.max(x), 5)):\n        pass\n"
     "      else:\n        ops.prim.RaiseException(\"too large\")\n    return torch.relu(x)\n",
     {"too large", "a check of a loop has failed"}},
    /* operators that are made of others */
    {FORWARD "    return torch.roll(torch.nonzero(x), [-1, 1], [0, 1])\n",
     {"begin=[u0 - -1%max(u0, 1)], end=[u0], axes=[0]", "begin=[1], end=[2], axes=[1]",
      "-> Tensor[(u0, 2), int64]"}},
    {FORWARD "    q = torch.unsqueeze(x, 0)\n    y, p = torch._native_multi_head_attention(q, q, q, 3, 1, "
             "torch.zeros([9, 3]), torch.zeros([9]), torch.zeros([3, 3]), torch.zeros([3]))\n    return y\n",
     {"nn.softmax", "Tensor[(1, 2, 3), float32]"}},
    {FORWARD "    return torch.repeat_interleave(x, torch.to(torch.select(x, 1, 0), 4), 0)\n",
     {"cumsum(%2, axis=0)", "repeats can not be negative", "-> Tensor[(u0, 3), float32]"}},
    {FORWARD
     "    return torch.scatter_reduce(x, 0, torch.zeros([1, 3], dtype=4), x, \"mean\", include_self=False)\n",
     {"scatter_elements", "divide("}},
    {FORWARD "    return (torch.linalg_norm(x, inf), torch.trapz(x, dx=0.5), torch.divmod(-7, 2)[0])\n",
     {"max(", "(float32, Tensor[(2), float32], int64)", "-4i64"}},
    {FORWARD "    y, a, b, c = torch.embedding_bag(x, torch.zeros([4], dtype=4), torch.zeros([2], dtype=4), "
             "False, 1)\n"
             "    return y\n",
     {"scatter_elements", "divide(", "-> Tensor[(2, 3), float32]"}},
    {FORWARD "    return torch.linalg_norm(x, 2)\n",
     {"by its singular values (ord 2 or -2) is not supported"}},
    /* a copy or a view, as PyTorch decides by the order of elements */
    {FORWARD
     "    a = torch.mul(x, 2)\n    b = torch.contiguous(a)\n    _0 = torch.add_(b, 1)\n    return a\n",
     {"  add(%0, 1f)"}},
    {FORWARD "    a = torch.mul(x, 2)\n    b = torch.reshape(torch.t(a), [6])\n    _0 = torch.add_(b, 1)\n"
             "    return b\n",
     {"add(%2, 1f)", "-> Tensor[(6), float32]"}},
    {FORWARD "    a = torch.mul(x, 2)\n    b = torch.reshape(torch.t(a), [6])\n    _0 = torch.add_(b, 1)\n"
             "    return a\n",
     {"is of the same memory in some runs", "or the order of its elements", "pytorch-E071"}},
    /* forms in place of Python's operators; extents as a tensor */
    {FORWARD "    a = torch.gt(x, 0)\n    _0 = torch.__ior__(a, torch.lt(x, -1))\n    return a\n",
     {"logical_or(", "-> Tensor[(2, 3), bool]"}},
    {FORWARD "    a = torch.to(x, 4)\n    _0 = torch.__ilshift__(a, 2)\n    return a\n",
     {"left_shift(", "-> Tensor[(2, 3), int64]"}},
    {FORWARD "    return torch.select(torch._shape_as_tensor(x), 0, 1)\n", {"3i64", "-> int64"}},
    {FORWARD "    return torch.isin(x, torch.ones([2]), False, True)\n",
     {"equal(", "logical_not(", "(2, 3), bool]"}},
    {FORWARD "    return torch._weight_norm(x, torch.ones([2, 1]), 0)\n",
     {"sqrt(", "divide(", "multiply(%x, "}},
    {FORWARD "    y, at = torch.adaptive_max_pool2d(torch.unsqueeze(x, 0), [2, 2])\n    return (y, at)\n",
     {"argmax(", "(Tensor[(1, 2, 2), float32], Tensor[(1, 2, 2), int64])"}},
    {FORWARD
     "    y, m, r, mean, var = torch._native_batch_norm_legit_functional(x, None, None, torch.zeros([3]), "
     "torch.ones([3]), True, 0.5, 0.1)\n    return (y, mean)\n",
     {"rsqrt(", "0.5f", "(Tensor[(2, 3), float32], Tensor[(3), float32])"}},
    {FORWARD "    y, inverse, count = torch._unique2(x, True, False, True)\n    return (y, count)\n",
     {"sort_rows(", "not_equal(", "-> (Tensor[(u0), float32], Tensor[(u0), int64])"}},
    {FORWARD
     "    y, inverse, count = torch.unique_consecutive(x, True, True, 1)\n    return (y, inverse, count)\n",
     {"not_equal(", "-> (Tensor[(2, u0), float32], Tensor[(3), int64], Tensor[(u0), int64])"}},
    {FORWARD "    d = annotate(Dict[str, Tensor], {\"a\": x})\n"
             "    torch.update(d, annotate(Dict[str, Tensor], {\"a\": torch.neg(x), \"b\": torch.exp(x)}))\n"
             "    return (d[\"a\"], d[\"b\"])\n",
     {"negative(%x)", "exp(%x)"}},
    {FORWARD "    y, z, = torch.split(x, [int(torch.max(torch.to(x, 4))), 1])\n    return (y, z)\n",
     {"strided_slice("}},
    {FORWARD "    n = torch.size(torch.nonzero(x), 0)\n    y = torch.zeros([n, 4])\n"
             "    return torch.view(y, [torch.floor_divide(n, 2), -1])\n",
     {"divides by what may be 0", "pytorch-E009"}},
    {FORWARD
     "    n = torch.size(torch.nonzero(x), 0)\n    return torch.view(torch.zeros([n, 4]), [n, 2, -1])\n",
     {"-> Tensor[(u0, 2, 2), float32]"}},
    /* operators of results that are not the first of their nodes */
    {FORWARD "    y, at, = torch.topk(x, 2)\n    v, k, = torch.topk(at, 1)\n    return (v, k)\n",
     {"topk(%0.1, axis=1)"}},
    /* paddings, windows and sizes that only the run knows */
    {FORWARD "    return torch.pad(x, [0, torch.size(torch.nonzero(x), 0)])\n", {"pad_width=[0, 0, 0, u0]"}},
    {FORWARD
     "    return torch.im2col(torch.zeros([1, 1, torch.size(torch.nonzero(x), 0), 4]), [2, 2], [1, 1], "
     "[0, 0], [2, 1])\n",
     {"-> Tensor[(1, 4, "}},
    {FORWARD
     "    return torch.upsample_nearest1d(torch.zeros([1, 1, torch.size(torch.nonzero(x), 0)]), None, "
     "[1.5])\n",
     {"-> Tensor[(1, 1, u0/2 + u0), float32]"}},
    {FORWARD "    return torch.adaptive_avg_pool2d(torch.zeros([1, 1, torch.size(torch.nonzero(x), 0), 4]), "
             "[3, 3])\n",
     {"floor_divide(", "-> Tensor[(1, 1, 3, 3), float32]"}},
    {FORWARD "    return torch.adaptive_avg_pool2d(torch.zeros([1, 1, torch.size(torch.nonzero(x), 0), 4]), "
             "[None, 1])\n",
     {"-> Tensor[(1, 1, u0, 1), float32]"}},
    /* elementwise operators keep the order of elements, so that contiguous() and reshape() may be copies */
    {FORWARD "    y = torch.add(torch.transpose(x, 0, 1), 1)\n    z = torch.contiguous(y)\n"
             "    w = torch.mul_(z, 2)\n    return y\n",
     {"pytorch-E071"}},
    {FORWARD "    y = torch.clone(torch.t(x))\n    z = torch.reshape(y, [-1])\n    w = torch.mul_(z, 2)\n    "
             "return y\n",
     {"pytorch-E071"}},
    {FORWARD
     "    y = torch.add(x, 1)\n    z = torch.contiguous(torch.transpose(torch.transpose(y, 0, 1), 0, 1))\n"
     "    w = torch.mul_(z, 2)\n    return y\n",
     {"pytorch-E071"}},
    {FORWARD "    y = torch.add(x, 1)\n    z = torch.contiguous(torch.transpose(y, 0, 1))\n"
             "    w = torch.mul_(z, 2)\n    return (y, w)\n",
     {"add(%x", "multiply(", "(Tensor[(2, 3), float32], Tensor[(3, 2), float32])"}},
    {FORWARD "    return torch.searchsorted(torch.sum(x), x)\n", {"borders float32 are not those"}},
    /* a NaN outside of a window is in no result of it */
    {FORWARD
     "    y, at = torch.adaptive_max_pool2d(torch.zeros([1, 1, torch.size(torch.nonzero(x), 0), 4]), [3, "
     "3])\n"
     "    return torch.scatter_reduce(x, 0, torch.zeros([1, 3], dtype=4), x, \"amax\", include_self=False)\n",
     {"isnan(", "min("}},
    /* a window that reaches beyond the padding counts what lies inside */
    {FORWARD "    return torch.avg_pool1d(x, [3], [3], [1], True, True)\n",
     {"padding=[1, 2]", "multiply(", "-> Tensor[(2, 2), float32]"}},
    {FORWARD
     "    y, at = torch.adaptive_max_pool3d(torch.view(x, [1, 1, 2, 3]), [1, 1, 2])\n    return (y, at)\n",
     {"argmax(", "(Tensor[(1, 1, 1, 2), float32], Tensor[(1, 1, 1, 2), int64])"}},
    {FORWARD "    return torch._convolution_mode(torch.unsqueeze(x, 0), torch.zeros([4, 2, 3]), None, [1], "
             "\"same\", [1], 1)\n",
     {"nn.conv1d", "-> Tensor[(1, 4, 3), float32]"}},
    /* rows in groups, each with its own matrix */
    {FORWARD "    return torch._grouped_mm(x, torch.zeros([2, 3, 4]), torch.to(torch.select(x, 1, 0), 3))\n",
     {"concatenate(", "-> Tensor[(2, 4), float32]"}},
    /* sequences of several lengths */
    {FORWARD "    l = torch.to(torch.select(x, 0, 0), 4)\n    d, b, = "
             "torch._pack_padded_sequence(torch.unsqueeze(x, 2), "
             "torch.slice(l, 0, 0, 2), True)\n    n = int(torch.amax(b))\n    y, h, = torch.gru(d, b, "
             "torch.zeros([1, "
             "n, 4]), [torch.zeros([12, 1]), torch.zeros([12, 4])], False, 1, 0., False, False)\n    z, m, = "
             "torch._pad_packed_sequence(y, b, True, 0., -1)\n    return z\n",
     {"nn.recurrent(", "lengths must be sorted in decreasing order", "4), float32]"}},
    {FORWARD "    return torch.pad_sequence([torch.select(x, 0, 0), torch.zeros([5])], True, 1.)\n",
     {"pad_value=1", "-> Tensor[(2, 5), float32]"}},
    {FORWARD
     "    y, h, c, = torch.lstm(torch.unsqueeze(x, 0), [torch.zeros([1, 2, 4]), torch.zeros([1, 2, 5])], "
     "[torch.zeros([20, 3]), torch.zeros([20, 4]), torch.zeros([4, 5])], False, 1, 0., False, False, "
     "False)\n    return (y, h, c)\n",
     {"(Tensor[(1, 2, 4), float32], Tensor[(1, 2, 4), float32], Tensor[(1, 2, 5), float32])"}},
    /* a tensor of a list of the run, of a type that is named */
    {FORWARD "    l = annotate(List[int], [])\n    for i in range(int(torch.sum(x))):\n      _0 = "
             "torch.append(l, i)\n    return torch.tensor(l, dtype=3)\n",
     {"seq.concat", "cast(", "int32]"}},
    /* a tuple whose fields have names; texts */
    {FORWARD "    p = __torch__.P(x, torch.exp(x))\n    a, b, = p\n    return torch.add((p)[1], a)\n"
             "class P(NamedTuple):\n  first : Tensor\n  second : Tensor\n",
     {"exp(%x)", "add(%0, %x)"}},
    {FORWARD "    if torch.endswith(torch.upper(torch.lower(torch.strip(\" aBc\\n\"))), \"BC\"):\n      y = "
             "torch.relu(x)\n    else:\n      y = x\n    return y\n",
     {"nn.relu(%x)"}},
    /* what follows from a part that failed is not said */
    {FORWARD "    return torch.cat([torch.nope(x), x])\n", {"operator nope is not supported"}},
    {FORWARD "    y = torch.mul(x, 2)\n    for i in range(int(torch.sum(x))):\n      y = torch.t(y)\n"
             "    z = torch.mul_(torch.reshape(y, [-1]), 2)\n    return y\n",
     {"pytorch-E071"}},
    /* windows that have elements of one another are not changed */
    {FORWARD "    y = torch.add_(torch.unfold(torch.mul(x, 2), 1, 2, 1), 1)\n    return y\n",
     {"pytorch-E069"}},
    /* formulas over 16-bit floats are rounded once */
    {FORWARD "    return torch.mul(torch.to(x, 5), 0.1)\n",
     {"multiply(%1, 0.1f)", "cast(%2, dtype=\"float16\")"}},
    {FORWARD "    return torch.mul(torch.to(x, 5), 0.5)\n", {"multiply(%0, 0.5f16)"}},
    /* a view of a view changes with what it shows */
    {FORWARD "    a = torch.mul(x, 2)\n    b = torch.slice(torch.slice(a, 0, 1), 1, 1)\n    _0 = "
             "torch.add_(a, 1)\n    return b\n",
     {"%1 = add(%0, 1f)", "strided_slice(%1"}},
    {FORWARD "    a = torch.mul(x, 2)\n    b = torch.mul(x, 3)\n    for i in range(int(torch.sum(x))):\n     "
             " _0 = torch.neg_(a)\n      b = a\n"
             "    _1 = torch.add_(a, 1)\n    return b\n",
     {"is of the same memory in some runs", "pytorch-E071"}},
    /* what changes from the second iteration on */
    {FORWARD "    a = 0\n    b = 1\n    for i in range(int(torch.sum(x))):\n      _0 = b\n      b = "
             "torch.add(a, b)\n      a = _0\n"
             "    return torch.mul(x, a)\n",
     {"(%i: int64, %carried0: int64, %carried1: int64) {\n"}},
    {FORWARD
     "    a = torch.mul(x, 2)\n    k = 0\n    for i in range(int(torch.sum(x))):\n      if torch.gt(k, 0):\n"
     "        _0 = torch.add_(a, 1)\n      else:\n        pass\n      k = torch.add(k, 1)\n    return a\n",
     {"%carried1: Tensor[(2, 3), float32]"}},
    /* what a branch or a loop makes and changes is no result of it but as what it is at the end */
    {FORWARD "    if bool(torch.gt(torch.sum(x), 0)):\n      y = torch.mul(x, 3)\n      _0 = torch.add_(y, "
             "x)\n    else:\n"
             "      y = torch.mul(x, 2)\n    return y\n",
     {"= multiply(%x, 3f)", "    add(%2, %x) /* code/__torch__.py:7 */\n  } else {\n    multiply(%x, 2f)"}},
    {FORWARD "    y = x\n    for i in range(int(torch.sum(x))):\n      z = torch.mul(y, 2)\n      _0 = "
             "torch.add_(z, x)\n      y = z\n"
             "    return y\n",
     {"(%i: int64, %carried0: Tensor[(2, 3), float32]) {\n", "= add(%4, %x)", "(True, %5)"}},
    {FORWARD
     "    k = torch.mul(x, 2)\n    if bool(torch.gt(torch.sum(x), 0)):\n      y = k\n    else:\n      y = x\n"
     "    _0 = torch.mul_(k, 10)\n    return y\n",
     {"is of the same memory in some runs, as a condition or a loop decides", "clone", "pytorch-E071"}},
    /* a list that a condition or a loop chose: one that the branches made may change, others may not */
    {FORWARD LATE
     "    if c:\n      l = [x]\n    else:\n      l = [torch.neg(x)]\n    _0 = torch.append(l, x)\n"
     "    return torch.cat(l)\n",
     {"concatenate((%", "-> Tensor[(4, 3), float32]"}},
    {FORWARD LATE "    if c:\n      l = [x]\n      m = l\n    else:\n      l = [torch.neg(x)]\n      m = l\n"
                  "    _0 = torch.append(l, x)\n    return torch.cat(m)\n",
     {"concatenate((%", "-> Tensor[(4, 3), float32]"}},
    {FORWARD LATE "    a = [x]\n    b = [torch.neg(x)]\n    if c:\n      l = a\n    else:\n      l = b\n"
                  "    _0 = torch.append(l, x)\n    return torch.cat(b)\n",
     {"a list or dict changes that a condition or a loop chose among several", "assign a copy",
      "pytorch-E072"}},
    {FORWARD LATE "    a = [x]\n    if c:\n      l = a\n    else:\n      l = [torch.neg(x)]\n"
                  "    _0 = torch.append(a, x)\n    return torch.cat(l)\n",
     {"a list or dict changes that a condition or a loop chose among several", "pytorch-E072"}},
    {FORWARD LATE
     "    if c:\n      l = [x]\n      m = l\n    else:\n      l = [torch.neg(x)]\n      m = [x]\n"
     "    _0 = torch.append(l, x)\n    return torch.cat(m)\n",
     {"a list or dict changes that a condition or a loop chose among several", "pytorch-E072"}},
    {FORWARD "    a = [x]\n    l = a\n    for i in range(int(torch.sum(x))):\n      l = [torch.neg(x)]\n"
             "    _0 = torch.append(l, x)\n    return torch.cat(a)\n",
     {"a list or dict changes that a condition or a loop chose among several", "pytorch-E072"}},
    {FORWARD "    a = [x]\n    l = [torch.neg(x)]\n    for i in range(int(torch.sum(x))):\n      l = a\n"
             "    _0 = torch.append(a, x)\n    return torch.cat(l)\n",
     {"a list or dict changes that a condition or a loop chose among several", "pytorch-E072"}},
    /* texts as TorchScript writes them; those that show what only the run knows are messages alone */
    {FORWARD "    s = torch.str([1., 0.1, 1e20, -2.5])\n    t = torch.format(\"{}{}\", (1,), True)\n"
             "    return torch.mul(x, torch.add(torch.mul(torch.len(s), 100), torch.len(t)))\n",
     {"multiply(%x, 3808f)"}},
    {FORWARD LATE
     "    n = torch.str(int(torch.sum(x)))\n    if c:\n      ops.prim.RaiseException(torch.add(\"of \", n))\n"
     "    else:\n      pass\n    return x\n",
     {"of ?"}},
    {FORWARD "    n = torch.str(int(torch.sum(x)))\n    return torch.mul(x, torch.len(n))\n",
     {"(len): error: a text depends on numbers that only the run knows", "pytorch-E073"}},
    {FORWARD "    n = torch.format(\"{}\", torch.sum(x))\n    if torch.eq(n, \"1.\"):\n      y = x\n    "
             "else:\n      y = torch.neg(x)\n    return y\n",
     {"(eq): error: a text depends on numbers that only the run knows", "pytorch-E073"}},
    /* in place, other dimensions; then the elements must stay */
    {FORWARD
     "    y = torch.unsqueeze(torch.neg(x), 0)\n    _0 = torch.squeeze_(y)\n    return torch.relu(y)\n",
     {"nn.relu(%", "-> Tensor[(2, 3), float32]"}},
    {FORWARD "    y = torch.neg(x)\n    z = torch.t_(y)\n    _0 = torch.add_(y, 1)\n    return z\n",
     {"whose memory the result of aten::t_ shows", "pytorch-E069"}},
    /* keys of a dict: the last value of a key counts, and which key it is must be known */
    {FORWARD "    d = {\"a\": 2, \"b\": 3, \"a\": 5}\n    return torch.mul(x, torch.add(torch.mul(d[\"a\"], "
             "10), torch.len(d)))\n",
     {"multiply(%x, 52f)"}},
    {FORWARD "    d = {1: 2}\n    if torch.__contains__(d, int(torch.sum(x))):\n      y = x\n    else:\n     "
             " y = torch.neg(x)\n    return y\n",
     {"(__contains__): error: a key of a dict depends on numbers that only the run knows", "pytorch-E073"}},
    /* lists that change where only the run decides: tensors, numbers; what they hold may not change in place */
    {FORWARD "    l = annotate(List[Tensor], [])\n    for i in range(int(torch.sum(x))):\n      _0 = "
             "torch.append(l, x)\n"
             "    return torch.stack(l)\n",
     {"seq.of(", "seq.insert(%carried0, %x)", "-> Tensor[(u0, 2, 3), float32]"}},
    {FORWARD LATE "    l = [1]\n    if c:\n      _0 = torch.append(l, 2)\n    else:\n      pass\n"
                  "    return torch.mul(x, torch.add(torch.len(l), l[-1]))\n",
     {"seq.insert(", "seq.length(", "seq.at("}},
    {FORWARD
     "    k = annotate(int, torch.sum(torch.to(x, 4)))\n    return torch.mul(x, ops.prim.max(k, 1))\n",
     {"maximum(%", "cast("}},
    /* a traced size that is said to be a number */
    {FORWARD "    n = ops.prim.NumToTensor(torch.size(x, 1))\n"
             "    return torch.add(x, torch.arange(annotate(number, n)))\n",
     {"relay.Constant][0] /* (3) */)"}},
    {FORWARD "    l = [3, 5]\n    for i in range(int(torch.sum(x))):\n      torch._set_item(l, "
             "torch.remainder(i, 2), i)\n"
             "    return torch.mul(x, l[1])\n",
     {"seq.set("}},
    {FORWARD
     "    l = annotate(List[Tensor], [])\n    for i in range(int(torch.sum(x))):\n      y = torch.neg(x)\n"
     "      _0 = torch.append(l, y)\n      _1 = torch.add_(y, 1)\n    return torch.stack(l)\n",
     {"whose memory the result of aten::append shows", "pytorch-E069"}},
    {FORWARD
     "    l = annotate(List[Tensor], [])\n    h = torch.mul(x, 2)\n    for i in range(int(torch.sum(x))):\n"
     "      _1 = torch.add_(h, 1)\n      h0 = torch.neg(h)\n      _0 = torch.append(l, h0)\n      h = h0\n"
     "    return torch.stack(l)\n",
     {"pytorch-E0"}},
    {FORWARD
     "    l = [1]\n    for i in range(int(torch.sum(x))):\n      _0 = torch.append(l, 0.5)\n    return x\n",
     {"a list that a branch or loop changes which only the run decides on is given a float", "pytorch-E013"}},
    {FORWARD "    l = annotate(List[Tensor], [])\n    for i in range(int(torch.sum(x))):\n      _0 = "
             "torch.append(l, x)\n"
             "    self.w = l\n    return x\n",
     {"to a list whose length only the run knows", "pytorch-E020"}},
    {FORWARD "    l = [x]\n    m = l\n    l0 = torch.add_(l, [x])\n    _0 = torch.append(l0, x)\n    return "
             "torch.cat(m)\n",
     {"-> Tensor[(6, 3), float32]"}},
    {FORWARD
     "    l = [3, 1, 2, 1]\n    torch.sort(l, reverse=True)\n    torch.remove(l, 1)\n    torch.reverse(l)\n"
     "    k = torch.add(torch.mul(torch.index(l, 3), 10), torch.count(l, 1))\n    torch.Delete(l, 0)\n"
     "    return torch.mul(x, torch.add(torch.mul(k, 10), l[0]))\n",
     {"multiply(%x, 212f)"}},
    {FORWARD "    d = {\"a\": 1}\n    k = torch.setdefault(d, \"b\", 2)\n    i = torch.pop(d, \"a\")\n"
             "    return torch.mul(x, torch.add(torch.mul(k, 10), torch.len(d)))\n",
     {"multiply(%x, 21f)"}},
    {FORWARD "    l = sorted([2, 1])\n    s = torch.split(torch.join(\", \", [\"a\", \"b\"]), \", \")\n"
             "    return torch.mul(x, torch.add(torch.mul(l[1], 10), torch.len(s)))\n",
     {"multiply(%x, 22f)"}},
    {FORWARD "    l = [x]\n    l0 = torch.add_(l, 1)\n    return x\n",
     {"operator aten::add_ is not supported with the arguments (a list, an int)", "pytorch-E005"}},
    {FORWARD "    l = [1]\n    torch.remove(l, 2)\n    return x\n",
     {"a list has no such element", "pytorch-E013"}},
    /* parts of what has an extent of the run: as many as it finds, which must not change, nor what they show */
    {FORWARD FOUND "    y = torch.zeros([2])\n    for i in range(torch.len(l)):\n"
                   "      y0 = torch.add(y, torch.sum(l[i], [0]))\n      y = y0\n    return y\n",
     {"minimum(%", "seq.split(%", "seq.at("}},
    {FORWARD "    l = torch.unbind(torch.nonzero(x))\n    return torch.cat(l)\n",
     {"seq.split(%", "keepdims=False", "-> Tensor[(u"}},
    {FORWARD "    l = torch.split(torch.nonzero(x), 1)\n    return torch.add(l[0], torch.len(l))\n",
     {"minimum(%", "seq.length("}},
    {FORWARD FOUND "    return torch.cat(torch.add([torch.neg(n), torch.abs(n)], l))\n",
     {"seq.insert(", "negative(", "seq.concat("}},
    {FORWARD FOUND "    _0 = torch.add_(n, 1)\n    return torch.cat(l)\n",
     {"whose memory the result of aten::split shows", "pytorch-E069"}},
    {FORWARD FOUND "    _0 = torch.add_(l[0], 1)\n    return n\n", {"pytorch-E069"}},
    {FORWARD FOUND "    z = torch.split(torch.complex(torch.to(n, 6), torch.to(n, 6)), 2)\n"
                   "    return torch.view_as_real(z[0])\n",
     {"the dimension that is split must have a known extent", "pytorch-E009"}},
    /* complex numbers: two tensors, one of [.., 2] at the border; literals of Python; what has no code for them */
    {FORWARD "    z = torch.complex(x, torch.neg(x))\n    return torch.mul(z, 1.5-2.j)\n",
     {"%1 = multiply(%x, 1.5f)", "multiply(%0, -2f)", "-> Tensor[(2, 3, 2), float32]"}},
    {FORWARD "    return torch.real(torch.add(torch.to(x, 9), -1.5-2.j))\n", {"add(%x, -1.5f)"}},
    {FORWARD "    return torch.imag(torch.add(torch.to(x, 9), -2.j))\n",
     {"relay.Constant][0] /* output (2, 3) */"}},
    {FORWARD "    z = torch.fft_rfft(x, None, 0)\n    return torch.fft_irfft(z, 2, 0)\n",
     {"dft(", "onesided=True", "inverse=True, onesided=True"}},
    {FORWARD "    z = torch.view_as_complex(torch.slice(x, 1, 1))\n    _0 = torch.mul_(z, z)\n    return x\n",
     {"scatter_elements", "subtract("}},
    {FORWARD "    return torch.to(torch.complex(x, x), 6)\n", {"{\n  %x\n}"}},
    {FORWARD "    return torch.angle(torch.to(x, 7))\n", {"float64 */, meta", "-> Tensor[(2, 3), float64]"}},
    {FORWARD "    return torch.relu(torch.complex(x, x))\n",
     {"aten::relu is not supported with the arguments (a tensor of complex numbers)", "pytorch-E005"}},
    {FORWARD
     "    z = torch.complex(x, x)\n    y = torch.view_as_real(z)\n    _0 = torch.mul_(z, 2)\n    return y\n",
     {"whose memory the result of aten::view_as_real shows", "pytorch-E069"}},
    {FORWARD "    _0 = torch.mul_(x, 2.j)\n    return x\n",
     {"aten::mul_ gives a tensor of real numbers complex ones [pytorch-E070]"}},
    {FORWARD "    if bool(torch.complex(x, x)):\n      y = x\n    else:\n      y = x\n    return y\n",
     {"a tensor of complex numbers is used as one number [pytorch-E013]"}},
    {FORWARD "    return torch.view_as_complex(x)\n", {"must be of floats with a last dimension of 2"}},
    /* methods, functions, attributes; defaults and keywords */
    {"def f(x: Tensor,\n    n: int=1) -> Tensor:\n  return torch.sum(x, [n], True)\n" CLASS
     "  def g(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return __torch__.f(x, n=0, )\n"
     "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return torch.mul((self).g(x, ), "
     "self.w)\n",
     {"sum(%x, axis=[0], keepdims=True)"}},
    /* a tensor changes in place, and so does what shows a part of it */
    {FORWARD
     "    y = torch.add(x, 1)\n    row = torch.select(y, 0, 0)\n    _0 = torch.zero_(row)\n    return y\n",
     {"scatter_elements"}},
    /* what stands behind a * is given by its name only */
    {FORWARD "    return torch.prod(x, 1)\n", {"prod(%x, axis=[1])"}},
    {FORWARD "    return torch.add(x, torch.arange(1, 4))\n", {"relay.Constant][0] /* (3) */)"}},
    /* as many as begin before the end, of floats and of steps back that only the run knows, too */
    {FORWARD "    return torch.arange(float(torch.sum(x)))\n",
     {"%8 = cast(%7, dtype=\"int64\")", "subtract(0i64, %8)", "arange(0f64, 1f64, count=[u0])"}},
    {FORWARD "    return torch.arange(10, -3, torch.neg(int(torch.sum(x))))\n",
     {"divide(13i64, %3)", "subtract(0i64, %4)", "arange(10i64, %3, count=[u0])"}},
    {FORWARD "    return torch.mul(x, torch.scalar_tensor(2, dtype=7))\n", {"multiply(%x, 2f)"}},
    /* squares of bools are counted; sums of 16-bit exponentials would lose what is small */
    {FORWARD "    return torch.square(torch.gt(x, 0))\n", {"dtype=\"int64\"", "-> Tensor[(2, 3), int64]"}},
    {FORWARD "    return torch.logcumsumexp(torch.to(x, 5), 1)\n",
     {"dtype=\"float16\")", "cumsum(", "-> Tensor[(2, 3), float16]"}},
    /* losses; resizing by sizes, by whole factors, by others; boxes */
    {FORWARD "    return torch.mse_loss(x, torch.neg(x), 2)\n", {"sum(", "axis=[0, 1]"}},
    {FORWARD "    return torch.nll_loss(x, torch.argmax(x, 1), None, 0)\n", {"gather(", "where("}},
    {FORWARD "    return torch.upsample_nearest1d(torch.unsqueeze(x, 0), None, [2.])\n",
     {"image.resize1d(", "size=[6]", "asymmetric"}},
    {FORWARD "    return torch.upsample_linear1d(torch.unsqueeze(x, 0), [5], True)\n",
     {"size=[5]", "align_corners"}},
    {FORWARD "    return torch.upsample_linear1d(torch.unsqueeze(x, 0), None, False, [1.5])\n",
     {"image.resample(", "scale=1.5"}},
    {FORWARD "    return torch._upsample_bilinear2d_aa(torch.view(x, [1, 1, 2, 3]), [1, 2], True)\n",
     {"antialiasing with align_corners is not supported [pytorch-E006]"}},
    {FORWARD
     "    return ops.torchvision.nms(torch.view(torch.cat([x, x]), [3, 4]), torch.select(x, 0, 0), 0.5)\n",
     {"vision.nms_select("}},
    /* quantised tensors: operators take real numbers, or int32 sums of whole ones */
    {FORWARD QUANTISED "    return torch.dequantize(torch.relu(q))\n", {"round_even(", "nn.relu(", "uint8"}},
    {FORWARD QUANTISED
     "    p = ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.ones([4, 3]), 0.25, 0, "
     "12), None)\n    return torch.dequantize(ops.quantized.linear(q, p, 0.5, 1))\n",
     {"qnn.dense(", "clip("}},
    {FORWARD QUANTISED "    p = ops.quantized.linear_prepack(torch.quantize_per_channel(torch.ones([4, 3]), "
                       "torch.ones([3]), torch.zeros([3]), 1, 12), None)\n"
                       "    return torch.dequantize(ops.quantized.linear(q, p, 0.5, 1))\n",
     {"a weight is quantised along axis 1, but only 0 is known [pytorch-E090]"}},
    {FORWARD "    return ops.quantized.add(x, x, 0.5, 1)\n",
     {"an operand is a tensor of real numbers, but must be a quantised tensor [pytorch-E091]"}},
    {FORWARD "    return torch.quantize_per_tensor(x, 0.5, 3, 16)\n",
     {"quantised numbers of type 16 are not supported", "[pytorch-E092]"}},
    {FORWARD QUANTISED "    return ops.quantized.linear(q, 3, 0.5, 1)\n",
     {"a packed weight has no \"w\"", "[pytorch-E093]"}},
    {FORWARD "    return torch.fake_quantize_per_tensor_affine(x, 1., 3, -5, 5)\n",
     {"%1 = round_even(%0)", "%2 = add(%1, 3f)", "%3 = clip(%2"}},
    /* numbers of rank 0, bools, nothing */
    {FORWARD "    return torch.maximum(torch.gt(x, 0), torch.lt(x, -1))\n", {"logical_or("}},
    {FORWARD "    return torch.logit(x, 0.75)\n", {"where("}},
    {FORWARD "    return torch.avg_pool1d(torch.to(x, 4), [2])\n",
     {"an average pool of integers is not supported [pytorch-E005]"}},
    /* a condition of the run becomes an `if`; what raises becomes a check */
    {FORWARD LATE "    if c:\n      y = torch.relu(x)\n    else:\n      y = torch.neg(x)\n    return y\n",
     {"if (", "nn.relu(%x)", "negative(%x)"}},
    {FORWARD LATE
     "    if c:\n      y = torch.relu(x)\n    else:\n      ops.prim.RaiseException(\"too small\")\n"
     "      y = x\n    return y\n",
     {"too small", "nn.relu(%x)"}},
    {FORWARD LATE "    if c:\n      y = torch.view(x, [7])\n    else:\n      y = x\n    return y\n",
     {"its then branch cannot be computed", "pytorch-W001"}},
    /* branches that change nothing but check something */
    {FORWARD LATE "    if c:\n      if bool(torch.lt(torch.sum(x), 5)):\n        pass\n      else:\n"
                  "        ops.prim.RaiseException(\"too large\")\n    else:\n      pass\n    return x\n",
     {"if (", "too large", "a check of a branch has failed"}},
    /* branches of other ranks are read to the end of the model */
    {FORWARD LATE "    if c:\n      y = x\n    else:\n      y = torch.sum(x, [1])\n    return torch.sum(y)\n",
     {"if ("}},
    /* a loop of the run */
    {FORWARD "    i = 0\n    y = x\n    while bool(torch.lt(torch.sum(y), 9)):\n      y0 = torch.add(y, 1)\n"
             "      i0 = torch.add(i, 1)\n      y, i = y0, i0\n    return (y, i)\n",
     {"loop (", "(%5, %3, %2)"}},
    /* what lasts from run to run: a number; a form of the first run and another of the later ones */
    {FORWARD "    self.w = torch.add(self.w, 1)\n    return torch.mul(x, self.w)\n",
     {"%w: int64 /* state */", "(%2, %0)", "1i64"}},
    {FORWARD "    w = torch.mul(x, self.w)\n    self.w = w\n    return w\n",
     {"%w: Tensor[(2, 3), float32] /* state */", "%form: int64 /* state */", "if ("}},
    {FORWARD "    self.w = [self.w]\n    return torch.relu(x)\n",
     {"changes its attribute w to something of another kind or shape in each run", "pytorch-E020"}},
    {FORWARD "    v = (x, x, x, x, x, x, x, x)\n    a = (v, v, v, v, v, v, v, v)\n"
             "    b = (a, a, a, a, a, a, a, a)\n    c = (b, b, b, b, b, b, b, b)\n"
             "    d = (c, c, c, c, c, c, c, c)\n    self.w = (d, d, d, d, d, d, d, d)\n    return x\n",
     {"changes its attribute w", "to a list that is too large, or nested too deep", "pytorch-E020"}},
    {FORWARD "    l = [x]\n    self.w = [l, l]\n    return torch.relu(x)\n",
     {"to a list, dict or object that it holds in another place, too", "pytorch-E020"}},
    /* an object that the first run makes */
    {FORWARD
     "    k = __torch__.K.__new__(__torch__.K)\n    _0 = (k).__init__(x, 2, )\n    self.w = k\n    return x\n"
     "class K:\n  at : Tensor\n  low : int\n  def __init__(self: __torch__.K,\n    at: Tensor,\n    low: "
     "int) -> NoneType:\n"
     "    self.at = at\n    self.low = low\n    return None\n",
     {"%w_at: Tensor[(2, 3), float32] /* name=w.at, span=state */", "%form: int64 /* state */"}},
    {FORWARD
     "    k = __torch__.K.__new__(__torch__.K)\n    self.w = [k, k]\n    return x\nclass K:\n  low : int\n",
     {"to a list, dict or object that it holds in another place, too", "pytorch-E020"}},
    /* what is not copied is one tensor */
    {FORWARD "    y = torch.neg(x)\n    _0 = torch.add_(torch.to(torch.detach(y), 6, False, False), 1)\n"
             "    return y\n",
     {"add(%0, 1f)"}},
    {CLASS
     "  def forward(self: __torch__.M,\n    x: Tensor,\n    l: Optional[List[Tensor]]=None) -> Tensor:\n"
     "    if torch.__is__(l, None):\n      y = torch.relu(x)\n    else:\n      y = torch.neg(x)\n"
     "    return y\n",
     {"nn.relu(%x)"}},
    {FORWARD "    return torch.relu(\n", {"pytorch-E002"}},
    /* what only the run knows of a list: whether it is equal to another one, or is another one */
    {FORWARD LATE "    l = [1, 2]\n    if c:\n      _0 = torch.append(l, 3)\n    else:\n      pass\n    if "
                  "torch.eq(l, [1, 2]):\n"
                  "      y = x\n    else:\n      y = torch.neg(x)\n    return y\n",
     {"operator aten::eq is not supported with the arguments (a list of the run, a list)", "pytorch-E005"}},
    {FORWARD LATE
     "    k = x\n    if c:\n      k = torch.neg(x)\n    else:\n      pass\n    if torch.__is__(k, x):\n"
     "      y = x\n    else:\n      y = k\n    return y\n",
     {"whether two values are one and the same is asked, which only the run knows", "pytorch-E013"}},
    {FORWARD "    l = annotate(List[Tensor])\n    return l\n",
     {"annotate is called without all arguments", "pytorch-E003"}},
    {FORWARD "    if bool(x @ 1):\n      y = x\n    else:\n      y = x\n    return y\n",
     {"the code uses the operator \"@\", which is not supported", "pytorch-E003"}},
    {FORWARD "    return y\n", {"the code uses \"y\", which it does not set [pytorch-E003]"}},
    {FORWARD "    return torch.add(torch.nope(x), torch.nada(x))\n",
     {"operator nope is not supported", "operator nada is not supported", "[pytorch-E004]"}},
    {FORWARD "    return torch.relu(\"a\")\n",
     {"code/__torch__.py:5 (aten::relu): error: operator aten::relu is not supported with the arguments (a "
      "str) "
      "[pytorch-E005]"}},
    {FORWARD "    return torch.softmax(x, 7)\n", {"axis 7 is outside of [-2, 2) [pytorch-E006]"}},
    {FORWARD "    y = x\n    for i in range(400):\n      for j in range(400):\n        y0 = torch.sin(y)\n"
             "        y = y0\n    return y\n",
     {"pytorch-E011"}},
    {CLASS "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return (self).forward(x, )\n",
     {"functions call one another more than 200 deep [pytorch-E012]"}},
    {FORWARD "    y = torch.div(1, 0)\n    return x\n", {"the model divides by zero", "[pytorch-E013]"}},
    {FORWARD LATE "    if c:\n      y = x\n    else:\n      y = torch.sum(x, [1])\n    return y\n",
     {"pytorch-E014"}},
    {FORWARD LATE "    if c:\n      y, z = x, torch.relu(x)\n    else:\n      y, z = torch.sum(x, [1]), x\n"
                  "    return (y, z)\n",
     {"give results of different types", "pytorch-E014"}},
    {FORWARD "    y = x\n    while bool(torch.lt(torch.sum(y), 9)):\n      y0 = torch.unsqueeze(y, 0)\n"
             "      y = y0\n    return y\n",
     {"a value that a loop carries changes its type or rank [pytorch-E015]"}},
    {FORWARD "    return None\n", {"the model has no outputs [pytorch-E016]"}},
    {FORWARD
     "    return torch.upsample_nearest1d(torch.zeros([1, 1, torch.size(torch.nonzero(x), 0)]), None, "
     "[1.3])\n",
     {"pytorch-E009"}},
};

static const int64_t shape[] = {2, 3};
static const tn_input_shape given = {.name = "x", .ndim = 2, .dim = shape};

static void models_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_buf said = {0};
        archive a = make(PLAIN, sizeof PLAIN - 1, cases[i].code, "little");
        read_into(&said, &a.file, &given);
        for (int k = 0; k < 3 && cases[i].want[k]; k++)
            expect(tn_buf_cstr(&said), cases[i].want[k]);
        tn_buf_deinit(&said);
        tn_buf_deinit(&a.file);
    }
}

static void one(const char *pickle, size_t n, const char *code, const char *order,
                const tn_input_shape *shapes, const char *want)
{
    tn_buf said = {0};
    archive a = make(pickle, n, code, order);
    read_into(&said, &a.file, shapes);
    expect(tn_buf_cstr(&said), want);
    tn_buf_deinit(&said);
    tn_buf_deinit(&a.file);
}

static void types_of_inputs_are_told(void **state)
{
    (void)state;
    static const char lookup[] = FORWARD "    return torch.embedding(torch.zeros([5, 2]), torch.add(x, 1))\n";
    static const char add[] = FORWARD "    return torch.add(x, 1)\n";
    tn_input_shape typed = given;
    one(PLAIN, sizeof PLAIN - 1, lookup, "little", &given, "%x: Tensor[(2, 3), int64]");
    typed.dtype = TN_I32;
    one(PLAIN, sizeof PLAIN - 1, lookup, "little", &typed, "%x: Tensor[(2, 3), int32]");
    one(PLAIN, sizeof PLAIN - 1, add, "little", &typed, "%x: Tensor[(2, 3), int32]");
    typed.dtype = TN_F32;
    one(PLAIN, sizeof PLAIN - 1, lookup, "little", &typed,
        "positions are floats; the input that they come from must be of an integer type (--input-shapes "
        "\"NAME:[1,16]:int64\") [pytorch-E005]");
}

/* FORWARD, then a text n times, then another. */
static void repeated(const char *before, const char *text, int n, const char *after, const char *want)
{
    tn_buf code = {0};
    tn_buf_str(&code, FORWARD);
    tn_buf_str(&code, before);
    while (n-- > 0)
        tn_buf_str(&code, text);
    tn_buf_str(&code, after);
    one(PLAIN, sizeof PLAIN - 1, tn_buf_cstr(&code), "little", &given, want);
    tn_buf_deinit(&code);
}

/* Trees and calls that are too deep, lists and texts that double in each iteration. */
static void bombs_are_met(void **state)
{
    (void)state;
    repeated("    y = 1", " + 1", 100000, "\n    return x\n", "an expression is too long");
    repeated("    y = x", ".a", 3000, "\n    return x\n", "an expression is too long");
    repeated("    if True:\n      y = x\n", "    elif True:\n      y = x\n", 50000, "    return x\n",
             "expressions are nested too deep");
    repeated("    a = torch.mul(x, 2)\n    b = a", "\n    b = torch.t(b)", 200,
             "\n    _0 = torch.neg_(a)\n    return b\n", "= negative(");
    repeated("    a = torch.mul(x, 2)\n    b = a", "\n    b = torch.t(b)", 20000,
             "\n    _0 = torch.neg_(a)\n    return b\n", "whose memory the result of aten::t shows");
    repeated("    l = [1]\n    for i in range(60):\n      l = l + l\n    return x", "\n", 1, "",
             "too much for a file of its size; it is damaged [pytorch-E011]");
    repeated("    l = 'a'\n    for i in range(60):\n      l = torch.add(l, l)\n    return x", "\n", 1, "",
             "too much for a file of its size; it is damaged [pytorch-E011]");
    repeated("    l = 'a'\n    for i in range(60):\n      l = torch.format('{}{}', l, l)\n    return x", "\n",
             1, "", "too much for a file of its size; it is damaged [pytorch-E011]");
    tn_buf code = {0};
    tn_buf_str(&code, CLASS "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    y = ");
    tn_buf_fill(&code, '[', 150);
    tn_buf_str(&code, "(self).forward(x, )");
    tn_buf_fill(&code, ']', 150);
    tn_buf_str(&code, "\n    return x\n");
    one(PLAIN, sizeof PLAIN - 1, tn_buf_cstr(&code), "little", &given, "nested more than 3000 deep");
    tn_buf_deinit(&code);
}

static void archives_are_checked(void **state)
{
    (void)state;
    static const char add_w[] = FORWARD "    return torch.add(x, self.w)\n";
    static const tn_input_shape other = {.name = "x.5", .ndim = 2, .dim = shape};
    static const tn_input_shape own = {.name = "input0", .ndim = 2, .dim = shape};
    one(WEIGHT("\1"), sizeof WEIGHT("\1") - 1, add_w, "little", &given,
        "add(%x, meta[relay.Constant][0] /* w (1) */)");
    one(WEIGHT("\2"), sizeof WEIGHT("\2") - 1, add_w, "little", &given, "its data lies outside of the file");
    one(WEIGHT("\2"), sizeof WEIGHT("\2") - 1, add_w, "little", &given, "pytorch-E007");
    one(PLAIN, sizeof PLAIN - 1, add_w, "big", &given, "pytorch-E018");
    one(PLAIN, sizeof PLAIN - 1, add_w, "little", &other, "pytorch-E010");
    one(WEIGHT("\1"), sizeof WEIGHT("\1") - 1, add_w, "little", &own,
        "add(%input0, "); /* a name of the caller's */
    one(PLAIN, sizeof PLAIN - 1, add_w, "little", NULL,
        "TorchScript does not say which shapes its inputs have; give them, as in --input-shapes "
        "\"x:[1,3,224,224]\" [pytorch-E008]");
    one("\x80\2\x99.", 4, add_w, "little", &given,
        "a pickle has the opcode 0x99, which is not allowed; download or export it again [pytorch-E001]");
    one("\x80\2cos\nsystem\n(X\2\0\0\0lstR.", 25, add_w, "little", &given, "pytorch-E001");
}

/* Two attributes of one memory: one tensor where both are alike. */
#define TWO(size) OBJECT("X\1\0\0\0w" TENSOR("\1") "X\1\0\0\0v" TENSOR(size))

static void shared_memory_is_seen(void **state)
{
    static const char chosen[] = FORWARD LATE
        "    if c:\n      b = self.w\n    else:\n      b = torch.neg(self.w)\n    _0 = torch.add_(b, 1)\n"
        "    return torch.mul(x, b)\n";
    (void)state;
    static const char add[] = FORWARD "    _0 = torch.add_(self.w, 1)\n    return torch.mul(x, self.v)\n";
    static const char later[] =
        FORWARD "    _0 = torch.add_(self.w, 1)\n    y = torch.neg(torch.select(x, 0, 0))\n    self.w = y\n"
                "    self.v = torch.select(y, 0, 0)\n    return torch.relu(x)\n";
    one(TWO("\1"), sizeof TWO("\1") - 1, chosen, "little", &given, "[pytorch-E071]");
    one(TWO("\1"), sizeof TWO("\1") - 1, add, "little", &given, "multiply(%x, %0)");
    one(TWO("\2"), sizeof TWO("\2") - 1, add, "little", &given,
        "the model changes w in place, whose memory another tensor of the file shows, too");
    one(TWO("\2"), sizeof TWO("\2") - 1, add, "little", &given, "[pytorch-E068]");
    one(TWO("\1"), sizeof TWO("\1") - 1, later, "little", &given,
        "which in an earlier run became of one memory with another of its tensors; that is not supported: "
        "assign a copy (clone) there [pytorch-E067]");
}

/* An object of a class that makes something of its state: nothing of that is a change that the run makes. */
static void states_are_restored(void **state)
{
    static const char pickle[] = "\x80\2c__torch__\nM\n)\x81K\2K\3\206b.";
    static const char code[] =
        CLASS "  def __setstate__(self: __torch__.M,\n    state: Tuple[int, int]) -> NoneType:\n"
              "    self.k = (state)[0]\n    self.part = __torch__.Part.__new__(__torch__.Part)\n"
              "    self.part.n = (state)[1]\n    return None\n"
              "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
              "    return torch.mul(torch.add(x, self.part.n), self.k)\n";
    (void)state;
    one(pickle, sizeof pickle - 1, code, "little", &given, "multiply(%0, 2f)");
    /* what is said of one form of a state is said of the model */
    one(PLAIN, sizeof PLAIN - 1, FORWARD "    self.w = 0\n    return torch.nope(x)\n", "little", &given,
        "[pytorch-E004]");
}

/* A file has a member of an Enum as its class and its value, code has it as a name. */
static void members_of_enums_are_found(void **state)
{
    static const char pickle[] = OBJECT("X\4\0\0\0modec__torch__\nMode\nX\1\0\0\0bR");
    static const char code[] =
        CLASS "  mode : __torch__.Mode\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
              "    m = self.mode\n    if torch.eq(m, __torch__.Mode.A):\n      y = torch.neg(x)\n"
              "    elif torch.eq((m).value, \"b\"):\n      y = torch.mul(x, (__torch__.Mode.C).value)\n"
              "    else:\n      y = x\n    if isinstance(m, __torch__.Mode):\n"
              "      y0 = torch.add(y, torch.len((m).name))\n    else:\n      y0 = x\n    return y0\n"
              "class Mode(Enum):\n  A = \"a\"\n  B = \"b\"\n  C = 7\n";
    (void)state;
    one(pickle, sizeof pickle - 1, code, "little", &given, "%0 = multiply(%x, 7f)");
    one(pickle, sizeof pickle - 1, code, "little", &given, "add(%0, 1f)");
}

/* x * 0.5 of a traced model: the table CONSTANTS has 0.5 as a float64 tensor of rank 0. */
#define HALF \
    "\x80\2ctorch._utils\n_rebuild_tensor_v2\n((" \
    "X\7\0\0\0storagectorch\nDoubleStorage\nX\1\0\0\0000X\3\0\0\0cpuK\1tQK\0))\x89}tR\x85."

static const struct {
    const char *code, *want;
} constants[] = {
    {"torch.mul(torch.mean(x), CONSTANTS.c0)", "-> float32"},
    {"torch.sub(torch.to(x, 4), CONSTANTS.c0, alpha=2)", "-> Tensor[(2, 3), float32]"},
    {"torch.div(torch.to(x, 5), CONSTANTS.c0)", "-> Tensor[(2, 3), float16]"},
    {"torch.true_divide(torch.to(torch.mean(x), 5), CONSTANTS.c0)", "-> float16"},
    {"torch.add_(torch.neg(torch.mean(x)), CONSTANTS.c0)", "-> float32"},
    /* tensors, which decide the type */
    {"torch.div(torch.mean(x), CONSTANTS.c0, rounding_mode=None)", "-> float64"},
    {"torch.rsub(torch.mean(x), CONSTANTS.c0)", "-> float64"},
    {"torch.mul(CONSTANTS.c0, torch.mean(x))", "-> float64"},
    {"torch.maximum(torch.mean(x), CONSTANTS.c0)", "-> float64"},
    {"torch.add(torch.mean(x), torch.to(CONSTANTS.c0, 7))", "-> float64"},
    {"torch.add(torch.mean(x), torch.mul(CONSTANTS.c0, CONSTANTS.c0))", "-> float64"},
};

static void constants_are_numbers(void **state)
{
    static const double half = 0.5;
    (void)state;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        tn_buf code = {0}, said = {0};
        archive a = {0};
        tn_buf_printf(&code, FORWARD "    return %s\n", constants[i].code);
        add(&a, "m/data.pkl", PLAIN, sizeof PLAIN - 1);
        add(&a, "m/code/__torch__.py", code.at, code.n);
        add(&a, "m/constants.pkl", HALF, sizeof HALF - 1);
        add(&a, "m/constants/0", &half, sizeof half);
        finish(&a);
        read_into(&said, &a.file, &given);
        expect(tn_buf_cstr(&said), constants[i].want);
        tn_buf_deinit(&said);
        tn_buf_deinit(&code);
        tn_buf_deinit(&a.file);
    }
}

static void errors_are_counted(void **state)
{
    (void)state;
    tn_buf code = {0}, said = {0};
    tn_buf_str(&code, FORWARD);
    for (int i = 0; i < 230; i++)
        tn_buf_printf(&code, "    y%d = torch.op%d(x)\n", i, i);
    tn_buf_str(&code, "    z = torch.relu(x)\n    return z\n");
    archive a = make(PLAIN, sizeof PLAIN - 1, tn_buf_cstr(&code), "little");
    read_into(&said, &a.file, &given);
    expect(tn_buf_cstr(&said), "pytorch-E017");
    tn_buf_deinit(&said);
    tn_buf_deinit(&code);
    tn_buf_deinit(&a.file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_read),
        cmocka_unit_test(types_of_inputs_are_told),
        cmocka_unit_test(archives_are_checked),
        cmocka_unit_test(shared_memory_is_seen),
        cmocka_unit_test(bombs_are_met),
        cmocka_unit_test(states_are_restored),
        cmocka_unit_test(errors_are_counted),
        cmocka_unit_test(constants_are_numbers),
        cmocka_unit_test(members_of_enums_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
