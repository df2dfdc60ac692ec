#!/usr/bin/env python3
"""Compares Tenon with PyTorch on what TorchScript takes of Python: lists, dicts, texts, numbers, loops; of lists, too,
that change in branches and loops which only the run decides on (by x and n).

    tests/pytorch/language.py [-v]

Each program below is compiled by torch.jit.script and read by Tenon. It needs the packages torch and numpy and judges the
package tenon of PYTHONPATH, by default that of build/release. Exit 77: not installed.
"""
import argparse
import collections
import importlib.util
import os
import sys
import tempfile
import textwrap
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "build", "release", "python"))
warnings.simplefilter("ignore")
try:
    import numpy as np
    import torch
    import tenon
except ImportError as e:
    print(f"not run: {e}")
    sys.exit(77)

PROGRAMS = """
l = [x, y]
l += [x*2]
return torch.stack(l).sum(0)

l = [x, y]
l.reverse()
return l[0]-l[1]*2

l = [x, y]
l.clear()
l.append(y)
return l[0]*len(l)

l = [3, 5, 7]
return x*l.index(5)

l = [3, 5, 5]
return x*l.count(5)

l = [3, 9, 5]
l.sort()
return x*l[1]+y*l[2]

l = [3, 9, 5]
l.sort(reverse=True)
return x*l[1]+y*l[2]

l = [3, 9, 5]
k = sorted(l)
return x*k[1]+y*l[1]

l = [3, 9, 5]
l.remove(9)
return x*l[1]

l = [3]*4
return x*len(l)+y*l[3]

l = [3, 4]
return x if 4 in l else y

l = [x, y, x]
del l[0]
return l[0]*len(l)

d = {'a':x, 'b':y}
del d['a']
return d['b']*len(d)

d = {'a':x}
z = d.setdefault('c', y)
return z*len(d)

d = {'a':x}
d.clear()
return y*len(d)

d = {'a':x, 'b':y}
z = d.pop('a')
return z*len(d)

d = {'a':x, 'b':y}
z = torch.zeros_like(x)
for k, v in d.items():
    z = z*2 + v
return z

z = x
for i, t in enumerate([x, y, x]):
    z = z + t*i
return z

z = x
for a, b in zip([x, y], [2, 3]):
    z = z + a*b
return z

z = x
for i in range(3, 0, -1):
    z = z*2+i
return z

l = [3, 9, 5]
return x*max(l)+y*min(l)

l = [0.5, 1.5]
return x*sum(l)

s = '-'.join(['a', 'b'])
return x*len(s)

s = 'a, b, c'.split(', ')
return x*len(s)

return x if 'AbC'.lower()=='abc' else y

return x if 'AbC'.endswith('C') else y

return x*'abc'.find('c')

return x*len('aabb'.replace('a', 'xx'))

return x*len('  ab '.strip())

k = 3
s = f'{k}_a'
return x*len(s)

return x*int('12')

return x*float('1.5')

return x*ord('a')

a, b = divmod(7, 3)
return x*a+y*b

return x*(-7//2)+y*(-7%3)

return x*(2**3)+y*(2.0**0.5)

return x*(6&3|8^1)+y*(1<<4)

a = True and not False
return x*int(a)

k = 1 if x.shape[0]>2 else 0
return x*k

i = 0
z = x
while i<3:
    z = z+i
    i+=1
return z

z = x
for i in range(5):
    if i==3:
        break
    if i==1:
        continue
    z = z+i
return z

return x*math.sqrt(2.0)+y*math.pi+math.floor(2.5)+math.ceil(2.2)+math.log(3.0)+math.exp(1.0)+math.sin(0.5)

z = float('inf')
return torch.clamp(x, max=z)

a = (x, y)
b, c = a
return b-c*2

l = [[x], [y, x]]
l[1].append(y)
return torch.stack(l[1]).sum(0)

return x if [1, 2]==[1, 2] else y

l = [x, y, x, y]
return torch.stack(l[1:3]).sum(0)+torch.stack(l[::2])[0]+l[-1]

z = x.clone()
z[1:3] = y[1:3]
z[0] = 5
return z

o: Optional[Tensor] = None
if o is None:
    o = y
return x+o

return x if isinstance(x, torch.Tensor) else y

assert x.shape[0]==4, 'bad'
return x

return x*round(2.6)+y*abs(-3)

n, = x.shape
return x.view(n//2, -1).t().reshape(-1)

l = [x, y]
a, b = l
return a-b*2

return torch.max(torch.stack([x, y]), dim=0).values

m = torch.sort(x)
return m.values+m.indices

l = [i*i for i in range(4)]
return x*l[2]

l = [x, y]
l.extend([x])
return torch.stack(l).sum(0)*len(l)

l = [x, y]
m = l
m += [x]
del m[0]
return torch.stack(l).sum(0)*len(l)

l = ['b', 'abc', 'ab']
l.sort()
return x if l[1]=='abc' else y

l = [2.5, -1.0, 0.25]
l.sort(reverse=True)
return x*l[1]

d = {'a':1, 'b':2}
return x*d.pop('c', 7)*len(d)

l: List[Tensor] = []
for i in range(int(n)):
    l.append(x * i)
return torch.stack(l).sum(0)*len(l)

l = [x]
k = 0
h = x
while bool(h.sum() < 20.0) and k < 10:
    h = h * 1.5 + 1.0
    l.append(h)
    k += 1
return torch.stack(l, 1)

l = [x]
if bool(x.sum() > 0):
    l.append(x * 2)
return torch.stack(l).sum(0)*len(l)

l: List[Tensor] = []
for i in range(int(n)):
    for j in range(int(n)):
        if bool(x[0] > 0.0):
            l.append(x * i+j)
        else:
            l.append(x-i)
return torch.cat(l)

l: List[Tensor] = []
for i in range(int(n)):
    l = l + [x+i]
return torch.stack(l)

l: List[Tensor] = []
for i in range(int(n)):
    l += [x+i, x-i]
return torch.stack(l)

l: List[int] = []
for i in range(int(n)):
    l.append(i*i)
s = 0
for j in range(len(l)):
    s += l[j]*(j+1)
return x * s+l[-1]

l = [0.5]
for i in range(int(n)):
    l.append(l[-1]*2.0)
return x * l[-1]

l = [x, x * 2]
for i in range(int(n)):
    l.append(l[-1]+l[-2])
    l.pop(0)
return l[0]+l[1]

l = [x, x * 2]
for i in range(int(n)):
    l[i % 2] = l[0]+l[1]
return l[0]-l[1]

l: List[Tensor] = []
for i in range(int(n)):
    l.append(x+i)
z = torch.zeros_like(x)
for t in l:
    z = z * 0.5 + t
return z

l: List[Tensor] = []
m = l
for i in range(int(n)):
    m.append(x+i)
return torch.stack(l)

l: List[Tensor] = []
h = x * 1.0
for i in range(int(n)):
    h.add_(1.0)
    l.append(h)
return torch.stack(l)

l: List[Tensor] = []
h = x * 1.0
for i in range(int(n)):
    l.append(h)
    h.add_(1.0)
return torch.stack(l)

l: List[Tensor] = []
h = x * 1.0
for i in range(int(n)):
    h.mul_(0.5)
    h = h + 1.0
    l.append(h)
return torch.stack(l)

l: List[Tensor] = []
for i in range(int(n)):
    y = x * float(i)
    y.relu_()
    l.append(y)
return torch.stack(l)

l: List[Tensor] = []
a = x * 1.0
b = x * 2.0
for i in range(int(n)):
    a.add_(1.0)
    a = b
    b = b*2.0
    l.append(b)
return torch.stack(l)

l: List[Tensor] = []
for i in range(int(n)):
    l.append(x * float(i))
    l[-1].add_(1.0)
return torch.stack(l)

l: List[Tensor] = []
h = torch.stack([x,x])
for i in range(int(n)):
    l.append(h[0])
    h[0].add_(1.0)
return torch.stack(l)

l: List[Tensor] = []
for i in range(int(n)):
    l.append(x[:i+1])
return torch.cat(l)

l = [x * i for i in range(int(n))]
return torch.stack(l)

l: List[Tensor] = []
if bool(x[0]>0):
    l = [x]
else:
    l = [x, x]
return torch.stack(l).sum(0)

l: List[Tensor] = []
m: List[int] = []
for i in range(int(n)):
    l.append(x+i)
    m.append(i)
    if i > 1:
        l.pop()
return torch.stack(l).sum(0)*len(m)+len(l)

l: List[Tensor] = []
for i in range(int(n)):
    l.append(x+i)
return torch.stack(l), len(l)

l: List[Tensor] = []
for i in range(int(n)):
    if i == 2:
        l.clear()
    l.append(x+i)
return torch.stack(l)

l: List[Tensor] = []
for i in range(int(n)-1):
    l.append(x+i)
return x if len(l)==0 else torch.stack(l).sum(0)

toks: List[int] = [1]
h = x
while len(toks) < 6 and toks[-1] != 0:
    h = torch.tanh(h * 1.3+0.1)
    toks.append(int((h.sum()*3.0).to(torch.int64)) % 4)
return torch.tensor(toks)

return x*len(str(int(n)*7))

s = '{}'.format(int(n)) + '!'
return x if len(s) == 3 else y

s = str(int(n))
return x if s == '3' else y

s = str(int(n))
return x if s else y

k = ','.join([str(int(n)), 'a'])
return x if k == '3,a' else y

if int(n) > 100:
    raise ValueError('too many: ' + str(int(n)))
return x

z = (1, 2.5)
return x*len(str(z)) + len(str([1.0, 0.1, 1e-9, 1e20, -0.0, float('inf')])) + len(str((1,))) + len(str(['a', 'b']))

return x*len('{}|{}|{}'.format(True, 3, [1, 2])) + len(f'{0.5}{1e10}{123456789.0}')

l = [i for i in range(30)]
return x*len(str(l))

d: Dict[int, Tensor] = {1: x, 3: y}
return d[int(n)] if int(n) in d else x+y

d = {1: x, 3: y}
return d[int(n)] if int(n) == 3 else x+y

d: Dict[int, int] = {}
d[int(n)] = 5
return x*len(d)

d = {1: 10, 3: 20}
return x if d.get(int(n)) is None else y

d = {'a': x, 'a': y}
return d['a']*len(d)

d = dict([('a', x), ('a', y)])
return d['a']*len(d)

d = {'a': x}
d['a'] = y
d.update({'b': x, 'b': y*2})
return d['a']+d['b']*len(d)

h = (x+y).reshape(1, 4)
h.squeeze_()
return h*2

h = (x*y).reshape(2, 2)
h.t_()
return h+1

h = x*2
h.unsqueeze_(0)
k = h+y
return k.squeeze_(0)

h = (x*y).reshape(2, 2)
h.transpose_(0, 1)
h.add_(1)
return h

h = (x*y).reshape(1, 2, 2)
k = h[0]
h.squeeze_()
k.add_(1)
return h

z = torch.cat([x, y[:int(n)]])
a, b, c = z.chunk(3)
return a.sum()-b.sum(), c*2

z = torch.cat([x, y[:int(n)]])
a, b, c, d = z.chunk(6)[:4] if int(n) < 0 else torch.cat([z, z]).chunk(4)
return a+b, c.sum()-d.sum()

z = torch.cat([x, y[:int(n)]])
a, b = z.split(4)
return a*2, b

a, b, c, d = torch.cat([x[:int(n)], y[int(n):]]).unbind()
return a-b*c, d

z = torch.cat([x, y[:int(n)]])
a, b, c = torch.tensor_split(z, 3)
return a*2, b.sum(), c

z = torch.cat([x, y[:int(n)]])
a, b, c = torch.tensor_split(z, [1, -2])
return a*2, b.sum(), c

z = torch.cat([x, y[:int(n)]])
a, b, c = torch.tensor_split(z, torch.stack([n, n-2, torch.tensor(-1)])[:2])
return a*2, b.sum(), c

a, b, c = torch.tensor_split(x, torch.tensor([1, -2]))
return a*2, b.sum(), c

return torch.tensor_split(x, torch.nonzero(y > n).reshape(-1))[0]

z = torch.cat([x, y[:int(n)]])
a, b = torch.split(z, [3, z.shape[0]-3])
return a*2, b

return torch.bincount((2*x).abs().long(), minlength=int(n)), torch.bincount(y.abs().long(), x)

s = " Mean\\n".strip()
t = x*2 if s.lower() == "mean" and s.upper().endswith("AN") else x
return t, s.strip("Mn") == "ea"

l: List[int] = []
for i in range(int(n)):
    l.append(i*2)
return torch.tensor(l, dtype=torch.int32), torch.tensor(l)

p = torch.nn.utils.rnn.pad_sequence([x, y[:int(n)]], True, -1.)
return p, torch.nn.functional.pad(x, (0, int(n)))

z = torch.stack([x, y, x*y]).unsqueeze(2)
p = torch.nn.utils.rnn.pack_padded_sequence(z, torch.stack([n, n*0+2, n*0+4]), True, False)
q, l = torch.nn.utils.rnn.pad_packed_sequence(p, True, -1.)
return q, l, p.batch_sizes

z = torch.stack([x, y, x*y]).unsqueeze(2)
p = torch.nn.utils.rnn.pack_padded_sequence(z, torch.stack([n, n*0+2, n*0+4]), True, False)
w = torch.linspace(-1., 1., 24).view(12, 2)
h = torch.zeros(2, 3, 2)
g, last = torch.gru(p.data, p.batch_sizes, h, [w[:6, :1], w[6:], w[:6, 1:], w[:6]], False, 1, 0., False, True)
return g, last

z = x/(x*0)-x/(x*0)
return torch.sign(z), torch.sgn(z), torch.heaviside(z, y), torch.sign(x), torch.heaviside(x-1, y)

z = torch.div(x, 0.1, rounding_mode='floor')
return z, torch.floor_divide(x, y), x//0.7, x.double()//0.1, torch.div(x, -0.1, rounding_mode='floor')

z = x.clone()
a = z.contiguous()
a.add_(1.)
b = z.view(2, 2)[1:].contiguous()
b.mul_(2.)
c = z.reshape(2, 2)
c[0, 1] = 9.
z.flatten()[3] = 5.
return z, a, b, c

z = x.view(2, 2).clone().t()
a = z.contiguous()
a.add_(1.)
b = z.reshape(4)
b.add_(y)
return a, b

l = [1, 2, 2]
m = l[::-1]
k = l[-1:0:-1]+l[:-4:-2]+l[5::-1]+l[0:3:-1]
return x.reshape(m), torch.tensor(k)

z = x[:0]
return z.any(), (z > 0).any(), (z > 0).all(), z.view(0, 2).any(0), (x > 0).any(), (x > 0).all()

b = torch.stack([x, y]).sort(1)[0]
v = torch.stack([y, x, x])[:2]
w = torch.searchsorted(b, v), torch.searchsorted(b, v, right=True), torch.searchsorted(b, v, side='right')
order = torch.tensor([[3, 2, 1, 0], [3, 2, 1, 0]])
nan = torch.tensor([float('nan'), 0.])
return w[0], w[1], w[2], torch.searchsorted(b.flip(1), v, sorter=order), torch.bucketize(nan, b[0]), torch.bucketize(nan, b[0], right=True)
"""


