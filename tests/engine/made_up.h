// SPDX-License-Identifier: BSD-2-Clause
// Made-up clauses of everything that has a type: structures, arrays, tuples, strings, ?:, buffers, variables, maps of each kind.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <random>
#include <string>

// What arg0 points to, as the program has it and as the script declares it.
struct Inner {
    char tag[3];
    long v;
};
struct User {
    long id;
    char name[16];
    char path[40];
    short few;
    int numbers[6];
    char odd[5];
    Inner in;
    char wide[90];
    double real;
    float small;
};
inline constexpr const char* declared = R"(
    struct inner { char tag[3]; long v; };
    struct user { long id; char name[16]; char path[40]; short few; int numbers[6]; char odd[5]; struct inner in; char wide[90]; double real; float small; };
)";
inline constexpr const char* arguments = "8@%rax 8@%rcx 8@%r12 -4@%ebx";
inline const User user{
    7,       "alice", "/usr/share/somewhere", -3, {1, 2, 3, 4, 5, 6}, {'o', 'd', 'd', 's', '!'}, {"ta", 9}, "w",
    -1234.5, 2.75F};
inline const char long_text[] =
    "a text of the program that is longer than sixteen, and longer than sixty-four bytes too";

class MadeUpClauses {
public:
    /// @param tells_time  with what differs each time: clocks, random numbers
    explicit MadeUpClauses(uint64_t seed, bool tells_time = true) : random_(seed), tells_time_(tells_time) {}

    std::string script()
    {
        keys_.clear();
        first_.clear();
        std::string made;
        const int count = 1 + one_of(4);
        for (int i = 0; i < count; ++i)
            made += statement(2);
        return std::string(declared) + "usdt:*:p:n "
            + pick({"", "/arg1 + 1/ ", "/((struct user*)arg0)->name != \"bob\"/ "})
            + "{ $u = (struct user*)arg0; $i = arg1; $s = " + string(0) + "; $in = $u->in; $t = " + tuple_of(0) + "; "
            + first_ + made + "}";
    }

private:
    int one_of(int n) { return int(random_() % unsigned(n)); }
    std::string pick(std::initializer_list<std::string> of) { return of.begin()[one_of(int(of.size()))]; }

    std::string integer(int depth)
    {
        if (depth <= 0)
            return pick({"1", "arg1", "arg3", "$i", "(arg1 & 3)", "pid", "tid", "-5", "0x123456789abcdef"});
        switch (one_of(18)) {
        case 0:
            return "(" + integer(depth - 1)
                + pick({" + ", " - ", " * ", " / ", " % ", " & ", " | ", " ^ ", " << ", " >> "}) + integer(depth - 1)
                + ")";
        case 1: return "(" + integer(depth - 1) + " ? " + integer(depth - 1) + " : " + integer(depth - 1) + ")";
        case 2:
            return pick(
                {"$u->id", "$u->few", "$u->numbers[3]", "$u->in.v", "$in.v", "$u->odd[1]", "$u->numbers[arg1 & 3]"});
        case 3: return "(" + string(depth - 1) + pick({" == ", " != "}) + string(depth - 1) + ")";
        case 4:
            return "strncmp(" + string(depth - 1) + ", " + string(depth - 1) + ", " + std::to_string(1 + one_of(20))
                + ")";
        case 5: return "(" + map('i', depth - 1) + ")";
        case 6: return "$t.0";
        case 7: return "bswap(" + integer(depth - 1) + ")";
        case 8:
            if (!tells_time_)
                return pick({"uid", "gid", "cpu", "*(uint32*)arg0", "!arg1", "(int8)arg1", "(uint16)$i"});
            return pick({"nsecs", "elapsed", "cpu", "rand", "*(uint32*)arg0", "!arg1", "(int8)arg1", "(uint16)$i"});
        case 9:
            return "(" + integer(depth - 1) + pick({" == ", " != ", " < ", " <= ", " > ", " >= ", " && ", " || "})
                + integer(depth - 1) + ")";
        case 10: return pick({"$i++", "++$i", "$i--", "($i - ++$i)", "($i++ * 3 + $i)"});
        case 12: return "strlen(" + string(depth - 1) + ")";
        case 13: return has_key(depth - 1);
        case 14:
            return "(if (" + integer(depth - 1) + ") { " + integer(depth - 1) + " } else { " + integer(depth - 1)
                + " })";
        case 15:
            return "((double)" + pick({"arg0", "arg1", "arg2"}) + pick({" == ", " != ", " < ", " <= ", " > ", " >= "})
                + pick({"(double)arg1", "(float)arg3", "$u->real", "$u->small", "2.5", "-1e3", "3"}) + ")";
        case 16: return "(int64)" + pick({"(double)arg1", "(float)arg3", "$u->real", "$u->small", "(double)arg2"});
        case 11: return pick({"-", "~", "!"}) + ("(" + integer(depth - 1) + ")");
        default: return integer(0);
        }
    }

    std::string string(int depth)
    {
        if (depth <= 0)
            return pick({"\"\"", "\"short\"", "\"a literal with more than sixteen bytes\"", "str(arg2)", "$u->name",
                         "$u->odd", "$u->path", "\"sixty-three bytes, which is the most that a string has in here.\""});
        switch (one_of(10)) {
        case 0: return "(" + integer(depth - 1) + " ? " + string(depth - 1) + " : " + string(depth - 1) + ")";
        case 1: return "str(arg2, " + integer(depth - 1) + ")";
        case 2: return "str(arg2, " + std::to_string(one_of(70)) + ")";
        case 3: return pick({"comm", "$s", "$t.1", "$u->in.tag", "$in.tag", "$u->wide"});
        case 4: return map('s', depth - 1);
        default: return string(0);
        }
    }

