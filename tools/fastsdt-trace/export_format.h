// SPDX-License-Identifier: BSD-2-Clause
// What `fastsdt-trace export` writes: a format is told of threads and of their calls, in order.
#pragma once
#include "ctf_reader.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fastsdt::trace_tool {

using Values = std::vector<CtfReader::Value>;

class Format {
public:
    virtual ~Format() = default;
    virtual void thread(size_t number, const CtfReader::Thread& thread) = 0;  ///< what follows is of it
    virtual void begin(size_t number, uint64_t ns, const Values& values) = 0; ///< @param number  of the class
    virtual void end(uint64_t ns) = 0;                                        ///< of the call that began last
    virtual void instant(size_t number, uint64_t ns, const Values& values) = 0;
    virtual std::string finish() = 0;
};

class JsonFormat : public Format {
public:
    /// Both have to outlive it.
    JsonFormat(const CtfReader& trace, const std::vector<Drawn>& drawn);

protected:
    const CtfReader& trace_;
    std::vector<std::string> names_;               // by class, quoted
    std::vector<std::vector<std::string>> fields_; // likewise, of its fields
};

/// Spans for OpenTelemetry's collectors, which refuse requests beyond some size. @param trace, drawn  have to outlive it
/// @param deliver  takes a request that has become large; those that are left are finish(), which is empty if there are none. Without it there
/// is one, whatever its size
std::unique_ptr<Format> otlp_json(const CtfReader& trace, const std::vector<Drawn>& drawn,
                                  std::function<void(const std::string&)> deliver = {});

} // namespace fastsdt::trace_tool
