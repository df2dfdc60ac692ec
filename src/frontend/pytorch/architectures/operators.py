# Operators of PyTorch that are made of others: what traces of attention and of transformer layers call, and others.
def heads_of(x, weight, bias, n):
  y = torch.linear(x, weight, bias)
  y = torch.reshape(y, [torch.size(y, 0), torch.size(y, 1), n, torch.size(y, 2) // n])
  return torch.transpose(y, 1, 2)

# mask_type: 1: keys of each row of the batch; else it fits the scores as it is.
def masked(scores, mask, mask_type):
  if mask is None:
    return scores
  if mask_type == 1:
    mask = torch.unsqueeze(torch.unsqueeze(mask, 1), 1)
  if ops.prim.dtype(mask) == 11:
    return torch.masked_fill(scores, mask, float("-inf"))
  return scores + mask

def _native_multi_head_attention(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias,
    mask=None, need_weights=True, average_attn_weights=True, mask_type=None):
  w = torch.chunk(qkv_weight, 3, 0)
  b = torch.chunk(qkv_bias, 3, 0)
  q = heads_of(query, w[0], b[0], num_head)
  k = heads_of(key, w[1], b[1], num_head)
  v = heads_of(value, w[2], b[2], num_head)
  scale = 1.0 / torch.sqrt(float(embed_dim // num_head))
  p = torch.softmax(masked(torch.matmul(q * scale, torch.transpose(k, 2, 3)), mask, mask_type), 3)
  y = torch.flatten(torch.transpose(torch.matmul(p, v), 1, 2), 2)
  if need_weights and average_attn_weights:
    p = torch.mean(p, [1])
  return torch.linear(y, proj_weight, proj_bias), p if need_weights else None

def _transformer_encoder_layer_fwd(src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu,
    norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2,
    ffn_bias_2, mask=None, mask_type=None):
  x = src
  y = torch.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps) if norm_first else x
  y, p = _native_multi_head_attention(y, y, y, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
    False, False, mask_type)
  x = x + y
  if not norm_first:
    x = torch.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)
  y = torch.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps) if norm_first else x
  y = torch.linear(y, ffn_weight_1, ffn_bias_1)
  y = torch.linear(torch.gelu(y) if use_gelu else torch.relu(y), ffn_weight_2, ffn_bias_2)
  x = x + y
  return x if norm_first else torch.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)

# v of length g along all axes but one; -1: along all. And the lengths that it had.
def _weight_norm_interface(v, g, dim=0):
  axes = []
  for i in range(torch.dim(v)):
    if i != dim:
      torch.append(axes, i)
  n = torch.norm(v, 2, axes, True)
  return v * (g / n), n

def _weight_norm(v, g, dim=0):
  w, n = _weight_norm_interface(v, g, dim)
  return w

def isin(elements, test_elements, assume_unique=False, invert=False):
  same = torch.eq(torch.unsqueeze(elements, -1), torch.reshape(test_elements, [-1]))
  found = torch.any(same, -1)
  return torch.logical_not(found) if invert else found

