# Operators of complex numbers that are made of others: complex_X is what the operator X gives of them.
def re(x):
  return torch.real(x) if torch.is_complex(x) else x

def im(x):
  return torch.imag(x) if torch.is_complex(x) else 0.0

def polar(abs, angle):
  return torch.complex(abs * torch.cos(angle), abs * torch.sin(angle))

def complex_abs(self):
  return torch.hypot(torch.real(self), torch.imag(self))

def complex_absolute(self):
  return complex_abs(self)

def angle(self):
  if torch.is_complex(self):
    return torch.atan2(torch.imag(self), torch.real(self))
  x = self if torch.is_floating_point(self) else torch.to(self, 6)
  zero = torch.zeros_like(x)
  return torch.where(torch.isnan(x), x, torch.where(torch.lt(x, 0), zero + 3.141592653589793, zero))

def complex_sgn(self):
  size = complex_abs(self)
  return self / torch.where(torch.eq(size, 0), torch.ones_like(size), size)

# The divisor is scaled, so that its square neither overflows nor becomes 0.
def complex_div(self, other, rounding_mode=None):
  if not torch.is_complex(other):
    return torch.complex(torch.real(self) / other, torch.imag(self) / other)
  c = torch.real(other)
  d = torch.imag(other)
  scale = torch.maximum(torch.abs(c), torch.abs(d))
  c = c / scale
  d = d / scale
  n = (c * c + d * d) * scale
  a = re(self)
  b = im(self)
  return torch.complex((a * c + b * d) / n, (b * c - a * d) / n)

def complex_divide(self, other, rounding_mode=None):
  return complex_div(self, other)

def complex_true_divide(self, other):
  return complex_div(self, other)

def complex_reciprocal(self):
  return complex_div(1.0, self)

def complex_square(self):
  return self * self

def complex_exp(self):
  size = torch.exp(torch.real(self))
  return torch.complex(size * torch.cos(torch.imag(self)), size * torch.sin(torch.imag(self)))

def complex_log(self):
  return torch.complex(torch.log(complex_abs(self)), angle(self))

def complex_log2(self):
  return complex_log(self) * 1.4426950408889634

def complex_log10(self):
  return complex_log(self) * 0.4342944819032518

# With t = sqrt((|z| + |re z|) / 2), which loses nothing: t + i im z / 2 t, on the right, and its like on the left.
def complex_sqrt(self):
  x = torch.real(self)
  y = torch.imag(self)
  t = torch.sqrt((complex_abs(self) + torch.abs(x)) * 0.5)
  u = torch.where(torch.eq(t, 0), torch.zeros_like(t), y / (t * 2))
  right = torch.ge(x, 0)
  return torch.complex(torch.where(right, t, torch.abs(u)), torch.where(right, u, torch.copysign(t, y)))

def complex_rsqrt(self):
  return complex_reciprocal(complex_sqrt(self))

def complex_sin(self):
  x = torch.real(self)
  y = torch.imag(self)
  return torch.complex(torch.sin(x) * torch.cosh(y), torch.cos(x) * torch.sinh(y))

def complex_cos(self):
  x = torch.real(self)
  y = torch.imag(self)
  return torch.complex(torch.cos(x) * torch.cosh(y), torch.neg(torch.sin(x) * torch.sinh(y)))

def complex_sinh(self):
  x = torch.real(self)
  y = torch.imag(self)
  return torch.complex(torch.sinh(x) * torch.cos(y), torch.cosh(x) * torch.sin(y))

def complex_cosh(self):
  x = torch.real(self)
  y = torch.imag(self)
  return torch.complex(torch.cosh(x) * torch.cos(y), torch.sinh(x) * torch.sin(y))

def complex_tanh(self):
  t = torch.tanh(torch.real(self))
  u = torch.tan(torch.imag(self))
  n = 1 + t * t * u * u
  return torch.complex(t * (1 + u * u) / n, u * (1 - t * t) / n)

