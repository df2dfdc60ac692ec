"""Pictures of every kind made by hand, shown to `tenon image`; the arrays that come out are what the pixels say.

    python3 pictures.py FOLDER_OF_EXAMPLES      `tenon` is in PATH; works in the current folder
"""
import math
import os
import struct
import subprocess
import sys
import zipfile
import zlib

WIDTH, HEIGHT = 7, 5


def tenon(*words, code=0, says=""):
    done = subprocess.run(["tenon", "image", *words], capture_output=True, text=True)
    if done.returncode != code or says not in done.stderr:
        sys.exit(f"tenon image {' '.join(words)}: exit {done.returncode}, not {code}, or does not say \"{says}\":\n{done.stderr}")


def array(path, name="input"):
    """(type, shape, numbers) of an array in an archive."""
    data = zipfile.ZipFile(path).read(name + ".npy")
    size = struct.unpack("<H", data[8:10])[0]
    head = eval(data[10:10 + size])
    letter = {"<f4": "f", "<f2": "e", "|u1": "B", "|i1": "b"}[head["descr"]]
    n = math.prod(head["shape"])
    return head["descr"], head["shape"], struct.unpack(f"<{n}{letter}", data[10 + size:])


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(path, depth, color, rows, extra=b"", width=WIDTH, height=HEIGHT):
    data = b"".join(b"\0" + row for row in rows)
    write(path, b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)) +
          extra + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def same(what, path, expected, tolerance=0.01, name="input"):
    got = array(path, name)[2]
    if len(got) != len(expected) or any(abs(a - b) > tolerance for a, b in zip(got, expected)):
        sys.exit(f"{what}: {got[:12]}... where {list(expected)[:12]}... is right")


def packed(row, depth):
    bits = "".join(format(v, f"0{depth}b") for v in row)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))


def check_png():
    plain = ["--layout", "HWC", "--scale", "1", "-o", "o.npz"]
    for depth in (1, 2, 4, 8):
        top = (1 << depth) - 1
        grid = [[(3 * x + y) % (top + 1) for x in range(WIDTH)] for y in range(HEIGHT)]
        flat = [v for row in grid for v in row]
        png("a.png", depth, 0, [packed(row, depth) for row in grid])
        tenon("a.png", "--color", "gray", *plain)
        same(f"grey of {depth} bits", "o.npz", [v * 255 / top for v in flat])
        palette = [(37 * i % 256, 91 * i % 256, 255 - i) for i in range(top + 1)]
        png("a.png", depth, 3, [packed(row, depth) for row in grid], chunk(b"PLTE", bytes(c for p in palette for c in p)))
        tenon("a.png", *plain)
        same(f"palette of {depth} bits", "o.npz", [c for v in flat for c in palette[v]])
    deep = [[(9001 * x + 77 * y) % 65536 for x in range(WIDTH)] for y in range(HEIGHT)]
    png("a.png", 16, 0, [struct.pack(f">{WIDTH}H", *row) for row in deep])
    tenon("a.png", "--color", "gray", *plain)
    same("grey of 16 bits", "o.npz", [v / 257 for row in deep for v in row])
    clear = [[(200, 100, 50, 51 * ((x + y) % 6)) for x in range(WIDTH)] for y in range(HEIGHT)]
    png("a.png", 8, 6, [bytes(c for p in row for c in p) for row in clear])
    tenon("a.png", "--background", "10", *plain)
    same("transparency", "o.npz", [(c * p[3] + 10 * (255 - p[3])) / 255 for row in clear for p in row for c in p[:3]])


def check_numbers():
    colors = [[(10 * x, 20 * y, 200 - x) for x in range(WIDTH)] for y in range(HEIGHT)]
    flat = [p for row in colors for p in row]
    png("c.png", 8, 2, [bytes(c for p in row for c in p) for row in colors])
    tenon("c.png", "--color", "bgr", "--mean", "0.5,0.25,0", "--std", "2,1,4", "--name", "x", "-o", "o.npz")
    mean, std = (0.5, 0.25, 0), (2, 1, 4)
    same("mean and std", "o.npz", [(p[2 - k] / 255 - mean[k]) / std[k] for k in range(3) for p in flat], 1e-6, "x")
    if array("o.npz", "x")[1] != (1, 3, HEIGHT, WIDTH):
        sys.exit("the shape of NCHW")
    tenon("c.png", "--dtype", "int8", "--mean", "128", "--layout", "NHWC", "-o", "o.npz")
    same("int8", "o.npz", [c - 128 for p in flat for c in p], 0)
    tenon("c.png", "--dtype", "float16", "-o", "o.npz")
    same("float16", "o.npz", [p[k] / 255 for k in range(3) for p in flat], 1e-3)
    for end in ("png", "bmp"):
        for layout in ("NCHW", "HWC"):
            for word in ("0.5", "0"):
                flags = ["--layout", layout, "--mean", word, "--color", "bgr"]
                tenon("c.png", "-o", "o.npz", *flags)
                tenon("o.npz", "-o", "back." + end, *flags)
                tenon("back." + end, "-o", "o.npz", "--dtype", "uint8", "--layout", "HWC")
                same("there and back", "o.npz", [c for p in flat for c in p], 0)


