#!/bin/bash
# Completions are those of the programs' --help, and shells take them.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3
there=$FASTSDT_SOURCE/tools/completions
python3 -B "$FASTSDT_SOURCE/tools/completions/write.py" "$FASTSDT_BUILD/bin" made
diff -r -x write.py "$there" made || fail "run tools/completions/write.py $FASTSDT_BUILD/bin tools/completions"

# Each option of --help is there, asked for in another way than the script does.
for command in fastsdt-check fastsdt-index fastsdt-probe fastsdt-trace 'fastsdt-trace serve'; do
    tool=${command%% *}
    for option in $($command --help | grep -oE '^  -[^ ]*' | tr ',' ' '); do
        grep -qE "^        options='([^']* )?${option}[ ']" "$there/fastsdt.bash" || fail "bash: $tool $option"
        grep -qF "'*${option}[" "$there/_fastsdt" || fail "zsh: $tool $option"
        case $option in
        --*) grep -q -- "-l ${option#--} " "$there/$tool.fish" || fail "fish: $tool $option" ;;
        *) grep -q -- "-s ${option#-} " "$there/$tool.fish" || fail "fish: $tool $option" ;;
        esac
    done
done

# bash, as it calls them.
complete_bash() { # WORDS...: the last one is to be completed
    bash -c '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _fastsdt; printf "%s\n" "${COMPREPLY[@]}"' _ "$there/fastsdt.bash" "$@" |
        sort | xargs
}
touch file-1 file-2
expect "options" "$(complete_bash fastsdt-check --f)" "--fail-on --functions"
expect "values" "$(complete_bash fastsdt-check --fail-on '')" "error info never warning"
expect "values after =" "$(complete_bash fastsdt-check --color = al)" always
expect "files" "$(complete_bash /usr/bin/fastsdt-index -v file)" "file-1 file-2"
expect "a file of an option" "$(complete_bash dtrace -s file)" "file-1 file-2"
complete_bash fastsdt-probe --pid '' | matches -w $$ || fail "no processes"
tried=bash
if have zsh; then
    zsh -n "$there/_fastsdt" || fail "zsh does not take it"
    zsh -fc "autoload -U compinit; fpath=('$there' \$fpath); compinit -u -d "$PWD/zcompdump"; print \$_comps[fastsdt-check]" | matches -x _fastsdt ||
        fail "zsh: no completion for fastsdt-check"
    tried="$tried zsh"
fi
if have fish; then
    export HOME=$PWD
    for tool in fastsdt-check fastsdt-index fastsdt-probe fastsdt-dtrace fastsdt-trace; do
        fish --no-config -c "source $there/$tool.fish" 2>err && [ ! -s err ] || fail "fish: $(cat err)"
    done
    expect "fish" "$(fish --no-config -c "source $there/fastsdt-check.fish; complete -C 'fastsdt-check --fail-on '" | cut -f1 | sort | xargs)" \
        "error info never warning"
    tried="$tried fish"
fi
echo "tried: $tried"
