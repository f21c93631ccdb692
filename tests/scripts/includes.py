#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""includes.py TREE: files that use a name of a header which is precompiled (fastsdt_precompile() in CMakeLists.txt), and include it nowhere: neither
themselves nor by a header of ours. With the precompiled header such a file compiles; packages, which are built without, would not."""
import functools, glob, os, re, sys

NAMES = {
    "algorithm": r"std::(ranges::)?(sort|stable_sort|find|find_if|any_of|all_of|none_of|copy|min|max|clamp|lower_bound|upper_bound|count|equal|fill)\(",
    "array": r"std::(array|to_array)\b",
    "chrono": r"std::chrono\b",
    "filesystem": r"std::filesystem\b",
    "fstream": r"std::[io]?fstream\b",
    "functional": r"std::function\b",
    "map": r"std::(multi)?map\b",
    "memory": r"std::(unique_ptr|shared_ptr|make_unique|make_shared)\b",
    "optional": r"std::(optional|nullopt)\b",
    "set": r"std::(multi)?set\b",
    "span": r"std::(span|as_bytes)\b",
    "string": r"std::(string|to_string)\b",
    "string_view": r"std::string_view\b",
    "unordered_map": r"std::unordered_map\b",
    "vector": r"std::vector\b",
    "fmt/format.h": r"fmt::(format_to|print|memory_buffer)\b",
    "fmt/ranges.h": r"fmt::join\b",
}
ROOTS = ["lib", "engine", "uprobes", "include", "linker"]

os.chdir(sys.argv[1])
precompiled = re.search(r"target_precompile_headers\(\$\{target\} PRIVATE ([^)]*)\)", open("CMakeLists.txt").read())
listed = set(re.findall(r"<([^>]+)>", precompiled.group(1)))
if listed != set(NAMES):
    sys.exit(f"CMakeLists.txt precompiles other headers than this test knows: {' '.join(sorted(listed ^ set(NAMES)))}")


@functools.cache
def text(path):
    return re.sub(r"//.*", "", open(path, encoding="utf-8").read())


@functools.cache
def includes(path):
    found = set()
    for name in re.findall(r'^ *# *include +[<"]([^">]+)', text(path), re.M):
        places = (os.path.normpath(os.path.join(root, name)) for root in [os.path.dirname(path), *ROOTS])
        found.add(next(filter(os.path.isfile, places), f"<{name}>"))
    return found


def reached(path):
    seen, left = set(), [path]
    while left:
        file = left.pop()
        if file not in seen:
            seen.add(file)
            left += includes(file) if not file.startswith("<") else []
    return seen


files = [f for room in ("lib", "engine", "uprobes", "tools") for f in sorted(glob.glob(f"{room}/**/*", recursive=True)) if f.endswith((".h", ".cpp"))]
missing = [f"{file}: uses what <{header}> declares, and does not include it"
           for file in files for header, names in NAMES.items() if re.search(names, text(file)) and f"<{header}>" not in reached(file)]
print("\n".join(missing) if missing else f"{len(files)} files")
sys.exit(1 if missing or not files else 0)