    // Of known size everywhere, since a map's key has one size.
    std::string tuple_of(int depth)
    {
        return "(" + integer(depth) + ", " + (depth > 0 ? "$u->name" : "((struct user*)arg0)->name") + ", "
            + integer(depth) + ")";
    }
    std::string any_tuple(int depth)
    {
        std::string made = "(" + integer(depth - 1);
        for (int i = 1 + one_of(3); i > 0; --i)
            made += ", " + (one_of(2) ? string(depth - 1) : one_of(3) ? integer(depth - 1) : bytes(0));
        return made + ")";
    }
    std::string bytes(int depth)
    {
        if (depth <= 0)
            return pick({"$u->numbers", "$u->in", "$in", "buf(arg0, 13)", "buf($u->name)"});
        switch (one_of(5)) {
        case 0: return "$t";
        case 1: return any_tuple(depth);
        case 2: return "buf(arg0, " + integer(depth - 1) + ")";
        case 3: return map('t', depth - 1);
        default: return bytes(0);
        }
    }

    // The map's value: i(nteger), s(tring), t(uple), or an aggregation. The first mention says what its keys are.
    std::string map(char value, int depth) { return named(std::string("@") + value + char('a' + one_of(3)), depth); }
    std::string named(const std::string& name, int depth)
    {
        const char value = name[1];
        auto [found, fresh] = keys_.try_emplace(name);
        const bool is_read = value == 'i' || value == 's' || value == 't';
        if (fresh) {
            for (int i = one_of(3); i > 0; --i)
                found->second += "iisnt"[one_of(5)];
            if (is_read) // somebody has to assign it
                first_ += named(name, 0) + " = "
                    + (value == 'i'       ? integer(0)
                           : value == 's' ? string(0)
                                          : tuple_of(0))
                    + "; ";
        }
        std::string keys;
        for (const char kind : found->second)
            keys += (keys.empty() ? "" : ", ")
                + (kind == 'i'       ? integer(depth)
                       : kind == 's' ? string(depth)
                       : kind == 'n' ? std::string("$u->in")
                                     : tuple_of(depth));
        return keys.empty() ? name : name + "[" + keys + "]";
    }

    std::string statement(int depth)
    {
        switch (one_of(21)) {
        case 0: return map('c', 2) + " = count(); ";
        case 1: return map('h', 2) + " = hist(" + integer(2) + "); ";
        case 2: return map('v', 2) + " = stats(" + integer(2) + "); ";
        case 3: return map('m', 2) + " = max(" + integer(2) + "); ";
        case 4: return map('i', 1) + " = " + integer(2) + "; ";
        case 5: return map('s', 1) + " = " + string(2) + "; ";
        case 6: return map('t', 1) + " = " + tuple_of(2) + "; ";
        case 7: return "$s = " + string(3) + "; ";
        case 8: return "$t = " + tuple_of(2) + "; $i = " + integer(2) + "; ";
        case 9: return "printf(\"%d %s %s\\n\", " + integer(2) + ", " + string(2) + ", " + string(2) + "); ";
        case 10: return "print(" + (one_of(2) ? any_tuple(2) : one_of(2) ? bytes(2) : string(2)) + "); ";
        case 11: return "delete(" + map(pick({"i", "s", "t"})[0], 1) + "); ";
        case 12: return map('i', 1) + pick({" += ", " -= ", " *= ", " |= "}) + integer(2) + "; ";
        case 13: return map(pick({"n", "i"})[0], 1) + pick({"++; ", "--; "});
        case 14: return map('g', 2) + " = avg(" + integer(2) + "); " + map('u', 1) + " = sum(" + integer(2) + "); ";
        case 15:
            return map('w', 1) + " = min(" + integer(2) + "); " + map('l', 1) + " = lhist(" + integer(2)
                + ", 2, 50, 5); ";
        case 16: return pick({"$i++; ", "--$i; ", "$i += 7; "});
        case 18: {
            if (depth <= 0)
                return "let $l = arg1; $l++; ";
            const std::string turn = "$f" + std::to_string(depth);
            return "for (" + turn + " : " + pick({"0", "-1", "(arg1 & 1)"}) + ".." + std::to_string(one_of(5)) + ") { "
                + statement(depth - 1) + pick({"", "if (" + turn + " == 1) { continue; } "}) + "@uf" + " = sum(" + turn
                + "); } ";
        }
        case 17:
            if (depth <= 0)
                return "";
            return looped(depth, "$n" + std::to_string(depth)); // a variable for each level
        default:
            if (depth <= 0)
                return "";
            return "if (" + integer(2) + ") { " + statement(depth - 1) + statement(depth - 1) + "} else { "
                + statement(depth - 1) + "} ";
        }
    }

    // Of a map with keys.
    std::string has_key(int depth)
    {
        const std::string name = std::string("@") + "ist"[one_of(3)] + char('a' + one_of(3));
        const auto known = keys_.find(name);
        if (known == keys_.end() || known->second.empty())
            return integer(0);
        const std::string at = named(name, depth);
        return "has_key(" + name + ", (" + at.substr(name.size() + 1, at.size() - name.size() - 2) + "))";
    }

    std::string looped(int depth, const std::string& turn)
    {
        return turn + " = 0; while (" + turn + "++ < " + std::to_string(one_of(4)) + ") { " + statement(depth - 1)
            + pick({"", "if (" + turn + " == 2) { break; } ", "if (" + turn + " == 1) { continue; } "}) + statement(0)
            + "} ";
    }

    std::mt19937_64 random_;
    const bool tells_time_;
    std::map<std::string, std::string> keys_;
    std::string first_;
};
