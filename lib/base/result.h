// SPDX-License-Identifier: BSD-2-Clause
// How a function says that it failed: an Error is data, which lib makes and whoever asked words. Result<T> is returned where the
// caller goes on, Unusable (base/unusable.h) is thrown where a file or a process is given up as a whole. C++17, because fastprobe's
// plugins use it inside a compiler.
#pragma once
#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace fastsdt {

struct Error {
    std::string what;    ///< one clause: "truncated: the file ends inside its ELF header"
    std::string where{}; ///< the file, the process, the text that it is about; empty: whoever asked knows
    std::string cure{};  ///< what to do; empty: nothing is known
    int code = 0;        ///< errno, where it was the system that said so

    /// What the system said. @param code  errno
    static Error of_system(int code, std::string where) { return {std::strerror(code), std::move(where), {}, code}; }

    /// "where: what; cure"
    std::string text() const { return (where.empty() ? "" : where + ": ") + what + (cure.empty() ? "" : "; " + cure); }
    /// The same error of a place that the caller knows.
    Error at(std::string place) const
    {
        return {what, where.empty() ? std::move(place) : std::move(place) + ": " + where, cure, code};
    }
};

/// A value, or why there is none.
template <class T> class [[nodiscard]] Result {
public:
    Result(T value) : is_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : is_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return is_.index() == 0; }
    T& operator*() & { return std::get<0>(is_); }
    const T& operator*() const& { return std::get<0>(is_); }
    T&& operator*() && { return std::get<0>(std::move(is_)); }
    T* operator->() { return &std::get<0>(is_); }
    const T* operator->() const { return &std::get<0>(is_); }
    const Error& error() const { return std::get<1>(is_); }

private:
    std::variant<T, Error> is_;
};

/// Done, or why not.
template <> class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : failed_(true), error_(std::move(error)) {}

    explicit operator bool() const { return !failed_; }
    const Error& error() const { return error_; }

private:
    bool failed_ = false;
    Error error_;
};

} // namespace fastsdt
