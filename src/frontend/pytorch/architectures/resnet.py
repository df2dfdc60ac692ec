# torchvision: ResNet, ResNeXt, Wide ResNet, RegNet; the ResNets for CIFAR-10 of the paper.
class Names(Module):
  resnet: {"x": [-1, 3, 224, 224]} = (
    "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d", "resnext101_32x8d",
    "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2")
  regnet: {"x": [-1, 3, 224, 224]} = (
    "regnet_x_400mf", "regnet_x_800mf", "regnet_x_1_6gf", "regnet_x_3_2gf", "regnet_x_8gf", "regnet_x_16gf",
    "regnet_x_32gf", "regnet_y_400mf", "regnet_y_800mf", "regnet_y_1_6gf", "regnet_y_3_2gf", "regnet_y_8gf",
    "regnet_y_16gf", "regnet_y_32gf", "regnet_y_128gf")
  resnet_cifar: {"x": [-1, 3, 32, 32]} = (
    "resnet20_cifar", "resnet32_cifar", "resnet44_cifar", "resnet56_cifar", "resnet110_cifar", "resnet1202_cifar")

def resnet(m, name, x):
  x = max_pool(torch.relu(norm(m.bn1, conv(m.conv1, x, 2))), 3, 2, 1)
  x = resnet_stage(m.layer1, x, 1)
  x = resnet_stage(m.layer2, x, 2)
  x = resnet_stage(m.layer3, x, 2)
  x = resnet_stage(m.layer4, x, 2)
  return linear(m.fc, mean(x))

def resnet_stage(m, x, stride):
  for block in m:
    skip = conv_norm(block.downsample, x, stride) if hasattr(block, "downsample") else x
    deep = hasattr(block, "conv3")
    y = torch.relu(norm(block.bn1, conv(block.conv1, x, 1 if deep else stride)))
    y = norm(block.bn2, conv(block.conv2, y, stride if deep else 1))
    if deep:
      y = norm(block.bn3, conv(block.conv3, torch.relu(y)))
    x = torch.relu(y + skip)
    stride = 1
  return x

def regnet(m, name, x):
  x = torch.relu(conv_norm(m.stem, x, 2))
  for stage in m.trunk_output:
    stride = 2
    for block in stage:
      y = torch.relu(conv_norm(block.f.a, x))
      y = torch.relu(conv_norm(block.f.b, y, stride))
      if hasattr(block.f, "se"):
        y = excited(block.f.se, y, "relu", "sigmoid")
      skip = conv_norm(block.proj, x, stride) if hasattr(block, "proj") else x
      x = torch.relu(conv_norm(block.f.c, y) + skip)
      stride = 1
  return linear(m.fc, mean(x))

# Shortcuts without weights: every second pixel, and zeros for the channels that are new.
def resnet_cifar(m, name, x):
  x = torch.relu(norm(m.bn1, conv(m.conv1, x)))
  for stage in [m.layer1, m.layer2, m.layer3]:
    for block in stage:
      more = torch.size(block.conv1.weight, 0) - torch.size(x, 1)
      stride = 2 if more > 0 else 1
      y = torch.relu(norm(block.bn1, conv(block.conv1, x, stride)))
      y = norm(block.bn2, conv(block.conv2, y))
      if more > 0:
        x = torch.slice(torch.slice(x, 2, 0, None, 2), 3, 0, None, 2)
        x = torch.constant_pad_nd(x, [0, 0, 0, 0, more // 2, more // 2], 0)
      x = torch.relu(y + x)
  return linear(m.linear, mean(x))