# Windows as those of adaptive averages; of what is the largest, and where.
def adaptive_max_pool2d(self, output_size):
  h = torch.size(self, -2)
  w = torch.size(self, -1)
  size = output_size + output_size if len(output_size) == 1 else output_size
  values = []
  places = []
  for i in range(size[0]):
    top = i * h // size[0]
    rows = torch.slice(self, -2, top, ((i + 1) * h + size[0] - 1) // size[0])
    for j in range(size[1]):
      left = j * w // size[1]
      right = ((j + 1) * w + size[1] - 1) // size[1]
      v, at = torch.max(torch.flatten(torch.slice(rows, -1, left, right), -2), -1)
      n = right - left
      torch.append(values, v)
      torch.append(places, (torch.floor_divide(at, n) + top) * w + torch.remainder(at, n) + left)
  shape = torch.slice(torch.size(self), 0, -2) + size
  return torch.reshape(torch.stack(values, -1), shape), torch.reshape(torch.stack(places, -1), shape)

def adaptive_max_pool3d(self, output_size):
  d = torch.size(self, -3)
  h = torch.size(self, -2)
  w = torch.size(self, -1)
  size = output_size * 3 if len(output_size) == 1 else output_size
  values = []
  places = []
  for i in range(size[0]):
    front = i * d // size[0]
    slab = torch.slice(self, -3, front, ((i + 1) * d + size[0] - 1) // size[0])
    for j in range(size[1]):
      top = j * h // size[1]
      below = ((j + 1) * h + size[1] - 1) // size[1]
      rows = torch.slice(slab, -2, top, below)
      for k in range(size[2]):
        left = k * w // size[2]
        right = ((k + 1) * w + size[2] - 1) // size[2]
        v, at = torch.max(torch.flatten(torch.slice(rows, -1, left, right), -3), -1)
        row = torch.floor_divide(at, right - left)
        depth = torch.floor_divide(row, below - top)
        row = torch.remainder(row, below - top) + top
        torch.append(values, v)
        torch.append(places, ((depth + front) * h + row) * w + torch.remainder(at, right - left) + left)
  shape = torch.slice(torch.size(self), 0, -3) + size
  return torch.reshape(torch.stack(values, -1), shape), torch.reshape(torch.stack(places, -1), shape)

def adaptive_max_pool1d(self, output_size):
  v, at = adaptive_max_pool2d(torch.unsqueeze(self, -2), [1, output_size[0]])
  return torch.squeeze(v, -2), torch.squeeze(at, -2)

# x with 0 in the place of each NaN: no element is below the least of them, or above the largest.
def numbers(x):
  return torch.where(torch.isnan(x), torch.zeros_like(x), x) if torch.is_floating_point(x) else x

# [out, n]: which of n elements window i of an adaptive pool has.
def adaptive_windows(n, out):
  i = torch.unsqueeze(torch.arange(out), 1)
  j = torch.arange(n)
  begin = torch.floor_divide(i * n, out)
  end = torch.floor_divide((i + 1) * n + (out - 1), out)
  return torch.logical_and(torch.ge(j, begin), torch.lt(j, end))

# What lies outside of a window is chosen away: times 0, an infinity would be NaN.
def adaptive_avg_axis(x, axis, out):
  inside = adaptive_windows(torch.size(x, axis), out)
  y = torch.unsqueeze(torch.transpose(x, axis, -1), -2)
  n = torch.sum(torch.to(inside, ops.prim.dtype(x)), [1])
  return torch.transpose(torch.sum(torch.where(inside, y, torch.zeros_like(torch.amax(x))), [-1]) / n, axis, -1)

def adaptive_max_axis(x, axis, out):
  inside = adaptive_windows(torch.size(x, axis), out)
  y = torch.unsqueeze(torch.transpose(x, axis, -1), -2)
  return torch.transpose(torch.amax(torch.where(inside, y, torch.amin(numbers(x))), [-1]), axis, -1)

# For windows along an axis of x that gave y: their size by how much of them lies inside of x and its padding.
def share_inside(x, y, axis, size, step, pad):
  begin = torch.arange(torch.size(y, axis)) * step - pad
  n = torch.minimum(begin + size, torch.size(x, axis) + pad) - begin
  return torch.view(size / n, [-1] + [1] * (torch.dim(x) - 1 - axis))

# Where in what is repeated each element of the result is from.
def repeated_positions(repeats):
  if torch.any(torch.lt(repeats, 0)):
    ops.prim.RaiseException("repeats can not be negative")
  return torch.searchsorted(torch.cumsum(repeats, 0), torch.arange(int(torch.sum(repeats))), right=True)

# repeat_interleave of repeats that are a tensor.
def repeated_by_tensor(self, repeats, dim):
  if repeats is None:
    return repeated_positions(self)
  x = torch.flatten(self) if dim is None else self
  axis = 0 if dim is None else dim
  if torch.numel(repeats) == 1:
    repeats = torch.expand(torch.reshape(repeats, [1]), [torch.size(x, axis)])
  return torch.index_select(x, axis, repeated_positions(repeats))

# The mean, or without the elements of self that others are reduced into.
def scatter_reduce_apart(self, dim, index, src, reduce, include_self):
  if torch.numel(src) == 0 or torch.numel(index) == 0:
    return self
  n = torch.scatter_add(torch.zeros_like(self, dtype=4), dim, index, torch.ones_like(src, dtype=4))
  x = self
  if not include_self:
    first = torch.zeros_like(src)
    if reduce == "prod":
      first = torch.ones_like(src)
    elif reduce == "amax" or reduce == "amin":
      first = numbers(src)
    neutral = torch.amax(first) if reduce == "amin" else torch.amin(first)
    x = torch.where(torch.gt(n, 0), neutral, self)
  if reduce != "mean":
    return torch.scatter_reduce(x, dim, index, src, reduce)
  total = torch.scatter_reduce(x, dim, index, src, "sum")
  n = torch.clamp(n + (1 if include_self else 0), min=1)
  if torch.is_floating_point(self):
    return torch.to(total / n, ops.prim.dtype(self))
  return torch.to(torch.div(total, n, rounding_mode="floor"), ops.prim.dtype(self))

# mode: 0 sum, 1 mean, 2 maximum. Bags without entries are 0.
def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
    include_last_offset=False, padding_idx=None):
  starts = torch.slice(offsets, 0, 0, -1) if include_last_offset else offsets
  bag = torch.searchsorted(starts, torch.arange(torch.size(indices, 0)), right=True) - 1
  rows = torch.index_select(weight, 0, indices)
  if per_sample_weights is not None:
    rows = rows * torch.unsqueeze(per_sample_weights, 1)
  counts = torch.ones_like(indices)
  if padding_idx is not None:
    row = padding_idx + torch.size(weight, 0) if padding_idx < 0 else padding_idx
    is_used = torch.ne(indices, row)
    counts = torch.to(is_used, 4)
    rest = torch.amin(numbers(rows)) if mode == 2 else torch.zeros_like(torch.sum(rows))
    rows = torch.where(torch.unsqueeze(is_used, 1), rows, rest)
  n = torch.unsqueeze(torch.index_add(torch.zeros([torch.size(starts, 0)], dtype=4), 0, bag, counts), 1)
  sums = torch.zeros([torch.size(starts, 0), torch.size(weight, 1)], dtype=ops.prim.dtype(rows))
  if mode == 2:
    most = torch.scatter_reduce(sums, 0, torch.expand_as(torch.unsqueeze(bag, 1), rows), rows, "amax", include_self=False)
    return torch.where(torch.gt(n, 0), most, torch.zeros_like(most)), None, None, None
  sums = torch.index_add(sums, 0, bag, rows)
  return sums / torch.clamp(n, min=1) if mode == 1 else sums, None, None, None

def linalg_matrix_norm(self, ord="fro", dim=[-2, -1], keepdim=False, dtype=None):
  x = self if dtype is None else torch.to(self, dtype)
  if isinstance(ord, str):
    if ord != "fro":
      ops.prim.RaiseException("the nuclear norm is not supported, since singular values are not")
    return torch.linalg_vector_norm(x, 2, dim, keepdim)
  size = torch.abs(ord)
  if size != 1 and size != inf:
    ops.prim.RaiseException("a norm of a matrix by its singular values (ord 2 or -2) is not supported")
  along = dim[0] if size == 1 else dim[1]
  over = dim[1] if size == 1 else dim[0]
  sums = torch.sum(torch.abs(x), [along], True)
  most = torch.clamp_min(torch.amax(sums, [over], True), 0) if ord > 0 else torch.amin(sums, [over], True)  # 0 of none
  if keepdim:
    return most
  n = torch.dim(x)
  a = dim[0] + n if dim[0] < 0 else dim[0]
  b = dim[1] + n if dim[1] < 0 else dim[1]
  return torch.squeeze(torch.squeeze(most, ops.prim.max(a, b)), ops.prim.min(a, b))

def linalg_norm(self, ord=None, dim=None, keepdim=False, dtype=None):
  if ord is None:
    return torch.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)
  n = torch.dim(self) if dim is None else (1 if isinstance(dim, int) else torch.len(dim))
  if n == 1:
    return torch.linalg_vector_norm(self, ord, dim, keepdim, dtype=dtype)
  return linalg_matrix_norm(self, ord, [-2, -1] if dim is None else dim, keepdim, dtype)

