#!/bin/bash
# Every form that provider files have: what is read out of them is what compilers, readelf and systemtap's script see.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/dtrace/common.sh"

cat >forms.d <<'END'
/* A provider file with all that real ones have. */
#include "not read without -C"
#define CONTINUED(x) probe \
    nothing(x); /* a comment behind a directive
    probe neither(int); */
// one line: provider nobody { probe none(); };
typedef struct opaque opaque_t;
typedef struct {
	int dummy;
} info_t;
struct provider_like { struct { int a[2]; } provider; } x = { 1 }, *y;
enum colour { RED, GREEN } provider_of_colours;
static inline int function(struct info *i) { if (i) { return '{'; } return "}\"{"[0]; }
int (*table[2])(void) = { 0, 0 };
inline string names[int i] = i == 0 ? "zero" : "it's {";
translator args_t <info_t *i> { name = stringof(i->name); };

provider forms {
	# a comment of libvirt's, which isn't C
	#pragma D attributes Evolving/Evolving/Common provider forms provider
	probe nothing();
	probe no__blank( void );
	probe blank (int);
	probe class(const char *class, int errno, long free);      // keywords and macros
	probe provider(int probe, struct probe *provider);
	probe pointers(void**, struct Tcl_Obj **objv, const char *const *, node_t*a);
	probe numbers(unsigned, unsigned long long n, float, double d, signed char c, long int, uint8_t, _Bool);
	probe arrays(int a[4], char [], opaque_t *list[2]);
	probe functions(void (*)(int, ...), int (*callback)(void *, char [2]));
	probe ten(int, int, int, int, int,
	          int, int, int,

	          int, int);
	probe translated(node_t *c, const char *s) : (other_t *c, string a, int b);
	probe translated_to_nothing(int):();
	probe single_and__double___three(int)
	probe last__(int) }

provider empty { };
provider Mixed_Case { probe camelCase__Too(int); };
#pragma D attributes Private/Private/Unknown provider forms module

forms$target:::class
/self->x == 'q' && arg0 != "/* no comment"/
{
	printf("%s { \"", copyinstr(arg0));
	@[provider] = count();
}
BEGIN, END { exit(0); }
END
cat >expected <<'END'
FORMS_ARRAYS(3)
FORMS_BLANK(1)
FORMS_CLASS(3)
FORMS_FUNCTIONS(2)
FORMS_LAST_(1)
FORMS_NOTHING(0)
FORMS_NO_BLANK(0)
FORMS_NUMBERS(8)
FORMS_POINTERS(4)
FORMS_PROVIDER(2)
FORMS_SINGLE_AND_DOUBLE__THREE(1)
FORMS_TEN(10)
FORMS_TRANSLATED(2)
FORMS_TRANSLATED_TO_NOTHING(1)
MIXED_CASE_CAMELCASE_TOO(1)
END
$dtrace -h -s forms.d || fail "forms.d is refused"
expect "macros" "$(macros forms.h)" "$(LC_ALL=C sort expected)"
for text in 'forms:class(const char *class, int errno, long free)' \
    'forms:pointers(void * *, struct Tcl_Obj * *objv, const char * const *, node_t *a)' \
    'forms:numbers(unsigned, unsigned long long n, float, double d, signed char c, long int, uint8_t, _Bool)' 'forms:no__blank()'; do
    grep -qF "/* $text */" forms.h || fail "not in the header: $text"$'\n'"$(grep '^/\*' forms.h)"
done

# Every compiler and standard takes the header and the object, and readelf finds what is written above.
calls forms.h >calls.c
$dtrace -G -s forms.d || fail "no object of forms.d"
sed 's/(.*//' expected >names
count=0
for compiler in gcc g++ clang-14 clang++-19; do
    have $compiler || continue
    for standard in c89 c17 c++98 c++20; do
        case $compiler:$standard in *++*:c++* | gcc:c[81]* | clang-14:c[81]*) ;; *) continue ;; esac
        [[ $standard = c++* ]] && language=c++ || language=c
        $compiler -x $language -std=$standard -O1 -Wall -Wextra -pedantic -Werror -I"$INCLUDE" -c calls.c -o calls.o ||
            fail "$compiler -std=$standard refuses the header"
        gcc calls.o forms.o -o calls
        notes calls >notes-$compiler-$standard
        [ "$(wc -l <notes-$compiler-$standard)" = "$(wc -l <expected)" ] || fail "$compiler -std=$standard: $(cat notes-$compiler-$standard)"
        cmp notes-$compiler-$standard notes-gcc-c89
        count=$((count + 1))
    done
done
[ $count -ge 2 ] || fail "no compiler was tried"
# The note keeps the name as it is written; the numbers are those of the arguments passed.
for line in 'forms:ten [-1@$1 -8@$2 4@$3 8@$4 2@$5 -1@$1 -8@$2 4@$3 8@$4 2@$5] forms_ten_semaphore' \
    'forms:no__blank [] forms_no__blank_semaphore' 'forms:single_and__double___three [-1@$1] forms_single_and__double___three_semaphore' \
    'Mixed_Case:camelCase__Too [-1@$1] Mixed_Case_camelCase__Too_semaphore'; do
    grep -qxF -- "$line" notes-gcc-c89 || fail "no note is: $line"$'\n'"$(cat notes-gcc-c89)"
done

# What PostgreSQL's, CPython's, PHP's and Ruby's builds do to the header leaves one that works.
printf 'provider postgresql { probe query__start(const char *); };\n' >p.d
printf 'provider python { probe line(const char *, const char *, int); probe gc__start(int); };\n' >y.d
for case in "p.d|s/POSTGRESQL_/TRACE_POSTGRESQL_/g|TRACE_POSTGRESQL_QUERY_START(1)" \
    "y.d|s/PYTHON_/PyDTrace_/|PyDTrace_GC_START(1) PyDTrace_LINE(3)"; do
    IFS='|' read -r file script names <<<"$case"
    $dtrace -h -s $file -o raw.h
    sed "$script" raw.h >sed.h
    expect "macros after sed $script" "$(macros sed.h | xargs)" "$names"
    calls sed.h >sed.c
    $dtrace -G -s $file -o sed.o
    gcc -Wall -Werror -I"$INCLUDE" sed.c sed.o -o sed || fail "no program after sed $script"
done

# A file that includes <sys/sdt.h> before gets probes without semaphores, which nothing guards (dtrace(1) of systemtap).
$dtrace -h -s y.d
{ echo '#include <sys/sdt.h>'; calls y.h; } >early.c
gcc -Wall -Werror -I"$INCLUDE" early.c -o early || fail "<sys/sdt.h> before the header: does not link without an object"
expect "notes without semaphores" "$(notes early | sed 's/.*] //' | sort -u)" "-"
# The other way round, and two such headers in one file.
$dtrace -h -s p.d
{ echo '#include "p.h"'; echo '#include <sys/sdt.h>'; calls y.h; echo 'void f(void) { POSTGRESQL_QUERY_START("x"); }'; } >both.c
$dtrace -G -s p.d
$dtrace -G -s y.d
gcc -Wall -Werror -I"$INCLUDE" both.c p.o y.o -o both
expect "notes with semaphores" "$(notes both | sed 's/.*] //' | xargs)" \
    "postgresql_query__start_semaphore python_gc__start_semaphore python_line_semaphore"
