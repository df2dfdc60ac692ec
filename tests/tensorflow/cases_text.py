"""Cases of TensorFlow's operators on texts and ragged rows, of random numbers that a seed decides, of matrices and special
functions."""
import numpy as np
from model import case, floats, raw, shape_of, tf

WORDS = np.array(["", " ", "a b c", "Hello, World!", "it's 12  or 3", "\u00e9 a<br />b", "x,y,,z", "aab"], object)


def words(r, n=4):
    """Texts that the model makes: of constants, as inputs of compare.py are numbers."""
    at = r.integers(0, len(WORDS), n).astype("i4")
    return (lambda i: tf.gather(tf.constant(WORDS), i)), at


@case("StaticRegexReplace", "RegexReplace")
def replace(r, op):
    text, at = words(r)
    pattern = str(r.choice(["[!\"#$%&()\\*\\+,-\\./:;<=>?@\\[\\\\\\]^_`{|}~\\']", "<br />", "a*", "[0-9]+", "\\s+"]))
    to, everywhere = str(r.choice(["", " ", "<>"])), bool(r.random() < .7)
    make = {"StaticRegexReplace": lambda x: raw.StaticRegexReplace(input=x, pattern=pattern, rewrite=to,
                                                                   replace_global=everywhere),
            "RegexReplace": lambda x: raw.RegexReplace(input=x, pattern=pattern, rewrite=to, replace_global=everywhere)}
    return (lambda i: raw.StringToHashBucketFast(input=make[op](text(i)), num_buckets=1 << 40)), [at]


@case("StringToHashBucketFast", "StringToHashBucketStrong")
def hashes(r, op):
    text, at = words(r)
    more = {"key": [3, 5]} if op.endswith("Strong") else {}
    return (lambda i: getattr(raw, op)(input=text(i), num_buckets=1000, **more)), [at]


@case("AsString")
def as_string(r, op):
    return (lambda x: raw.StringToHashBucketFast(input=raw.AsString(input=x), num_buckets=1000)), [
        r.integers(-99, 99, 5).astype(str(r.choice(["i4", "i8"])))]


@case("StringSplitV2", "RaggedTensorToTensor")
def split(r, op):
    text, at = words(r)
    sep, wide = str(r.choice(["", ","])), [None, 2, 5][int(r.integers(0, 3))]

    def make(i):
        parts = tf.strings.split(text(i), sep or None)
        number = parts.with_values(raw.StringToHashBucketFast(input=parts.values, num_buckets=1000))
        return number.to_tensor(default_value=-1, shape=wide and [None, wide]), parts.row_lengths()
    return make, [at]


@case("RaggedTensorToTensor")
def ragged(r, op):
    rows = np.concatenate([[0], np.cumsum(r.integers(0, 4, 4))]).astype(str(r.choice(["i4", "i8"])))
    x = floats(r, int(rows[-1]), *shape_of(r, int(r.integers(0, 3))))
    return (lambda x, at: tf.RaggedTensor.from_row_splits(x, at, validate=False).to_tensor(default_value=2.)), [x, rows]


@case("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessRandomUniformIntV2", "StatelessRandomGetKeyCounter",
      "StatelessRandomGetAlg")
def drawn(r, op):
    shape = shape_of(r)

    def make(seed):
        key, counter = raw.StatelessRandomGetKeyCounter(seed=seed)
        alg = raw.StatelessRandomGetAlg() if op.endswith("Alg") else 1
        if "Int" in op:
            return raw.StatelessRandomUniformIntV2(shape=shape, key=key, counter=counter, alg=alg, minval=-5, maxval=70)
        if "Normal" in op:
            return raw.StatelessRandomNormalV2(shape=shape, key=key, counter=counter, alg=alg)
        return raw.StatelessRandomUniformV2(shape=shape, key=key, counter=counter, alg=alg)
    return make, [r.integers(-1000, 1000, 2).astype("i4")]


@case("MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "MatrixSolve")
def matrices(r, op):
    n, batch = int(r.integers(1, 6)), shape_of(r, int(r.integers(0, 3)))
    x, turned = floats(r, *batch, n, n) + 4 * np.eye(n, dtype="f4"), bool(r.random() < .5)
    make = {"MatrixInverse": lambda x, y: raw.MatrixInverse(input=x, adjoint=turned),
            "MatrixDeterminant": lambda x, y: raw.MatrixDeterminant(input=x),
            "LogMatrixDeterminant": lambda x, y: tuple(raw.LogMatrixDeterminant(input=x)),
            "MatrixSolve": lambda x, y: raw.MatrixSolve(matrix=x, rhs=y, adjoint=turned)}
    return make[op], [x, floats(r, *batch, n, 2)]


@case("DiagPart", "Cross")
def parts(r, op):
    if op == "Cross":
        shape = shape_of(r, 2)
        return (lambda x, y: raw.Cross(a=x, b=y)), [floats(r, *shape, 3), floats(r, *shape, 3)]
    half = shape_of(r, int(r.integers(1, 3)))
    return (lambda x: raw.DiagPart(input=x)), [floats(r, *half, *half)]


@case("BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "Erfinv", "Lgamma", "Digamma")
def special(r, op):
    far = 6. if op.startswith("Bessel") else .99 if op == "Erfinv" else 9.
    low = .05 if op in ("Lgamma", "Digamma") and r.random() < .5 else -far
    x = floats(r, *shape_of(r), low=low, high=far)
    if op in ("Lgamma", "Digamma"):  # away from the poles
        x = np.where(np.abs(x - np.round(x)) < .02, x + .1, x).astype("f4") if low < 0 else x
    return (lambda x: getattr(raw, op)(x=x)), [x]
