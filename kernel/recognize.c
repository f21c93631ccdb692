// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares <fastsdt/recognize.h> with the kernel that it is compiled into: what the header takes for a landing pad, a push, a
 * frame push or a nop10 has to be what arch_uprobe_analyze_insn() emulates or will patch, and the other way round. Parameter `analyze`: the
 * address of that function (/proc/kallsyms). The answer is in /sys/module/recognize/parameters/result.
 */
#include <linux/mm_types.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/uprobes.h>

#include <fastsdt/recognize.h>

typedef int analyze_t(struct arch_uprobe *auprobe, struct mm_struct *mm, unsigned long addr);

static unsigned long analyze;
module_param(analyze, ulong, 0);
static char result[256];
module_param_string(result, result, sizeof(result), 0444);

static unsigned int compared, different;

static void compare(const u8 *bytes, unsigned int length, bool header, bool kernel, const char *what)
{
	compared++;
	if (header != kernel && !different++)
		snprintf(result, sizeof(result), "FAIL recognize: %*ph: header: %s%s, kernel: %s%s", length, bytes,
			 header ? "" : "no ", what, kernel ? "" : "no ", what);
}

static int ask(struct arch_uprobe *auprobe, const u8 *bytes, unsigned int length, unsigned long addr)
{
	memset(auprobe, 0, sizeof(*auprobe));
#ifdef CONFIG_X86
	memset(auprobe->insn, 0xcc, sizeof(auprobe->insn));
	memcpy(auprobe->insn, bytes, length);
#else
	memcpy(&auprobe->insn, bytes, length);
#endif
	return ((analyze_t *)analyze)(auprobe, current->mm, addr);
}

#ifdef CONFIG_X86
static void pad_or_nop10(const u8 *bytes, unsigned int length, unsigned long addr, const void *nop_ops)
{
	struct fastsdt_recognized r;
	struct arch_uprobe auprobe;
	int err = ask(&auprobe, bytes, length, addr);

	fastsdt_recognize(&r, FASTSDT_MACHINE_X86_64, FASTSDT_LAYOUT_OTHER, bytes, min_t(unsigned long, length, PAGE_SIZE - addr % PAGE_SIZE));
	if (length == 4) {
		/* 0f 1e: the header does not know the other NOPs. */
		if (bytes[1] == 0x0f && bytes[2] == 0x1e)
			compare(bytes, length, r.lead == 4 && !r.breakpoints, !err && auprobe.ops == nop_ops && auprobe.branch.ilen == 4, "landing pad");
	} else {
		bool whole = r.layout == FASTSDT_LAYOUT_NOP10 && !r.breakpoints &&
			     (r.state == FASTSDT_STATE_PRISTINE || r.state == FASTSDT_STATE_STALE_CALL || r.state == FASTSDT_STATE_OTHER_TAIL);

		compare(bytes, length, whole, !err && test_bit(ARCH_UPROBE_FLAG_CAN_OPTIMIZE, &auprobe.flags), "nop10");
	}
}

static void each_neighbour(const u8 *bytes, unsigned int length, unsigned long addr, const void *nop_ops)
{
	unsigned int i, value;
	u8 changed[16];

	for (i = 0; i < length; i++)
		for (value = 0; value < 256; value++) {
			memcpy(changed, bytes, length);
			changed[i] = value;
			pad_or_nop10(changed, length, addr, nop_ops);
		}
}

static void run(void)
{
	static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa }, endbr32[] = { 0xf3, 0x0f, 0x1e, 0xfb };
	static const u8 nop10[] = { FASTSDT_BYTES_nop10 };
	struct fastsdt_recognized r;
	struct arch_uprobe auprobe;
	const void *nop_ops, *push_ops;
	unsigned int word;

	ask(&auprobe, "\x90", 1, 0x400000);
	nop_ops = auprobe.ops;
	ask(&auprobe, "\x55", 1, 0x400000);
	push_ops = auprobe.ops;
	each_neighbour(endbr64, sizeof(endbr64), 0x400000, nop_ops);
	each_neighbour(endbr32, sizeof(endbr32), 0x400000, nop_ops);
	each_neighbour(nop10, sizeof(nop10), 0x400000, nop_ops);
	each_neighbour(nop10, sizeof(nop10), 0x400ff6, nop_ops); /* the last that fits */
	each_neighbour(nop10, sizeof(nop10), 0x400ff7, nop_ops);
	for (word = 0; word < 0x10000; word++) {
		const u8 bytes[] = { word, word >> 8 };
		int err = ask(&auprobe, bytes, sizeof(bytes), 0x400000);

		fastsdt_recognize(&r, FASTSDT_MACHINE_X86_64, FASTSDT_LAYOUT_OTHER, bytes, sizeof(bytes));
		compare(bytes, sizeof(bytes), r.layout == FASTSDT_LAYOUT_PUSH, !err && auprobe.ops == push_ops, "push");
	}
}
#else
static void one(u32 insn)
{
	struct fastsdt_recognized r;
	struct arch_uprobe auprobe;
	__le32 word = cpu_to_le32(insn);
	const u8 *bytes = (const u8 *)&word;
	bool simulate = !ask(&auprobe, bytes, 4, 0x400000) && auprobe.simulate;

	fastsdt_recognize(&r, FASTSDT_MACHINE_ARM64, FASTSDT_LAYOUT_OTHER, bytes, 4);
	/* Pairs of registers, and hints: the header knows nothing else that is simulated. */
	if ((insn & 0x7e000000) == 0x28000000)
		compare(bytes, 4, r.layout == FASTSDT_LAYOUT_STP, simulate, "frame push");
	else if ((insn & 0xfffff01f) == 0xd503201f)
		compare(bytes, 4, r.layout == FASTSDT_LAYOUT_NOP || (r.lead && insn != 0xd503233f && insn != 0xd503237f), simulate, "bti or nop");
}

static void run(void)
{
	u32 imm, hint;
	int i, j;

	for (hint = 0; hint < 128; hint++)
		one(0xd503201f | hint << 5);
	for (imm = 0; imm < 128; imm++) {
		one(0xa9807bfd | imm << 15);
		for (i = 0; i < 32; i++)
			for (j = 0; j <= i; j++) /* one bit changed where they are the same, else two */
				one((0xa9807bfd | imm << 15) ^ (BIT(i) | BIT(j)));
	}
}
#endif

static int __init recognize_init(void)
{
	if (!analyze)
		return -EINVAL;
	run();
	if (!different)
		snprintf(result, sizeof(result), "ok recognize: %u instructions, header and kernel agree", compared);
	return 0;
}

static void __exit recognize_exit(void)
{
}

module_init(recognize_init);
module_exit(recognize_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("compares fastsdt/recognize.h with the kernel's uprobes");
