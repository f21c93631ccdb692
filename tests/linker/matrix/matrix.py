#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The link matrix: every combination of compiler, linker, kind of output, section collection, LTO and language.

Each cell compiles the programs beside this file, links them and compares four independent views of the result: the bytes
of the code (every nop1+nop10 is a site), the notes as this script decodes them, gdb's list, and the hits that libbpf
counts while the program runs. A cell has an expected outcome (see expected()); any other is a failure, better ones too.
"""
import argparse, collections, concurrent.futures, functools, itertools, os, re, shutil, struct, subprocess, sys, tempfile, threading

HERE = os.path.dirname(os.path.realpath(__file__))
SITE_BYTES = bytes.fromhex('90662e0f1f840000000000')
PROVIDER = 'matrix'



def installed(name):
    """The programs name-N on the PATH, oldest version first."""
    found = {file for folder in os.environ['PATH'].split(':') if os.path.isdir(folder) for file in os.listdir(folder)}
    return sorted((file for file in found if re.fullmatch(re.escape(name) + r'-\d+', file)), key=version)


def version(name):
    return int(name.rpartition('-')[2])


def ends(programs):
    return programs[:1] + programs[1:][-1:]


# The newest GCC, the oldest and the newest clang, every linker.
COMPILERS = installed('gcc')[-1:] + ends(installed('clang'))
LINKERS = ['bfd', 'gold'] + [program.removeprefix('ld.') for program in ends(installed('ld.lld'))] + ['mold']


@functools.cache
def mold_joins():
    """Whether mold makes one of note sections that differ in SHF_LINK_ORDER: 1.10 and 2.30 do not, 2.37.1 does."""
    if not shutil.which('mold'):
        return False
    with tempfile.TemporaryDirectory() as folder:
        with open(f'{folder}/two.c', 'w') as out:
            out.write('int main(void) { __asm__ volatile(".Lhere:\\n.pushsection .note.two,\\"o\\",\\"note\\",.Lhere\\n.4byte 4,0,1,0\\n.popsection\\n'
                      '.pushsection .note.two,\\"\\",\\"note\\",unique,7\\n.4byte 4,0,1,0\\n.popsection"); return 0; }\n')
        subprocess.run(['gcc', '-fuse-ld=mold', f'{folder}/two.c', '-o', f'{folder}/two'], check=True)
        said = subprocess.run(['readelf', '-SW', f'{folder}/two'], check=True, capture_output=True, text=True).stdout
    return len(re.findall(r' \.note\.two ', said)) == 1


OUTPUTS = ['exe', 'pie', 'shared', 'static', 'static-pie', 'r']
VARIANTS = ['plain', 'gc', 'gc-unused', 'icf']
LTOS = ['none', 'full', 'thin']
LANGUAGES = ['c', 'c++']
Cell = collections.namedtuple('Cell', 'compiler linker output variant lto language')

# Names with their hits in one run of the program.
HITS = {
    'c': dict(main=1, half=1, inlined=2, twin=2, implicit=2, explicit=2, helper=1),
    'c++': {'main': 1, 'half': 1, 'twin': 2, 'explicit': 2, 'inline': 2, 'template': 4, 'member': 2, 'implicit': 2},
}
LINKER_PROGRAM = {linker: 'mold' if linker == 'mold' else 'ld.' + linker for linker in LINKERS}


# Functions of the programs, with the suffixes of their clones.
OURS = re.compile(r'(main|other|matrix_run|semaphores|helper|(plain_)?twin_[12]|_Z\d+(in_|with_|plain_|twin_)\w*|_ZN6Probed6member\w*)'
                  r'(\.(constprop|isra|part|lto_priv|llvm)[.\d]*)*$')


class Failed(Exception):
    pass


# ---- What each cell should give ----

def impossible(cell):
    """Why there is no such cell, or None."""
    clang = cell.compiler.startswith('clang')
    lld = cell.linker.startswith('lld')
    if cell.lto == 'thin' and not clang:
        return 'GCC has no thin LTO'
    if cell.lto != 'none' and lld and not clang:
        return "lld cannot read GCC's LTO objects"
    if cell.lto != 'none' and lld and clang and version(cell.linker) < version(cell.compiler):
        return 'an older lld cannot read the bitcode of a newer clang'
    if cell.output == 'static-pie' and cell.linker == 'gold':
        return 'gold has no --no-dynamic-linker'
    if cell.output == 'r' and cell.linker == 'mold':
        return "mold 1.10's -r aborts at COMDAT sections, with systemtap's header too"
    if cell.variant == 'icf' and cell.linker == 'bfd':
        return 'GNU ld has no --icf'
    return None


def expected(cell):
    """'ok', or what is known and why (docs/linking.md)."""
    collects = cell.variant != 'plain'
    # Thin LTO drops functions that nobody refers to, but leaves a dead copy of one that it inlines into another file.
    dead = collects and {'none': cell.variant == 'gc-unused', 'full': False, 'thin': cell.language == 'c' and cell.output != 'r'}[cell.lto]
    if cell.output == 'r' and cell.variant == 'gc-unused' and (cell.linker == 'bfd' or cell.linker == 'gold' and cell.lto != 'none'):
        return 'dead-kept' # the joined object has all notes in one section, which all its functions keep
    if dead and cell.linker == 'gold':
        return 'error' # gold does not link a note whose code it dropped
    left = []
    if dead and cell.linker == 'mold':
        left.append('dangling') # mold keeps the note of a dropped function; fastsdt-index removes it
    if cell.linker == 'mold' and not mold_joins() and cell.language == 'c++' and cell.output in ('static', 'static-pie'):
        left.append('split') # mold does not join our notes with those of libstdc++.a; fastsdt-index does
    return '+'.join(left) + ' -> ok' if left else 'ok'


def with_plugin(cell):
    """Whether functions get entry records. gold refuses every one whose function it drops."""
    return cell.linker != 'gold' or cell.variant == 'plain'


# ---- Building ----

class Workshop:
    def __init__(self, options):
        self.options = options
        self.dir = os.path.realpath(options.scratch)
        self.lock = threading.Lock()
        self.objects = {}
        os.makedirs(self.dir, exist_ok=True)
        # gcc finds lld by name only, in the directories of -B.
        for linker in (linker for linker in LINKERS if linker.startswith('lld')):
            os.makedirs(f'{self.dir}/{linker}', exist_ok=True)
            if not os.path.lexists(f'{self.dir}/{linker}/ld.lld'):
                os.symlink(shutil.which(f'ld.{linker}'), f'{self.dir}/{linker}/ld.lld')

    def run(self, command, **more):
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', **more)
        if self.options.verbose:
            print('+', ' '.join(command))
        if result.returncode:
            lines = result.stdout.splitlines() or ['?']
            # The driver's own last word says only that the linker failed.
            errors = [line for line in lines if 'error:' in line and 'linker command failed' not in line and 'ld returned' not in line]
            raise Failed(f'{os.path.basename(command[0])}: {(errors or lines)[0]}')
        return result.stdout

    def driver(self, cell):
        if cell.language == 'c':
            return cell.compiler
        return cell.compiler.replace('gcc', 'g++').replace('clang', 'clang++')

    def compile_flags(self, cell):
        flags = ['-O2', '-I' + self.options.include, '-fno-asynchronous-unwind-tables' if cell.language == 'c' else '-fexceptions']
        flags += {'exe': ['-fno-pie'], 'static': ['-fno-pie'], 'shared': ['-fPIC', '-fvisibility=hidden', '-DLIBRARY']}.get(cell.output, ['-fPIE'])
        if cell.variant != 'plain':
            flags += ['-ffunction-sections', '-fdata-sections']
        if cell.variant == 'gc-unused':
            flags += ['-DUNUSED']
        flags += {'none': [], 'full': ['-flto'], 'thin': ['-flto=thin']}[cell.lto]
        if with_plugin(cell):
            flags += ['-fplugin=' + self.plugin(cell)]
        return flags

    def plugin(self, cell, name='fastprobe.so'):
        return f'{self.options.plugins}/{cell.compiler.replace("clang", "llvm")}/{name}'

    def plugin_in_link(self, cell):
        """LTO compiles in the link (docs/linking.md)."""
        if cell.lto == 'none' or not with_plugin(cell):
            return []
        if cell.compiler.startswith('gcc'):
            return ['-fplugin=' + self.plugin(cell)]
        if cell.linker.startswith('lld'): # the code generator is lld's, whatever clang made the bitcode
            return [f'-Wl,-mllvm,-load={self.options.plugins}/llvm-{cell.linker[4:]}/fastprobe-pass.so']
        return ['-Wl,-plugin,' + self.plugin(cell, 'fastprobe-pass.so')]

    def compile(self, cell):
        flags = self.compile_flags(cell)
        key = (self.driver(cell), *flags)
        with self.lock:
            future = self.objects.get(key)
            mine = future is None
            if mine:
                future = self.objects[key] = concurrent.futures.Future()
                number = len(self.objects)
        if mine:
            try:
                suffix = {'c': 'c', 'c++': 'cpp'}[cell.language]
                result = []
                for name in ('main', 'other'):
                    result.append(f'{self.dir}/{number}-{name}.o')
                    self.run([self.driver(cell), *flags, '-c', f'{HERE}/{name}.{suffix}', '-o', result[-1]])
                future.set_result(result)
            except Failed as error:
                future.set_exception(error)
        return future.result()

    def linker_flags(self, cell):
        program = LINKER_PROGRAM[cell.linker]
        if cell.compiler.startswith('clang'):
            flags = ['--ld-path=/usr/bin/' + program]
        elif cell.linker.startswith('lld'):
            flags = ['-fuse-ld=lld', f'-B{self.dir}/{cell.linker}']
        else:
            flags = ['-fuse-ld=' + cell.linker]
        return flags

    def link(self, cell, output):
        objects = self.compile(cell)
        flags = ['-O2', *self.linker_flags(cell), *self.plugin_in_link(cell), *{'none': [], 'full': ['-flto'], 'thin': ['-flto=thin']}[cell.lto]]
        if cell.output == 'r':
            joined = output + '.joined.o'
            native = ['-flinker-output=nolto-rel'] if cell.lto != 'none' and cell.compiler.startswith('gcc') else []
            self.run([self.driver(cell), *flags, '-r', '-nostdlib', *native, *objects, '-o', joined])
            objects = [joined]
        flags += {'exe': ['-no-pie'], 'pie': ['-pie'], 'shared': ['-shared', '-fPIC'], 'static': ['-static', '-no-pie'],
                  'static-pie': ['-static-pie'], 'r': ['-pie']}[cell.output]
        if cell.variant != 'plain':
            flags += ['-Wl,--gc-sections']
        if cell.variant == 'icf':
            flags += ['-Wl,--icf=all']
        if cell.linker.startswith('lld') or cell.linker == 'mold':
            # By default RELRO shares a page of the file with .probes, and the kernel counts semaphores in the wrong one.
            flags += ['-Wl,-z,separate-loadable-segments']
        self.run([self.driver(cell), *flags, *objects, '-o', output])


# ---- Reading the result: ELF64, little endian ----

class Elf:
    def __init__(self, path):
        with open(path, 'rb') as file:
            self.data = file.read()
        shoff, = struct.unpack_from('<Q', self.data, 40)
        shentsize, shnum, shstrndx = struct.unpack_from('<HHH', self.data, 58)
        headers = [struct.unpack_from('<IIQQQQIIQQ', self.data, shoff + i * shentsize) for i in range(shnum)]
        names = headers[shstrndx][4]
        self.sections = [(self.text(names + h[0]), *h[1:]) for h in headers]

    def text(self, offset):
        return self.data[offset:self.data.index(b'\0', offset)].decode(errors='replace')

    def content(self, section):
        return b'' if section[1] == 8 else self.data[section[4]:section[4] + section[5]]

    def notes(self, name):
        for section in self.sections:
            if section[0] != name or section[1] != 7:
                continue
            content, at = self.content(section), 0
            while at < len(content):
                namesz, descsz, kind = struct.unpack_from('<III', content, at)
                descriptor = at + 12 + (namesz + 3 & ~3)
                yield content[at + 12:at + 12 + namesz - 1].decode(), kind, content[descriptor:descriptor + descsz]
                at = descriptor + (descsz + 3 & ~3)

    def site_addresses(self):
        """Inside functions only: GNU ld fills the room between them with nops that can look like a site."""
        functions = sorted({(value, size) for _, value, size, kind in self.symbols() if kind == 2})
        for section in self.sections:
            if section[2] & 4:
                content = self.content(section)
                at = content.find(SITE_BYTES)
                while at >= 0:
                    address = section[3] + at
                    if any(value <= address < value + size for value, size in functions):
                        yield address
                    at = content.find(SITE_BYTES, at + 1)

    def section_at(self, address):
        return next((s for s in self.sections if s[2] & 2 and s[3] <= address < s[3] + s[5]), None)

    def symbols(self):
        for section in self.sections:
            if section[1] == 2:
                strings = self.sections[section[6]][4]
                for at in range(section[4], section[4] + section[5], 24):
                    name, info, _, shndx, value, size = struct.unpack_from('<IBBHQQ', self.data, at)
                    if shndx:
                        yield self.text(strings + name), value, size, info & 15


Probe = collections.namedtuple('Probe', 'name pc base semaphore')


def stapsdt(elf):
    for owner, kind, descriptor in elf.notes('.note.stapsdt'):
        pc, base, semaphore = struct.unpack_from('<QQQ', descriptor)
        provider, name = descriptor[24:].split(b'\0')[:2]
        if provider.decode() == PROVIDER:
            yield Probe(name.decode(), pc, base, semaphore)


def layout_records(elf):
    """(type, address, operand) of each record, plain or in an index."""
    for owner, kind, d in elf.notes('.note.fastsdt'):
        if kind in (0x53, 0x45):
            yield (kind, *struct.unpack_from('<QQ', d, 8))
        elif kind == 0x49:
            _, offset_size, number_size, kind_size, header, count, kinds, base = struct.unpack_from('<BBBBIIIQ', d)
            offsets = header + kinds * kind_size
            numbers = offsets + count * offset_size
            for i in range(count):
                offset = int.from_bytes(d[offsets + i * offset_size:][:offset_size], 'little')
                number = int.from_bytes(d[numbers + i * number_size:][:number_size], 'little')
                row = header + number * kind_size
                yield (d[row], base + offset, *struct.unpack_from('<Q', d, row + 8))


def problems(cell, path):
    """Set of short words; empty: all is well."""
    elf = Elf(path)
    found = collections.defaultdict(list)
    hits = dict(HITS[cell.language])
    if cell.output == 'shared':
        del hits['main']
    sites = collections.Counter(elf.site_addresses())
    probes = list(stapsdt(elf))
    pcs = collections.Counter(probe.pc for probe in probes)
    layouts = collections.Counter(address for kind, address, _ in layout_records(elf) if kind == 0x53)
    for pc in (pcs - sites):
        found['dangling' if pc not in sites else 'duplicate'].append(f'stapsdt note at {pc:#x}')
    for pc in (sites - pcs):
        found['lost'].append(f'stapsdt note of the site at {pc:#x}')
    for pc in (layouts - sites):
        found['dangling' if pc not in sites else 'duplicate'].append(f'layout note at {pc:#x}')
    for pc in (sites - layouts):
        found['lost-layout'].append(f'layout note of the site at {pc:#x}')
    live = {probe.name for probe in probes if probe.pc in sites}
    for name in hits.keys() - live:
        found['lost'].append(f'probe {name}')
    if 'dead' in live:
        found['dead-kept'].append('probe dead')
    if sum(s[0] == '.note.stapsdt' and s[5] > 0 for s in elf.sections) > 1:
        found['split'].append('several .note.stapsdt')
    base = [s[3] for s in elf.sections if s[0] == '.stapsdt.base']
    if len(base) != 1 or any(probe.base != base[0] for probe in probes):
        found['base'].append(f'section at {base}, notes say {sorted({probe.base for probe in probes})}')
    if with_plugin(cell):
        functions = collections.defaultdict(list)
        for name, value, _, kind in elf.symbols():
            if kind == 2:
                functions[value].append(name)
        entries = [address for kind, address, _ in layout_records(elf) if kind == 0x45]
        for address in set(entries) - functions.keys():
            found['dangling'].append(f'entry record at {address:#x}')
        for address, names in functions.items():
            if address not in entries and any(OURS.match(name) for name in names):
                found['lost-entry'].append(f'{names[0]} at {address:#x}')
    operands = {address: operand for kind, address, operand in layout_records(elf) if kind == 0x53}
    semaphores = collections.defaultdict(set)
    for probe in probes:
        if probe.pc not in sites:
            continue
        if operands.get(probe.pc, probe.semaphore) != probe.semaphore:
            found['semaphore'].append(f'{probe.name}: the notes differ')
        semaphores[probe.name].add(probe.semaphore)
        if probe.semaphore:
            section = elf.section_at(probe.semaphore)
            if not section or section[2] & 5 != 1:
                found['semaphore'].append(f'{probe.name}: not in writable memory')
    for name, addresses in semaphores.items():
        if len(addresses) != 1 or (0 in addresses) == (name in ('implicit', 'explicit')):
            found['semaphore'].append(f'{name}: {addresses}')
    if cell.variant == 'icf' and (cell.output != 'r' or cell.lto == 'none'):
        twins = [value for name, value, _, _ in elf.symbols() if 'plain_twin_' in name]
        if len(twins) == 2 and len(set(twins)) != 1:
            found['not-folded'].append('the twins without probes are two functions')
    return found, live, hits


class Tracers:
    """One libbpf process per thread: most of its time goes into waiting for the kernel."""

    def __init__(self, options):
        self.options, self.local = options, threading.local()

    def libbpf(self, path, command, names):
        if not hasattr(self.local, 'process'):
            self.local.process = subprocess.Popen([self.options.hits, self.options.hits_bpf], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                  text=True)
        self.local.process.stdin.write(' '.join([path, PROVIDER, command, *names]) + '\n')
        self.local.process.stdin.flush()
        return self.local.process.stdout.readline()

    def gdb(self, path):
        text = subprocess.run(['gdb', '-nx', '-batch', '-ex', f'info probes stap ^{PROVIDER}$', path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout
        return collections.Counter(line.split()[2] for line in text.splitlines() if line.startswith('stap'))

    def bpftrace(self, path):
        text = subprocess.run(['bpftrace', '-l', f'usdt:{path}:*'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        return {line.rsplit(':', 1)[1] for line in text.splitlines() if f':{PROVIDER}:' in line}


def judge(cell, path, tracers, options):
    found, live, hits = problems(cell, path)
    command = path
    if cell.output == 'shared':
        command = f'{options.loader}@{path}'
    elif subprocess.run([path]).returncode:
        found['does-not-run'].append(path)
    if options.tracers and not found.keys() & {'dangling', 'split'}: # libbpf refuses the probe then, or does not find it
        names = tracers.gdb(path)
        if set(names) - {'dead'} != live - {'dead'}:
            found['gdb'].append(f'lists {sorted(names)}, the notes {sorted(live)}')
        line = tracers.libbpf(path, command, hits)
        counted = dict(word.split('=') for word in line.split() if '=' in word)
        for name, count in hits.items():
            if counted.get(name) != str(count):
                found['libbpf'].append(f'{name}: {counted.get(name)} instead of {count} ({line.strip()})')
    if options.bpftrace and 'dangling' not in found:
        names = tracers.bpftrace(path)
        if not live <= names:
            found['bpftrace'].append(f'lists {sorted(names)}, the notes {sorted(live)}')
    return found


def words(found):
    return '+'.join(sorted(found)) or 'ok'


def measure(cell, workshop, tracers, options):
    """(outcome, details)"""
    output = f'{workshop.dir}/{"-".join(cell).replace("+", "p")}' # bpftrace reads + in a path otherwise
    try:
        workshop.link(cell, output)
    except Failed as error:
        return 'error', str(error)
    try:
        found = judge(cell, output, tracers, options)
        outcome, details = words(found), '; '.join(itertools.chain(*found.values()))
        # The index has to be right everywhere, and repairs what a linker left.
        indexed = output + '.indexed'
        workshop.run([options.index, '-q', output, '-o', indexed])
        after = judge(cell, indexed, tracers, options) if outcome != 'ok' else problems(cell, indexed)[0]
        if any(kind == 0x45 for kind, _, _ in layout_records(Elf(indexed))) != with_plugin(cell):
            after['no-entries'].append('no entry records')
        if words(after) != outcome:
            outcome += ' -> ' + words(after)
            details += ' -> ' + '; '.join(itertools.chain(*after.values()))
        return outcome, details
    except Failed as error:
        return 'failed', str(error)
    finally:
        if not options.keep:
            for name in (output, output + '.indexed', output + '.joined.o'):
                if os.path.exists(name):
                    os.unlink(name)


def all_cells():
    return [Cell(*values) for values in itertools.product(COMPILERS, LINKERS, OUTPUTS, VARIANTS, LTOS, LANGUAGES)]


def diagonal(cells):
    """A small subset in which every pair of values from two dimensions that exists occurs at least once."""
    def pairs(cell):
        return {(i, cell[i], j, cell[j]) for i in range(len(cell)) for j in range(i)}
    missing = set().union(*(pairs(cell) for cell in cells))
    chosen = []
    while missing:
        best = max(cells, key=lambda cell: len(pairs(cell) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return chosen


def markdown(path):
    """The table of docs/recorded/linking.md from a report: outcomes counted over outputs and languages; what a linker does alike is one line."""
    short = {'dangling -> ok': 'index', 'split -> ok': 'index', 'dangling+split -> ok': 'index', 'dead-kept': 'kept'}
    counts = collections.defaultdict(collections.Counter)
    with open(path) as report:
        for line in report:
            fields = line.rstrip('\n').split('\t')
            cell = Cell(*fields[:6])
            counts[cell.compiler, cell.linker, cell.lto, cell.variant][short.get(fields[6], fields[6])] += 1
    alike = collections.defaultdict(lambda: collections.defaultdict(list))  # (linker, outcomes): compiler: LTOs
    for linker, compiler, lto in itertools.product(sorted({key[1] for key in counts}), dict.fromkeys(key[0] for key in counts), LTOS):
        row = [counts.get((compiler, linker, lto, variant)) for variant in VARIANTS]
        if any(row):
            outcomes = [', '.join(f'{cell[word]} {word}' for word in sorted(cell, key=lambda word: (word != 'ok', word))) if cell else '-'
                        for cell in row]
            alike[linker, ' | '.join(outcomes)][compiler].append(lto)
    print('| linker | compilers: LTO |', ' | '.join(VARIANTS), '|')
    print('|---' * (2 + len(VARIANTS)) + '|')
    for (linker, outcomes), objects in alike.items():
        same = collections.defaultdict(list)
        for compiler, ltos in objects.items():
            same[', '.join(ltos)].append(compiler)
        print(f'| {linker} |', '; '.join(f'{", ".join(compilers)}: {ltos}' for ltos, compilers in same.items()), '|', outcomes, '|')


def main():
    if sys.argv[-2:-1] == ['--markdown']:
        return markdown(sys.argv[-1])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--include', required=True, help='directory of fastsdt.h')
    parser.add_argument('--index', default='fastsdt-index')
    parser.add_argument('--hits', required=True, help='program that attaches libbpf')
    parser.add_argument('--hits-bpf', required=True, help='its BPF object')
    parser.add_argument('--plugins', required=True, help='directory with gcc-12/fastprobe.so and so on')
    parser.add_argument('--loader', required=True, help='program that loads a shared library and runs it')
    parser.add_argument('--scratch', default='matrix.tmp')
    parser.add_argument('--cells', default='diagonal', help='diagonal, all, or words that a cell must have: gcc-12,mold')
    parser.add_argument('--jobs', type=int, default=4)
    parser.add_argument('--no-tracers', dest='tracers', action='store_false')
    parser.add_argument('--bpftrace', action='store_true')
    parser.add_argument('--keep', action='store_true', help='leave the linked files in the scratch directory')
    parser.add_argument('--report', help='write one line per cell here')
    parser.add_argument('-v', '--verbose', action='store_true')
    options = parser.parse_args()

    workshop, tracers = Workshop(options), Tracers(options)
    cells = [cell for cell in all_cells() if not impossible(cell) and os.path.exists(workshop.plugin(cell, 'fastprobe.so'))
             and shutil.which(cell.compiler) and shutil.which(LINKER_PROGRAM[cell.linker])]
    if options.cells == 'diagonal':
        cells = diagonal(cells)
    elif options.cells != 'all':
        cells = [cell for cell in cells if set(options.cells.split(',')) <= set(cell)]
    failures = 0
    report = open(options.report, 'w') if options.report else None
    outcomes = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for cell, (outcome, details) in zip(cells, pool.map(lambda cell: measure(cell, workshop, tracers, options), cells)):
            outcomes[outcome] += 1
            if report:
                print(*cell, outcome, details, sep='\t', file=report, flush=True)
            if outcome != expected(cell):
                failures += 1
                print(f'FAIL: {" ".join(cell)}: {outcome}, expected {expected(cell)}\n      {details}', flush=True)
    print(f'{len(cells)} cells: ' + ', '.join(f'{count} {outcome}' for outcome, count in outcomes.most_common()))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
