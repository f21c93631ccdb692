// SPDX-License-Identifier: GPL-3.0-or-later
// fastprobe for GCC: makes function entries cheap to probe, and records them. docs/fastprobe.md is its contract.
//
// Two passes over each function:
//   fastprobe_select, before register allocation: decides whether the function is selected, and if it shall have a
//     frame, asks GCC for one (targetm.frame_pointer_required, no shrink-wrapping).
//   fastprobe_entry, right before branches get their lengths, when nothing changes instructions any more but before
//     GCC writes CFI: looks at the first instruction, puts a layout in front of it where that pays, and a label and the
//     note that records the entry in any case.
#include "target_entry.h"

#include <fastsdt/note.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))
PLUGIN_EXPORT int plugin_is_GPL_compatible;

namespace fastprobe {
namespace {

Options options;
Report report;

/// What the first pass decided for the function that is being compiled, for the second.
struct Current {
    tree function = NULL_TREE;
    bool selected = false;
    Entry entry = Entry::none;
    bool frame = false;
    int shrink_wrap = 0, shrink_wrap_separate = 0; // the user's, while ours are in force
} current;

[[noreturn]] void stop(const std::string& why)
{
    fatal_error(UNKNOWN_LOCATION, "fastprobe: %s", why.c_str());
}

std::string symbol_of(tree function)
{
    const char* symbol = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
    return symbol + (*symbol == '*'); // '*': as is, without the target's prefix
}

// ---- Attributes ----

tree handle_attribute(tree* node, tree name, tree arguments, int, bool* no_add)
{
    if (TREE_CODE(*node) != FUNCTION_DECL) {
        *no_add = true;
        warning(OPT_Wattributes, "%qE attribute applies to functions only", name);
        return NULL_TREE;
    }
    if (!arguments)
        return NULL_TREE;
    tree mode = TREE_VALUE(arguments);
    if (TREE_CODE(mode) == STRING_CST && parse_entry(TREE_STRING_POINTER(mode)))
        return NULL_TREE;
    *no_add = true;
    error("argument of attribute %qE is not one of %s", name, entry_choices);
    return NULL_TREE;
}

// name, min_length, max_length, decl_required, type_required, function_type_required, affects_type_identity, handler
attribute_spec attributes[] = {
    {"fastprobe", 0, 1, true, false, false, false, handle_attribute, nullptr},
    {"no_fastprobe", 0, 0, true, false, false, false, handle_attribute, nullptr},
};

void register_attributes(void*, void*)
{
    for (const attribute_spec& spec : attributes)
        register_attribute(&spec);
}

// PLUGIN_PRAGMAS comes when there is a preprocessor, but no line table yet: the debug hook of -g3 crashes on a macro
// that has no line. The next PLUGIN_INCLUDE_FILE is <built-in>, where GCC defines its own macros.
bool macro_is_due;

void macro_will_be_due(void*, void*)
{
    // What is preprocessed already (-save-temps, ccache) was so with the macro.
    macro_is_due = &parse_in && parse_in && !cpp_get_options(parse_in)->preprocessed;
}

void define_macro(void*, void*)
{
    if (macro_is_due)
        cpp_define(parse_in, "__FASTPROBE__=1");
    macro_is_due = false;
}

// ---- Selection ----

bool has_attribute(tree function, const char* name)
{
    return lookup_attribute(name, DECL_ATTRIBUTES(function));
}

unsigned count_instructions()
{
    unsigned n = 0;
    for (rtx_insn* insn = get_insns(); insn; insn = NEXT_INSN(insn))
        n += NONDEBUG_INSN_P(insn) && GET_CODE(PATTERN(insn)) != USE && GET_CODE(PATTERN(insn)) != CLOBBER;
    return n;
}

void select(tree function)
{
    current = Current();
    current.function = function;
    current.entry = options.entry;
    if (has_attribute(function, "no_fastprobe") || has_attribute(function, "no_instrument_function"))
        return;
    if (tree attribute = lookup_attribute("fastprobe", DECL_ATTRIBUTES(function))) {
        current.selected = true;
        if (tree arguments = TREE_VALUE(attribute))
            current.entry = *parse_entry(TREE_STRING_POINTER(TREE_VALUE(arguments)));
        return;
    }
    current.selected = count_instructions() >= options.min_insns && options.selection.selects(symbol_of(function));
}

/// Why nobody may change this entry, or null. Such a function has no record either, only a line in the report.
const char* skip_reason(tree function)
{
    if (has_attribute(function, "naked"))
        return "naked: its code is the user's own";
    if (crtl->patch_area_size > 0)
        return "-fpatchable-function-entry: the entry belongs to whoever patches it";
    if (flag_split_stack && !has_attribute(function, "no_split_stack"))
        return "-fsplit-stack: linkers look for the stack check at the function's first byte";
    for (ipa_ref* ref : cgraph_node::get(function)->ref_list.referring) {
        if (ref->use != IPA_REF_ALIAS)
            continue;
        if (lookup_attribute("ifunc", DECL_ATTRIBUTES(ref->referring->decl)))
            return "ifunc resolver: runs before the program is relocated";
    }
    return target::skip_reason(function);
}

// ---- First pass ----

bool (*previous_frame_pointer_required)(void);

bool frame_pointer_required()
{
    return (current.frame && current.function == current_function_decl) || previous_frame_pointer_required();
}

struct Select_pass : rtl_opt_pass {
    explicit Select_pass(gcc::context* context)
        : rtl_opt_pass({RTL_PASS, "fastprobe_select", OPTGROUP_NONE, TV_PLUGIN_RUN, 0, 0, 0, 0, 0}, context)
    {}

