#!/usr/bin/env python3
"""text.py - no race is missed by a proof in the text that a GPU would get: random kernels.

    text.py COLLIDER LAUNCHES SEED COUNT

A kernel loads and stores elements of two shared arrays that lie side by side, at its own place and at
others', with barriers between or without; an index may lead into the array beside. Each text gets the checks of hirace as a GPU
that loads it would (collider-load), with the proven accesses to shared memory left out and without,
and runs on the CPU device by LAUNCHES (launches.c). The two texts have other instructions, so that
one seed gives two schedules. Hence what is compared: a kernel of which hirace reports a race in some
of SEEDS schedules does so with proofs, too, and the other way round. The last line says how many
accesses weren't checked, so that it is known that some weren't.
"""
import json, os, random, struct, subprocess, sys, tempfile

PER_FILE, SEEDS = 4, 3
# An index of r2 into r3, of r0 = tid and r1 = the parameter n.
INDEXES = (('mov.u32 %r2, %r0;',) * 3 +
           ('sub.u32 %r2, 63, %r0;', 'xor.b32 %r2, %r0, 1;', 'add.u32 %r2, %r0, 1;', 'and.b32 %r2, %r0, 31;',
            'add.u32 %r2, %r0, %r1;', 'mov.u32 %r2, 0;'))
HEAD = struct.Struct('<QIIQQIIQ')  # struct image_kept


def kernel(rng, name):
    """As LAUNCHES gives it: an array, a number, an array that isn't used."""
    out = ['.visible .entry %s(.param .u64 p, .param .u32 n, .param .u64 q) {' % name, '.reg .b32 %r<8>;',
           '.reg .b64 %rd<4>;', '.reg .pred %p<2>;', '.shared .align 4 .b8 a[256];', '.shared .align 4 .b8 b[256];',
           'mov.u32 %r0, %tid.x;', 'ld.param.u32 %r1, [n];', 'mov.u32 %r6, %r0;']
    for i in range(rng.randint(2, 6)):
        if rng.random() < .6:
            out.append('bar.sync 0;')
        out += [rng.choice(INDEXES), 'shl.b32 %r2, %r2, 2;', 'mov.u32 %%r3, %s;' % rng.choice('aab'),
                'add.u32 %r3, %r3, %r2;']
        if rng.random() < .2:
            out.append('setp.eq.u32 %p0, %r0, 0;\n@%p0 st.shared.u32 [%r3], %r6;')
        elif rng.random() < .5:
            out.append('st.shared.u32 [%r3], %r6;')
        else:
            out.append('ld.shared.u32 %r4, [%r3];\nadd.u32 %r6, %r6, %r4;')
        out.append('add.u32 %%r6, %%r6, %d;' % (i + 1))
    out += ['mov.u32 %r4, %ctaid.x;', 'mov.u32 %r5, %ntid.x;', 'mad.lo.u32 %r4, %r4, %r5, %r0;',
            'ld.param.u64 %rd0, [p];', 'mul.wide.u32 %rd1, %r4, 4;', 'add.u64 %rd0, %rd0, %rd1;',
            'st.global.u32 [%rd0], %r6;', 'ret;', '}']
    return out


def load(collider, prune, ptx, out):
    """Writes the text with checks."""
    options = 'sanitize=hirace:no-fit=1' + (':prune=' + prune if prune else '')
    env = dict(os.environ, COLLIDER_TOOL_OPTIONS=options)
    subprocess.run(['bash', '-c', 'exec -a collider-load "$0" 90 dl 0 random "" 0 3<"$1" 4>"$2"', collider, ptx,
                    out + '.entry'], env=env, check=True, stdin=subprocess.DEVNULL)
    entry = open(out + '.entry', 'rb').read()
    _, _, outcome, said, code, _, _, _ = HEAD.unpack(entry[:HEAD.size])
    if outcome != 1:
        sys.exit('not instrumented: ' + entry[HEAD.size:HEAD.size + said].decode())
    at = (HEAD.size + said + 63) & ~63
    open(out, 'wb').write(entry[at:at + code].rstrip(b'\0'))


def run(collider, program, text, n, seed, tmp):
    """The kernels that raced in some schedule, and the accesses that were judged; None: stopped."""
    racy, checked = set(), 0
    for schedule in range(1, SEEDS + 1):
        path = os.path.join(tmp, 'report.json')
        subprocess.run([collider, 'run', '--device=cpu', '--detector=hirace', '--seed=%d' % schedule, '--quiet',
                        '--timeout=5', '--json=' + path, program, text, str(n), str(seed)], capture_output=True)
        for line in open(path):
            e = json.loads(line)
            if e['type'] == 'finding':
                racy.add(e['function_mangled'])
            if e['type'] == 'gap' and e['why'] == 'stopped':
                return None, 0
            if e['type'] == 'summary':
                checked += e['checked']
    return racy, checked


def main():
    collider, program, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    failed = racy = checked = fewer = 0
    with tempfile.TemporaryDirectory() as tmp:
        os.environ['XDG_CACHE_HOME'] = tmp
        for first in range(0, count, PER_FILE):
            lines = ['.version 8.0', '.target sm_90', '.address_size 64']
            n = min(PER_FILE, count - first)
            for i in range(n):
                lines += kernel(random.Random(seed * 1000003 + first + i), 'k%d' % i)
            ptx = os.path.join(tmp, 'k.ptx')
            open(ptx, 'w').write('\n'.join(lines) + '\n')
            found = {}
            for prune in ('', 'proved'):
                text = os.path.join(tmp, 'checked%s.ptx' % prune)
                load(collider, prune, ptx, text)
                found[prune] = run(collider, program, text, n, seed + first, tmp)
            (all_racy, all_checked), (some_racy, some_checked) = found[''], found['proved']
            if all_racy is None or some_racy is None:
                continue
            racy, checked, fewer = racy + len(all_racy), checked + all_checked, fewer + all_checked - some_checked
            if all_racy != some_racy:
                failed += 1
                print('FAIL seed %d, kernels from %d: missed %s, new %s'
                      % (seed, first, all_racy - some_racy, some_racy - all_racy))
                if os.environ.get('KEEP'):
                    open(os.environ['KEEP'], 'w').write('\n'.join(lines) + '\n')
    print('seed %d: %d kernels, %d racy, %d of %d accesses not checked' % (seed, count, racy, fewer, checked))
    sys.exit(1 if failed or not racy or fewer <= 0 else 0)


main()
