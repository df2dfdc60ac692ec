# Silero VAD, version 5 and newer: 576 samples at 16 kHz (64 of the last chunk and 512 new ones), and what its LSTM keeps.
class Names(Module):
  silero_vad: {"x": [-1, 576], "state": [2, -1, 128]} = "silero_vad_16k",

def silero_vad(m, name, x, state):
  x = torch.conv1d(torch.unsqueeze(torch.reflection_pad1d(x, [0, 64]), 1), m.stft_conv.weight, None, [128])
  bins = torch.size(x, 1) // 2
  real = torch.slice(x, 1, 0, bins)
  imaginary = torch.slice(x, 1, bins, None)
  x = torch.sqrt(real * real + imaginary * imaginary)
  x = torch.relu(torch.conv1d(x, m.conv1.weight, m.conv1.bias, [1], [1]))
  x = torch.relu(torch.conv1d(x, m.conv2.weight, m.conv2.bias, [2], [1]))
  x = torch.relu(torch.conv1d(x, m.conv3.weight, m.conv3.bias, [2], [1]))
  x = torch.relu(torch.conv1d(x, m.conv4.weight, m.conv4.bias, [1], [1]))
  l = m.lstm_cell
  first = [torch.select(state, 0, 0), torch.select(state, 0, 1)]
  h, c = torch.lstm_cell(torch.squeeze(x, 2), first, l.weight_ih, l.weight_hh, l.bias_ih, l.bias_hh)
  y = torch.conv1d(torch.relu(torch.unsqueeze(h, 2)), m.final_conv.weight, m.final_conv.bias)
  return torch.flatten(torch.sigmoid(y), 1), torch.stack([h, c])
