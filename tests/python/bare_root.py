#!/usr/bin/env python3
"""Uses a wheel where there is nothing but glibc and Python: no compiler, linker, shell, or other package.

    python3 tests/python/bare_root.py build/dist/tenon-*.whl

Makes a folder with this interpreter, its standard library without modules that need other libraries, glibc's libraries and
the wheel, enters it by chroot, in a user namespace where this process is not root, and compiles, runs, saves and loads a
model there. `make wheel` ends with it. Exit code 77, with the reason, where the system does not allow it.
"""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

import models

GLIBC = re.compile(r"/(libc|libm|libdl|librt|libpthread|libutil|ld-linux-[\w-]+)\.so\.\d+$")
LEFT_OUT = ("site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "__pycache__")

# What is done inside; {model} is the bytes of a chain of convolutions. Results are compared with the loaded package's.
SCRIPT = """
import array, shutil
assert not any(shutil.which(tool) for tool in ("ld", "ld.lld", "as", "ar", "objcopy", "cc", "gcc", "clang", "sh")), "tools"
import tenon
module = tenon.compile(open("/model.onnx", "rb").read())
shape = module.inputs[0].shape
n = 1
for extent in shape:
    n *= extent
x = memoryview(array.array("f", [0.25 * (i % 7) for i in range(n)])).cast("B").cast("f", shape)
made = bytes(memoryview(module(x)).cast("B"))
module.save("/tmp/model.tar")
assert made == bytes(memoryview(tenon.load("/tmp/model.tar")(x)).cast("B")) and any(made), "results"
module.save("/tmp/model.so")
assert made == bytes(memoryview(tenon.load("/tmp/model.so")(x)).cast("B")), "results of the .so"
print("compiled, ran, saved and loaded a model with tenon", tenon.__version__)
"""


def needed(path):
    """Libraries that the loader takes for a file: paths; None where one is missing."""
    said = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return None if "not found" in said else [p for p in re.findall(r"(/\S+)", said) if os.path.isabs(p)]


def put(root, path, at=None):
    to = pathlib.Path(f"{root}{at or path}")
    to.parent.mkdir(parents=True, exist_ok=True)
    if not to.exists():
        shutil.copy(os.path.realpath(path), to)


def put_python(root):
    """The interpreter, as /python, and its standard library."""
    real = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    libraries = set(needed(real) or ())
    put(root, real, real)
    stdlib = sysconfig.get_path("stdlib")
    shutil.copytree(stdlib, f"{root}{stdlib}", ignore=shutil.ignore_patterns(*LEFT_OUT, "*.a", "config-*"), symlinks=False)
    for extension in glob.glob(f"{stdlib}/lib-dynload/*.so"):
        deps = needed(extension)
        if deps is None or any(not GLIBC.search(d) for d in deps):
            os.remove(f"{root}{extension}")
    return real, libraries


def make_root(root, wheel):
    """Returns the path of the interpreter in it."""
    python, libraries = put_python(root)
    with zipfile.ZipFile(wheel) as z:
        z.extractall(f"{root}/site")
    for path in glob.glob(f"{root}/site/**/*.so*", recursive=True):
        libraries |= {d for d in needed(path) or () if not d.startswith(root)}
    for path in libraries:
        put(root, path)
    os.mkdir(f"{root}/tmp")
    pathlib.Path(root, "model.onnx").write_bytes(models.chain(3))
    pathlib.Path(root, "do.py").write_text(SCRIPT)
    return python, [p for p in libraries if not GLIBC.search(p)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    enter = [] if os.geteuid() == 0 else [shutil.which("unshare") or "unshare", "--user", "--map-root-user"]
    enter.append(shutil.which("chroot", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or "chroot")
    probe = subprocess.run([*enter, "/", "true"], capture_output=True, text=True)
    if probe.returncode:
        print(f"bare root: skipped: {probe.stderr.strip()}")
        return 77
    with tempfile.TemporaryDirectory(prefix="tenon-root-") as root:
        python, others = make_root(root, sys.argv[1])
        if others:
            print("bare root: besides glibc, the interpreter needs", *others, flush=True)
        done = subprocess.run([*enter, root, python, "-S", "/do.py"],
                              env={"PYTHONPATH": "/site", "PYTHONHOME": sys.base_prefix, "PYTHONDONTWRITEBYTECODE": "1"})
        print("bare root:", "right" if done.returncode == 0 else f"exit code {done.returncode}")
        return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
