#!/usr/bin/env python3
"""iguard.py - the small kernels of tests/iguard, of which the names say what is true, by prove.

    iguard.py COLLIDER NVCC ROOT

They are full of locks, flags and fences, with one thing taken away in each racy twin. None whose name ends in
_race or _possible may be proven, none of the others have a true alarm; and of those without a race all are proven
for their launch of two blocks but the ones of NOT_YET.
"""
import json, os, re, subprocess, sys, tempfile

NOT_YET = {
    # order by the contents of a counter, or of a queue
    'semaphore_clean', 'binary_semaphore_clean', 'ring_quiet', 'lane_ticket_for_warp_clean', 'queue_lock_clean', 'node_lock_clean', 'drawn_place_clean',
    # two locks in two orders, a lock for a warp, a flag within a block
    'nested_locks_two_orders_clean', 'lane_locks_for_warp_quiet', 'barrier_is_no_turn_quiet', 'within_block_quiet',
    # a fence in other threads than those that count, volatile words without an order
    'last_block_quiet', 'rows_by_flag_quiet', 'volatile_both_quiet',
    # lanes that exchange or hand on
    'shuffle_and_barrier_clean', 'pairs_of_lanes_clean', 'pairs_then_all_clean'}
collider, nvcc, root = sys.argv[1:4]
failed, count = 0, {}
with tempfile.TemporaryDirectory() as tmp:
    for name in ('blocks', 'locks', 'scopes', 'rows', 'published'):
        open(os.path.join(tmp, name + '_launches.h'), 'w').close()
        ptx = os.path.join(tmp, name + '.ptx')
        subprocess.run([nvcc, '-ptx', '-arch=sm_90', '-std=c++17', '-G', '-rdc=true', '-I', tmp, '-I', root + '/include',
                        '-o', ptx, '%s/tests/iguard/%s.cu' % (root, name)], check=True, stderr=subprocess.DEVNULL)
        r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--no-confirm', '--block-dim=64',
                            '--grid-dim=2', ptx], capture_output=True, text=True)
        for k in json.loads(r.stdout)['kernels']:
            kernel = re.split(r'[<( ]', k['name'].replace('void ', ''))[0]
            is_racy, verdict = kernel.endswith(('_race', '_possible')), k['verdict']
            bad = (verdict.startswith('race-free') if is_racy else
                   verdict == 'true-alarm' or (verdict != 'race-free') != bool({kernel, name + '/' + kernel} & NOT_YET))
            key = ('racy' if is_racy else 'race-free', verdict)
            count[key] = count.get(key, 0) + 1
            if bad:
                failed += 1
                print('FAIL %s: %s' % (kernel, verdict))
for (truth, verdict), n in sorted(count.items()):
    print('%d %s: %s' % (n, truth, verdict))
sys.exit(1 if failed or not count else 0)
