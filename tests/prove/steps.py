#!/usr/bin/env python3
"""steps.py - PTX files, one step of the analysis each: steps.py COLLIDER FILE.ptx...

The second line of a file is "// expect: race-free|single|true|potential|unproven".
"""
import re, subprocess, sys

CODES = {'race-free': 0, 'single': 14, 'true': 10, 'unproven': 11, 'potential': 12}
failed = 0
for path in sys.argv[2:]:
    expected = re.search(r'^// expect: (\S+)', open(path).read(), re.M).group(1)
    r = subprocess.run([sys.argv[1], 'prove', '--prove-timeout=60', path], capture_output=True, text=True)
    if r.returncode != CODES[expected]:
        failed += 1
        print('FAIL %s: expected %s, found exit code %d\n%s%s' % (path, expected, r.returncode,
                                                               r.stdout, r.stderr))
    if expected == 'unproven' and not re.search(r'not analysed: PTX line \d+', r.stdout):
        failed += 1
        print('FAIL %s: no line is named\n%s' % (path, r.stdout))
print('%d files' % (len(sys.argv) - 2))
sys.exit(1 if failed else 0)
