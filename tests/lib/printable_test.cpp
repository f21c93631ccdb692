// SPDX-License-Identifier: BSD-2-Clause
// What reaches a terminal of a name that somebody else chose. Python's Unicode tables are the judge.
#include "base/printable.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

using fastsdt::printable;

TEST(Printable, EscapesWhatATerminalObeys)
{
    EXPECT_EQ(printable("main"), "main");
    EXPECT_EQ(printable("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
    EXPECT_EQ(printable("a\nb\tc\r"), "a\\x0ab\\x09c\\x0d");
    EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(printable("\x7f"), "\\x7f");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b"); // U+009B, CSI in one character
    EXPECT_EQ(printable("\x9b"), "\\x9b");
}

TEST(Printable, EscapesWhatHidesOrReorders)
{
    EXPECT_EQ(printable("a\xe2\x80\xae"
                        "b"),
              "a\\xe2\\x80\\xaeb");                                   // U+202E, right-to-left override
    EXPECT_EQ(printable("\xe2\x81\xa6"), "\\xe2\\x81\\xa6");          // U+2066, left-to-right isolate
    EXPECT_EQ(printable("\xe2\x80\x8b"), "\\xe2\\x80\\x8b");          // U+200B, zero width space
    EXPECT_EQ(printable("\xef\xbb\xbf"), "\\xef\\xbb\\xbf");          // U+FEFF, byte order mark
    EXPECT_EQ(printable("\xf3\xa0\x81\x81"), "\\xf3\\xa0\\x81\\x81"); // U+E0041, tag letter
}

TEST(Printable, KeepsLettersOfOtherScripts)
{
    for (const char* text : {"größe", "プローブ", "зонд", "😀", "مسبار"})
        EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesWhatIsNotUtf8)
{
    EXPECT_EQ(printable("\xc3"), "\\xc3");
    EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                   // a slash in two bytes
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");          // a surrogate
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"); // above U+10FFFF
    EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");
}

// Every character that Unicode calls a control, a format character or a separator of lines is escaped; none that it
// calls a letter, a digit, a symbol or punctuation is, but for three that have no shape.
TEST(Printable, AgreesWithUnicode)
{
    std::FILE* python = popen("python3 -c '"
                              "import sys, unicodedata\n"
                              "for c in range(0xa0, 0x110000):\n"
                              "    k = unicodedata.category(chr(c))\n"
                              "    if k in (\"Cc\", \"Cf\", \"Zl\", \"Zp\") or k[0] in \"LNSP\" and c not in (0x115f, "
                              "0x1160, 0x3164, 0xffa0):\n"
                              "        sys.stdout.buffer.write(k.encode() + chr(c).encode() + b\"\\n\")\n"
                              "' 2>/dev/null",
                              "r");
    ASSERT_TRUE(python);
    char line[64];
    size_t count = 0;
    while (std::fgets(line, sizeof line, python)) {
        std::string text(line);
        text.pop_back();
        const std::string category = text.substr(0, 2), character = text.substr(2);
        const bool visible = category[0] != 'C' && category[0] != 'Z';
        ++count;
        EXPECT_EQ(printable(character) == character, visible) << category << ' ' << printable(character);
        if (HasFailure())
            break;
    }
    if (pclose(python) != 0)
        GTEST_SKIP() << "python3 is not installed";
    EXPECT_GT(count, 100000u);
}
