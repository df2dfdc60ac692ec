# torchvision: GoogLeNet and Inception v3, without the heads of training; images as the networks take them
# (transform_input=False).
class Names(Module):
  googlenet: {"x": [-1, 3, 224, 224]} = "googlenet",
  inception_v3: {"x": [-1, 3, 299, 299]} = "inception_v3",

def basic(m, x, stride=1, padding=-1):
  return torch.relu(norm(m.bn, conv(m.conv, x, stride, padding), 0.001))

def googlenet(m, name, x):
  x = max_pool(basic(m.conv1, x, 2), 3, 2, 0, True)
  x = max_pool(basic(m.conv3, basic(m.conv2, x)), 3, 2, 0, True)
  x = googlenet_block(m.inception3b, googlenet_block(m.inception3a, x))
  x = max_pool(x, 3, 2, 0, True)
  for block in [m.inception4a, m.inception4b, m.inception4c, m.inception4d, m.inception4e]:
    x = googlenet_block(block, x)
  x = max_pool(x, 2, 2, 0, True)
  x = googlenet_block(m.inception5b, googlenet_block(m.inception5a, x))
  return linear(m.fc, mean(x))

def googlenet_block(m, x):
  a = basic(m.branch1, x)
  b = basic(m.branch2[1], basic(m.branch2[0], x))
  c = basic(m.branch3[1], basic(m.branch3[0], x))
  return torch.cat([a, b, c, basic(m.branch4[1], max_pool(x, 3, 1, 1, True))], 1)

def inception_v3(m, name, x):
  x = basic(m.Conv2d_2a_3x3, basic(m.Conv2d_1a_3x3, x, 2, 0), 1, 0)
  x = max_pool(basic(m.Conv2d_2b_3x3, x), 3, 2)
  x = max_pool(basic(m.Conv2d_4a_3x3, basic(m.Conv2d_3b_1x1, x), 1, 0), 3, 2)
  for block in [m.Mixed_5b, m.Mixed_5c, m.Mixed_5d]:
    wide = basic(block.branch5x5_2, basic(block.branch5x5_1, x))
    double = basic(block.branch3x3dbl_2, basic(block.branch3x3dbl_1, x))
    double = basic(block.branch3x3dbl_3, double)
    x = torch.cat([basic(block.branch1x1, x), wide, double, pooled(block, x)], 1)
  double = basic(m.Mixed_6a.branch3x3dbl_2, basic(m.Mixed_6a.branch3x3dbl_1, x))
  double = basic(m.Mixed_6a.branch3x3dbl_3, double, 2, 0)
  x = torch.cat([basic(m.Mixed_6a.branch3x3, x, 2, 0), double, max_pool(x, 3, 2)], 1)
  for block in [m.Mixed_6b, m.Mixed_6c, m.Mixed_6d, m.Mixed_6e]:
    wide = basic(block.branch7x7_3, basic(block.branch7x7_2, basic(block.branch7x7_1, x)))
    double = basic(block.branch7x7dbl_3, basic(block.branch7x7dbl_2, basic(block.branch7x7dbl_1, x)))
    double = basic(block.branch7x7dbl_5, basic(block.branch7x7dbl_4, double))
    x = torch.cat([basic(block.branch1x1, x), wide, double, pooled(block, x)], 1)
  last = m.Mixed_7a
  wide = basic(last.branch7x7x3_3, basic(last.branch7x7x3_2, basic(last.branch7x7x3_1, x)))
  wide = basic(last.branch7x7x3_4, wide, 2, 0)
  x = torch.cat([basic(last.branch3x3_2, basic(last.branch3x3_1, x), 2, 0), wide, max_pool(x, 3, 2)], 1)
  for block in [m.Mixed_7b, m.Mixed_7c]:
    y = basic(block.branch3x3_1, x)
    double = basic(block.branch3x3dbl_2, basic(block.branch3x3dbl_1, x))
    parts = [basic(block.branch1x1, x), basic(block.branch3x3_2a, y), basic(block.branch3x3_2b, y)]
    parts = parts + [basic(block.branch3x3dbl_3a, double), basic(block.branch3x3dbl_3b, double)]
    x = torch.cat(parts + [pooled(block, x)], 1)
  return linear(m.fc, mean(x))

def pooled(m, x):
  return basic(m.branch_pool, torch.avg_pool2d(x, [3, 3], [1, 1], [1, 1]))
