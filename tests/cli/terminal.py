#!/usr/bin/env python3
"""terminal.py {raw,screen} WORD...: runs a command on a terminal of 80 columns, and prints all that it wrote there, or the lines that
stand on the screen in the end, blanks at their ends left out. The exit code is the command's."""
import fcntl
import os
import pty
import re
import struct
import sys
import termios

COLUMNS = 80
how, command = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("4H", 24, COLUMNS, 0, 0))
    os.execvp(command[0], command)
written = b""
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:  # the other end is closed
        part = b""
    if not part:
        break
    written += part
text = written.decode()
if how == "screen":
    screen, row, column = [""], 0, 0
    for part in re.findall("\033\\[[0-9;]*[A-Za-z]|.|\n", text, re.S):
        if part.startswith("\033"):
            if part[-1] == "A":
                row = max(0, row - int(part[2:-1] or 1))
            elif part[-1] in "KJ":
                screen[row] = screen[row][:column]
                if part[-1] == "J":
                    del screen[row + 1:]
        elif part == "\r":
            column = 0
        elif part == "\n":
            row, column = row + 1, 0
            screen += [""] * (row + 1 - len(screen))
        else:
            line = screen[row].ljust(column)
            screen[row] = line[:column] + part + line[column + 1:]
            column += 1
    text = "\n".join(line.rstrip() for line in screen)
sys.stdout.write(text)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
