// SPDX-License-Identifier: BSD-2-Clause
// The language. The meaning of a text is written here by hand from bpftrace's reference guide; expressions.sh and
// maps.sh ask
// bpftrace itself.
#include "base/arch.h"
#include "script/parse.h"

#include <gtest/gtest.h>

namespace fastsdt::engine {
namespace {

// An expression with all its brackets; u or s behind each operation tells its signedness.
std::string shown(const Expression& e)
{
    switch (e.kind) {
    case Expression::Kind::number: return std::to_string(e.number);
    case Expression::Kind::text: return '"' + e.text + '"';
    case Expression::Kind::value:
        switch (e.value) {
        case Value::arg: return "arg" + std::to_string(e.argument);
        case Value::str_arg: return "str" + std::to_string(e.argument);
        case Value::tid: return "tid";
        case Value::pid: return "pid";
        case Value::nsecs: return "nsecs";
        case Value::probe: return "probe";
        case Value::retval: return "retval";
        case Value::elapsed: return "elapsed";
        case Value::comm: return "comm";
        case Value::function: return "func";
        case Value::stack: return "ustack" + std::to_string(e.argument);
        default: return e.text;
        }
    case Expression::Kind::map: {
        std::string text = "@" + std::to_string(e.map) + "[";
        for (const Expression& key : e.operands)
            text += shown(key) + ";";
        return text + "]" + (e.type.is_signed ? "s" : "u");
    }
    case Expression::Kind::variable: return "$" + std::to_string(e.variable);
    case Expression::Kind::memory: return "*(" + shown(e.operands[0]) + ")" + std::to_string(e.type.shape->size);
    case Expression::Kind::part: return shown(e.operands[0]) + "." + std::to_string(e.number);
    default: break;
    }
    static const char* const names[] = {"||", "&&", "|", "^", "&", "==", "!=",  "<", "<=", ">", ">=",  "<<",
                                        ">>", "+",  "-", "*", "/", "%",  "neg", "!", "~",  "?", "has", "swap"};
    std::string text = "(";
    for (const Expression& operand : e.operands)
        text += shown(operand) + " ";
    return text + names[size_t(e.op)] + (e.type.is_signed ? "s)" : "u)");
}

std::string filter(const std::string& text)
{
    const Script script = parse("usdt:./a:p:n /" + text + "/ { @ = count(); @m[tid] = nsecs; @neg[tid] = -1 }");
    return shown(*script.clauses.at(0).filter);
}

// "line:column what", or empty.
std::string error(const std::string& text, bool* kernel_can = nullptr, unsigned* since = nullptr)
{
    try {
        parse(text);
    } catch (const ScriptError& e) {
        if (kernel_can)
            *kernel_can = e.kernel_can;
        if (since)
            *since = e.since;
        const std::string whole = explain(e, text, "-e");
        EXPECT_EQ(whole.substr(0, 3), "-e:");
        return whole.substr(3, whole.find(": error") - 3) + " " + e.what();
    }
    return {};
}

bool kernel_only(const std::string& text)
{
    bool kernel_can = false;
    EXPECT_NE(error(text, &kernel_can), "") << text;
    return kernel_can;
}

} // namespace

TEST(Script, FirstExample)
{
    const Script script = parse("usdt:./app:shop:order /arg2 > 1000/ { @[arg0] = count(); @cents = hist(arg2); }");
    ASSERT_EQ(script.clauses.size(), 1u);
    const Clause& clause = script.clauses[0];
    ASSERT_EQ(clause.probes.size(), 1u);
    EXPECT_EQ(clause.probes[0].kind, Probe::Kind::usdt);
    EXPECT_EQ(clause.probes[0].file, "./app");
    EXPECT_EQ(clause.probes[0].provider, "shop");
    EXPECT_EQ(clause.probes[0].name, "order");
    EXPECT_EQ(shown(*clause.filter), "(arg2 1000 >u)");
    ASSERT_EQ(script.maps.size(), 2u);
    EXPECT_EQ(script.maps[0].name, "@");
    EXPECT_EQ(script.maps[0].kind, MapKind::count);
    ASSERT_EQ(script.maps[0].keys.size(), 1u);
    EXPECT_EQ(script.maps[0].keys[0].kind, ValueKind::integer);
    EXPECT_EQ(script.maps[1].name, "@cents");
    EXPECT_EQ(script.maps[1].kind, MapKind::hist);
    ASSERT_EQ(clause.actions.size(), 2u);
    EXPECT_EQ(shown(*clause.actions[1].value), "arg2");
}

TEST(Script, SecondExample)
{
    const Script script =
        parse("usdt:*:tcl:proc__entry { @s[tid] = nsecs; }\n"
              "usdt:*:tcl:proc__return /@s[tid]/ { @us = hist((nsecs - @s[tid]) / 1000); delete(@s[tid]); }");
    ASSERT_EQ(script.clauses.size(), 2u);
    EXPECT_EQ(script.maps[0].kind, MapKind::integer);
    EXPECT_EQ(script.maps[0].tid_key, 0u);
    EXPECT_TRUE(script.maps[0].read);
    EXPECT_FALSE(script.maps[0].type.is_signed);
    EXPECT_EQ(shown(*script.clauses[1].filter), "@0[tid;]u");
    EXPECT_EQ(shown(*script.clauses[1].actions[0].value), "((nsecs @0[tid;]u -u) 1000 /u)");
    EXPECT_EQ(script.clauses[1].actions[1].kind, Statement::Kind::remove);
}

TEST(Script, Precedence)
{
    EXPECT_EQ(filter("1 + 2 * 3 - 4"), "((1 (2 3 *s) +s) 4 -s)");
    EXPECT_EQ(filter("arg0 | arg1 ^ arg2 & arg3 == 1"), "(arg0 (arg1 (arg2 (arg3 1 ==u) &u) ^u) |u)");
    EXPECT_EQ(filter("arg0 << 1 + 2 < 3"), "((arg0 (1 2 +s) <<u) 3 <u)");
    EXPECT_EQ(filter("1 || 0 && !arg0"), "(1 (0 (arg0 !u) &&u) ||u)");
    EXPECT_EQ(filter("-~arg0 % 2"), "(((arg0 ~u) negu) 2 %u)");
    EXPECT_EQ(filter("(arg0 - 1) / (2)"), "((arg0 1 -u) 2 /u)");
    EXPECT_EQ(filter("arg0 / 2 > 1"), "((arg0 2 /u) 1 >u)");
}

TEST(Script, Signs)
{
    EXPECT_EQ(filter("-1 < 2"), "((1 negs) 2 <s)");
    EXPECT_EQ(filter("arg0 < -1"), "(arg0 (1 negs) <u)");
    EXPECT_EQ(filter("@m[tid] > 1"), "(@0[tid;]u 1 >u)");
    EXPECT_EQ(filter("@neg[tid] < 0"), "(@0[tid;]s 0 <s)");
    EXPECT_EQ(filter("1 >> arg0"), "(1 arg0 >>s)");
    // signedness through other maps, whichever stands first in the text
    const Script script =
        parse("usdt:a:b:c { @c = @b; @b = @a; @a = -5; @sum = sum(@c); @u = sum(arg0); @s = min(arg0) }");
    for (const char* name : {"@a", "@b", "@c", "@sum", "@s"})
        for (const Map& map : script.maps)
            EXPECT_TRUE(map.name != name || map.type.is_signed) << name;
    EXPECT_FALSE(script.maps.at(4).type.is_signed) << script.maps.at(4).name;
}

TEST(Script, Parameters)
{
    const auto condition = [](const std::string& text, const std::vector<std::string>& parameters) {
        const Script script = parse("usdt:a:$2:\"$1\" /" + text + "/ { @ = count() }", parameters);
        EXPECT_EQ(script.clauses[0].probes[0].provider, "shop");
        EXPECT_EQ(script.clauses[0].probes[0].name, "$1"); // in quotes
        return shown(*script.clauses[0].filter);
    };
    EXPECT_EQ(condition("arg0 > $1", {"-0x1F", "shop"}), "(arg0 -31 >u)");
    EXPECT_EQ(condition("$# == $3", {"18446744073709551615", "shop"}), "(2 0 ==s)");
    EXPECT_EQ(parse("usdt:a:b:c { @[str($3)] = $1 }", {"1", "2", "tea", "4"}).clauses[0].actions[0].keys[0].text,
              "tea");
    EXPECT_EQ(parse("usdt:a:b:c { @ = $2 }", {"1", "2"}).parameters, 2u);
    for (const char* const text :
         {"usdt:a:b:c { @ = $1 + 1 }", "usdt:a:b:$2 { @ = count() }", "usdt:a:b:c { @ = $0 }",
          "usdt:a:b:c { @ = $100 }", "usdt:a:b:c { @ = $1x }", "usdt:a:b:c { @[str($3)] = 1 }"})
        EXPECT_THROW(parse(text, {"tea", "", std::string(64, 'x')}), ScriptError) << text;
}

TEST(Script, Words)
{
    EXPECT_EQ(filter("0x1F + 1_000 + 2e3 + 10UL"), "(((31 1000 +s) 2000 +s) 10 +s)");
    EXPECT_EQ(filter("18446744073709551615"), "-1");
    EXPECT_EQ(filter("1 /* one */ + // two\n 2"), "(1 2 +s)");
    const Script script = parse("#!/usr/bin/bpftrace\nusdt:\"./a b\":p:n\n{ @[\"a\\t\\x41\\101\\\"\"] = count() }");
    EXPECT_EQ(script.clauses[0].probes[0].file, "./a b");
    EXPECT_EQ(script.clauses[0].actions[0].keys[0].text, "a\tAA\"");
}

TEST(Script, Probes)
{
    const Script script =
        parse("uprobe:./a:f, uprobe:./a:g* {@[probe]=count()}uretprobe:./a:f {@r=sum(retval);}"
              "interval:s:2 { print(@r, 3, 1000); clear(@r); exit() } interval:ms:5 { printf(\"100%%\\n\") } "
              "BEGIN { print(@) } END { clear(@r) } usdt:a:n { @ [probe] = count() }"
              "uprobe:a:f+4, uprobe:a:f+0x1c, uprobe:a:f+0, uprobe:a:cpp:\"ns::f\", uprobe:a:cpp:\"operator+\" { "
              "@[probe] = count() }");
    ASSERT_EQ(script.clauses.size(), 8u);
    const std::vector<Probe>& functions = script.clauses[7].probes;
    EXPECT_EQ(functions[0].name, "f");
    EXPECT_EQ(functions[0].offset, 4u);
    EXPECT_EQ(functions[1].offset, 0x1cu);
    EXPECT_EQ(functions[2].offset, 0u);
    EXPECT_EQ(functions[2].name, "f");
    EXPECT_FALSE(functions[2].source_name);
    EXPECT_TRUE(functions[3].source_name);
    EXPECT_EQ(functions[3].name, "ns::f");
    EXPECT_EQ(functions[4].name, "operator+");
    EXPECT_EQ(script.clauses[0].probes.size(), 2u);
    EXPECT_EQ(script.clauses[0].probes[1].name, "g*");
    EXPECT_EQ(script.clauses[0].probes[1].kind, Probe::Kind::entry);
    EXPECT_EQ(script.clauses[1].probes[0].kind, Probe::Kind::exit);
    EXPECT_EQ(script.clauses[2].probes[0].interval_us, 2000000u);
    EXPECT_EQ(script.clauses[2].actions[0].top, 3u);
    EXPECT_EQ(script.clauses[2].actions[0].div, 1000u);
    EXPECT_EQ(script.clauses[3].probes[0].interval_us, 5000u);
    EXPECT_EQ(script.clauses[3].actions[0].format.at(0).text, "100%\n");
    EXPECT_EQ(script.clauses[4].probes[0].kind, Probe::Kind::begin);
    EXPECT_EQ(script.clauses[5].probes[0].kind, Probe::Kind::end);
    EXPECT_EQ(script.clauses[6].probes[0].provider, "*");
    ASSERT_EQ(script.maps[0].keys.size(), 1u);
    EXPECT_EQ(script.maps[0].keys[0].kind, ValueKind::probe);
}

TEST(Script, ThreadKeys)
{
    const Script script =
        parse("usdt:a:b:c { @a[arg0, tid] = count(); @b[tid, arg0] = 1; @b[tid, 2] = 2; @c[tid] = 1; @c[arg0] = 2;"
              "@d = 1 } usdt:a:b:d { delete(@a[1, tid]) }");
    EXPECT_EQ(script.maps[0].tid_key, 1u);
    EXPECT_EQ(script.maps[1].tid_key, 0u);
    EXPECT_EQ(script.maps[2].tid_key, std::nullopt);
    EXPECT_EQ(script.maps[3].tid_key, std::nullopt);
}

TEST(Script, Lhist)
{
    const Script script = parse("usdt:a:b:c { @ = lhist(arg0, 10, 1000, 10) }");
    EXPECT_EQ(script.maps[0].low, 10);
    EXPECT_EQ(script.maps[0].high, 1000);
    EXPECT_EQ(script.maps[0].step, 10);
    EXPECT_EQ(script.maps[0].buckets(), 101u);
    EXPECT_EQ(error("usdt:a:b:c { @ = lhist(arg0, 0, 10000, 1) }"),
              "1:40 more than 1000 buckets: a larger step is wanted");
    EXPECT_EQ(error("usdt:a:b:c { @ = lhist(arg0, 0, 10, 0) }"), "1:37 the step is above 0");
    EXPECT_EQ(error("usdt:a:b:c { @ = lhist(arg0, 0, arg1, 1) }"),
              "1:33 lhist(VALUE, MIN, MAX, STEP) wants numbers from 0 up for the last three");
    EXPECT_EQ(error("usdt:a:b:c { @ = lhist(arg0, 0, 10, 1) } usdt:a:b:d { @ = lhist(arg0, 0, 10, 2) }"),
              "1:59 @ has another range elsewhere");
}

TEST(Script, Errors)
{
    EXPECT_EQ(error(""), "1:1 the script is empty: PROBE /FILTER/ { ACTION } is wanted");
    EXPECT_EQ(error("usdt:a:b:c\n/ arg0 >"), "2:9 a value is wanted, and not the end of the script");
    EXPECT_EQ(error("usdt:a:b:c { @ = count() @x = 1 }"),
              "1:26 \";\" or \"}\" is wanted after a statement, and not \"@x\"");
    EXPECT_EQ(error("usdt:a:b:c { @ = counts() }"), "1:18 \"counts\" is no function; did you mean \"count\"?");
    EXPECT_EQ(error("usdt:a:b:c { @ = elapsd }"), "1:18 \"elapsd\" is no value; did you mean \"elapsed\"?");
    EXPECT_EQ(error("usdt:a:b:c { pritnf(\"x\") }"), "1:14 \"pritnf\" is no function; did you mean \"printf\"?");
    // The first fault of a text counts, and not what the parser does not know behind it.
    EXPECT_EQ(error("usdt:a:b:c { @ = $x; @ = }"), "1:18 $x has no value here");
    EXPECT_EQ(error("usdt:a:b:c { @ = something() }"),
              "1:18 \"something\" is no function; fastsdt-trace(1), THE LANGUAGE, has all of them");
    EXPECT_EQ(error("usdt:a:b:c { @ = 'x' }"), "1:18 a string stands between two \"");
    EXPECT_EQ(error("usdt:a:b:c { @ = 1 } }"), "1:22 a probe is wanted here, and not \"}\"");
    EXPECT_TRUE(error("./a:b:c { @ = 1 }").ends_with("; did you mean \"usdt:./a:b:c\"?"));
    EXPECT_TRUE(error("main { @ = 1 }").ends_with("; a function is uprobe:FILE:main"));
    EXPECT_TRUE(error("begni { @ = 1 }").ends_with("; did you mean \"begin\"?"));
    EXPECT_EQ(error("usdt:a:b:c { printf(\"%s\", arg0) }"),
              "1:27 %s prints a string, and this is an integer; str(arg0) is the string it points to");
    EXPECT_EQ(error("usdt:a:b:c { $x = arg0; printf(\"%s\", $x) }"),
              "1:38 %s prints a string, and this is an integer; str($x) is the string it points to");
    EXPECT_EQ(error("usdt:a:b:c { printf(\"%s\", tid) }"), "1:27 %s prints a string, and this is an integer");
    EXPECT_EQ(error("usdt:a:b:c { printf(\"%d\", str(arg0)) }"),
              "1:27 %d prints an integer, and this is a string; %s prints it");
    // bpftrace refuses it too: 0.17's "Type mismatch for '=='".
    EXPECT_EQ(
        error("usdt:a:b:c /\"tea\" != arg1/ { @ = count() }"),
        "1:22 this is an integer, and what it is compared with is a string; str(arg1) is the string it points to");
    EXPECT_EQ(
        error("usdt:a:b:c /strncmp(arg1, \"tea\", 3) == 0/ { @ = count() }"),
        "1:21 this is an integer, and what it is compared with is a string; str(arg1) is the string it points to");
    EXPECT_EQ(error("usdt:a:b:c { @ = strlen(arg1) }"),
              "1:25 strlen() takes a string, and this is an integer; str(arg1) is the string it points to");
    EXPECT_EQ(error("usdt:a:b:c / arg0 > 3 { @ = count() }"), "1:23 a \"/\" is missing before \"{\"");
    EXPECT_EQ(error("usdt:a:b:c { @[1] = count(); clear(@[1]) }"), "1:37 clear() takes whole maps");
    EXPECT_EQ(error("usdt:a:b:c { print(1, 2) }"), "1:23 print() of a value takes nothing else");
    EXPECT_EQ(error("usdt:a:b:c { printf(\"%d %d\", 1) }"), "1:21 printf() wants 2 values for this text, and has 1");
    EXPECT_EQ(error("usdt:a:b:c { printf(\"%\", 1) }"), "1:21 the text of printf() ends in the middle of a conversion");
    EXPECT_EQ(error("usdt:a:b:c { printf(\"%n\", 1) }"),
              "1:21 %n is no conversion of printf(): %d, %u, %x, %X, %o, %p, %c, %s, %r, %f, %e and %g are");
    EXPECT_EQ(error("usdt:a:b:c { printf(\"%1000d\", 1) }"),
              "1:21 a width or a precision of printf() has 3 digits at most");
    EXPECT_EQ(error("usdt:a:b:c { @ = $x }"), "1:18 $x has no value here");
    EXPECT_EQ(error("usdt:a:b:c { $x += 1 }"), "1:14 $x has no value here");
    EXPECT_EQ(error("usdt:a:b:c { $x = 1 } usdt:a:b:d /$x/ { @ = count() }"), "1:35 $x has no value here");
    EXPECT_EQ(error("usdt:a:b:c { $x = 1; $x = \"a\" }"), "1:22 $x is an integer before, and cannot be a string too");
    EXPECT_EQ(error("usdt:a:b:c { $x 1 }"), "1:17 \"=\" is wanted after a variable, and not \"1\"");
    EXPECT_EQ(error("usdt:a:b:c { if arg0 { } }"), "");
    for (const char* const value : {"str(1)", "{ 1 }", "args.x", "(1, 2)", "@a", "$x"}) // it is of no clause
        EXPECT_NE(error(std::string("config = { license = ") + value + " } BEGIN { }"), "") << value;
    EXPECT_EQ(error("usdt:a:b:c { if arg0 @ = 1 }"), "1:22 \"(\" is wanted after \"if\", and not \"@\"");
    EXPECT_EQ(error("usdt:a:b:c { if (1) { @ = 1; }"),
              "1:31 a statement begins with a map, a variable or a function, and not with the end of the script");
    EXPECT_EQ(error("usdt:a:b:c { if (\"a\") { @ = 1; } }"), "1:18 a condition is an integer: 0 is false");
    EXPECT_EQ(error("usdt:a:b:c { @ = arg0 ? 1 : \"a\" }"),
              "1:29 this is a string, and the other value of \"?\" is an integer");
    EXPECT_EQ(error("usdt:a:b:c { unroll(0) { @++; } }"), "1:14 unroll minimum value is 1");
    EXPECT_EQ(error("usdt:a:b:c { unroll(100) { unroll(100) { @++; } } }"), "1:14 more than 1000 statements, unrolled");
    EXPECT_EQ(error("usdt:a:b:c { @ += \"a\" }"), "1:14 only integers are added");
    EXPECT_EQ(error("usdt:a:b:c { @ = count(); @++ }"), "1:27 @ is a count() elsewhere, and cannot be an integer too");
    EXPECT_EQ(error("usdt:a:b:c { @ = func }"),
              "1:18 func is the name of a uprobe's or uretprobe's function, and usdt:a:b:c is none");
    EXPECT_EQ(error("usdt:a:b:c { time(5) }"), "1:14 time() wants a string, or nothing");
    EXPECT_EQ(error("usdt:a:b:c { @ = count(); @ = 5 }"),
              "1:27 @ is a count() elsewhere, and cannot be an integer too");
    EXPECT_EQ(error("usdt:a:b:c { @[1] = count(); @[1,2] = count() }"), "1:30 @ has 1 key elsewhere, and 2 keys here");
    EXPECT_EQ(error("usdt:a:b:c { @[1] = count(); @[str(arg0)] = count() }"),
              "1:32 this key of @ is an integer elsewhere, and a string here");
    EXPECT_EQ(error("usdt:a:b:c /@x/ { @ = count() }"), "1:13 @x is never assigned anything");
    EXPECT_EQ(error("usdt:a:b:c { @ = sum(str(arg0)) }"), "1:22 a sum() takes integers, and this is a string");
    EXPECT_EQ(error("usdt:a:b:c { @ = sum(retval) }"),
              "1:22 retval is the result at a uretprobe, and usdt:a:b:c is none");
    EXPECT_EQ(error("uretprobe:a:b { @ = sum(arg0) }"),
              "1:25 arguments are those of a usdt probe or of a uprobe, and uretprobe:a:b is none");
    EXPECT_EQ(error("usdt:a:b:c/arg0/ { @ = count() }"),
              "1:1 a name with \"/\" stands in quotes; a filter, behind a blank");
    EXPECT_EQ(error("usdt:a:b:c { @ = arg12 }"), "1:18 arguments are arg0 to arg11");
    EXPECT_EQ(error("uprobe:a:b { @ = sarg10 }"), "1:18 arguments are sarg0 to sarg9");
    EXPECT_EQ(error("usdt:a:b:c { @ = sarg0 }"),
              "1:18 arguments on the stack are those of a uprobe, and usdt:a:b:c is none");
    EXPECT_EQ(error("uprobe:a:b { @ = str(arg9) }"),
              "1:18 arg9 is of usdt probes (of a function it is sarg" + std::to_string(9 - register_arguments(own_arch))
                  + "), and uprobe:a:b is none");
    EXPECT_EQ(error("usdt:a:b:c { @[\"x] = count() }"), "1:16 the string has no end");
    EXPECT_EQ(error("usdt:a:b:c { @ = 99999999999999999999 }"), "1:18 the number does not fit into 64 bits");
    EXPECT_EQ(error("usdt:a:b:c { @ = 12ab }"),
              "1:18 this is not a number: decimal, 0x1f, 0777 (octal), 1_000, 1e6 and 10ms are");
    EXPECT_EQ(error("macro f(x) { f(x) } BEGIN { @ = f(1) }"),
              "1:14 f() leads to too many macros: 20 in each other and 10000 in all are the most");
    EXPECT_EQ(error("macro f($x) { $x } BEGIN { @ = f(1) }"), "1:34 f() wants a variable here");
    EXPECT_EQ(error("macro f(@m) { @m[1] } BEGIN { @a[2] = 1; @ = f(@a[2]) }"), "1:48 f() wants a map here");
    EXPECT_EQ(error("macro f(x, y) { x } BEGIN { @ = f(1) }"), "1:33 f() takes 2 arguments, and has 1");
    EXPECT_EQ(error("usdt:a:b:c { count() }"), "1:14 the result of count() belongs to a map: @ = count(...)");
    EXPECT_EQ(error("foo:a { }").substr(0, 31), "1:1 \"foo\" is no kind of probe: ");
    EXPECT_EQ(error("usdt:a:b:c { @ = count()"),
              "1:25 \";\" or \"}\" is wanted after a statement, and not the end of the script");
    EXPECT_EQ(error("interval:s:0 { exit() }"), "1:1 an interval is from 1 to 1000000000");
    EXPECT_EQ(error("usdt:a:b:c { @ = count() /* }"), "1:26 the comment has no end");
}

// Texts that bpftrace takes and this subset does not: the tool names the command for these.
TEST(Script, KernelOnly)
{
    for (const char* text :
         {"usdt:a:b:c { @ = curtask }", "usdt:a:b:c { @[kstack] = count() }",
          "usdt:a:b:c { @[ustack(pages)] = count() }", "usdt:a:b:c { @[ustack(perf), ustack(raw)] = count() }",
          "usdt:a:b:c { $x = arg0 ? ustack : ustack(1) }", "kprobe:vfs_read { @ = count() }",
          "tracepoint:syscalls:sys_enter_read { @ = count() }", "usdt:a:b:c { for ($x : @) { } @ = 1 }",
          "usdt:a:b:c /str(arg0) < \"x\"/ { @ = count() }", "usdt:a:b:c { @ = ((struct s*)arg0)->x }",
          "BEGIN { printf(\"%s\", ustack); }",
          "usdt:a:b:c { printf(\"%s%s%s%s%s\", \"a\", \"b\", \"c\", \"d\", \"e\"); }",
          "usdt:a:b:c { @[1] = count(); delete(@[1]) }", "BEGIN { @[1] = 1 } usdt:a:b:c { @[2] = 1 }",
          "usdt:a:b:c, BEGIN { @ = count() }"})
        EXPECT_TRUE(kernel_only(text)) << text;
    // By bpftrace's CHANGELOG.md.
    for (const auto& [text, version] : {std::pair("usdt:a:b:c { @[1] = 1; for ($x : @) { } }", 21u),
                                        {"usdt:a:b:c { @[1] = count(); print(@[1]) }", 21u},
                                        {"usdt:a:b:c { @[1] = hist(arg0); print(@[1]) }", 21u},
                                        {"usdt:a:b:c { @a = count(); if (@a > 1) { exit() } }", 21u},
                                        {"usdt:a:b:c { @a = avg(arg0); if (@a > 1) { exit() } }", 22u},
                                        {"usdt:a:b:c { @[1] = count(); if (has_key(@, 1)) { exit() } }", 22u},
                                        {"usdt:a:b:c { @[1] = count(); @n = len(@) }", 20u},
                                        {"usdt:a:b:c { @ = curtask }", 0u}}) {
        bool kernel_can = false;
        unsigned since = 99;
        EXPECT_NE(error(text, &kernel_can, &since), "") << text;
        EXPECT_TRUE(kernel_can) << text;
        EXPECT_EQ(since, version) << text;
    }
    for (const char* text : {"usdt:a:b:c { @ = foo(1) }", "usdt:a:b:c { @ = }", "usdt:a:b { ", "BEGIN { exit( }",
                             "\x01", "usdt:a:b:c {@ = \xff}"})
        EXPECT_FALSE(kernel_only(text)) << text;
}

TEST(Script, DeepTextsEndInAnError)
{
    const std::string before = "usdt:a:b:c { @ = ", after = " }";
    EXPECT_NE(error(before + std::string(100000, '(') + "1" + std::string(100000, ')') + after), "");
    EXPECT_NE(error(before + std::string(100000, '~') + "1" + after), "");
    std::string sum = "1";
    for (int i = 0; i < 100000; ++i)
        sum += "+1";
    EXPECT_NE(error(before + sum + after), "");
}

TEST(Script, Caret)
{
    const std::string text = "usdt:a:b:c {\n\t@[\"\xc3\xa4\"] = xyz; }";
    try {
        parse(text);
        FAIL();
    } catch (const ScriptError& e) {
        EXPECT_EQ(
            explain(e, text, "x.bt"),
            "x.bt:2:12: error: \"xyz\" is no value: arg0 to arg11, sarg0 to sarg9, args.NAME, str(), retval, tid, pid, "
            "comm, nsecs, elapsed, probe, func, ustack, cpu, uid, gid and rand are\n\t@[\"\xc3\xa4\"] = xyz; }\n\t     "
            "    ^~~\n");
    }
}

} // namespace fastsdt::engine
