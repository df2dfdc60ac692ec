# Layers over their weights: what the architectures are made of. Kernels, channels and groups are those of the weights.
def conv(m, x, stride=1, padding=-1):
  k = torch.size(m.weight)
  pad = [k[2] // 2, k[3] // 2] if padding < 0 else [padding, padding]
  bias = m.bias if hasattr(m, "bias") else None
  return torch.conv2d(x, m.weight, bias, [stride, stride], pad, [1, 1], torch.size(x, 1) // k[1])

def norm(m, x, eps=1e-5):
  return torch.batch_norm(x, m.weight, m.bias, m.running_mean, m.running_var, False, 0.1, eps, True)

# A Sequential of a convolution and its normalisation.
def conv_norm(m, x, stride=1, eps=1e-5):
  return norm(m[1], conv(m[0], x, stride), eps)

def linear(m, x):
  return torch.linear(x, m.weight, m.bias if hasattr(m, "bias") else None)

def layer_norm(m, x, eps):
  return torch.layer_norm(x, torch.size(m.weight), m.weight, m.bias, eps)

def max_pool(x, size, stride, padding=0, ceil=False):
  return torch.max_pool2d(x, [size, size], [stride, stride], [padding, padding], [1, 1], ceil)

def mean(x):
  return torch.flatten(torch.adaptive_avg_pool2d(x, [1, 1]), 1)

# Squeeze and excitation.
def excited(m, x, inner, outer):
  y = torch.adaptive_avg_pool2d(x, [1, 1])
  return x * activated(conv(m.fc2, activated(conv(m.fc1, y), inner)), outer)

def activated(x, kind):
  if kind == "relu":
    return torch.relu(x)
  if kind == "silu":
    return torch.silu(x)
  if kind == "sigmoid":
    return torch.sigmoid(x)
  if kind == "hardswish":
    return torch.hardswish(x)
  return torch.hardsigmoid(x)

# Expansion, convolution of each channel, excitation, projection: each where there are weights for it. What is not
# expanded and has one layer alone is activated, too.
def inverted(m, x, stride, kind, gates, eps):
  y = x
  pending = stride
  for k in range(len(m)):
    part = m[k]
    if hasattr(part, "fc1"):
      y = excited(part, y, gates[0], gates[1])
    else:
      wide = torch.size(part[0].weight, 2) > 1
      y = conv_norm(part, y, pending if wide else 1, eps)
      pending = 1 if wide else pending
      if k + 1 < len(m) or len(m) == 1:
        y = activated(y, kind)
  return x + y if stride == 1 and torch.size(x, 1) == torch.size(y, 1) else y