def judge(body, folder):
    """(outcome, why)"""
    path, saved = os.path.join(folder, "p.py"), os.path.join(folder, "p.pt")
    with open(path, "w", encoding="utf-8") as f:
        f.write("import math\nimport torch\nfrom torch import Tensor\nfrom typing import Dict, List, Optional\n\n\n"
                "def f(x: Tensor, y: Tensor, n: Tensor):\n" +
                textwrap.indent(body, "    ") + "\n")
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        torch.jit.script(module.f).save(saved)
        script = torch.jit.load(saved)  # not what was saved: a float of 1e10 becomes an int
    except Exception as e:  # noqa: BLE001 (what TorchScript does not take)
        return "not run", str(e).strip().splitlines()[0]
    try:
        ours = tenon.compile(saved, input_shapes="x:[4] y:[4] n:[]:int64")
    except tenon.CompileError as e:
        return "refused", str(e)
    for n, sign in (1, 1), (3, -1), (4, 0.5):
        feed = {"x": np.array([1, -2, 3, 0.5], "f4") * np.float32(sign), "y": np.array([0.25, 2, -1, 4], "f4"), "n": np.array(n)}
        want = script(*map(torch.from_numpy, feed.values()))
        want = want if isinstance(want, tuple) else (want,)
        try:
            got = ours.run({i.name: feed[i.name] for i in ours.inputs})
        except tenon.RunError as e:  # what a branch holds is refused where it is taken
            return "refused", str(e)
        for w, g in zip(want, map(np.asarray, got)):
            if g.shape != np.shape(w) or not np.allclose(g, w, rtol=1e-5):
                return "wrong", f"{g.tolist()} instead of {w}, n {n}"
    return "right", ""



def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("-v", action="store_true")
    args = p.parse_args()
    counts = collections.Counter()
    for body in PROGRAMS.strip().split("\n\n"):
        with tempfile.TemporaryDirectory() as folder:
            outcome, why = judge(body, folder)
        counts[outcome] += 1
        if args.v or outcome != "right":
            print(f"{outcome}: {why}\n{body}\n", flush=True)
    print(", ".join(f"{counts[k]} {k}" for k in ("right", "wrong", "refused", "not run")))
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