# tan z = -i tanh i z
def complex_tan(self):
  z = complex_tanh(torch.complex(torch.neg(torch.imag(self)), torch.real(self)))
  return torch.complex(torch.imag(z), torch.neg(torch.real(z)))

def complex_sigmoid(self):
  return complex_reciprocal(complex_exp(torch.neg(self)) + 1)

def complex_pow(self, exponent):
  if isinstance(exponent, int):
    if exponent >= 1 and exponent <= 8:
      z = self
      for i in range(exponent - 1):
        z = z * self
      return z
  base = self if torch.is_complex(self) else torch.complex(self + torch.zeros_like(re(exponent)), torch.zeros_like(self + re(exponent)))
  z = complex_exp(exponent * complex_log(base))
  rises = torch.where(torch.gt(re(exponent), 0), 0.0, float("nan"))
  return torch.where(torch.eq(complex_abs(base), 0), torch.complex(rises, rises), z)

def complex_eq(self, other):
  return torch.logical_and(torch.eq(re(self), re(other)), torch.eq(im(self), im(other)))

def complex_ne(self, other):
  return torch.logical_not(complex_eq(self, other))

def complex_not_equal(self, other):
  return complex_ne(self, other)

# Is it something else than 0?
def truth(x):
  return torch.ne(x, 0)

def complex_logical_not(self):
  return complex_eq(self, 0)

def complex_logical_and(self, other):
  return torch.logical_and(truth(self), truth(other))

def complex_logical_or(self, other):
  return torch.logical_or(truth(self), truth(other))

def complex_logical_xor(self, other):
  return torch.logical_xor(truth(self), truth(other))

def complex_any(self, dim=None, keepdim=False):
  return torch.any(truth(self)) if dim is None else torch.any(truth(self), dim, keepdim)

def complex_all(self, dim=None, keepdim=False):
  return torch.all(truth(self)) if dim is None else torch.all(truth(self), dim, keepdim)

def complex_count_nonzero(self, dim=None):
  return torch.count_nonzero(truth(self), dim)

def complex_nonzero(self):
  return torch.nonzero(truth(self))

def complex_argwhere(self):
  return torch.argwhere(truth(self))

def complex_isnan(self):
  return torch.logical_or(torch.isnan(torch.real(self)), torch.isnan(torch.imag(self)))

def complex_isinf(self):
  return torch.logical_or(torch.isinf(torch.real(self)), torch.isinf(torch.imag(self)))

def complex_isfinite(self):
  return torch.logical_and(torch.isfinite(torch.real(self)), torch.isfinite(torch.imag(self)))

def complex_norm(self, p=2, dim=[], keepdim=False):
  return torch.norm(complex_abs(self), p, dim, keepdim)

def complex_linalg_vector_norm(self, ord=2, dim=None, keepdim=False):
  return torch.linalg_vector_norm(complex_abs(self), ord, dim, keepdim)

def complex_type_as(self, other):
  return torch.to(self, ops.prim.dtype(other))

def complex_to(self, other, non_blocking=False, copy=False):
  return torch.to(self, ops.prim.dtype(other))

def complex_ones_like(self, dtype=None):
  return torch.ones_like(torch.real(self), dtype=ops.prim.dtype(self) if dtype is None else dtype)

def complex_new_ones(self, size, dtype=None):
  return torch.ones(size, dtype=ops.prim.dtype(self) if dtype is None else dtype)

# ---- products ----

def complex_linear(input, weight, bias=None):
  y = torch.matmul(input, torch.t(weight))
  return y if bias is None else y + bias

def complex_addmm(self, mat1, mat2, beta=1, alpha=1):
  return self * beta + torch.matmul(mat1, mat2) * alpha

def complex_baddbmm(self, batch1, batch2, beta=1, alpha=1):
  return self * beta + torch.matmul(batch1, batch2) * alpha

