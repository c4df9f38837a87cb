#!/usr/bin/env python3
"""coverage.py ISA_LEGAL ROOT [--write] - the table of docs/isa-coverage.md, from the sources.

A row for each opcode of the sections on data movement, synchronisation and matrices: how many
spellings of it the CPU device decodes (those that cpu.decode_forms goes through), their types, and
the tests that execute it. Fails if the page has another table, or if an opcode that the CPU device
executes is in no test. Rows of src/ptx/isa.def are read by their text, tests by the words in them:
in C and CUDA within quotes, elsewhere anywhere but in comments.
"""
import collections
import pathlib
import re
import subprocess
import sys

SECTIONS = ['9.7.9', '9.7.13', '9.7.14', '9.7.15', '9.7.16', '9.7.19']
SAMPLES = '200'  # of each row of isa_forms.def, as for cpu.decode_forms
BEGIN, END = '<!-- table: tests/isa/coverage.py -->', '<!-- end of the table -->'
TESTS = ['tests/cpu/cases', 'tests/cpu/diff', 'tests/cpu', 'tests/gpu', 'tests/oracle', 'tests']
TYPES = re.compile(r'\.([bsuf](?:8|16|32|64|128)(?:x2|x4)?|pred|bf16(?:x2)?|tf32|[bsu][1-6]|'
                   r'e[2-5]m[0-3](?:x2|x4)?|f64|ue8m0(?:x2)?|kind::[a-z0-9_]+)(?=[.:]|$)')
WORD = re.compile(r'(?<![\w.%$])([a-z][a-z0-9_]*(?:(?:\.|::)[A-Za-z0-9_]+)*)')


def read_opcodes(root):
    """Name of each spelling: its opcode; opcode: section; in the order of isa.def."""
    names, sections, first = {}, {}, {}
    for line in (root / 'src/ptx/isa.def').read_text().splitlines():
        m = re.match(r'(OP|ALIAS)\((\w+), "([^"]+)"(?:.*"([\d.]+)"\)$)?', line)
        if not m:
            continue
        if m[1] == 'OP':
            first[m[2]], sections[m[3]] = m[3], m[4]
        names[m[3]] = first[m[2]]
    return names, sections


def opcode_of(names, spelling):
    """The opcode that is the longest prefix by words; None: there is none."""
    while spelling:
        if spelling in names:
            return names[spelling]
        at = max(spelling.rfind('.'), spelling.rfind('::'))
        spelling = spelling[:max(at, 0)]
    return None


def words_of(path):
    text = path.read_text(errors='replace')
    if path.name == 'test_tcgen05.c':  # its products lack the common part of their names
        text = re.sub(r'\{"(\.[a-z])', r'{"tcgen05.mma\1', text)
    if path.suffix in ('.c', '.cu', '.h'):
        text = '\n'.join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)).replace('\\n', '\n')
    else:
        text = re.sub(r'//.*|^#.*', '', text, flags=re.M)
    return {w for w in WORD.findall(text) if '.' in w or '::' in w}


def read_tests(root, names):
    """Opcode: the files whose text has it, those of the CPU device first."""
    found, seen = collections.defaultdict(list), set()
    for folder in TESTS:
        deep = folder in ('tests', 'tests/gpu')
        for path in sorted((root / folder).glob('**/*' if deep else '*')):
            if path in seen or path.suffix not in ('.c', '.cu', '.ops', '.ptx', '.litmus') or \
                    'isa' in path.relative_to(root).parts[:2]:
                continue
            seen.add(path)
            for op in {opcode_of(names, w) for w in words_of(path)} - {None}:
                found[op].append(str(path.relative_to(root)))
    return found


def read_spellings(isa_legal, names):
    text = subprocess.run([isa_legal, '--kernel', SAMPLES] + SECTIONS, check=True,
                          capture_output=True, text=True).stdout
    spellings = collections.defaultdict(set)
    for line in text.splitlines():
        word = line.split(' ')[0].rstrip(';')
        op = None if word.startswith('.') else opcode_of(names, word)
        if op:
            spellings[op].add(word)
    return spellings


def read_refused(root, names):
    refused = collections.Counter()
    for line in (root / 'tests/cpu/refused.tsv').read_text().splitlines():
        if not line.startswith('#'):
            refused[opcode_of(names, line.split('\t')[0])] += 1
    return refused


def main():
    root = pathlib.Path(sys.argv[2])
    names, sections = read_opcodes(root)
    tests, refused = read_tests(root, names), read_refused(root, names)
    spellings = read_spellings(sys.argv[1], names)
    page = root / 'docs/isa-coverage.md'
    text = page.read_text()
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    named = dict(re.findall(r'^\| [\d.]+ \| `([^`]+)` .*\| (\S+) \| \d* ?\|$', old, flags=re.M))
    rows, bad = [], 0
    for op, section in sections.items():
        if section not in SECTIONS or (section == '9.7.19' and op != 'setmaxnreg'):
            continue
        types = sorted({t for s in spellings[op] for t in TYPES.findall(s)})
        cases = [pathlib.Path(c).name for c in tests[op]]
        if not cases or not spellings[op]:
            print(f'{op}: {len(spellings[op])} spellings, {len(cases)} tests')
            bad = 1
        # The test that the page names stays, as long as it has the opcode.
        case = named[op] if named.get(op) in cases else (cases or ['-'])[0]
        h100 = ', '.join(c for c in cases if c.endswith('.ops'))
        rows.append(f'| {section} | `{op}` | {len(spellings[op])} | {", ".join(types)} | '
                    f'{h100} | {case} | {refused[op] or ""} |')
    new = '\n\n| ISA | instruction | spellings | types, kinds | H100 list | a test | refused |\n' \
          '| --- | --- | ---: | --- | --- | --- | ---: |\n' + '\n'.join(rows) + '\n\n'
    if '--write' in sys.argv:
        page.write_text(head + BEGIN + new + END + tail)
    elif old != new:
        print('docs/isa-coverage.md has another table: tests/isa/coverage.py --write')
        bad = 1
    print(len(rows), 'opcodes,', sum(len(spellings[o]) for o in sections), 'spellings')
    return bad


if __name__ == '__main__':
    sys.exit(main())
