# torchvision: MobileNetV2 and V3, MnasNet, EfficientNet and V2, ShuffleNetV2.
class Names(Module):
  mobilenet_v2: {"x": [-1, 3, 224, 224]} = "mobilenet_v2",
  mobilenet_v3: {"x": [-1, 3, 224, 224]} = "mobilenet_v3_large", "mobilenet_v3_small"
  mnasnet: {"x": [-1, 3, 224, 224]} = "mnasnet0_5", "mnasnet0_75", "mnasnet1_0", "mnasnet1_3"
  efficientnet: {"x": [-1, 3, 224, 224]} = (
    "efficientnet_b0", "efficientnet_b1", "efficientnet_b2", "efficientnet_b3", "efficientnet_b4",
    "efficientnet_b5", "efficientnet_b6", "efficientnet_b7", "efficientnet_v2_s", "efficientnet_v2_m",
    "efficientnet_v2_l")
  shufflenet_v2: {"x": [-1, 3, 224, 224]} = (
    "shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "shufflenet_v2_x1_5", "shufflenet_v2_x2_0")

def mobilenet_v2(m, name, x):
  x = torch.relu6(conv_norm(m.features[0], x, 2))
  for i in range(len(m.features) - 2):
    stride = 2 if i + 1 in [2, 4, 7, 14] else 1
    block = m.features[i + 1].conv
    y = x
    last = len(block) - 2
    for k in range(last):
      wide = torch.size(block[k][0].weight, 2) > 1
      y = torch.relu6(conv_norm(block[k], y, stride if wide else 1))
    y = norm(block[last + 1], conv(block[last], y))
    x = x + y if stride == 1 and torch.size(x, 1) == torch.size(y, 1) else y
  x = torch.relu6(conv_norm(m.features[len(m.features) - 1], x))
  return linear(m.classifier[1], mean(x))

def mobilenet_v3(m, name, x):
  large = name == "mobilenet_v3_large"
  strided = [2, 4, 7, 13] if large else [1, 2, 4, 9]
  plain = 6 if large else 3
  last = len(m.features) - 1
  x = torch.hardswish(conv_norm(m.features[0], x, 2, 0.001))
  for i in range(last - 1):
    kind = "relu" if i < plain else "hardswish"
    x = inverted(m.features[i + 1].block, x, 2 if i + 1 in strided else 1, kind, ("relu", "hardsigmoid"), 0.001)
  x = torch.hardswish(conv_norm(m.features[last], x, 1, 0.001))
  return linear(m.classifier[3], torch.hardswish(linear(m.classifier[0], mean(x))))

def mnasnet(m, name, x):
  x = torch.relu(norm(m.layers[1], conv(m.layers[0], x, 2)))
  x = torch.relu(norm(m.layers[4], conv(m.layers[3], x)))
  x = norm(m.layers[7], conv(m.layers[6], x))
  for i in [8, 9, 10, 11, 12, 13]:
    stride = 1 if i in [11, 13] else 2
    for block in m.layers[i]:
      y = torch.relu(norm(block.layers[1], conv(block.layers[0], x)))
      y = torch.relu(norm(block.layers[4], conv(block.layers[3], y, stride)))
      y = norm(block.layers[7], conv(block.layers[6], y))
      x = x + y if stride == 1 and torch.size(x, 1) == torch.size(y, 1) else y
      stride = 1
  x = torch.relu(norm(m.layers[15], conv(m.layers[14], x)))
  return linear(m.classifier[1], mean(x))

def efficientnet(m, name, x):
  exact = name in ["efficientnet_b0", "efficientnet_b1", "efficientnet_b2", "efficientnet_b3", "efficientnet_b4"]
  eps = 1e-5 if exact else 0.001
  last = len(m.features) - 1
  x = torch.silu(conv_norm(m.features[0], x, 2, eps))
  for i in range(last - 1):
    stride = 2 if i + 1 in [2, 3, 4, 6] else 1
    for part in m.features[i + 1]:
      x = inverted(part.block, x, stride, "silu", ("silu", "sigmoid"), eps)
      stride = 1
  x = torch.silu(conv_norm(m.features[last], x, 1, eps))
  return linear(m.classifier[1], mean(x))

def shufflenet_v2(m, name, x):
  x = max_pool(torch.relu(conv_norm(m.conv1, x, 2)), 3, 2, 1)
  for stage in [m.stage2, m.stage3, m.stage4]:
    for block in stage:
      stride = 2 if hasattr(block, "branch1") else 1
      if stride == 2:
        left = norm(block.branch1[1], conv(block.branch1[0], x, 2))
        left = torch.relu(norm(block.branch1[3], conv(block.branch1[2], left)))
        right = x
      else:
        left, right = torch.chunk(x, 2, 1)
      right = torch.relu(norm(block.branch2[1], conv(block.branch2[0], right)))
      right = norm(block.branch2[4], conv(block.branch2[3], right, stride))
      right = torch.relu(norm(block.branch2[6], conv(block.branch2[5], right)))
      x = torch.channel_shuffle(torch.cat([left, right], 1), 2)
  return linear(m.fc, mean(torch.relu(conv_norm(m.conv5, x))))
