// SPDX-License-Identifier: BSD-2-Clause
//
// C++: probes in templates and inline functions. However many files instantiate them, the linker keeps one copy of each
// function, and its note with it.
#include <fastsdt.h>

#include <cstdio>
#include <map>
#include <string>

enum class Outcome : unsigned char { hit, miss };

template <typename Key, typename Value> class Cache {
public:
    const Value& get(const Key& key)
    {
        auto found = entries.find(key);
        Outcome outcome = found != entries.end() ? Outcome::hit : Outcome::miss;
        FASTSDT(cache, lookup, this, outcome, entries.size());
        if (outcome == Outcome::miss)
            found = entries.emplace(key, Value{}).first;
        return found->second;
    }

private:
    std::map<Key, Value> entries;
};

int main()
{
    Cache<int, double> numbers;
    Cache<std::string, std::string> names;
    for (int i = 0; i < 10; i++) {
        numbers.get(i % 3);
        names.get(std::to_string(i % 4));
    }
    std::puts("20 lookups");
}
