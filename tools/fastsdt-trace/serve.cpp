// SPDX-License-Identifier: BSD-2-Clause
//
// One thread does all: it waits for processes, clients and signals at once. A scrape reads the tables, which are in memory that is shared
// with the processes, so it stops none of them.
#include "serve.h"

#include "base/unusable.h"
#include "collector.h"
#include "config.h"
#include "elf/archive.h"
#include "http.h"
#include "openmetrics.h"
#include "otlp_metrics.h"
#include "process.h"
#include "processes.h"
#include "say.h"
#include "script/parse.h"

#include <fastsdt/note.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto retry_period = std::chrono::seconds(60); ///< for processes that were refused
constexpr size_t most_refusals = 1000;                  ///< sentences that are not said again

double seconds_since_epoch()
{
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// sd_notify(3): one datagram. Nobody is told where the variable is not set.
void tell_systemd(const std::string& state)
{
    const char* const path = std::getenv("NOTIFY_SOCKET");
    sockaddr_un address{};
    if (!path || (path[0] != '/' && path[0] != '@') || std::strlen(path) >= sizeof address.sun_path)
        return;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path, std::strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    const Descriptor out(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
    if (out)
        sendto(out.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size);
}

engine::Script parse(const ScriptFile& file)
{
    try {
        return engine::parse(file.text);
    } catch (const engine::ScriptError& error) {
        const engine::Position at = engine::position(file.text, error.where);
        throw Unusable(fmt::format("{}:{}:{}: {}", file.name, at.line, at.column, error.what()));
    }
}

engine::Script parse(const ScriptConfig& config)
{
    for (const ScriptFile& file : config.files)
        parse(file); // an error is told with its place
    engine::Script script = parse({config.title(), config.text()});
    for (const engine::Clause& clause : script.clauses)
        for (const engine::Probe& probe : clause.probes)
            if (!probe.has_sites())
                throw Unusable(fmt::format("{}: {} has nothing to do here: serve prints and clears no maps",
                                           config.title(), probe.text));
    for (const engine::Map& map : script.maps)
        if (map.series)
            throw Unusable(fmt::format("{}: {} is a tseries(), which only print() shows: Prometheus keeps what was "
                                       "when, of a count() or a sum()",
                                       config.title(), map.name));
    if (engine::has_events(script))
        throw Unusable(fmt::format("{}: serve exports maps; print(), printf(), clear(), time() and exit() have "
                                   "nothing to do here",
                                   config.title()));
    return script;
}

Options options_of(const ScriptConfig& config)
{
    Options options;
    options.text = config.text();
    options.name = config.name;
    options.engine = EngineChoice::user;
    options.selection = config.selection;
    options.pids = config.pids;
    options.follow = config.follow;
    options.read_memory = config.read_memory;
    options.moves = config.moves;
    options.serve.emplace();
    return options;
}

// A script, its processes and its metrics.
class Watch {
public:
    // Touches no process. Throws Unusable.
    Watch(const ScriptConfig& config, size_t most_keys)
        : config_(config), options_(options_of(config)), script_(parse(config)),
          shared_{.options = options_, .script = script_}, processes_(shared_)
    {
        processes_.retry = retry_period;
        configure(config, most_keys);
    }

    const ScriptConfig& config() const { return config_; }
    const std::string& name() const { return config_.name; }
    Processes& processes() { return processes_; }
    const engine::Script& script() const { return script_; }

    static std::vector<MapMetrics> metrics_of(const ScriptConfig& config, const engine::Script& script,
                                              size_t most_keys)
    {
        for (const auto& [name, map] : config.maps)
            if (std::none_of(script.maps.begin(), script.maps.end(), [&](const auto& m) { return m.name == name; }))
                throw Unusable(fmt::format("script {}: it has no map {}", config.name, name));
        std::vector<MapMetrics> metrics;
        for (size_t i = 0; i < script.maps.size(); ++i) {
            const auto found = config.maps.find(script.maps[i].name);
            const MapConfig map = found == config.maps.end() ? MapConfig{} : found->second;
            if (map.exported)
                metrics.emplace_back(config.name, script, i, map, most_keys);
        }
        return metrics;
    }
    // What is exported, and how; what is traced stays.
    void configure(const ScriptConfig& config, size_t most_keys)
    {
        metrics_ = metrics_of(config, script_, most_keys);
        config_ = config;
    }

    void begin()
    {
        processes_.add_named();
        processes_.add_others();
        processes_.take_up();
    }

    void look(Clock::time_point now)
    {
        if (shared_.refusals.size() > most_refusals)
            shared_.refusals.clear();
        if (MappedFile::was_shortened() && !std::exchange(said_shortened_, true))
            say(Shared::shortened);
        if (now >= processes_.next_look())
            processes_.look();
        if (now >= verify_) {
            processes_.verify(false);
            verify_ = now + verify_period;
        }
    }
    Clock::time_point next() const { return std::min(processes_.next_look(), verify_); }

    void end()
    {
        processes_.end();
        processes_.finish();
    }

    void write(Metrics& to)
    {
        engine::Maps maps;
        is_read_ = shared_.attempt([&] { maps = processes_.read(); });
        if (!is_read_)
            return;
        maps.maps.resize(script_.maps.size());
        for (MapMetrics& metrics : metrics_)
            for (size_t i = 0; i < script_.maps.size(); ++i)
                if (script_.maps[i].name == metrics.map_name())
                    metrics.write(to, maps.maps[i], shared_.names.names());
    }
    bool is_read() const { return is_read_; }
    const std::vector<MapMetrics>& metrics() const { return metrics_; }

private:
    ScriptConfig config_;
    const Options options_;
    const engine::Script script_;
    Shared shared_;
    Processes processes_;
    std::vector<MapMetrics> metrics_;
    Clock::time_point verify_ = Clock::now() + verify_period;
    bool said_shortened_ = false;
    bool is_read_ = true;
};

// Prometheus refuses a text that has a metric twice.
void refuse_equal_names(const std::vector<const std::vector<MapMetrics>*>& all)
{
    std::set<std::string> names;
    for (const auto* const metrics : all)
        for (const MapMetrics& map : *metrics)
            for (const std::string& name : map.names())
                if (!names.insert(name).second || name.starts_with("fastsdt_") || name.starts_with("process_"))
                    throw Unusable(
                        fmt::format("the map {} would be exported as {}, a name that is taken; give it another "
                                    "\"name\" in the configuration",
                                    map.map_name(), name));
}

class Service {
public:
    explicit Service(const Options& options) : options_(options)
    {
        std::signal(SIGPIPE, SIG_IGN);
        apply(config_of(options));
        reloaded_ = true;
    }

    int run()
    {
        for (const auto& watch : watches_)
            begin(*watch);
        say(fmt::format("metrics at http://{}:{}/metrics", config_.address, http_->port()));
        tell_systemd("READY=1");
        while (!stop_) {
            auto next = Clock::now() + verify_period;
            if (pusher_)
                next = std::min(next, next_push_);
            for (const auto& watch : watches_)
                next = std::min(next, watch->next());
            hear(next);
            if (std::exchange(reload_, false))
                reload();
            for (const auto& watch : watches_)
                if (!stop_)
                    watch->look(Clock::now());
            push();
        }
        tell_systemd("STOPPING=1");
        if (pusher_) {
            pusher_->finish(otlp());
            if (const auto news = pusher_->news())
                say(*news);
            if (const uint64_t undelivered = pusher_->undelivered())
                say(fmt::format("{} request{} with metrics {} not delivered to {}", undelivered,
                                undelivered == 1 ? "" : "s", undelivered == 1 ? "was" : "were",
                                printed_url(config_.otlp)));
        }
        for (const auto& watch : watches_)
            watch->end();
        return complete;
    }

private:
    void begin(Watch& watch)
    {
        watch.processes().interrupted = [this] {
            hear(Clock::now());
            return stop_;
        };
        try {
            watch.begin();
        } catch (const std::exception& error) { // the next look tries again
            say(fmt::format("{}: {}", watch.config().title(), error.what()));
        }
    }

    // Takes a configuration, or throws Unusable and leaves everything as it was. Those that are new are not begun.
    void apply(const Config& config)
    {
        std::vector<std::unique_ptr<Watch>> fresh(config.scripts.size());
        std::vector<std::vector<MapMetrics>> metrics(config.scripts.size());
        std::vector<const std::vector<MapMetrics>*> all;
        for (size_t i = 0; i < config.scripts.size(); ++i) {
            if (const auto kept = kept_for(config.scripts[i]); kept != watches_.end()) {
                metrics[i] = Watch::metrics_of(config.scripts[i], (*kept)->script(), config.most_keys);
                all.push_back(&metrics[i]);
            } else {
                fresh[i] = std::make_unique<Watch>(config.scripts[i], config.most_keys);
                all.push_back(&fresh[i]->metrics());
            }
        }
        refuse_equal_names(all);
        std::unique_ptr<Pusher> pusher;
        const bool same_collector = config.otlp == config_.otlp;
        if (!same_collector && !config.otlp.empty())
            pusher = std::make_unique<Pusher>(config.otlp);
        std::unique_ptr<Http> http;
        if (!http_ || config.address != config_.address || config.port != config_.port)
            http = std::make_unique<Http>(config.address, config.port, [this](MetricFormat f) { return scrape(f); });
        // From here on nothing is refused.
        if (http)
            http_ = std::move(http);
        if (!same_collector)
            pusher_ = std::move(pusher);
        if (!same_collector || config.otlp_period != config_.otlp_period)
            next_push_ = {};
        for (size_t i = 0; i < config.scripts.size(); ++i)
            if (!fresh[i]) {
                const auto kept = kept_for(config.scripts[i]);
                (*kept)->configure(config.scripts[i], config.most_keys);
                fresh[i] = std::move(*kept);
                watches_.erase(kept);
            }
        for (const auto& gone : watches_) // before another takes their processes
            gone->end();
        watches_ = std::move(fresh);
        config_ = config;
        config_time_ = seconds_since_epoch();
    }

    std::vector<std::unique_ptr<Watch>>::iterator kept_for(const ScriptConfig& config)
    {
        return std::find_if(watches_.begin(), watches_.end(),
                            [&](const auto& watch) { return watch && watch->config().traces_as(config); });
    }

    void reload()
    {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        tell_systemd(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", now.tv_sec * 1'000'000 + now.tv_nsec / 1000));
        std::set<const Watch*> before;
        for (const auto& watch : watches_)
            before.insert(watch.get());
        reloaded_ = false;
        try {
            apply(config_of(options_));
            reloaded_ = true;
            size_t kept = 0;
            for (const auto& watch : watches_)
                if (before.contains(watch.get()))
                    ++kept;
                else
                    begin(*watch);
            say(fmt::format("the configuration was read again: {} of {} scripts go on, {} are new", kept, before.size(),
                            watches_.size() - kept));
        } catch (const std::exception& error) {
            say(fmt::format("{}; the former configuration stays", error.what()));
        }
        tell_systemd("READY=1");
    }

    // Waits until something happens, or the time has come.
    void hear(Clock::time_point until)
    {
        std::vector<int> descriptors = {signals_.descriptor(), http_->descriptor()};
        std::vector<size_t> first;
        for (const auto& watch : watches_) {
            first.push_back(descriptors.size());
            watch->processes().descriptors(descriptors);
        }
        const auto ready = wait_readable(descriptors, until);
        for (size_t i = 0; i < watches_.size(); ++i)
            watches_[i]->processes().react(ready, first[i]);
        http_->run(); // also where it is not ready: it has timeouts
        if (!ready[0])
            return;
        while (const auto signal = signals_.next())
            if (signal->number == SIGHUP)
                reload_ = true;
            else if (signal->number == SIGTERM || signal->number == SIGINT)
                stop_ = true;
    }

    std::string scrape(MetricFormat format)
    {
        const auto begin = Clock::now();
        Exposition to(format);
        write_all(to);
        ++scrapes_;
        to.one("fastsdt_scrapes", MetricType::counter, "Answers to /metrics.", static_cast<double>(scrapes_));
        to.one("fastsdt_scrape_duration_seconds", MetricType::gauge, "Time that this answer took to make.",
               std::chrono::duration<double>(Clock::now() - begin).count(), "seconds");
        return std::move(to).finish();
    }

    void write_all(Metrics& to)
    {
        for (const auto& watch : watches_)
            watch->write(to);
        write_self(to);
        if (pusher_)
            to.one("fastsdt_otlp_undelivered", MetricType::counter,
                   "Requests with metrics that no OpenTelemetry collector took.",
                   static_cast<double>(pusher_->undelivered()));
    }

    std::string otlp()
    {
        constexpr double ns = 1e9;
        OtlpMetrics to(static_cast<uint64_t>(began_ * ns), static_cast<uint64_t>(seconds_since_epoch() * ns));
        write_all(to);
        return std::move(to).finish();
    }

    void push()
    {
        if (!pusher_)
            return;
        if (const auto news = pusher_->news())
            say(*news);
        if (Clock::now() < next_push_)
            return;
        next_push_ = Clock::now() + config_.otlp_period;
        pusher_->push(otlp());
    }

    void write_self(Metrics& to)
    {
        to.family("fastsdt_build", MetricType::info, "The version that runs.");
        to.sample("_info", {{"version", FASTSDT_VERSION_STRING}}, "1");
        struct Numbers {
            Summary all, now;
            size_t living;
        };
        std::vector<Numbers> numbers;
        for (const auto& watch : watches_)
            numbers.push_back(
                {watch->processes().summary(), watch->processes().present(), watch->processes().living()});
        const auto by_script = [&](const char* name, MetricType type, const char* help, const auto& value,
                                   const char* unit = "") {
            to.family(name, type, help, unit);
            for (size_t i = 0; i < watches_.size(); ++i)
                to.sample(type == MetricType::counter ? "_total" : "", {{"script", watches_[i]->name()}},
                          canonical(static_cast<double>(value(*watches_[i], numbers[i]))));
        };
        using N = const Numbers&;
        using W = const Watch&;
        constexpr auto gauge = MetricType::gauge, counter = MetricType::counter;
        by_script("fastsdt_up", gauge, "1: the maps of the script could be read.",
                  [](W w, N) { return w.is_read() ? 1 : 0; });
        by_script("fastsdt_processes", gauge, "Processes that are traced now, without forked children.",
                  [](W, N n) { return n.living; });
        by_script("fastsdt_followed_processes", gauge, "Forked children that have recorded something so far.",
                  [](W, N n) { return n.all.followed; });
        by_script("fastsdt_sites_wanted", gauge, "Sites of the script in the processes that are traced now.",
                  [](W, N n) { return n.now.sites; });
        by_script("fastsdt_sites_armed", gauge, "Those of them that are armed.", [](W, N n) { return n.now.armed; });
        by_script("fastsdt_sites_left_out", gauge, "Places that fit a pattern of the script and cannot be armed.",
                  [](W, N n) { return n.now.left_out; });
        by_script("fastsdt_dropped", counter, "Statements that found no room in the tables.",
                  [](W, N n) { return n.all.dropped; });
        by_script("fastsdt_unread", counter,
                  "Hits that were left out, since only a system call could have read their values.",
                  [](W, N n) { return n.all.unread; });
        by_script("fastsdt_forked", counter, "Hits of forked children that are not followed.",
                  [](W, N n) { return n.all.forked; });
        by_script("fastsdt_processes_refused", counter, "Processes that were wanted and could not be traced.",
                  [](W, N n) { return n.all.refused; });
        by_script("fastsdt_processes_missed", counter,
                  "Processes that were wanted and ended before they could be traced.",
                  [](W, N n) { return n.all.missed; });
        by_script("fastsdt_processes_found", counter, "Processes that ran already when they were found.",
                  [](W, N n) { return n.all.found; });
        by_script(
            "fastsdt_missed_seconds", gauge, "The longest that one of these ran before it was traced, at most.",
            [](W, N n) { return n.all.found_seconds; }, "seconds");
        to.family("fastsdt_keys_left_out", gauge, "Keys of a map beyond the limit, which are not exported.");
        for (const auto& watch : watches_)
            for (const MapMetrics& map : watch->metrics())
                to.sample("", {{"script", watch->name()}, {"map", map.map_name()}}, std::to_string(map.left_out()));
        to.one("fastsdt_config_last_reload_successful", gauge,
               "0: the configuration was refused when it was last read.", reloaded_ ? 1 : 0);
        to.one("fastsdt_config_last_reload_success_timestamp_seconds", gauge, "When a configuration was last taken.",
               config_time_, "seconds");
        write_process(to);
    }

    // What Prometheus' own libraries tell of a process.
    void write_process(Metrics& to) const
    {
        rusage used{};
        getrusage(RUSAGE_SELF, &used);
        const auto seconds = [](const timeval& time) {
            return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
        };
        to.one("process_cpu_seconds", MetricType::counter, "Time of processors that this service has used.",
               seconds(used.ru_utime) + seconds(used.ru_stime), "seconds");
        uint64_t size = 0, resident = 0;
        if (std::ifstream("/proc/self/statm") >> size >> resident)
            to.one("process_resident_memory_bytes", MetricType::gauge, "Memory of this service.",
                   static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)), "bytes");
        to.one("process_start_time_seconds", MetricType::gauge, "When this service began.", began_, "seconds");
    }

    const Options& options_;
    Signals signals_;
    Config config_;
    std::vector<std::unique_ptr<Watch>> watches_;
    std::unique_ptr<Http> http_;     // ends before what it reads
    std::unique_ptr<Pusher> pusher_; // none: no collector is given
    Clock::time_point next_push_;
    bool stop_ = false, reload_ = false, reloaded_ = false;
    double config_time_ = 0;
    const double began_ = seconds_since_epoch();
    uint64_t scrapes_ = 0;
};

} // namespace

int serve(const Options& options)
{
    return Service(options).run();
}

} // namespace fastsdt::trace_tool
