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
    screen = []
    for line in re.sub("\033\\[[0-9;]*m", "", text).split("\n"):
        shown = ""
        for over in line.split("\r"):
            shown = over + shown[len(over):]
        screen.append(shown.rstrip())
    text = "\n".join(screen)
sys.stdout.write(text)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
