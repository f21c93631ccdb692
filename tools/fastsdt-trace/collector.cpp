// SPDX-License-Identifier: BSD-2-Clause
#include "collector.h"

#include "base/printable.h"
#include "base/unusable.h"

#include <fastsdt.h>

#include <curl/curl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <string_view>

namespace fastsdt::trace_tool {

struct Collector::State {
    std::string url;
    CURL* curl = nullptr;
    curl_slist* headers = nullptr;
    std::atomic<bool> given_up = false;
    std::string answer;
    std::array<char, CURL_ERROR_SIZE> error{};
};

namespace {

using nlohmann::json;

constexpr long most_seconds = 10, most_seconds_to_connect = 5;
constexpr size_t most_of_answer = size_t(64) << 10, most_of_words = 300;

bool knows_https()
{
    for (const char* const* each = curl_version_info(CURLVERSION_NOW)->protocols; *each; ++each)
        if (std::string_view(*each) == "https")
            return true;
    return false;
}

std::string without_slashes(const std::string& url)
{
    return url.substr(0, url.find_last_not_of('/') + 1);
}

size_t keep_answer(char* bytes, size_t, size_t size, void* to)
{
    auto& answer = *static_cast<std::string*>(to);
    answer.append(bytes, std::min(size, most_of_answer - std::min(answer.size(), most_of_answer)));
    return size;
}

int goes_on(void* state, curl_off_t, curl_off_t, curl_off_t, curl_off_t)
{
    return static_cast<Collector::State*>(state)->given_up ? 1 : 0;
}

// A text of a JSON object, if it is one and has it.
std::string text_in(const json& object, const char* name)
{
    const auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>()
                                                                             : std::string();
}

// What a collector says of an error: google.rpc.Status, or a line of text.
std::string words_of_answer(const std::string& answer)
{
    std::string words = text_in(json::parse(answer, nullptr, false), "message");
    if (words.empty())
        words = answer;
    words.erase(words.find_last_not_of(" \r\n") + 1);
    words = cut(printable(words), most_of_words);
    return words.empty() ? words : ": " + words;
}

// "partialSuccess": the rest was taken.
std::string refusal_in(const std::string& answer)
{
    const json all = json::parse(answer, nullptr, false);
    const auto partial = all.is_object() ? all.find("partialSuccess") : all.end();
    if (!all.is_object() || partial == all.end() || !partial->is_object())
        return {};
    for (const auto& [name, what] : {std::pair("rejectedSpans", "spans"), {"rejectedDataPoints", "data points"}})
        if (const auto found = partial->find(name); found != partial->end()) {
            const std::string number = found->is_string() ? found->get<std::string>() : found->dump(); // of 64 bits
            if (number != "0")
                return fmt::format("the collector refused {} {}{}", printable(number), what,
                                   words_of_answer(text_in(*partial, "errorMessage")));
        }
    return {};
}

} // namespace

std::string no_collector(const std::string& url)
{
    if (!url.starts_with("http://") && !url.starts_with("https://"))
        return fmt::format("\"{}\": a URL like http://127.0.0.1:4318 is wanted", printed_url(url));
    if (url.starts_with("https://") && !knows_https())
        return fmt::format("{}: this build of fastsdt-trace sends plain http only", printed_url(url));
    CURLU* const parsed = curl_url();
    if (!parsed)
        throw std::bad_alloc();
    const CURLUcode code = curl_url_set(parsed, CURLUPART_URL, url.c_str(), 0);
    curl_url_cleanup(parsed);
    if (code != CURLUE_OK)
        return fmt::format("{}: {}", printed_url(url), curl_url_strerror(code));
    const std::string address = without_slashes(url);
    for (const std::string_view path : {"/v1/traces", "/v1/metrics"})
        if (address.ends_with(path))
            return fmt::format("{}: the collector's address alone is wanted; {} is added to it", printed_url(url),
                               path);
    return {};
}

Collector::Collector(const std::string& url) : state_(std::make_unique<State>())
{
    static const CURLcode begun = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (const std::string why = no_collector(url); !why.empty())
        throw Unusable(why);
    state_->url = without_slashes(url);
    state_->curl = begun == CURLE_OK ? curl_easy_init() : nullptr;
    state_->headers = curl_slist_append(nullptr, "Content-Type: application/json");
    if (!state_->curl || !state_->headers)
        throw std::bad_alloc();
    CURL* const curl = state_->curl;
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); // waits for no name server that is silent
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, most_seconds);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, most_seconds_to_connect);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "fastsdt-trace/" FASTSDT_VERSION_STRING);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, state_->headers);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, state_->error.data());
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &state_->answer);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, goes_on);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, state_.get());
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

Collector::~Collector()
{
    curl_easy_cleanup(state_->curl);
    curl_slist_free_all(state_->headers);
}

void Collector::give_up()
{
    state_->given_up = true;
}

void Collector::deliver(const std::string& what, const std::string& json)
{
    const std::string url = fmt::format("{}/v1/{}", state_->url, what);
    const std::string shown = printed_url(url);
    CURL* const curl = state_->curl;
    state_->answer.clear();
    state_->error[0] = '\0';
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json.c_str());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size()));
    const CURLcode code = curl_easy_perform(curl);
    if (code != CURLE_OK)
        throw Unusable(fmt::format("{}: {}", shown,
                                   printable(state_->error[0] ? state_->error.data() : curl_easy_strerror(code))));
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200 || status > 299)
        throw Unusable(
            fmt::format("{}: the collector answered with status {}{}", shown, status, words_of_answer(state_->answer)));
    if (const std::string refusal = refusal_in(state_->answer); !refusal.empty())
        throw Unusable(fmt::format("{}: {}", shown, refusal));
}

} // namespace fastsdt::trace_tool