def trapezoid(y, x=None, dim=-1, dx=1):
  n = torch.size(y, dim)
  sums = torch.narrow(y, dim, 1, n - 1) + torch.narrow(y, dim, 0, n - 1)
  if x is None:
    return torch.sum(sums, [dim]) * (dx * 0.5)
  if torch.dim(x) > 1:
    return torch.sum(torch.diff(x, 1, dim) * sums, [dim]) * 0.5
  steps = torch.transpose(torch.transpose(sums, dim, -1) * torch.diff(x), dim, -1)
  return torch.sum(steps, [dim]) * 0.5

def trapz(y, x=None, dim=-1, dx=1):
  return trapezoid(y, x, dim, dx)

# ---- sequences of several lengths ----

# All steps of a packed sequence, those behind the end of a row being any; and the lengths of the rows.
def unpacked(data, batch_sizes, batch):
  row = torch.arange(batch)
  sizes = torch.unsqueeze(batch_sizes, 1)
  first = torch.unsqueeze(torch.cumsum(batch_sizes, 0) - batch_sizes, 1)
  at = torch.flatten(torch.minimum(first + row, torch.sum(batch_sizes) - 1))
  x = torch.unflatten(torch.index_select(data, 0, at), 0, [torch.size(batch_sizes, 0), batch])
  return x, torch.sum(torch.gt(sizes, row), [0])

