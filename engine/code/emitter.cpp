// SPDX-License-Identifier: BSD-2-Clause
#include "code/emitter.h"

#include <stdexcept>
#include <utility>

namespace fastsdt::engine {

Emitter::Label Emitter::label()
{
    labels_.push_back(SIZE_MAX);
    return labels_.size() - 1;
}

void Emitter::bind(Label label)
{
    labels_[label] = bytes_.size();
}

void Emitter::append(const void* bytes, size_t size)
{
    const auto* const first = static_cast<const std::byte*>(bytes);
    bytes_.insert(bytes_.end(), first, first + size);
}

void Emitter::rewind(size_t size, size_t labels)
{
    bytes_.resize(size);
    labels_.resize(labels);
    while (!uses_.empty() && uses_.back().at >= size)
        uses_.pop_back();
}

std::vector<std::byte> Emitter::finish()
{
    for (const Use& use : uses_) {
        if (labels_[use.label] == SIZE_MAX) // the process would execute whatever is there
            throw std::logic_error("code jumps to a label without a place");
        displacement(use.at, start_ + labels_[use.label]);
    }
    return std::move(bytes_);
}

} // namespace fastsdt::engine
