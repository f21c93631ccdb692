// SPDX-License-Identifier: BSD-2-Clause
// BPF programs, instruction by instruction, so that neither clang nor BTF is needed; and the maps that they use.
#pragma once
#include "base/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <linux/bpf.h>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fastsdt {

inline constexpr uint32_t bpf_trace_uprobe_multi = 48; ///< BPF_TRACE_UPROBE_MULTI, include/uapi/linux/bpf.h of 6.6

/// Offset of the instruction pointer in what a uprobe program gets, struct pt_regs of the architecture.
#if defined(__x86_64__)
inline constexpr int ip_offset = 128;
#elif defined(__aarch64__)
inline constexpr int ip_offset = 256; // struct user_pt_regs: 31 registers, sp, pc
#else
inline constexpr int ip_offset = -1; // nothing is read
#endif

class BpfAssembler {
public:
    /// r0: results. r1 to r5: arguments of helpers, which change them. r6 to r9 are kept. r10: behind the stack.
    enum Register : uint8_t { r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10 };
    using Label = size_t;
    static constexpr int add_op = BPF_ADD, compare_exchange_op = 0xf1; // BPF_CMPXCHG

    void move(Register to, Register from) { alu(BPF_MOV, to, from); }
    void move(Register to, int32_t value) { alu(BPF_MOV, to, value); }
    void add(Register to, int32_t value) { alu(BPF_ADD, to, value); }
    void bit_and(Register to, int32_t value) { alu(BPF_AND, to, value); }
    void shift_right(Register to, int32_t bits) { alu(BPF_RSH, to, bits); }
    void shift_left(Register to, int32_t bits) { alu(BPF_LSH, to, bits); }
    void alu(int op, Register to, Register from) { emit(BPF_ALU64 | op | BPF_X, to, from, 0, 0); }
    void alu(int op, Register to, int32_t value) { emit(BPF_ALU64 | op | BPF_K, to, r0, 0, value); }
    /// The lowest bytes, up to 8, the other way round; zeros above them.
    void swap_bytes(Register of, unsigned bits) { emit(BPF_ALU | BPF_END | BPF_TO_BE, of, r0, 0, int32_t(bits)); }
    void load(int size, Register to, Register from, int offset) { emit(BPF_LDX | size | BPF_MEM, to, from, offset, 0); }
    void store(int size, Register to, int offset, Register from)
    {
        emit(BPF_STX | size | BPF_MEM, to, from, offset, 0);
    }
    void store(int size, Register to, int offset, int32_t value)
    {
        emit(BPF_ST | size | BPF_MEM, to, r0, offset, value);
    }
    void atomic(int op, Register to, int offset, Register from)
    {
        emit(BPF_STX | BPF_DW | 0xc0 /* BPF_ATOMIC */, to, from, offset, op);
    }
    void add_atomic(Register to, int offset, Register from) { atomic(add_op, to, offset, from); }
    void wide(Register to, uint64_t value)
    {
        load_wide(to, 0, static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32));
    }
    void map(Register to, int fd) { load_wide(to, BPF_PSEUDO_MAP_FD, static_cast<uint32_t>(fd), 0); }
    void map_value(Register to, int fd, uint32_t offset = 0)
    {
        load_wide(to, BPF_PSEUDO_MAP_VALUE, static_cast<uint32_t>(fd), offset);
    }
    void call(int function) { emit(BPF_JMP | BPF_CALL, r0, r0, 0, function); }
    void jump(Label to) { jump_if(BPF_JA, r0, 0, to); }
    void jump_if(int condition, Register left, int32_t right, Label to)
    {
        jumps_.emplace_back(code_.size(), to);
        emit(BPF_JMP | condition | BPF_K, left, r0, 0, right);
    }
    void jump_if(int condition, Register left, Register right, Label to)
    {
        jumps_.emplace_back(code_.size(), to);
        emit(BPF_JMP | condition | BPF_X, left, right, 0, 0);
    }
    Label label()
    {
        labels_.push_back(unbound);
        return labels_.size() - 1;
    }
    void bind(Label label) { labels_[label] = code_.size(); }
    void leave()
    {
        move(r0, 0);
        emit(BPF_JMP | BPF_EXIT, r0, r0, 0, 0);
    }
    size_t size() const { return code_.size(); } ///< instructions

    struct Kind {
        bpf_prog_type type = BPF_PROG_TYPE_KPROBE;
        uint32_t attach_type = 0;
        bool sleepable = false;
    };
    /// Has the kernel check and take it. Empty: it does not, and errno says why. @param log  where not null, and it is refused: the
    /// verifier's last words
    Descriptor load_program(Kind kind, const char* name, std::string* log = nullptr);

private:
    static constexpr size_t unbound = SIZE_MAX;
    void emit(int opcode, Register to, Register from, int offset, int32_t immediate)
    {
        code_.push_back({static_cast<uint8_t>(opcode), static_cast<uint8_t>(to & 15), static_cast<uint8_t>(from & 15),
                         static_cast<int16_t>(offset), immediate});
    }
    void load_wide(Register to, int kind, uint32_t low, uint32_t high)
    {
        emit(BPF_LD | BPF_DW | BPF_IMM, to, Register(kind), 0, static_cast<int32_t>(low));
        emit(0, r0, r0, 0, static_cast<int32_t>(high));
    }

    std::vector<bpf_insn> code_;
    std::vector<std::pair<size_t, Label>> jumps_;
    std::vector<size_t> labels_;
};

/// Runs a program at a raw tracepoint, until the descriptor is closed. Throws Unusable.
Descriptor attach_to_tracepoint(const char* tracepoint, BpfAssembler& code);

/// A map of the kernel's. Keys and values are bytes of the sizes that it was made with; where each processor has a value of its own,
/// a value read is all of theirs, each filled up to 8 bytes.
class BpfMap {
public:
    BpfMap() = default;
    /// Throws Unusable. @param flags  BPF_F_*  @param inner  of a map of maps: a map as all of them are
    BpfMap(bpf_map_type type, const char* name, size_t key, size_t value, size_t entries, uint32_t flags = 0,
           const BpfMap* inner = nullptr);

    int fd() const { return fd_.get(); }
    explicit operator bool() const { return bool(fd_); }
    size_t key_size() const { return key_; }
    size_t value_size() const { return value_; } ///< of one processor
    size_t copies() const { return copies_; }    ///< how many a value that is read has

    bool lookup(const void* key, void* value) const;
    bool update(const void* key, const void* value, uint64_t flags = BPF_ANY) const;
    bool erase(const void* key) const;
    /// The key behind another, or the first; false: there is none. One that was deleted meanwhile leads to the first again.
    bool next(const void* key, void* next) const;

private:
    Descriptor fd_;
    size_t key_ = 0, value_ = 0, copies_ = 1;
};

/// What programs write into a map that is a ring (BPF_MAP_TYPE_RINGBUF).
class BpfRing {
public:
    /// Throws Unusable.
    explicit BpfRing(const BpfMap& map);
    BpfRing(const BpfRing&) = delete;
    BpfRing& operator=(const BpfRing&) = delete;
    ~BpfRing();

    /// Readable where there is something, unless a program said that nobody is to be woken.
    int descriptor() const;
    /// Takes all records that are there, in their order.
    void take(const std::function<void(std::span<const std::byte>)>& record);

private:
    struct Buffer;
    std::unique_ptr<Buffer> buffer_;
};

/// Processors that the kernel may have: values of per-processor maps.
size_t possible_processors();

} // namespace fastsdt
