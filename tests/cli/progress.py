#!/usr/bin/env python3
# progress.py - the progress line: on a terminal while the program runs, removed before the report; never in
# a log or a file. Its number of findings is the report's: two records of one line are one.
#
#   progress.py COLLIDER FAKE_APP
import os, pty, subprocess, sys

collider, fake_app = sys.argv[1:3]
LINE = b"collider: 0 launches, 0 accesses"
failed = 0


def run(options, on_terminal, program=("sleep", "2")):
    """What the command writes to standard error."""
    if not on_terminal:
        return subprocess.run([collider, "run", *options, "--", *program], stderr=subprocess.PIPE).stderr
    ours, theirs = pty.openpty()
    child = subprocess.Popen([collider, "run", *options, "--", *program], stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 4096):
            text += part
    except OSError:  # how Linux says that the last writer has closed a terminal
        pass
    child.wait()
    return text


def expect(what, condition, text):
    global failed
    if not condition:
        failed = 1
        print("FAIL:", what, text)


text = run(["--device=cpu"], True)
expect("no line on a terminal", LINE in text, text)
expect("the line stays", text.rfind(b"\r\x1b[K") < text.find(b"COLLIDER REPORT"), text)
text = run(["--device=cpu"], True, (fake_app, "race", "race", "sleep=2"))
expect("another number of findings", b"checked, 1 findings, " in text, text)
expect("not one race", b"1 data race found" in text, text)
text = run(["--device=cpu"], False)
expect("a line in a pipe", LINE not in text and b"COLLIDER REPORT" in text, text)
text = run(["--device=cpu", "--log-file=progress.log"], True)
expect("a line beside a log", LINE not in text, text)
expect("a line in a log", LINE not in open("progress.log", "rb").read(), b"")
sys.exit(failed)
