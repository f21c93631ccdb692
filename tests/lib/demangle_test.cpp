// SPDX-License-Identifier: BSD-2-Clause
// Names of C++ and Rust. Expected is what c++filt (binutils 2.40) prints, for Rust without the hashes that it adds, and what the ABIs say.
#include "base/demangle.h"
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

using fastsdt::demangled;
using fastsdt::has_source_name;

TEST(Demangle, IsWhatTheSourceHas)
{
    EXPECT_EQ(demangled("_ZN2ns5Class1fEi"), "ns::Class::f(int)");
    EXPECT_EQ(demangled("_ZN2ns5twiceIdEET_S1_"), "double ns::twice<double>(double)");
    EXPECT_EQ(demangled("_ZN2ns12_GLOBAL__N_16hiddenEi"), "ns::(anonymous namespace)::hidden(int)");
    EXPECT_EQ(demangled("_ZN2ns5Class1fEi.constprop.0"), "ns::Class::f(int) [clone .constprop.0]");
    EXPECT_EQ(demangled("_ZN4main3foo17h0123456789abcdefE"), "main::foo");
    EXPECT_EQ(demangled("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
    EXPECT_EQ(demangled("_RINvNtC3std3mem8align_ofdE"), "std::mem::align_of::<f64>");
}

TEST(Demangle, LeavesOthersAlone)
{
    for (const char* name :
         {"", "_", "_Z", "_R", "main", "h", "_start", "_Zqq", "_Random", "_ZN2ns5Class1fE\xff", "main.(*server).add"})
        EXPECT_EQ(demangled(name), "") << name;
}

TEST(Demangle, FindsByTheSourcesName)
{
    const std::string method = "_ZN2ns5Class1fEi", instance = "_ZN2ns5twiceIdEET_S1_";
    EXPECT_TRUE(has_source_name(method, "ns::Class::f"));
    EXPECT_TRUE(has_source_name(method, "ns::Class::f(int)"));
    EXPECT_TRUE(has_source_name(method, "ns::*"));
    EXPECT_TRUE(has_source_name(method, "*::f"));
    EXPECT_TRUE(has_source_name(method, "*"));
    EXPECT_TRUE(has_source_name("_ZN2ns5Class1fEi.isra.0", "ns::Class::f(int)"));
    EXPECT_TRUE(has_source_name("_ZN12_GLOBAL__N_14anonEi", "(anonymous namespace)::anon"));
    EXPECT_TRUE(has_source_name("_ZN12_GLOBAL__N_14anonEi", "(anonymous namespace)::anon(int)"));
    EXPECT_FALSE(has_source_name("_ZN12_GLOBAL__N_14anonEi", "(anonymous namespace)::anon(long)"));
    EXPECT_FALSE(has_source_name(method, "ns::Class::f(double)"));
    EXPECT_FALSE(has_source_name(method, "f"));
    EXPECT_FALSE(has_source_name(method, "ns::Class"));
    EXPECT_TRUE(has_source_name("_ZN2ns5Class1fEi.constprop.0", "ns::Class::f"));
    EXPECT_TRUE(has_source_name(instance, "ns::twice"));
    EXPECT_TRUE(has_source_name(instance, "ns::twice<double>"));
    EXPECT_FALSE(has_source_name(instance, "ns::twice<int>"));
    EXPECT_TRUE(has_source_name("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of"));
    EXPECT_TRUE(has_source_name("_ZN1AlsEi", "A::operator<<")); // c++filt: A::operator<<(int)
    EXPECT_FALSE(has_source_name("_ZN1AlsEi", "A::operator"));
    EXPECT_TRUE(has_source_name("_ZN1AptEv", "A::operator->")); // no template either
    EXPECT_TRUE(has_source_name("_Z1fPc", "f(char*)"));         // the star stands for itself, too
    EXPECT_TRUE(has_source_name("plain", "plain"));             // extern "C"
    for (const char* wanted :
         {"clang::getClangFullVersion", "clang::getClangFullVersion()", "clang::getClangFullVersion[abi:cxx11]()"})
        EXPECT_TRUE(has_source_name("_ZN5clang19getClangFullVersionB5cxx11Ev", wanted)) << wanted;
    EXPECT_TRUE(has_source_name("main.(*server).add", "main.(*server).add"));
}

// Each part is twice the one before, by reference: a few hundred bytes for 2^30 names.
TEST(Demangle, EndsWhereATextWouldNot)
{
    std::string cxx = "_Z1fSt4pairIiiE", rust = "_RIC1aTllE";
    const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (size_t i = 0; i < 30; ++i)
        cxx += "S_IS" + digits.substr(i, 1) + "_S" + digits.substr(i, 1) + "_E";
    const auto base62 = [](size_t n) {
        const std::string all = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        std::string text;
        for (--n;; n = n / 62) {
            text.insert(0, all.substr(n % 62, 1));
            if (n < 62)
                return text + "_";
        }
    };
    size_t last = 4; // where the tuple before begins, behind "_R"
    for (size_t i = 0; i < 60; ++i) {
        const size_t at = rust.size() - 2;
        rust += "TB" + base62(last) + "B" + base62(last) + "E";
        last = at;
    }
    rust += "E";
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(demangled(cxx), "");
    EXPECT_EQ(demangled(rust), "");
    EXPECT_FALSE(has_source_name(cxx, "f(*"));
    EXPECT_EQ(demangled("_Z" + std::string(100'000, 'P') + "i"), "");
    EXPECT_LT(std::chrono::steady_clock::now() - begin,
              std::chrono::seconds(20)); // a whole run of them would take years
}

TEST(Nearest, IsOneOrTwoLettersAway)
{
    fastsdt::Nearest nearest("walk_tree");
    for (const char* word : {"walk", "wlak_tree", "walk_tee", "walk_three", "other"})
        nearest.look(word);
    EXPECT_EQ(nearest.word(), "wlak_tree"); // the first of those that are one step away
    EXPECT_EQ(did_you_mean(nearest), "; did you mean \"wlak_tree\"?");
    fastsdt::Nearest none("ab");
    none.look("ac");
    EXPECT_EQ(did_you_mean(none), "");
    fastsdt::Nearest near("frob");
    near.look("prob");
    EXPECT_EQ(near.word(), "prob");
    fastsdt::Nearest too_far("frob"); // two of four letters are others
    too_far.look("probe");
    EXPECT_EQ(too_far.word(), "");
}

TEST(Nearest, PatternsAreLookedForAtTheirEnd)
{
    const auto near = [](const char* meant) {
        fastsdt::NearestPattern nearest(meant);
        for (const char* word : {"", "main", "processCommand", "readQueryFromClient"})
            nearest.look(word);
        return nearest.word();
    };
    EXPECT_EQ(near("*Comand"), "*Command");
    EXPECT_EQ(near("prosess*"), "process*");
    EXPECT_EQ(near("mian"), "main");
    for (const char* none : {"*", "*other", "*Comand*", "ma?n", "", "**"})
        EXPECT_EQ(near(none), "") << none;
}
