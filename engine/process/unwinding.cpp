// SPDX-License-Identifier: BSD-2-Clause
#include "process/unwinding.h"

#include <algorithm>
#include <span>

namespace fastsdt::engine {

Unwinding::Unwinding(ProcessView& view) : code_(view)
{
    code_.modules();
}

size_t Unwinding::capacity() const
{
    constexpr size_t for_others = size_t(1) << 17; // 1 MiB: more than the C++ library and libcrypto have
    return code_.rows() + for_others;
}

void Unwinding::write(Target& target, const Tables& tables, Window window)
{
    if (window.size == 0 || !tables.modules)
        return;
    const auto place = [&](size_t number) { return *tables.modules + 8 + number * UnwindModule::size; };
    std::vector<Module> now = code_.modules();
    if (now.empty()) // it has ended
        return;
    for (size_t i = 0; i < written_.size(); ++i) {
        const auto still = std::find(now.begin(), now.end(), written_[i]);
        if (still != now.end()) {
            now.erase(still);
        } else if (written_[i].code) {
            target.put_data(place(i) + UnwindModule::end, 0);
            written_[i] = {};
        }
    }
    for (const Module& module : now) {
        const std::vector<UnwindRow>& rows = module.code->rows;
        auto there = at_.find(module.code);
        if (there == at_.end()) {
            const size_t at = tables.rows + used_ * sizeof(UnwindRow), size = rows.size() * sizeof(UnwindRow);
            if (size > tables.rows_end - at)
                continue;
            target.write_data(at, std::as_bytes(std::span(rows)));
            there = at_.emplace(module.code, at).first;
            used_ += rows.size();
        }
        auto free = std::find_if(written_.begin(), written_.end(), [](const Module& each) { return !each.code; });
        if (free == written_.end()) {
            if (written_.size() == most_unwind_modules)
                return;
            free = written_.insert(written_.end(), Module());
        }
        *free = module;
        const size_t at = place(size_t(free - written_.begin()));
        target.put_data(at + UnwindModule::start, module.start);
        target.put_data(at + UnwindModule::base, module.base);
        target.put_data(at + UnwindModule::first, there->second);
        target.put_data(at + UnwindModule::count, rows.size());
        target.put_data(at + UnwindModule::end, module.end); // last: it is what makes a stub look at the others
        target.put_data(*tables.modules, written_.size());
    }
}

} // namespace fastsdt::engine
