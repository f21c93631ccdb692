#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the completions of bash, zsh and fish from what the tools print for --help: completions.py BINDIR OUTDIR.

OUTDIR is tools/completions. Run it when an option has changed; the test tools.completions says when that was forgotten."""
import os, re, subprocess, sys

bindir, outdir = sys.argv[1:3]
TOOLS = ["fastsdt-check", "fastsdt-index", "fastsdt-probe", "fastsdt-dtrace", "fastsdt-trace"]


class Option:
    def __init__(self, names, value, text):
        self.names, self.value, self.text = names, value, " ".join(text.split())
        choices = re.search(r"\{(.*)\}", value)
        self.choices = choices.group(1).split(",") if choices else []
        self.kind = "choices" if choices else "none" if not value else "file" if value in ("FILE",
            "DIR") else "pid" if value.startswith("PID") else "word"


def options(tool, *command):
    out = subprocess.run([os.path.join(bindir, tool), *command, "--help"], capture_output=True, text=True, check=True).stdout
    found = []
    folded = False # the line goes on with the text of the one before
    for line in out.split("\n"):
        # "  -k,--kernel LIST   text"; fastsdt-dtrace writes "-V, --version". The text may be on the next line. CLI11 2.6 writes the
        # names in columns and folds the text.
        match = re.match(r" {2,10}(-[\w-]+(?:, *-[\w-]+)*)(?:[ =](?!Excludes:)([A-Z][^ ]*(?: in \[[^]]*\])?(?: \.\.\.)?))?(?: Excludes:(?: --\w+)+)?(?: +(.*))?$", line)
        if match:
            names = re.split(", *", match.group(1))
            found.append(Option(names, (match.group(2) or "").removesuffix(" ..."), match.group(3) or ""))
        elif found and line.startswith("   ") and (not found[-1].text or folded and line.startswith(" " * 20)):
            found[-1].text = " ".join([found[-1].text, *line.split()]).strip()
        elif tool == "fastsdt-dtrace" and line.startswith("  -I DIR, -D"):
            found += [Option(["-I"], "DIR", "directory for the preprocessor"), Option(["-D"], "NAME", "macro for the preprocessor"),
                      Option(["-U"], "NAME", "macro that the preprocessor forgets")]
        folded = tool != "fastsdt-dtrace" and (bool(match) or folded and line.startswith(" " * 20))
    if command:
        return found
    assert len(found) > 5, f"{tool}: the help text cannot be read: {[o.names for o in found]}"
    return found


all_options = {tool: options(tool) for tool in TOOLS}
names = {name for option in all_options["fastsdt-trace"] for name in option.names}
for command in ["serve", "record", "functions", "top", "report"]:
    all_options["fastsdt-trace"] += [option for option in options("fastsdt-trace", command) if not names & set(option.names)]
    names |= {name for option in all_options["fastsdt-trace"] for name in option.names}
HEAD = "# SPDX-License-Identifier: BSD-2-Clause\n# Made by tools/completions/write.py of what the tools print for --help.\n"


def bash():
    text = HEAD + """_fastsdt() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} options='' values='' file='' word
    # In --name=value bash makes three words of it.
    [ "$cur" != = ] || cur=''
    [ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD - 2]}
    COMPREPLY=()
    case ${COMP_WORDS[0]##*/} in
"""
    for tool in TOOLS:
        text += f"    {tool}{' | dtrace' if tool == 'fastsdt-dtrace' else ''})\n"
        text += f"        options='{' '.join(name for option in all_options[tool] for name in option.names)}'\n        case $prev in\n"
        for option in all_options[tool]:
            do = {"choices": "values='" + " ".join(option.choices) + "' ;;", "file": "file=1 ;;", "word": "return ;;",
                  "pid": 'values=$(cd /proc && echo [0-9]*) ;;'}.get(option.kind)
            if do:
                text += f"        {' | '.join(option.names)}) {do}\n"
        text += "        esac\n        ;;\n"
    return text + """    esac
    if [ -z "$values" ] && [ -z "$file" ] && [[ $cur = -* ]]; then values=$options; fi
    if [ -n "$values" ]; then
        while read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$values" -- "$cur")
    else
        compopt -o filenames 2>/dev/null
        while read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
    fi
}
complete -F _fastsdt """ + " ".join(TOOLS) + "\n"


def zsh():
    def quoted(s):
        return s.replace("'", "'\\''")
    text = f"#compdef {' '.join(TOOLS)}\n{HEAD}case $service in\n"
    for tool in TOOLS:
        text += f"{tool})\n    _arguments -S \\\n"
        for option in all_options[tool]:
            action = {"none": "", "choices": f":value:({' '.join(option.choices)})", "file": ":file:_files", "pid": ":process:_pids"}.get(option.kind,
                ":" + option.value.split(":")[0] + ":")
            described = re.sub(r"([\[\]:])", r"\\\1", option.text)
            for name in option.names:
                text += f"        '*{name}[{quoted(described)}]{quoted(action)}' \\\n"
        text += "        '*:file:_files'\n    ;;\n"
    return text + "esac\n"


def fish(tool):
    text = HEAD
    for option in all_options[tool]:
        line = f"complete -c {tool}"
        for name in option.names:
            line += f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" if len(name) == 2 else f" -o {name[1:]}"
        line += {"none": "", "choices": f" -x -a '{' '.join(option.choices)}'", "file": " -r -F",
                 "pid": " -x -a '(__fish_complete_pids)'"}.get(option.kind, " -x")
        text += line + " -d '" + option.text.replace("\\", "\\\\").replace("'", "\\'") + "'\n"
    return text


os.makedirs(outdir, exist_ok=True)
files = {"fastsdt.bash": bash(), "_fastsdt": zsh()}
files.update({tool + ".fish": fish(tool) for tool in TOOLS})
for name, text in files.items():
    open(os.path.join(outdir, name), "w").write(text)