    unsigned execute(function*) final override
    {
        select(current_function_decl);
        current.frame = current.selected && !skip_reason(current_function_decl)
            && wants_frame(current.entry, target::arch, options.kernels, leaf_function_p());
        if (current.frame) {
            current.shrink_wrap = flag_shrink_wrap;
            current.shrink_wrap_separate = flag_shrink_wrap_separate;
            flag_shrink_wrap = flag_shrink_wrap_separate = 0;
        }
        return 0;
    }
};

// ---- Second pass ----

/// The front of a function's instructions, as it will be assembled.
struct Front {
    rtx_insn* pad = nullptr;    ///< landing pad, if the function has one
    rtx_insn* before = nullptr; ///< what to insert before, so that it is behind the pad and every branch target
    rtx_insn* first = nullptr;  ///< the first instruction behind the pad; null when there is none
    bool branch_target = false; ///< a used label stands right before `first`
};

Front look_at_front()
{
    Front front;
    for (rtx_insn* insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
        if (NOTE_P(insn) || DEBUG_INSN_P(insn) || BARRIER_P(insn))
            continue;
        if (!front.pad && !front.before && target::is_landing_pad(insn)) {
            front.pad = insn;
            continue;
        }
        if (!front.before)
            front.before = insn;
        if (LABEL_P(insn)) {
            if (LABEL_NUSES(insn) > 0 || LABEL_PRESERVE_P(insn))
                front.branch_target = true;
            continue;
        }
        if (!INSN_P(insn))
            break; // a jump table: not the front of any function
        if (GET_CODE(PATTERN(insn)) == USE || GET_CODE(PATTERN(insn)) == CLOBBER)
            continue;
        if (NONJUMP_INSN_P(insn) && get_attr_length(insn) == 0)
            continue; // blockage, stack_tie and the like
        front.first = insn;
        break;
    }
    return front;
}

std::string describe(rtx_insn* insn, First kind)
{
    if (const char* text = target::describe(kind))
        return text;
    if (!insn)
        return "nothing";
    if (GET_CODE(PATTERN(insn)) == ASM_INPUT || asm_noperands(PATTERN(insn)) >= 0)
        return "asm";
    int code = recog_memoized(insn);
    const char* pattern = code >= 0 ? get_insn_name(code) : nullptr;
    if (!pattern)
        return "unknown";
    return pattern + (*pattern == '*');
}

std::string unit_of(tree function)
{
    // In an LTO link the main file is a temporary of the linker plugin; the function's own is still known.
    const_tree context = get_ultimate_context(function);
    if (context && TREE_CODE(context) == TRANSLATION_UNIT_DECL && DECL_NAME(context))
        return IDENTIFIER_POINTER(DECL_NAME(context));
    return main_input_filename ? main_input_filename : "";
}

void tell(tree function, const Report_line& line)
{
    report.add(target::arch, line);
    if (!options.verbose)
        return;
    inform(DECL_SOURCE_LOCATION(function), "fastprobe: %s: %s, %s%s%s%s%s", line.symbol.c_str(), action(line),
           line.before.c_str(), line.before == line.after ? "" : " -> ",
           line.before == line.after ? "" : line.after.c_str(), line.reason.empty() ? "" : ": ", line.reason.c_str());
}

/// Basic asm. BUILTINS_LOCATION: `final` prints "# line file" for others, and crashes for none.
rtx asm_text(const std::string& text)
{
    return gen_rtx_ASM_INPUT_loc(VOIDmode, ggc_strdup(text.c_str()), BUILTINS_LOCATION);
}

/// The label that stands for the function's text section: one note section for each of those, not for each function.
const std::string& section_label(tree function, const std::string& label)
{
    // Where a split function's entry goes is settled later: it gets a note section to itself.
    if (crtl->has_bb_partition)
        return label;
    static std::map<section*, std::string> labels;
    return labels.emplace(function_section(function), label).first->second;
}

void make_entry(tree function)
{
    Front front = look_at_front();
    First found = front.first ? target::classify(front.first) : First::other;

    Report_line line;
    line.symbol = symbol_of(function);
    line.unit = unit_of(function);
    line.before = line.after = describe(front.first, found);
    line.entry = current.entry;
    if (const char* reason = skip_reason(function)) {
        line.skipped = true;
        line.reason = reason;
        return tell(function, line);
    }
    if (!front.before) { // not one instruction: __builtin_unreachable() and nothing else
        line.skipped = true;
        line.reason = "no instructions: the next function begins here";
        return tell(function, line);
    }

    Decision decision = decide(current.entry, target::arch, options.kernels, found, front.branch_target);
    const char* pad_text = nullptr;
    if (decision.add != Decision::Add::nothing && !front.pad && front.first)
        pad_text = target::landing_pad_before(front.first);
    // A probe at the record's address would fire once a round; the function's address has to stay the address.
    Entry_record& record = line.record;
    record.added = decision.add;
    record.found = found;
    record.lead = front.pad || pad_text ? target::landing_pad_size : 0;
    record.missed = decision.missed;
    record.returns_twice = (flags_from_decl_or_type(function) & ECF_RETURNS_TWICE) != 0;
    if (!stdarg_p(TREE_TYPE(function))) {
        HOST_WIDE_INT size;
        if (crtl->args.size.is_constant(&size))
            record.stack_bytes = size;
    }
    if (decision.add == Decision::Add::nop1_nop10) {
        // 16-byte alignment keeps bytes 1-10, or 5-14 behind endbr64, inside one page (docs/fastprobe.md).
        constexpr unsigned bits = 16 * BITS_PER_UNIT;
        if (DECL_ALIGN(function) < bits)
            SET_DECL_ALIGN(function, bits);
        record.aligned16 = true;
    }

    static unsigned counter;
    const std::string label = ".Lfastprobe" + std::to_string(counter++);
    std::string text;
    if (pad_text)
        text += std::string(pad_text) + "\n";
    text += label + ":\n\t";
    if (decision.add != Decision::Add::nothing)
        text += layout_text(decision.add) + "\n\t";
    text += record_text(target::arch, record, label, section_label(function, label));
    emit_insn_before(asm_text(text), front.before);

    line.bytes_added = layout_size(target::arch, decision.add) + (pad_text ? target::landing_pad_size : 0);
    if (decision.add != Decision::Add::nothing)
        line.after = decision.add == Decision::Add::nop ? "nop" : "nop1+nop10";
    line.reason = decision.reason;
    tell(function, line);
}

struct Entry_pass : rtl_opt_pass {
    explicit Entry_pass(gcc::context* context)
        : rtl_opt_pass({RTL_PASS, "fastprobe_entry", OPTGROUP_NONE, TV_PLUGIN_RUN, 0, 0, 0, 0, 0}, context)
    {}

