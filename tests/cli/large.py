#!/usr/bin/env python3
"""Weights beyond 2 GiB: external data at such an offset, a tensor of such a size, packages and libraries that hold it.

    large.py FOLDER_OF_TENON

The data are sparse files, but packages are not: 5 GiB of disk and 8 GiB of memory are needed for a minute. Peak memory of a
compilation is held to four times the model and 256 MiB.
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_onnx  # noqa: E402

tenon = os.path.join(os.path.abspath(sys.argv[1]), "tenon")
SKIP = 77


def run(*words):
    """Runs the command; its peak of resident bytes."""
    p = subprocess.Popen([tenon, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0, f"{words}: exit {p.returncode}"
    return usage.ru_maxrss << 10


def give(rows):
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }"
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with zipfile.ZipFile("in.npz", "w") as z:
        z.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<4q", *rows))


def expect(package, rows, columns, marks, *words):
    run("run", package, "-i", "in.npz", "-o", "out.npz", *words)
    with zipfile.ZipFile("out.npz") as z:
        data = z.read("output_0.npy")[-16 * columns:]
    for i, r in enumerate(rows):
        got = struct.unpack(f"<{columns}f", data[4 * columns * i:4 * columns * (i + 1)])
        want = (float(r + 1), -0.5) if r in marks else (0.0, 0.0)
        assert got == want + (0.0,) * (columns - 2), f"{package}: row {r} begins with {got[:3]}"


def meet(name, rows, columns, offset, marks, asked, suffixes):
    pathlib.Path(name + ".onnx").write_bytes(make_onnx.gather(name + ".onnx", rows, columns, offset, marks))
    size = os.stat(name + ".data").st_size
    assert os.stat(name + ".data").st_blocks * 512 < 1 << 20, "the file system knows no sparse files"
    give(asked)
    for suffix in suffixes:
        package = f"{name}.{suffix}"
        peak = run("compile", name + ".onnx", "-o", package)
        assert peak <= 4 * size + (256 << 20), f"{package}: {peak >> 20} MiB for a model of {size >> 20} MiB"
        expect(package, asked, columns, marks)
        if suffix == "tar":
            expect(package, asked, columns, marks, "--executor", "graph")
            run("verify", package)
        print(f"{package}: {os.stat(package).st_size >> 20} MiB, peak {peak >> 20} MiB", flush=True)
        os.unlink(package)
    os.unlink(name + ".data")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    disk = os.statvfs(".")
    with open("/proc/meminfo", encoding="ascii") as f:
        memory = int(next(line for line in f if line.startswith("MemAvailable")).split()[1]) << 10
    if disk.f_bavail * disk.f_frsize < 6 << 30 or memory < 9 << 30:
        print("large: left out: 6 GiB of disk and 9 GiB of memory are needed")
        sys.exit(SKIP)
    meet("late", 16, 4, 5 << 29, {0, 3, 9, 15}, [0, 9, 15, 1], ["tar", "so"])
    meet("large", 600000, 1024, 4096, {0, 7, 524288, 599999}, [599999, 524288, 1, 7], ["tar", "so"])
    os.chdir("/")
