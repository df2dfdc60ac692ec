"""Packages for other machines, run by an emulator: the code of another instruction set is another judge.

It needs a cross compiler and QEMU (Debian: gcc-aarch64-linux-gnu, gcc-riscv64-linux-gnu, qemu-user). foreign.c and the runtime are
compiled once, into the build folder."""
import glob
import os
import re
import shutil
import struct
import subprocess
import tempfile
import typing

import ml_dtypes
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


class Machine(typing.NamedTuple):
    """A kind of machine, whose name is the beginning of its triple."""

    name: str
    cpu: str  # of the emulator
    features: typing.Tuple[str, ...]

    @property
    def compiler(self):
        return f"{self.name}-linux-gnu-gcc"

    @property
    def emulator(self):
        return [f"qemu-{self.name}", "-cpu", self.cpu, "-L", f"/usr/{self.name}-linux-gnu"]

    def missing(self):
        return [tool for tool in (self.compiler, self.emulator[0]) if not shutil.which(tool)]

    def target(self, seed):
        features = self.features[seed % len(self.features)]
        return f"llvm -mtriple={self.name}-linux-gnu" + (f" -mattr={features}" if features else "")


MACHINES = {m.name: m for m in (
    Machine("aarch64", "max", ("", "+dotprod", "+dotprod,+fullfp16", "+dotprod,+i8mm", "+dotprod,+i8mm,+bf16,+fullfp16", "+sve2",
                               "+sve2,+dotprod,+i8mm,+bf16")),
    Machine("riscv64", "rv64,v=true,vext_spec=v1.0,vlen=256", ("", "+v")))}
FLAGS = ["-O1", "-ffunction-sections", "-Wl,--gc-sections", "-std=gnu17", "-D_GNU_SOURCE", '-DTENON_VERSION="0"', "-ffp-contract=off", f"-I{ROOT}/src", f"-I{ROOT}/include"]
KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLDataTypeCode
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def runner(machine, folder):
    """The program, compiled where it is missing or older than a source."""
    path = os.path.join(folder, f"foreign-{machine.name}")
    names = re.findall(r"^foreach\(name IN ITEMS (cpu .*)\)$", open(f"{ROOT}/cmake/runtime.cmake").read(), re.MULTILINE)[-1].split()
    sources = [f"{HERE}/foreign.c", *glob.glob(f"{ROOT}/src/runtime/*.c"), *(f"{ROOT}/src/base/{name}.c" for name in names)]
    if not os.path.exists(path) or os.path.getmtime(path) < max(map(os.path.getmtime, sources)):
        os.makedirs(folder, exist_ok=True)
        made = f"{path}.{os.getpid()}"
        subprocess.run([machine.compiler, *FLAGS, *sources, "-o", made, "-lm", "-lpthread", "-ldl"], check=True)
        os.replace(made, path)
    return path


def written(array):
    array = np.asarray(array, order="C")
    if array.dtype == BFLOAT16:
        code = 4
    elif array.dtype.isbuiltin != 1 or array.dtype.kind not in KINDS:
        raise TypeError(f"elements of {array.dtype} are not sent")
    else:
        code = KINDS[array.dtype.kind]
    return struct.pack(f"<{3 + array.ndim}q", code, 8 * array.dtype.itemsize, array.ndim, *array.shape) + array.tobytes()


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def bytes(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self):
        return struct.unpack("<q", self.bytes(8))[0]

    def tensor(self):
        code, bits, ndim = (self.number() for _ in range(3))
        shape = [self.number() for _ in range(ndim)]
        kinds = {c: k for k, c in KINDS.items()}
        if code == 4 and bits == 16:
            dtype = BFLOAT16
        elif code not in kinds or bits not in (8, 16, 32, 64):
            raise TypeError(f"elements of code {code} and {bits} bits are not sent")
        else:
            dtype = np.dtype(bool if code == 6 else f"{kinds[code]}{bits // 8}")
        return np.frombuffer(self.bytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)


class Foreign:
    """execute(package, names of the inputs, sets of inputs) -> for each set its outputs, or the text of what refused it."""

    def __init__(self, machine):
        self.machine, self.program = machine, runner(machine, os.path.join(ROOT, "build", "foreign"))

    def execute(self, package, names, feeds, limit=50):
        with tempfile.TemporaryDirectory() as folder:
            given, results = os.path.join(folder, "in"), os.path.join(folder, "out")
            with open(given, "wb") as f:
                f.write(struct.pack("<q", len(feeds)))
                for feed in feeds:
                    f.write(struct.pack("<q", len(names)) + b"".join(written(feed[name]) for name in names))
            r = subprocess.run([*self.machine.emulator, self.program, package, given, results], capture_output=True, text=True,
                               timeout=limit)
            if "target/" in r.stderr and "Assertion" in r.stderr:  # QEMU 7.2 cannot translate some instructions of V
                raise TypeError("QEMU gives up: " + r.stderr.strip()[:200])
            if r.returncode:
                raise RuntimeError(f"the emulated program ended with {r.returncode}: {r.stderr.strip()[:300]}")
            with open(results, "rb") as f:
                read = Reader(f.read())
        out = []
        for _ in feeds:
            length = read.number()
            out.append(read.bytes(length).decode() if length else [read.tensor() for _ in range(read.number())])
        return out
