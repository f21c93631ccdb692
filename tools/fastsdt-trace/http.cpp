// SPDX-License-Identifier: BSD-2-Clause
#include "http.h"

#include "base/unusable.h"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string_view>
#include <sys/socket.h>

namespace fastsdt::trace_tool {
namespace {

constexpr unsigned most_connections = 64;
constexpr unsigned idle_seconds = 10;
constexpr size_t most_of_request = size_t(16) << 10;

union Address {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
};

std::optional<Address> address_of(const std::string& text, uint16_t port)
{
    Address address{};
    if (inet_pton(AF_INET, text.c_str(), &address.v4.sin_addr) == 1) {
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons(port);
    } else if (inet_pton(AF_INET6, text.c_str(), &address.v6.sin6_addr) == 1) {
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(port);
    } else {
        return {};
    }
    return address;
}

MHD_Result answer(MHD_Connection* connection, unsigned status, const char* type, std::string_view text,
                  const char* allow = nullptr)
{
    // It copies the text, and does not change it.
    MHD_Response* const response =
        MHD_create_response_from_buffer(text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (allow)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
    const MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

} // namespace

struct Http::State {
    std::function<std::string(MetricFormat)> scrape;
    MHD_Daemon* daemon = nullptr;
};

namespace {

constexpr const char* plain = "text/plain; charset=utf-8";

MHD_Result handle(void* data, MHD_Connection* connection, const char* url, const char* method, const char*, const char*,
                  size_t* body, void** seen)
{
    static char first;
    if (*seen == nullptr) { // only the headers so far
        *seen = &first;
        return MHD_YES;
    }
    if (*body != 0) { // is thrown away
        *body = 0;
        return MHD_YES;
    }
    const std::string_view path = url, verb = method;
    if (verb != MHD_HTTP_METHOD_GET && verb != MHD_HTTP_METHOD_HEAD)
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, plain, "GET is wanted\n", "GET, HEAD");
    if (path == "/")
        return answer(connection, MHD_HTTP_OK, plain, "fastsdt-trace: the metrics are at /metrics\n");
    if (path != "/metrics")
        return answer(connection, MHD_HTTP_NOT_FOUND, plain, "the metrics are at /metrics\n");
    try {
        const char* const accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
        const MetricFormat format = format_for(accept ? accept : "");
        return answer(connection, MHD_HTTP_OK,
                      format == MetricFormat::openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                                          : "text/plain; version=0.0.4; charset=utf-8",
                      static_cast<Http::State*>(data)->scrape(format));
    } catch (const std::exception& error) {
        return answer(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, plain, fmt::format("{}\n", error.what()));
    }
}

} // namespace

// "application/openmetrics-text; version=1.0.0; q=0.5, text/plain; q=0.3"; of equal wishes OpenMetrics is taken.
MetricFormat format_for(std::string_view accept)
{
    double openmetrics = 0, text = 0;
    while (!accept.empty()) {
        const size_t end = std::min(accept.find(','), accept.size());
        const std::string_view range = accept.substr(0, end);
        accept.remove_prefix(std::min(end + 1, accept.size()));
        double quality = 1;
        if (const size_t q = range.find("q="); q != range.npos)
            quality = std::strtod(std::string(range.substr(q + 2)).c_str(), nullptr);
        if (range.find("application/openmetrics-text") != range.npos)
            openmetrics = std::max(openmetrics, quality);
        else if (range.find("text/plain") != range.npos)
            text = std::max(text, quality);
    }
    return openmetrics > 0 && openmetrics >= text ? MetricFormat::openmetrics : MetricFormat::prometheus;
}

bool is_ip_address(const std::string& text)
{
    return address_of(text, 0).has_value();
}

Http::Http(const std::string& address, uint16_t port, std::function<std::string(MetricFormat)> scrape)
    : state_(std::make_unique<State>())
{
    state_->scrape = std::move(scrape);
    std::optional<Address> found = address_of(address, port);
    if (!found)
        throw Unusable(fmt::format("\"{}\" is no IP address to listen on", address));
    Address& at = *found;
    const unsigned v6 = at.any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0;
    errno = 0;
    state_->daemon =
        MHD_start_daemon(MHD_USE_EPOLL | v6, port, nullptr, nullptr, handle, state_.get(), MHD_OPTION_SOCK_ADDR,
                         &at.any, MHD_OPTION_CONNECTION_LIMIT, most_connections, MHD_OPTION_CONNECTION_TIMEOUT,
                         idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, most_of_request, MHD_OPTION_END);
    if (!state_->daemon)
        throw Unusable(fmt::format("{} port {}: {}", address, port, errno ? std::strerror(errno) : "cannot listen"));
}

Http::~Http()
{
    MHD_stop_daemon(state_->daemon);
}

int Http::descriptor() const
{
    return MHD_get_daemon_info(state_->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

void Http::run()
{
    MHD_run(state_->daemon);
}

uint16_t Http::port() const
{
    return MHD_get_daemon_info(state_->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

} // namespace fastsdt::trace_tool