def check_shapes():
    rows = [[4 * x for x in range(64)]] * 32
    png("ramp.png", 8, 0, [bytes(row) for row in rows], width=64, height=32)
    flags = ["--color", "gray", "--layout", "HWC", "--scale", "1", "-o", "o.npz"]
    tenon("ramp.png", "--size", "8", "--fit", "stretch", "--resize", "box", *flags)
    same("eight pixels become one", "o.npz", [4 * (8 * x + 3.5) for x in range(8)] * 8, 0.001)
    for name in ("bilinear", "bicubic", "lanczos"):
        tenon("ramp.png", "--size", "16x8", "--resize", name, *flags)
        middle = [array("o.npz")[2][i] for i in range(4, 12)]
        if any(abs(v - 4 * (4 * x + 1.5)) > 0.1 for x, v in zip(range(4, 12), middle)):
            sys.exit(f"{name} bends a straight line: {middle}")
    tenon("ramp.png", "--size", "32", "--resize", "nearest", *flags)
    same("the middle", "o.npz", [4 * x for x in range(16, 48)] * 32, 0.001)
    tenon("ramp.png", "--crop", "0.5", *flags)
    same("half of it", "o.npz", [4 * x for x in range(16, 48)] * 16, 0.001)
    tenon("ramp.png", "--size", "64", "--fit", "contain", "--background", "9", *flags)
    same("borders", "o.npz", [9] * 64 * 16 + rows[0] * 32 + [9] * 64 * 16, 0.001)


def check_jpeg(cat):
    """A JPEG turned by its EXIF data; damaged ones."""
    data = open(cat, "rb").read()
    tenon(cat, "--size", "64", "--layout", "HWC", "-o", "o.npz")
    upright = array("o.npz")[2]
    tiff = b"MM\0*\0\0\0\x08\0\1" + struct.pack(">HHIHH", 0x112, 3, 1, 6, 0) + b"\0\0\0\0"
    exif = b"\xff\xe1" + struct.pack(">H", len(tiff) + 8) + b"Exif\0\0" + tiff
    write("turned.jpg", data[:2] + exif + data[2:])
    tenon("turned.jpg", "--size", "64", "--layout", "HWC", "-o", "o.npz")
    turned = [upright[((63 - x) * 64 + y) * 3 + k] for y in range(64) for x in range(64) for k in range(3)]
    same("turned by EXIF", "o.npz", turned, 0.01)
    write("cut.jpg", data[:len(data) // 2])
    tenon("cut.jpg", "-o", "o.png", code=4, says="cut.jpg: damaged JPEG: ")


def check_refusals(cat):
    png("bomb.png", 8, 2, [b"\0" * 30], width=65000, height=65000)
    tenon("bomb.png", "-o", "o.npz", code=4, says="bomb.png: the picture claims 65000 x 65000 pixels")
    png("short.png", 8, 2, [b"\0" * 21] * 3)
    tenon("short.png", "-o", "o.npz", code=4, says="short.png: damaged PNG: ")
    bmp = b"BM" + struct.pack("<IIIIIIHHIIIIII", 0, 0, 54, 40, 60000, 1000, 1, 24, 0, 0, 0, 0, 0, 0)
    write("short.bmp", bmp)
    tenon("short.bmp", "-o", "o.npz", code=4, says="the file is too short for them")
    write("a.webp", b"RIFF\0\0\0\0WEBPVP8 ")
    tenon("a.webp", "-o", "o.npz", code=4, says="a.webp: this is WebP, which is not supported; convert it to PNG or JPEG")
    write("a.txt", b"hello")
    tenon("a.txt", "-o", "o.npz", code=4, says="a.txt: not a picture that can be read: PNG, JPEG, BMP and PNM are")
    write("empty.png", b"")
    tenon("empty.png", "-o", "o.npz", code=4, says="empty.png: the file is empty")
    tenon("none.png", "-o", "o.npz", code=4, says="none.png: cannot read the file: No such file")
    tenon(".", "-o", "o.npz", code=4, says=".: cannot read the file: Is a directory")
    tenon(cat, "-o", "o.gif", code=2, says="the name has to end in .npz, .png, .jpg or .bmp")
    tenon(cat, code=2, says="--output is missing")
    for flag, value in (("size", "0"), ("size", "-3"), ("size", "9x"), ("mean", "1,2"), ("std", "0"), ("scale", "x"),
                        ("crop", "2"), ("size", "70000")):
        tenon(cat, "-o", "o.npz", f"--{flag}={value}", code=2, says=f"--{flag} {value}: ")
    tenon("c.png", "-o", "o.npz")
    tenon("o.npz", "-o", "p.npz", code=4, says="one has to be a picture")
    tenon("o.npz", "-o", "p.png", "--name", "y", code=4, says="o.npz: there is no array y; it has:\n    input: float32[1, 3, 5, 7]")


def check_together(cat):
    tenon("c.png", "-o", "o.npz", "--color", "gray", "--name", "y")
    tenon("o.npz", "--color-of", "c.png", "-o", "back.png")
    tenon("back.png", "--dtype", "uint8", "--layout", "HWC", "-o", "o.npz")
    tenon("c.png", "--dtype", "uint8", "--layout", "HWC", "-o", "p.npz")
    same("the colour comes back", "o.npz", array("p.npz")[2], 1)
    tenon("c.png", "--beside", "c.png", "--beside", cat, "-o", "row.png")
    tenon("row.png", "-o", "o.npz")
    if array("o.npz")[1] != (1, 3, HEIGHT, 8 + 8 + 2 * WIDTH + 8):
        sys.exit(f"three side by side: {array('o.npz')[1]}")


def main():
    cat = os.path.join(sys.argv[1], "images", "cat.jpg")
    check_png()
    check_numbers()
    check_shapes()
    check_jpeg(cat)
    check_refusals(cat)
    check_together(cat)


main()
