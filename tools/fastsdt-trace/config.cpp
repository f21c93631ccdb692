// SPDX-License-Identifier: BSD-2-Clause
#include "config.h"

#include "base/unusable.h"
#include "collector.h"
#include "http.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <limits>
#include <regex>
#include <set>
#include <string_view>
#include <vector>

namespace fastsdt::trace_tool {
namespace {

using nlohmann::json;

// A value of the file and where it stands: "scripts[0].exe".
class Node {
public:
    Node(const std::string& file, const json& value, std::string place = {})
        : file_(file), value_(value), place_(std::move(place))
    {}

    [[noreturn]] void refuse(std::string_view why) const
    {
        throw Unusable(fmt::format("{}: {}{}{}", file_, place_, place_.empty() ? "" : ": ", why));
    }

    using Reader = std::function<void(const Node&)>;
    // Each member by its name. Others are refused, since they are mistyped ones.
    void members(const std::vector<std::pair<const char*, Reader>>& known) const
    {
        if (!value_.is_object())
            refuse("an object is wanted: { ... }");
        for (const auto& [name, value] : value_.items()) {
            const Node node = member(name, value);
            const auto found =
                std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == name; });
            if (found == known.end())
                node.refuse("there is no such setting");
            found->second(node);
        }
    }
    void each_member(const std::function<void(const std::string&, const Node&)>& read) const
    {
        if (!value_.is_object())
            refuse("an object is wanted: { ... }");
        for (const auto& [name, value] : value_.items())
            read(name, member(name, value));
    }
    void each(const Reader& read) const
    {
        if (!value_.is_array())
            refuse("a list is wanted: [ ... ]");
        for (size_t i = 0; i < value_.size(); ++i)
            read(Node(file_, value_[i], fmt::format("{}[{}]", place_, i)));
    }
    std::string text() const
    {
        if (!value_.is_string() || value_.get_ref<const std::string&>().empty())
            refuse("a text is wanted");
        return value_.get<std::string>();
    }
    std::vector<std::string> words() const // one, or a list; a number is one too, of a user for example
    {
        const auto word = [](const Node& one) {
            return one.value_.is_number_integer() ? one.value_.dump() : one.text();
        };
        if (!value_.is_array())
            return {word(*this)};
        std::vector<std::string> all;
        each([&](const Node& one) { all.push_back(word(one)); });
        return all;
    }
    bool truth() const
    {
        if (!value_.is_boolean())
            refuse("true or false is wanted");
        return value_.get<bool>();
    }
    int64_t number(int64_t least, int64_t most) const
    {
        if (!value_.is_number_integer() || value_ < least || value_ > most)
            refuse(fmt::format("a number from {} to {} is wanted", least, most));
        return value_.get<int64_t>();
    }
    bool is_list() const { return value_.is_array(); }
    // What others say of this value begins with where it stands.
    void attempt(const std::function<void()>& work) const
    {
        try {
            work();
        } catch (const Unusable& error) {
            refuse(error.what());
        }
    }

private:
    Node member(const std::string& name, const json& value) const
    {
        return {file_, value, place_.empty() ? name : place_ + "." + name};
    }

    const std::string& file_;
    const json& value_;
    std::string place_;
};

constexpr int64_t most_keys_of_all = 1'000'000;

std::string matching_word(const Node& node, const char* pattern, const char* wanted)
{
    const std::string text = node.text();
    if (!std::regex_match(text, std::regex(pattern)))
        node.refuse(fmt::format("\"{}\" is no {}", text, wanted));
    return text;
}

std::string label(const Node& node)
{
    const std::string text = matching_word(node, "[A-Za-z_][A-Za-z0-9_]*", "name of a label: letters, digits and _");
    for (const char* reserved : {"le", "quantile", "value"})
        if (text == reserved)
            node.refuse(fmt::format("the label {} has a meaning of its own", text));
    if (text.starts_with("__"))
        node.refuse("labels that begin with __ are Prometheus's own");
    return text;
}

MapConfig read_map(const Node& node)
{
    MapConfig map;
    node.members({
        {"name",
         [&](const Node& n) {
             map.name = matching_word(n, "[A-Za-z_:][A-Za-z0-9_:]*", "name of a metric: letters, digits, _ and :");
         }},
        {"help", [&](const Node& n) { map.help = n.text(); }},
        {"unit",
         [&](const Node& n) { map.unit = matching_word(n, "[a-z][a-z0-9_]*", "unit: small letters, digits and _"); }},
        {"labels",
         [&](const Node& n) {
             n.each([&](const Node& one) {
                 map.labels.push_back(label(one));
                 if (std::count(map.labels.begin(), map.labels.end(), map.labels.back()) > 1)
                     one.refuse("another key has this label");
             });
         }},
        {"keys", [&](const Node& n) { map.most_keys = static_cast<size_t>(n.number(1, most_keys_of_all)); }},
        {"export", [&](const Node& n) { map.exported = n.truth(); }},
    });
    return map;
}

