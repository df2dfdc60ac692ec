# Order and frequency of elements, made of other operators; how many elements there are may be for the run to find out.
def last_sorted(self, dim):
  x = torch.reshape(self, [-1]) if dim is None or torch.dim(self) == 0 else torch.movedim(self, [dim], [-1])
  return torch.sort(x, stable=True, dim=-1)

# What was found along the last dimension, [.., 1], in the place of dimension dim.
def put_back(self, v, dim, keepdim):
  if torch.dim(self) == 0:
    return torch.reshape(v, [])
  return torch.movedim(v, [-1], [dim]) if keepdim else torch.squeeze(v, -1)

def middle(self, dim, keepdim, ignore_nan):
  s, at = last_sorted(self, dim)
  n = torch.sum(torch.logical_not(torch.isnan(s)), [-1], True)
  k = torch.clamp_min(torch.floor_divide(n - 1, 2), 0)
  if not ignore_nan:
    k = torch.where(torch.lt(n, torch.size(s, -1)), n, k)
  v = torch.gather(s, -1, k)
  if dim is None:
    return torch.reshape(v, [])
  return put_back(self, v, dim, keepdim), put_back(self, torch.gather(at, -1, k), dim, keepdim)

def median(self, dim=None, keepdim=False):
  return middle(self, dim, keepdim, False)

def nanmedian(self, dim=None, keepdim=False):
  return middle(self, dim, keepdim, True)

# The longest run of equal elements, the first of several.
def mode(self, dim=-1, keepdim=False):
  s, at = last_sorted(self, dim)
  place = torch.arange(torch.size(s, -1))
  differs = torch.ne(torch.slice(s, -1, 1), torch.slice(s, -1, 0, -1))
  begins = torch.cat([torch.ones_like(torch.slice(s, -1, 0, 1), dtype=11), differs], -1)
  start, w = torch.cummax(torch.where(begins, place, torch.zeros_like(place)), -1)
  k = torch.argmax(place - start, -1, True)
  return put_back(self, torch.gather(s, -1, k), dim, keepdim), put_back(self, torch.gather(at, -1, k), dim, keepdim)

# Places are worked out in float64, shares of elements in their own type.
def quantiles(self, q, dim, keepdim, interpolation, ignore_nan):
  s, at = last_sorted(self, dim)
  q = torch.zeros([], dtype=ops.prim.dtype(s)) + q
  many = torch.dim(q) == 1
  q = torch.to(torch.reshape(q, [-1]), 7)
  nan = torch.isnan(s)
  if ignore_nan:
    k = torch.clamp_min(q * (torch.sum(torch.logical_not(nan), [-1], True) - 1), 0)
  else:
    last = torch.size(s, -1) - 1
    k = q * last
    k = torch.where(torch.any(nan, -1, True), torch.zeros_like(k) + last, k)
  if interpolation == "lower":
    k = torch.floor(k)
  if interpolation == "higher":
    k = torch.ceil(k)
  if interpolation == "nearest":
    k = torch.round(k)
  below = torch.floor(k)
  v = torch.gather(s, -1, torch.to(below, 4))
  if interpolation == "linear" or interpolation == "midpoint":
    share = torch.full_like(k, 0.5) if interpolation == "midpoint" else k - below
    v = torch.lerp(v, torch.gather(s, -1, torch.to(torch.ceil(k), 4)), torch.to(share, ops.prim.dtype(s)))
  if keepdim and dim is None:
    v = torch.reshape(v, [1] * torch.dim(self) + [-1])
  if keepdim and dim is not None and torch.dim(self) > 0:
    v = torch.movedim(torch.unsqueeze(v, -1), [-1], [dim if dim >= 0 else dim - 1])
  return torch.movedim(v, [-1], [0]) if many else torch.squeeze(v, -1)

def quantile(self, q, dim=None, keepdim=False, interpolation="linear"):
  return quantiles(self, q, dim, keepdim, interpolation, False)

def nanquantile(self, q, dim=None, keepdim=False, interpolation="linear"):
  return quantiles(self, q, dim, keepdim, interpolation, True)

# What lies outside of the bins is counted in one more.
def histc(self, bins=100, min=0, max=0):
  x = torch.reshape(self, [-1])
  if min == max:
    low, high = torch.aminmax(x)
    same = torch.eq(low, high)
    low = torch.where(same, low - 1, low)
    high = torch.where(same, high + 1, high)
  else:
    low = torch.full([], min, dtype=ops.prim.dtype(x))
    high = torch.full([], max, dtype=ops.prim.dtype(x))
  at = torch.clamp_max(torch.to((x - low) * bins / (high - low), 4), bins - 1)
  inside = torch.logical_and(torch.ge(x, low), torch.le(x, high))
  at = torch.where(inside, at, torch.full_like(at, bins))
  n = torch.scatter_add(torch.zeros([bins + 1], dtype=ops.prim.dtype(x)), 0, at, torch.ones_like(x))
  return torch.slice(n, 0, 0, bins)

def bincount(self, weights=None, minlength=0):
  n = minlength
  if torch.numel(self) > 0:
    if torch.item(torch.min(self)) < 0:
      ops.prim.RaiseException("bincount takes no numbers below 0")
    n = ops.prim.max(minlength, torch.item(torch.max(self)) + 1)
  if weights is None:
    w = torch.ones_like(self, dtype=4)
  elif torch.is_floating_point(weights) and ops.prim.dtype(weights) == 6:
    w = weights
  else:
    w = torch.to(weights, 7)
  return torch.scatter_add(torch.zeros([n], dtype=ops.prim.dtype(w)), 0, torch.to(self, 4), w)
