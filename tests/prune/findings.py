#!/usr/bin/env python3
"""findings.py - no finding disappears by a proof: random kernels with --prune=proved and without.

    findings.py COLLIDER LAUNCHES SEED COUNT

The kernels are those of tests/prove/random_kernels.py, launched twice each by LAUNCHES (launches.c)
under the oracle. Both runs must have the same findings, by their fingerprints. The last line says
how many launches were proven, so that it is known that some were.
"""
import json, os, random, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = os.path.join(here, '../prove')
from random_kernels import Maker, Printer

PER_FILE = 2  # a loop that doesn't end stops all of a file


def run(collider, prune, seed, command, tmp):
    path = os.path.join(tmp, prune + '.json')
    subprocess.run([collider, 'run', '--device=cpu', '--detector=oracle', '--seed=%d' % seed, '--quiet',
                    '--timeout=5', '--prune=' + prune, '--json=' + path, *command], capture_output=True)
    out, proven, launches = set(), 0, 0
    for line in open(path):
        e = json.loads(line)
        if e['type'] == 'finding':
            out.add((e['function_mangled'], e['fingerprint']))
        if e['type'] == 'gap' and e['why'] == 'stopped':
            return None, 0, 0  # a loop of 2^32 iterations
        if e['type'] == 'kernel':
            proven += e.get('proven', 0)
            launches += e['launches']
    return out, proven, launches


def main():
    collider, program, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    failed = proven = launches = racy = 0
    with tempfile.TemporaryDirectory() as tmp:
        os.environ['XDG_CACHE_HOME'] = tmp
        for first in range(0, count, PER_FILE):
            lines = ['.version 8.0', '.target sm_90', '.address_size 64']
            n = min(PER_FILE, count - first)
            for i in range(n):
                Printer(lines, 'k%d' % i, Maker(random.Random(seed * 1000003 + first + i)).kernel())
            ptx = os.path.join(tmp, 'k.ptx')
            open(ptx, 'w').write('\n'.join(lines) + '\n')
            command = [program, ptx, str(n), str(seed + first)]
            none, _, _ = run(collider, 'none', seed, command, tmp)
            found, p, l = run(collider, 'proved', seed, command, tmp)
            if none is None or found is None:
                continue
            proven, launches, racy = proven + p, launches + l, racy + len(none)
            if none != found:
                failed += 1
                print('FAIL seed %d, kernels from %d: lost %s, new %s' % (seed, first, none - found, found - none))
                if os.environ.get('KEEP'):
                    open(os.environ['KEEP'], 'w').write('\n'.join(lines) + '\n')
    print('seed %d: %d kernels, %d findings, %d of %d launches proven' % (seed, count, racy, proven, launches))
    sys.exit(1 if failed or not racy else 0)


main()