ScriptConfig read_one_script(const Node& node, const std::string& folder)
{
    ScriptConfig script;
    std::string text;
    std::vector<std::pair<const char*, Node::Reader>> known = {
        {"name",
         [&](const Node& n) {
             script.name = matching_word(n, "[A-Za-z][A-Za-z0-9_]*", "name: letters, digits and _");
         }},
        {"file",
         [&](const Node& n) {
             for (const std::string& file : n.words())
                 n.attempt([&] { script.files.push_back(read_script(std::filesystem::path(folder) / file)); });
         }},
        {"script", [&](const Node& n) { text = n.text(); }},
        {"pid",
         [&](const Node& n) {
             const auto read = [&](const Node& one) {
                 script.pids.push_back(static_cast<pid_t>(one.number(1, std::numeric_limits<pid_t>::max())));
             };
             if (n.is_list())
                 n.each(read);
             else
                 read(n);
         }},
        {"follow", [&](const Node& n) { script.follow = n.truth(); }},
        {"read_memory", [&](const Node& n) { script.read_memory = n.truth(); }},
        {"move", [&](const Node& n) { script.moves = n.truth(); }},
        {"maps",
         [&](const Node& n) {
             n.each_member([&](const std::string& name, const Node& map) { script.maps[name] = read_map(map); });
         }},
    };
    for (size_t i = 0; i < way_count; ++i)
        known.emplace_back(ways()[i].name, [&to = script.selection.values[i]](const Node& n) { to = n.words(); });
    node.members(known);
    if (script.name.empty())
        node.refuse("its name is missing");
    if (text.empty() == script.files.empty())
        node.refuse("\"file\" or \"script\" is wanted, and not both");
    if (!text.empty())
        script.files.push_back({script.name, text});
    node.attempt([&] { script.selection.complete(); });
    if (script.pids.empty() == script.selection.empty())
        node.refuse(fmt::format("which processes? {} say it, or \"pid\" alone", names_of_ways("and", true)));
    return script;
}

} // namespace

std::string ScriptConfig::text() const
{
    std::string all;
    for (const ScriptFile& file : files)
        all += file.text + "\n";
    return all;
}

std::string ScriptConfig::title() const
{
    return files.size() == 1 && files[0].name == "-e" ? files[0].name : "script " + name;
}

bool ScriptConfig::traces_as(const ScriptConfig& other) const
{
    return name == other.name && text() == other.text() && selection == other.selection && pids == other.pids
        && follow == other.follow && read_memory == other.read_memory && moves == other.moves;
}

Config read_config(const std::string& file)
{
    const std::string text = read_script(file).text;
    json all;
    try {
        all = json::parse(text, nullptr, true, true); // with comments
    } catch (const json::parse_error& error) {
        std::string why = error.what(); // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
        if (const size_t end = why.find("] "); end != why.npos)
            why.erase(0, end + 2);
        throw Unusable(fmt::format("{}: {}", file, why));
    }
    Config config;
    const std::string folder = std::filesystem::path(file).parent_path();
    const Node root(file, all);
    std::set<std::string> names;
    root.members({
        {"listen", [&](const Node& n) { n.attempt([&] { set_listen(config, n.text()); }); }},
        {"otlp",
         [&](const Node& n) {
             constexpr int64_t most_seconds = 86400;
             n.members({
                 {"url",
                  [&](const Node& url) {
                      config.otlp = url.text();
                      if (const std::string why = no_collector(config.otlp); !why.empty())
                          url.refuse(why);
                  }},
                 {"seconds",
                  [&](const Node& one) { config.otlp_period = std::chrono::seconds(one.number(1, most_seconds)); }},
             });
             if (config.otlp.empty())
                 n.refuse("\"url\" is missing, the collector's: \"http://127.0.0.1:4318\"");
         }},
        {"keys", [&](const Node& n) { config.most_keys = static_cast<size_t>(n.number(1, most_keys_of_all)); }},
        {"scripts",
         [&](const Node& n) {
             n.each([&](const Node& one) {
                 config.scripts.push_back(read_one_script(one, folder));
                 if (!names.insert(config.scripts.back().name).second)
                     one.refuse(fmt::format("another script is called {}", config.scripts.back().name));
             });
         }},
    });
    if (config.scripts.empty())
        root.refuse("scripts: there is none");
    return config;
}

void set_listen(Config& config, const std::string& text)
{
    const size_t colon = text.rfind(':');
    std::string address = colon == text.npos ? config.address : text.substr(0, colon);
    const std::string port = text.substr(colon == text.npos ? 0 : colon + 1);
    unsigned number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (address.starts_with('[') && address.ends_with(']'))
        address = address.substr(1, address.size() - 2);
    if (error != std::errc() || end != port.data() + port.size() || number > 65535 || !is_ip_address(address))
        throw Unusable(fmt::format("\"{}\" is no ADDRESS:PORT, as 127.0.0.1:9946 is", text));
    config.address = address;
    config.port = static_cast<uint16_t>(number);
}

Config config_of(const Options& options)
{
    Config config;
    if (!options.serve->config.empty()) {
        config = read_config(options.serve->config);
    } else {
        const std::regex strange("[^A-Za-z0-9_]");
        for (const ScriptFile& file : options.serve->scripts) {
            ScriptConfig script;
            script.name =
                std::regex_replace(std::filesystem::path(file.name).stem().string(), strange, std::string("_"));
            if (script.name.empty() || file.name == "-e")
                script.name = "script";
            if (!std::isalpha(static_cast<unsigned char>(script.name[0])))
                script.name = "script_" + script.name;
            if (std::any_of(config.scripts.begin(), config.scripts.end(),
                            [&](const auto& other) { return other.name == script.name; }))
                throw Unusable(fmt::format("{}: another script is called {}; a configuration gives names", file.name,
                                           script.name));
            script.files = {file};
            script.selection = options.selection;
            script.pids = options.pids;
            script.follow = options.follow;
            script.read_memory = options.read_memory;
            script.moves = options.moves;
            config.scripts.push_back(std::move(script));
        }
    }
    if (options.serve->listen)
        try {
            set_listen(config, *options.serve->listen);
        } catch (const Unusable& error) {
            throw Unusable(fmt::format("--listen: {}", error.what()));
        }
    if (!options.serve->otlp.empty())
        config.otlp = options.serve->otlp;
    return config;
}

} // namespace fastsdt::trace_tool
