# torchvision: ConvNeXt, Vision Transformer.
class Names(Module):
  convnext: {"x": [-1, 3, 224, 224]} = "convnext_tiny", "convnext_small", "convnext_base", "convnext_large"
  vit: {"x": [-1, 3, 224, 224]} = "vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32", "vit_h_14"

# Over the channels of an image.
def channel_norm(m, x):
  y = layer_norm(m, torch.permute(x, [0, 2, 3, 1]), 1e-6)
  return torch.permute(y, [0, 3, 1, 2])

def convnext(m, name, x):
  x = channel_norm(m.features[0][1], conv(m.features[0][0], x, 4, 0))
  for i in [1, 3, 5, 7]:
    for part in m.features[i]:
      y = layer_norm(part.block[2], torch.permute(conv(part.block[0], x), [0, 2, 3, 1]), 1e-6)
      y = linear(part.block[5], torch.gelu(linear(part.block[3], y)))
      x = x + part.layer_scale * torch.permute(y, [0, 3, 1, 2])
    if i < 7:
      x = conv(m.features[i + 1][1], channel_norm(m.features[i + 1][0], x), 2, 0)
  x = layer_norm(m.classifier[0], mean(x), 1e-6)
  return linear(m.classifier[2], x)

def vit(m, name, x):
  heads = 12 if name in ["vit_b_16", "vit_b_32"] else 16
  width = torch.size(m.class_token, 2)
  x = conv(m.conv_proj, x, torch.size(m.conv_proj.weight, 2), 0)
  x = torch.transpose(torch.flatten(x, 2), 1, 2)
  first = torch.expand(m.class_token, [torch.size(x, 0), 1, width])
  x = torch.cat([first, x], 1) + m.encoder.pos_embedding
  for layer in m.encoder.layers:
    x = x + attention(layer.self_attention, layer_norm(layer.ln_1, x, 1e-6), heads)
    mlp = layer.mlp
    y = linear(mlp[0] if hasattr(mlp, 0) else mlp.linear_1, layer_norm(layer.ln_2, x, 1e-6))
    x = x + linear(mlp[3] if hasattr(mlp, 3) else mlp.linear_2, torch.gelu(y))
  x = torch.select(layer_norm(m.encoder.ln, x, 1e-6), 1, 0)
  return linear(m.heads.head, x)

def attention(m, x, heads):
  n = torch.size(x, 0)
  steps = torch.size(x, 1)
  width = torch.size(x, 2)
  y = torch.reshape(torch.linear(x, m.in_proj_weight, m.in_proj_bias), [n, steps, 3, heads, width // heads])
  q, k, v = torch.unbind(torch.permute(y, [2, 0, 3, 1, 4]), 0)
  y = torch.scaled_dot_product_attention(q, k, v)
  return linear(m.out_proj, torch.reshape(torch.transpose(y, 1, 2), [n, steps, width]))