    unsigned execute(function*) final override
    {
        // Functions that never had registers allocated (thunks that a target writes itself) come here unselected.
        if (current.function != current_function_decl)
            return 0;
        if (current.frame) {
            flag_shrink_wrap = current.shrink_wrap;
            flag_shrink_wrap_separate = current.shrink_wrap_separate;
        }
        if (current.selected)
            make_entry(current_function_decl);
        current = Current();
        return 0;
    }
};

// ---- Start and end ----

void start_unit(void*, void*)
{
    if (const char* why = target::unsupported())
        stop(std::string("unsupported target: ") + why);
    previous_frame_pointer_required = targetm.frame_pointer_required;
    targetm.frame_pointer_required = frame_pointer_required;
}

void finish(void*, void*)
{
    if (seen_error())
        report.discard();
    std::string error;
    if (!report.finish(error))
        stop(error);
}

/// The argument of --target in what `gcc -v` prints as "Configured with".
std::string configured_target(const std::string& configuration)
{
    const std::string option = "--target=";
    size_t at = configuration.rfind(option);
    if (at == std::string::npos)
        return "this machine";
    at += option.size();
    return configuration.substr(at, configuration.find(' ', at) - at);
}

bool same_compiler(plugin_gcc_version* version)
{
    if (plugin_default_version_check(version, &gcc_version))
        return true;
    fprintf(stderr,
            "fastprobe: this fastprobe.so was built for GCC %s (%s) for %s; the compiler is GCC %s (%s) for %s.\n"
            "fastprobe: use the fastprobe.so of that compiler, or build one with its plugin headers.\n",
            gcc_version.basever, gcc_version.datestamp, configured_target(gcc_version.configuration_arguments).c_str(),
            version->basever, version->datestamp, configured_target(version->configuration_arguments).c_str());
    return false;
}

void insert_pass(const char* plugin, opt_pass* pass, const char* reference)
{
    register_pass_info info = {pass, reference, 1, PASS_POS_INSERT_BEFORE};
    register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, nullptr, &info);
}

plugin_info about;

} // namespace
} // namespace fastprobe