def complex_addmv(self, mat, vec, beta=1, alpha=1):
  return self * beta + torch.mv(mat, vec) * alpha

def complex_addcmul(self, tensor1, tensor2, value=1):
  return self + tensor1 * tensor2 * value

def complex_addcdiv(self, tensor1, tensor2, value=1):
  return self + tensor1 / tensor2 * value

def complex_lerp(self, end, weight):
  return self + weight * (end - self)

def complex_vdot(self, other):
  return torch.dot(torch.conj_physical(self), other)

def complex_linalg_vecdot(x, y, dim=-1):
  return torch.sum(torch.conj_physical(x) * y, [dim])

def complex_adjoint(self):
  return torch.conj_physical(torch.transpose(self, -2, -1))

def complex_mH(self):
  return complex_adjoint(self)

# ---- Fourier transforms ----

# What a transform of n elements is divided by: 0 nothing, 1 sqrt(n), 2 n.
def fft_scale(norm, forward):
  if norm is None:
    return 0 if forward else 2
  if norm == "ortho":
    return 1
  return 2 if (norm == "forward") == forward else 0

# Cut, or filled with zeros, to n elements.
def fft_resized(x, n, dim):
  if n is None:
    return x
  size = torch.size(x, dim)
  if n <= size:
    return torch.slice(x, dim, 0, n)
  pad = []
  for i in range((torch.dim(x) - 1 - dim if dim >= 0 else -1 - dim)):
    torch.append(pad, 0)
    torch.append(pad, 0)
  torch.append(pad, 0)
  torch.append(pad, n - size)
  return torch.constant_pad_nd(x, pad, 0)

def fft_axes(x, s, dim):
  if dim is not None:
    return dim
  n = torch.dim(x)
  axes = []
  for i in range(n if s is None else len(s)):
    torch.append(axes, i if s is None else n - len(s) + i)
  return axes

def fft_resized_all(x, s, axes):
  if s is not None:
    for i in range(len(axes)):
      if s[i] != -1:
        x = fft_resized(x, s[i], axes[i])
  return x

def fft_complex(x):
  return x if torch.is_complex(x) else torch.complex(torch.to(x, 6) if not torch.is_floating_point(x) else x, 0.0)

def fft_fft(self, n=None, dim=-1, norm=None):
  x = fft_resized(self, n, dim)
  if torch.is_complex(x):
    return torch._fft_c2c(x, [dim], fft_scale(norm, True), True)
  return torch._fft_r2c(x, [dim], fft_scale(norm, True), False)

def fft_ifft(self, n=None, dim=-1, norm=None):
  return torch._fft_c2c(fft_complex(fft_resized(self, n, dim)), [dim], fft_scale(norm, False), False)

def fft_rfft(self, n=None, dim=-1, norm=None):
  return torch._fft_r2c(fft_resized(self, n, dim), [dim], fft_scale(norm, True), True)

def fft_ihfft(self, n=None, dim=-1, norm=None):
  return torch.conj_physical(torch._fft_r2c(fft_resized(self, n, dim), [dim], fft_scale(norm, False), True))

