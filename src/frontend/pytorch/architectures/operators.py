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

def adaptive_max_pool1d(self, output_size):
  v, at = adaptive_max_pool2d(torch.unsqueeze(self, -2), [1, output_size[0]])
  return torch.squeeze(v, -2), torch.squeeze(at, -2)
