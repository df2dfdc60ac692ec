"""The command tvmc, which is the command tenon under another name: python -m tvm.driver.tvmc compile ..."""
import os
import shutil
import sys


def main() -> None:
    command = shutil.which("tenon")
    if command is None:
        sys.exit("tvmc: error: the command tenon is not on the PATH; `make install` of Tenon's sources brings it. Without it, "
                 "tvm.driver.tvmc has load, compile and run in Python")
    os.execv(command, ["tvmc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