# The n steps of x [steps, batch, ...] that count, in the order of time.
def packed(x, batch_sizes, n):
  ends = torch.cumsum(batch_sizes, 0)
  place = torch.arange(n)
  step = torch.searchsorted(ends, place, right=True)
  row = place - torch.index_select(ends - batch_sizes, 0, step)
  return torch.index_select(torch.flatten(x, 0, 1), 0, step * torch.size(x, 1) + row)

def _pack_padded_sequence(input, lengths, batch_first):
  x = torch.transpose(input, 0, 1) if batch_first else input
  if torch.any(torch.le(lengths, 0)):
    ops.prim.RaiseException("Length of all samples has to be greater than 0")
  if torch.any(torch.lt(torch.slice(lengths, 0, 0, -1), torch.slice(lengths, 0, 1))):
    ops.prim.RaiseException("lengths must be sorted in decreasing order when enforce_sorted is True")
  step = torch.unsqueeze(torch.arange(int(torch.amax(lengths))), 1)
  batch_sizes = torch.sum(torch.gt(lengths, step), [1])
  return packed(x, batch_sizes, int(torch.sum(lengths))), batch_sizes

def _pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length=-1):
  x, lengths = unpacked(data, batch_sizes, int(torch.amax(batch_sizes)))
  counts = torch.gt(torch.unsqueeze(batch_sizes, 1), torch.arange(torch.size(x, 1)))
  counts = torch.view(counts, torch.size(counts) + [1] * (torch.dim(x) - 2))
  x = torch.where(counts, x, torch.full_like(x, padding_value))
  if total_length > 0:
    more = total_length - torch.size(x, 0)
    x = torch.pad(x, [0, 0] * (torch.dim(x) - 1) + [0, more], "constant", padding_value)
  return torch.transpose(x, 0, 1) if batch_first else x, lengths

def pad_sequence(sequences, batch_first=False, padding_value=0., padding_side="right"):
  most = 0
  for x in sequences:
    most = ops.prim.max(most, torch.size(x, 0))
  rows = []
  for x in sequences:
    more = most - torch.size(x, 0)
    ends = [more, 0] if padding_side == "left" else [0, more]
    torch.append(rows, torch.pad(x, [0, 0] * (torch.dim(x) - 1) + ends, "constant", padding_value))
  return torch.stack(rows, 0 if batch_first else 1)

# Rows of self in groups that end at offs, each times its own matrix.
def _grouped_mm(self, mat2, offs=None, bias=None, out_dtype=None):
  if bias is not None:
    ops.prim.RaiseException("a bias of grouped matrices is not supported")
  if offs is None:
    y = torch.matmul(self, mat2)
    return y if out_dtype is None else torch.to(y, out_dtype)
  if torch.dim(self) != 2 or torch.dim(mat2) != 3:
    ops.prim.RaiseException("groups of columns are not supported, only groups of rows")
  rows = []
  begin = 0
  for i in range(torch.size(mat2, 0)):
    end = int(torch.select(offs, 0, i))
    torch.append(rows, torch.matmul(torch.slice(self, 0, begin, end), torch.select(mat2, 0, i)))
    begin = end
  y = torch.cat(rows, 0)
  last = torch.size(y, 0) - 1
  y = torch.index_select(y, 0, torch.clamp(torch.arange(torch.size(self, 0)), max=last))
  return y if out_dtype is None else torch.to(y, out_dtype)
