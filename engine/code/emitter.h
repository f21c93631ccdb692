// SPDX-License-Identifier: BSD-2-Clause
// Machine code as it grows: bytes, labels, and which registers were written. The assemblers, one for each architecture,
// encode the instructions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fastsdt::engine {

/// A set of registers, a bit for each. Registers have the numbers that their architecture encodes them by.
using Registers = uint32_t;

class Emitter {
public:
    /// @param start  runtime address of the first byte
    explicit Emitter(uint64_t start) : start_(start) {}
    Emitter(const Emitter&) = delete;
    Emitter& operator=(const Emitter&) = delete;
    virtual ~Emitter() = default;

    using Label = size_t;
    Label label();
    void bind(Label label);
    size_t labels() const { return labels_.size(); }

    /// Records that an instruction changes registers implicitly, or that a called routine does.
    void clobber(Registers registers) { written_ |= registers; }
    Registers written() const { return written_; }
    void forget_written() { written_ = 0; }

    size_t size() const { return bytes_.size(); }
    uint64_t here() const { return start_ + bytes_.size(); } ///< runtime address of what comes next
    /// Takes back all code from `size` on, and all labels from `labels` on.
    void rewind(size_t size, size_t labels);
    /// Some displacement did not fit: the arena is not within reach.
    bool far() const { return far_; }
    /// Fills in the displacements. Afterwards nothing more can be emitted.
    std::vector<std::byte> finish();

protected:
    void append(const void* bytes, size_t size);
    /// Says that the displacement at offset `at`, already emitted, leads to a label.
    void use(size_t at, Label label) { uses_.push_back({at, label}); }
    /// Writes the displacement at offset `at`; far_ says if it does not fit.
    virtual void displacement(size_t at, uint64_t target) = 0;

    uint64_t start_;
    std::vector<std::byte> bytes_;
    bool far_ = false;

private:
    struct Use {
        size_t at;
        Label label;
    };
    std::vector<size_t> labels_; // offsets; SIZE_MAX: not bound yet
    std::vector<Use> uses_;
    Registers written_ = 0;
};

} // namespace fastsdt::engine
