# image and top: pictures as inputs and outputs, classes by name
must "pictures of every kind" python3 "$here/pictures.py" "$here/../../examples"
printf 'cat\ndog\nbird\n' >labels.txt
printf 'background\ncat\ndog\nbird\n' >labels4.txt
printf 'cat\ndog\n' >labels2.txt
expect 0 "" image "$here/../../examples/images/cat.jpg" -o cat.png --size 8
must "the arrays of the next checks" python3 - <<'END'
import struct, zipfile
def save(path, *values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, %d), }" % len(values)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    data = b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(values), *values)
    zipfile.ZipFile(path, "w").writestr("output_0.npy", data)
save("shares.npz", 0.25, 0.5, 0.25)
save("scores.npz", 1.0, 3.0, -2.0)
save("nan.npz", 1.0, float("nan"), 2.0)
END
expect 0 " 50.0 %  dog" top shares.npz --labels labels.txt -n 1
expect 0 " 25.0 %  0" top shares.npz
expect 0 "note: the values are scores, not probabilities; their softmax is shown" top scores.npz
expect 0 " 87.6 %  dog" top scores.npz --labels labels.txt
expect 0 "           3  dog" top scores.npz --labels labels.txt --softmax no
expect 0 "it is left out" top shares.npz --labels labels4.txt
expect 0 " 50.0 %  dog" top shares.npz --labels labels4.txt
expect 4 "labels2.txt has 2 names, but the array has 3 classes" top shares.npz --labels labels2.txt
expect 4 "there is no array y" top shares.npz --name y
expect 4 "none.txt: cannot read the file" top shares.npz --labels none.txt
expect 4 "cat.png is a PNG picture, not an .npz archive of arrays" top cat.png
expect 0 "2" top nan.npz --softmax no
expect 4 "not a text of one name a line" top shares.npz --labels shares.npz
