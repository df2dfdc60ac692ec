# torchvision: AlexNet, VGG, SqueezeNet, DenseNet; facenet-pytorch: the networks of MTCNN.
class Names(Module):
  alexnet: {"x": [-1, 3, 224, 224]} = "alexnet",
  vgg: {"x": [-1, 3, 224, 224]} = "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"
  squeezenet: {"x": [-1, 3, 224, 224]} = "squeezenet1_0", "squeezenet1_1"
  densenet: {"x": [-1, 3, 224, 224]} = "densenet121", "densenet161", "densenet169", "densenet201"
  mtcnn_pnet: {"x": [-1, 3, 224, 224]} = "mtcnn_pnet",
  mtcnn_rnet: {"x": [-1, 3, 24, 24]} = "mtcnn_rnet",
  mtcnn_onet: {"x": [-1, 3, 48, 48]} = "mtcnn_onet",

def alexnet(m, name, x):
  f = m.features
  x = max_pool(torch.relu(conv(f[0], x, 4, 2)), 3, 2)
  x = max_pool(torch.relu(conv(f[3], x)), 3, 2)
  x = torch.relu(conv(f[6], x))
  x = torch.relu(conv(f[8], x))
  x = max_pool(torch.relu(conv(f[10], x)), 3, 2)
  x = torch.flatten(torch.adaptive_avg_pool2d(x, [6, 6]), 1)
  x = torch.relu(linear(m.classifier[1], x))
  return linear(m.classifier[6], torch.relu(linear(m.classifier[4], x)))

# Layers without weights are those whose numbers are missing: an activation behind each convolution, a pool where one
# more is missing.
def vgg(m, name, x):
  f = m.features
  i = 0
  while hasattr(f, i):
    x = conv(f[i], x)
    i = i + 1
    if hasattr(f, i):
      x = norm(f[i], x)
      i = i + 1
    x = torch.relu(x)
    i = i + 1
    if not hasattr(f, i):
      x = max_pool(x, 2, 2)
      i = i + 1
  x = torch.flatten(torch.adaptive_avg_pool2d(x, [7, 7]), 1)
  x = torch.relu(linear(m.classifier[0], x))
  return linear(m.classifier[6], torch.relu(linear(m.classifier[3], x)))

def squeezenet(m, name, x):
  x = torch.relu(conv(m.features[0], x, 2, 0))
  for k in range(11):
    if hasattr(m.features, k + 2):
      fire = m.features[k + 2]
      x = torch.relu(conv(fire.squeeze, x))
      x = torch.cat([torch.relu(conv(fire.expand1x1, x)), torch.relu(conv(fire.expand3x3, x))], 1)
    else:
      x = max_pool(x, 3, 2, 0, True)
  return mean(torch.relu(conv(m.classifier[1], x)))

# norm1, and norm.1 in files of the first versions
def numbered(m, name, i):
  return getattr(m, name + str(i)) if hasattr(m, name + str(i)) else getattr(m, name)[i]

def densenet(m, name, x):
  f = m.features
  x = max_pool(torch.relu(norm(f.norm0, conv(f.conv0, x, 2))), 3, 2, 1)
  for i in [1, 2, 3, 4]:
    for layer in getattr(f, "denseblock" + str(i)):
      y = conv(numbered(layer, "conv", 1), torch.relu(norm(numbered(layer, "norm", 1), x)))
      y = conv(numbered(layer, "conv", 2), torch.relu(norm(numbered(layer, "norm", 2), y)))
      x = torch.cat([x, y], 1)
    if hasattr(f, "transition" + str(i)):
      t = getattr(f, "transition" + str(i))
      x = torch.avg_pool2d(conv(t.conv, torch.relu(norm(t.norm, x))), [2, 2], [2, 2])
  return linear(m.classifier, mean(torch.relu(norm(f.norm5, x))))

# Images as (pixel - 127.5) / 128. Results: offsets of the box, (landmarks,) probabilities.
def mtcnn_pnet(m, name, x):
  x = max_pool(torch.prelu(conv(m.conv1, x, 1, 0), m.prelu1.weight), 2, 2, 0, True)
  x = torch.prelu(conv(m.conv2, x, 1, 0), m.prelu2.weight)
  x = torch.prelu(conv(m.conv3, x, 1, 0), m.prelu3.weight)
  return conv(m.conv4_2, x), torch.softmax(conv(m.conv4_1, x), 1)

def mtcnn_body(m, x):
  x = max_pool(torch.prelu(conv(m.conv1, x, 1, 0), m.prelu1.weight), 3, 2, 0, True)
  x = max_pool(torch.prelu(conv(m.conv2, x, 1, 0), m.prelu2.weight), 3, 2, 0, True)
  return torch.prelu(conv(m.conv3, x, 1, 0), m.prelu3.weight)

def mtcnn_flat(x):
  return torch.flatten(torch.permute(x, [0, 3, 2, 1]), 1)

def mtcnn_rnet(m, name, x):
  x = torch.prelu(linear(m.dense4, mtcnn_flat(mtcnn_body(m, x))), m.prelu4.weight)
  return linear(m.dense5_2, x), torch.softmax(linear(m.dense5_1, x), 1)

def mtcnn_onet(m, name, x):
  x = max_pool(mtcnn_body(m, x), 2, 2, 0, True)
  x = torch.prelu(conv(m.conv4, x, 1, 0), m.prelu4.weight)
  x = torch.prelu(linear(m.dense5, mtcnn_flat(x)), m.prelu5.weight)
  return linear(m.dense6_2, x), linear(m.dense6_3, x), torch.softmax(linear(m.dense6_1, x), 1)