def fft_half_to_real(x, n, dim, scale):
  x = fft_complex(x)
  size = 2 * (torch.size(x, dim) - 1) if n is None else n
  return torch._fft_c2r(fft_resized(x, size // 2 + 1, dim), [dim], scale, size)

def fft_irfft(self, n=None, dim=-1, norm=None):
  return fft_half_to_real(self, n, dim, fft_scale(norm, False))

def fft_hfft(self, n=None, dim=-1, norm=None):
  return fft_half_to_real(torch.conj_physical(fft_complex(self)), n, dim, fft_scale(norm, True))

def fft_fftn(self, s=None, dim=None, norm=None):
  axes = fft_axes(self, s, dim)
  x = fft_complex(fft_resized_all(self, s, axes))
  return torch._fft_c2c(x, axes, fft_scale(norm, True), True)

def fft_ifftn(self, s=None, dim=None, norm=None):
  axes = fft_axes(self, s, dim)
  x = fft_complex(fft_resized_all(self, s, axes))
  return torch._fft_c2c(x, axes, fft_scale(norm, False), False)

def fft_rfftn(self, s=None, dim=None, norm=None):
  axes = fft_axes(self, s, dim)
  return torch._fft_r2c(fft_resized_all(self, s, axes), axes, fft_scale(norm, True), True)

def fft_irfftn(self, s=None, dim=None, norm=None):
  axes = fft_axes(self, s, dim)
  last = len(axes) - 1
  inner = None if s is None else torch.slice(s, 0, last)
  x = fft_resized_all(fft_complex(self), inner, torch.slice(axes, 0, last))
  n = 2 * (torch.size(x, axes[last]) - 1)
  if s is not None:
    n = n if s[last] == -1 else s[last]
  return torch._fft_c2r(fft_resized(x, n // 2 + 1, axes[last]), axes, fft_scale(norm, False), n)

def fft_fft2(self, s=None, dim=[-2, -1], norm=None):
  return fft_fftn(self, s, dim, norm)

def fft_ifft2(self, s=None, dim=[-2, -1], norm=None):
  return fft_ifftn(self, s, dim, norm)

def fft_rfft2(self, s=None, dim=[-2, -1], norm=None):
  return fft_rfftn(self, s, dim, norm)

def fft_irfft2(self, s=None, dim=[-2, -1], norm=None):
  return fft_irfftn(self, s, dim, norm)

# All but the last of the axes as complex numbers, then the last one as that of a real result.
def fft_hfftn(self, s=None, dim=None, norm=None):
  axes = fft_axes(self, s, dim)
  last = len(axes) - 1
  inner = None if s is None else torch.slice(s, 0, last)
  x = fft_resized_all(fft_complex(self), inner, torch.slice(axes, 0, last))
  x = torch._fft_c2c(x, torch.slice(axes, 0, last), fft_scale(norm, True), True)
  n = None
  if s is not None:
    n = None if s[last] == -1 else s[last]
  return fft_hfft(x, n, axes[last], norm)

def fft_ihfftn(self, s=None, dim=None, norm=None):
  axes = fft_axes(self, s, dim)
  last = len(axes) - 1
  x = fft_ihfft(fft_resized_all(self, s, axes), None, axes[last], norm)
  return torch._fft_c2c(x, torch.slice(axes, 0, last), fft_scale(norm, False), False)

def fft_hfft2(self, s=None, dim=[-2, -1], norm=None):
  return fft_hfftn(self, s, dim, norm)

def fft_ihfft2(self, s=None, dim=[-2, -1], norm=None):
  return fft_ihfftn(self, s, dim, norm)

def fft_shifted(x, dim, back):
  axes = fft_axes(x, None, dim)
  by = []
  for i in range(len(axes)):
    n = torch.size(x, axes[i])
    torch.append(by, (n + 1) // 2 if back else n // 2)
  return torch.roll(x, by, axes)

def fft_fftshift(self, dim=None):
  return fft_shifted(self, dim, False)

def fft_ifftshift(self, dim=None):
  return fft_shifted(self, dim, True)

def fft_fftfreq(n, d=1.0, dtype=None, layout=None, device=None, pin_memory=None):
  k = torch.cat([torch.arange(0, (n + 1) // 2), torch.arange(0 - n // 2, 0)])
  return torch.to(torch.to(k, 7) / (n * d), 6 if dtype is None else dtype)

def fft_rfftfreq(n, d=1.0, dtype=None, layout=None, device=None, pin_memory=None):
  return torch.to(torch.to(torch.arange(0, n // 2 + 1), 7) / (n * d), 6 if dtype is None else dtype)

# ---- windows and frames ----

# a - b cos(2 pi k / n) + c cos(4 pi k / n)
def cosine_window(n, periodic, a, b, c, dtype):
  turn = n if periodic else n - 1
  x = torch.to(torch.arange(0, n), 7) * (6.283185307179586 / (turn if turn > 0 else 1))
  w = a - b * torch.cos(x) + c * torch.cos(2 * x)
  return torch.to(w if n > 1 else torch.ones_like(w), 6 if dtype is None else dtype)

def hann_window(window_length, periodic=True, dtype=None, layout=None, device=None, pin_memory=None,
    requires_grad=None):
  return cosine_window(window_length, periodic, 0.5, 0.5, 0.0, dtype)

def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, dtype=None, layout=None, device=None,
    pin_memory=None, requires_grad=None):
  return cosine_window(window_length, periodic, alpha, beta, 0.0, dtype)

def blackman_window(window_length, periodic=True, dtype=None, layout=None, device=None, pin_memory=None,
    requires_grad=None):
  return cosine_window(window_length, periodic, 0.42, 0.5, 0.08, dtype)

# In the middle of n_fft elements.
def whole_window(x, window, win_length, n_fft):
  n = n_fft if win_length is None else win_length
  w = torch.new_ones(torch.real(x) if torch.is_complex(x) else x, [n]) if window is None else window
  left = (n_fft - n) // 2
  return w if n == n_fft else torch.constant_pad_nd(w, [left, n_fft - n - left], 0.0)

def stft_of(self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex):
  x = torch.unsqueeze(self, 0) if torch.dim(self) == 1 else self
  if center:
    x = torch.squeeze(torch.pad(torch.unsqueeze(x, 1), [n_fft // 2, n_fft // 2], pad_mode), [1])
  y = torch.unfold(x, -1, n_fft, n_fft // 4 if hop_length is None else hop_length)
  y = y * whole_window(x, window, win_length, n_fft)
  scale = 1 if normalized else 0
  if torch.is_complex(y):
    z = torch._fft_c2c(y, [-1], scale, True)
  else:
    z = torch._fft_r2c(y, [-1], scale, True if onesided is None else onesided)
  z = torch.transpose(z, 1, 2)
  z = torch.squeeze(z, [0]) if torch.dim(self) == 1 else z
  return z if return_complex else torch.view_as_real_copy(z)

# Frames [rows, n, frames] added where they overlap.
def overlapped(y, n, hop):
  length = n + hop * (torch.size(y, 2) - 1)
  x = torch.col2im(y, [1, length], [1, n], [1, 1], [0, 0], [1, hop])
  return torch.reshape(x, [torch.size(y, 0), length])

def istft(self, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
    length=None, return_complex=False):
  z = torch.unsqueeze(self, 0) if torch.dim(self) == 2 else self
  hop = n_fft // 4 if hop_length is None else hop_length
  half = torch.size(z, 1) != n_fft if onesided is None else onesided
  z = torch.transpose(z, 1, 2)
  scale = 1 if normalized else 2
  if return_complex:
    y = torch._fft_c2c(z, [-1], scale, False)
  else:
    y = torch._fft_c2r(z if half else torch.slice(z, 2, 0, n_fft // 2 + 1), [-1], scale, n_fft)
  w = whole_window(z, window, win_length, n_fft)
  squares = torch.expand(torch.reshape(w * w, [1, n_fft, 1]), [1, n_fft, torch.size(y, 1)])
  x = overlapped(torch.transpose(y * w, 1, 2), n_fft, hop)
  sums = overlapped(squares, n_fft, hop)
  start = n_fft // 2 if center else 0
  whole = torch.size(x, 1)
  end = whole - start
  if length is not None:
    end = start + length
  x = torch.slice(x, 1, start, end) / torch.slice(sums, 1, start, end)
  if end > whole:
    x = torch.constant_pad_nd(x, [0, end - whole], 0.0)
  return torch.squeeze(x, [0]) if torch.dim(self) == 2 else x
