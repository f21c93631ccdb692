/* The rest of systemtap's surface, with the private names that others use: LTTng-UST calls _SDT_PROBE, gdb looks at
 * _SDT_NOTE_TYPE. Arguments have one possible operand, so that readelf's lines can be compared whole. */
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#include <sys/sdt-config.h>
#if _SDT_NOTE_TYPE != 3
#error note type
#endif
#ifndef _SDT_ASM_SECTION_AUTOGROUP_SUPPORT
#error sdt-config.h
#endif
#define PROVIDER expanded
#define NAME too
static const char note_name[] = _SDT_NOTE_NAME;
int main(void)
{
    register long in_rax __asm__("rax") = (long)note_name[0] - 's';
    STAP_PROBEV(test, variadic);
    STAP_PROBEV(test, variadic2, 1, -2L);
    STAP_PROBEV(test, variadic12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    STAP_PROBE2(PROVIDER, NAME, 3, 'c');
    DTRACE_PROBE3(PROVIDER, dtrace, 3, 4u, 5UL);
    _SDT_PROBE(lttng, none, 0, ());
    _SDT_PROBE(lttng, three, 3, (1, 2, 3));
    __asm__ volatile(STAP_PROBE_ASM(test, basic, -4@%%eax 8@$5) : : "r"(in_rax));
    __asm__ volatile(STAP_PROBE_ASM(test, templated, STAP_PROBE_ASM_TEMPLATE(2))
                     : : STAP_PROBE_ASM_OPERANDS(2, 7, 8UL));
    __asm__ volatile(STAP_PROBE_ASM(test, templated4, STAP_PROBE_ASM_TEMPLATE(4))
                     : : STAP_PROBE_ASM_OPERANDS(4, 1, 'c', -3L, 4u));
    __asm__ volatile("nop\n" STAP_PROBE_ASM(test, none, ) "nop\n" : : );
    return (int)in_rax;
}
__asm__(STAP_PROBE_ASM(test, toplevel, -4@%eax 8@(%rdi)));
