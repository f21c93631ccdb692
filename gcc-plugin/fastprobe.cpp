// SPDX-License-Identifier: GPL-3.0-or-later
// fastprobe for GCC: makes function entries cheap to probe, and records them. docs/fastprobe.md is its contract.
//
// Three passes over each function:
//   fastprobe_select, before register allocation: decides whether the function is selected, and if it shall have a
//     frame, asks GCC for one (targetm.frame_pointer_required, no shrink-wrapping).
//   fastprobe_push, after scheduling: a push of the prologue becomes the first instruction where it can.
//   fastprobe_sites, right before branch shortening, when nothing changes instructions any more but before
//     GCC writes CFI: looks at the first instruction, puts a layout in front of it where that pays, and a label and the
//     note that records the entry in any case; and a site in front of every way out, where that is asked for.
#include "target_entry.h"

#include "early_push.h"
#include "exits.h"
#include "prologue_end.h"

#include <fastsdt/note.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))
PLUGIN_EXPORT int plugin_is_GPL_compatible;

namespace fastprobe {
namespace {

Options options;
Log log;

/// What the first pass decided for the function that is being compiled, for the second.
struct Current {
    tree function = NULL_TREE;
    bool selected = false;
    Request request;
    bool frame = false;
    const char* no_frame = nullptr;                // why it has none although it should
    int shrink_wrap = 0, shrink_wrap_separate = 0; // the user's options, while ours replace them
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
    const bool exit = is_attribute_p("fastprobe_exit", name);
    if (TREE_CODE(mode) == STRING_CST
        && (exit ? parse_exit(TREE_STRING_POINTER(mode)).has_value()
                 : parse_entry(TREE_STRING_POINTER(mode)).has_value()))
        return NULL_TREE;
    *no_add = true;
    error("argument of attribute %qE is not one of %s", name, exit ? exit_choices : entry_choices);
    return NULL_TREE;
}

// name, min_length, max_length, decl_required, type_required, function_type_required, affects_type_identity, handler
attribute_spec attributes[] = {
    {"fastprobe", 0, 1, true, false, false, false, handle_attribute, nullptr},
    {"fastprobe_exit", 1, 1, true, false, false, false, handle_attribute, nullptr},
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
    // Input that is preprocessed already (-save-temps, ccache) was preprocessed with the macro.
    macro_is_due = &parse_in && parse_in && !cpp_get_options(parse_in)->preprocessed;
}

void tell_preprocessor(void*, void*)
{
    if (!macro_is_due)
        return;
    macro_is_due = false;
    cpp_define(parse_in, "__FASTPROBE__=1");
    // -MD: make compiles again when a list has changed.
    if (mkdeps* dependencies = cpp_get_deps(parse_in))
        for (const std::string& list : options.lists)
            deps_add_dep(dependencies, list.c_str());
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
    current.request = options;
    const bool named = options.selection.selects(symbol_of(function));
    if (has_attribute(function, "no_fastprobe") || has_attribute(function, "no_instrument_function"))
        return;
    if (tree attribute = lookup_attribute("fastprobe", DECL_ATTRIBUTES(function))) {
        current.selected = true;
        if (tree arguments = TREE_VALUE(attribute))
            current.request.entry = *parse_entry(TREE_STRING_POINTER(TREE_VALUE(arguments)));
    }
    if (tree attribute = lookup_attribute("fastprobe_exit", DECL_ATTRIBUTES(function))) {
        current.request.exit = *parse_exit(TREE_STRING_POINTER(TREE_VALUE(TREE_VALUE(attribute))));
        current.selected = current.selected || current.request.exit != Exit::none; // "none" asks for nothing
    }
    if (current.selected)
        return;
    current.selected = named && count_instructions() >= options.min_insns;
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

/// Why this function can have no frame pointer: it would be in the way of the user's own use of that register, or null.
const char* why_no_frame()
{
    if (global_regs[HARD_FRAME_POINTER_REGNUM])
        return "the frame pointer is a global register variable";
    static const char initially_fixed[] = FIXED_REGISTERS;
    if (fixed_regs[HARD_FRAME_POINTER_REGNUM] && !initially_fixed[HARD_FRAME_POINTER_REGNUM])
        return "-ffixed-: the frame pointer is the user's";
    for (rtx_insn* insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
        if (!NONDEBUG_INSN_P(insn) || asm_noperands(PATTERN(insn)) < 0)
            continue;
        subrtx_iterator::array_type array;
        FOR_EACH_SUBRTX(part, array, PATTERN(insn), ALL)
        if (REG_P(*part) && REGNO(*part) == HARD_FRAME_POINTER_REGNUM)
            return "the function's asm uses the frame pointer";
    }
    return nullptr;
}

struct SelectPass : rtl_opt_pass {
    explicit SelectPass(gcc::context* context)
        : rtl_opt_pass({RTL_PASS, "fastprobe_select", OPTGROUP_NONE, TV_PLUGIN_RUN, 0, 0, 0, 0, 0}, context)
    {}

    unsigned execute(function*) final override
    {
        select(current_function_decl);
        current.frame = current.selected && !skip_reason(current_function_decl)
            && wants_frame(current.request.entry, target::arch, current.request.kernels, leaf_function_p());
        if (current.frame)
            current.no_frame = why_no_frame();
        current.frame = current.frame && !current.no_frame;
        if (current.frame) {
            current.shrink_wrap = flag_shrink_wrap;
            current.shrink_wrap_separate = flag_shrink_wrap_separate;
            flag_shrink_wrap = flag_shrink_wrap_separate = 0;
        }
        return 0;
    }
};

// ---- Second pass ----

/// On every kernel that is aimed at, a push at the entry is as good as a nop.
bool push_serves(Entry entry)
{
    if (target::arch != Arch::x86_64 || options.kernels.nop_pays(target::arch, First::other_push))
        return false;
    return entry == Entry::automatic || entry == Entry::auto_frame || entry == Entry::frame;
}

struct PushPass : rtl_opt_pass {
    explicit PushPass(gcc::context* context)
        : rtl_opt_pass({RTL_PASS, "fastprobe_push", OPTGROUP_NONE, TV_PLUGIN_RUN, 0, 0, 0, 0, 0}, context)
    {}

    unsigned execute(function*) final override
    {
        if (current.function == current_function_decl && current.selected && !current.no_frame
            && push_serves(current.request.entry) && !skip_reason(current_function_decl))
            move_push_first();
        return 0;
    }
};

// ---- Third pass ----

/// The beginning of a function's instructions, as it will be assembled.
struct EntryScan {
    EntryFacts front;
    rtx_insn* first = nullptr; ///< the first instruction behind the landing pad; null when there is none
    rtx_insn* at = nullptr;    ///< where a layout goes: in front of this, behind the pad and every branch target
    const char* pad = nullptr; ///< landing pad that a layout brings along, as text
};

EntryScan look_at_beginning()
{
    EntryScan beginning;
    for (rtx_insn* insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
        if (NOTE_P(insn) || DEBUG_INSN_P(insn) || BARRIER_P(insn))
            continue;
        if (beginning.front.lead == 0 && !beginning.at && target::is_landing_pad(insn)) {
            beginning.front.lead = landing_pad_size;
            continue;
        }
        if (!beginning.at)
            beginning.at = insn;
        if (LABEL_P(insn)) {
            if (LABEL_NUSES(insn) > 0 || LABEL_PRESERVE_P(insn))
                beginning.front.branch_target = true;
            continue;
        }
        if (!INSN_P(insn))
            break; // a jump table: not the front of any function
        if (GET_CODE(PATTERN(insn)) == USE || GET_CODE(PATTERN(insn)) == CLOBBER)
            continue;
        if (NONJUMP_INSN_P(insn) && get_attr_length(insn) == 0)
            continue; // blockage, stack_tie and the like
        beginning.first = insn;
        break;
    }
    if (!beginning.first)
        return beginning;
    beginning.front.first = target::classify(beginning.first);
    if (beginning.front.lead == 0)
        beginning.pad = target::landing_pad_before(beginning.first);
    if (beginning.pad)
        beginning.front.pad_with_nop = landing_pad_size;
    return beginning;
}

std::string describe(const EntryScan& beginning)
{
    rtx_insn* insn = beginning.first;
    if (const char* text = target::describe(beginning.front.first))
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

void tell(tree function, const Plan& plan, const EntryScan& beginning)
{
    if (log.idle())
        return;
    const std::string text = log.tell(target::arch, plan, symbol_of(function), unit_of(function), describe(beginning));
    if (!text.empty())
        inform(DECL_SOURCE_LOCATION(function), "fastprobe: %s", text.c_str());
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

Plan plan_function(tree function, const EntryScan& beginning)
{
    if (const char* reason = skip_reason(function))
        return skip(current.request, reason);
    if (!beginning.at) // not one instruction: __builtin_unreachable() and nothing else
        return skip(current.request, "no instructions: the next function begins here");
    EntryFacts front = beginning.front;
    front.no_frame = current.no_frame;
    front.own_section = flag_function_sections || DECL_COMDAT_GROUP(function) || DECL_SECTION_NAME(function);
    front.returns_twice = (flags_from_decl_or_type(function) & ECF_RETURNS_TWICE) != 0;
    HOST_WIDE_INT size;
    if (!stdarg_p(TREE_TYPE(function)) && crtl->args.size.is_constant(&size))
        front.stack_bytes = size;
    if (current.request.exit != Exit::none)
        front.ways = look_at_exits(beginning.first);
    return plan(target::arch, current.request, front);
}

std::string next_label()
{
    static unsigned counter;
    return ".Lfastprobe" + std::to_string(counter++);
}

void make_sites(tree function)
{
    const EntryScan beginning = look_at_beginning();
    const Plan plan = plan_function(function, beginning);
    if (!plan.skip) {
        const std::string label = next_label();
        const std::string& section = section_label(function, label);
        const bool added = plan.record.added != Decision::Add::nothing;
        emit_insn_before(gen_asm((added && beginning.pad ? std::string(beginning.pad) + "\n" : "")
                                 + entry_text(target::arch, plan, label, section)),
                         beginning.at);
        if (plan.exits.count > 0)
            make_exits(function, plan.exits, function_expression(plan, label), section, next_label);
        if (DECL_ALIGN(function) < plan.alignment * BITS_PER_UNIT)
            SET_DECL_ALIGN(function, plan.alignment * BITS_PER_UNIT);
        if (added)
            mark_prologue_end(function);
    }
    tell(function, plan, beginning);
}

struct SitesPass : rtl_opt_pass {
    explicit SitesPass(gcc::context* context)
        : rtl_opt_pass({RTL_PASS, "fastprobe_sites", OPTGROUP_NONE, TV_PLUGIN_RUN, 0, 0, 0, 0, 0}, context)
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
            make_sites(current_function_decl);
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
    watch_line_table();
}

void finish(void*, void*)
{
    if (seen_error())
        log.report.discard();
    if (const auto done = log.report.finish(); !done)
        stop(done.error().text());
    if (options.verbose && !seen_error())
        for (const std::string& name : options.selection.unmatched())
            inform(UNKNOWN_LOCATION, "fastprobe: list: %qs is no function here", name.c_str());
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

    for (int i = 0; i < arguments->argc; i++)
        if (const auto done = options.set(arguments->argv[i].key, arguments->argv[i].value); !done)
            stop(done.error().text());

    // Also when disabled: sources may use the attributes.
    register_callback(plugin, PLUGIN_ATTRIBUTES, register_attributes, nullptr);
    register_callback(plugin, PLUGIN_PRAGMAS, macro_will_be_due, nullptr);
    register_callback(plugin, PLUGIN_INCLUDE_FILE, tell_preprocessor, nullptr);
    if (options.disable)
        return 0;

    log.verbose = options.verbose;
    if (!options.report.empty())
        if (const auto done = log.report.open(options.report); !done)
            stop(done.error().text());
    register_callback(plugin, PLUGIN_START_UNIT, start_unit, nullptr);
    insert_pass(plugin, new SelectPass(g), "ira");
    insert_pass(plugin, new PushPass(g), "vartrack");
    insert_pass(plugin, new SitesPass(g), "shorten");
    register_callback(plugin, PLUGIN_FINISH, finish, nullptr);
    return 0;
}