PLUGIN_EXPORT int plugin_init(plugin_name_args* arguments, plugin_gcc_version* version)
{
    using namespace fastprobe;
    if (!same_compiler(version))
        return 1;

    const char* plugin = arguments->base_name;
    about.version = FASTSDT_VERSION_STRING;
    about.help = options_help;
    register_callback(plugin, PLUGIN_INFO, nullptr, &about);

    std::string error;
    for (int i = 0; i < arguments->argc; i++)
        if (!options.set(arguments->argv[i].key, arguments->argv[i].value, error))
            stop(error);

    // Also when disabled: sources may use the attributes.
    register_callback(plugin, PLUGIN_ATTRIBUTES, register_attributes, nullptr);
    register_callback(plugin, PLUGIN_PRAGMAS, macro_will_be_due, nullptr);
    register_callback(plugin, PLUGIN_INCLUDE_FILE, define_macro, nullptr);
    if (options.disable)
        return 0;

    if (!options.report.empty() && !report.open(options.report, error))
        stop(error);
    register_callback(plugin, PLUGIN_START_UNIT, start_unit, nullptr);
    insert_pass(plugin, new Select_pass(g), "ira");
    insert_pass(plugin, new Entry_pass(g), "shorten");
    register_callback(plugin, PLUGIN_FINISH, finish, nullptr);
    return 0;
}
