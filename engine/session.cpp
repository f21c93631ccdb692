// SPDX-License-Identifier: BSD-2-Clause
#include "arming/place.h"
#include "bpf/kernel.h"
#include "code/machine.h"
#include "process/environment.h"
#include "process/follow.h"
#include "process/outside.h"
#include "process/ptrace.h"
#include "session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace fastsdt::engine {

Session::Session(const Script& script, Target& target, Options options)
    : script_(script), target_(target), view_(target.view()), options_(options), filters_(view_),
      modules_at_first_(modules_of(view_.mappings())),
      matcher_(script, view_, options.names ? *options.names : own_names_, options.moves || options.kernel,
               options.moves_faulting, target.stops_threads()),
      fresh_(matcher_.find_new()), environment_(read_environment(script, view_)), lasting_(view_),
      unwinding_(unwinds(script) ? std::make_unique<Unwinding>(view_) : nullptr),
      tables_(lay_out(script, options.ring_size, options.overwrites, unwinding_ ? unwinding_->capacity() : 0)),
      arming_(
          target, [this](std::span<const Site> sites, const Arena& arena) { return compiled_to_arm(sites, arena); },
          {tables_.least, tables_.wanted},
          [this](Window window) {
              if (unwinding_)
                  unwinding_->write(target_, tables_, window);
              return words_at_first(window);
          },
          options.follow),
      event_reader_(script, tables_, view_.pid(), options.sink), searched_(view_.pid()), cleared_(script.maps.size())
{
    if (tables_.stacks || shows_names(script)) {
        symbols_ = std::make_unique<Symbols>(view_, script.stack_style());
        symbols_->look(view_.mappings());
    }
    if (uses(script, Value::symbol))
        environment_.symbol =
            [this, known = std::map<std::pair<std::string, std::string>, std::optional<SymbolInFile>>()](
                const Site& site, const std::string& name) mutable { // a file is read once for all of its sites
                const auto [place, fresh] = known.try_emplace({site.file, name});
                if (fresh)
                    place->second = symbol_in(view_.path(site.file), name);
                const auto& found = place->second;
                return found ? std::optional(found->address + site.load_bias) : std::nullopt;
            };
    environment_.counter = environment_.counter && options.ordered;
    environment_.start_ns = options.start_ns;
    environment_.follow = options.follow;
    ended_.maps.resize(script.maps.size());
    if (environment_.clock)
        timed_ = {environment_.clock->base_counter, environment_.clock->base_ns};
    environment_.threads_run = !target.stops_threads();
    reads_lasting_ = uses(script, Value::str_arg) || reads_memory(script);
    decide_calls(wants_calls());
    if (options_.kernel)
        options_.kernel->join(view_.pid());
}

Session::~Session()
{
    if (options_.kernel)
        options_.kernel->leave(view_.pid());
}

// Takes a while: only if some call is wanted.
void Session::decide_calls(bool wanted)
{
    if (decided_ || !environment_.no_system_calls.empty() || !wanted)
        return;
    decided_ = true;
    environment_.no_system_calls = obstacle_to_calls();
    environment_.system_calls = environment_.no_system_calls.empty();
}

bool Session::asks_for_processor() const
{
    return !environment_.rdtscp && (uses(script_, Value::cpu) || uses(script_, Value::node));
}

// Whether some value may take a system call. If not, nobody need know what the process's files call.
bool Session::wants_calls() const
{
    if (options_.all_in_kernel)
        return false;
    if (uses(script_, Value::str_arg) || uses(script_, Value::comm) || uses(script_, Value::uid)
        || uses(script_, Value::gid) || reads_memory(script_)
        || (uses(script_, Value::tid) && !environment_.tid_offset_told))
        return true;
    if (asks_for_processor())
        return true;
    if (options_.follow && uses(script_, Value::pid)) // a child's
        return true;
    const bool arguments = uses(script_, Value::arg) || calls_functions(script_);
    return arguments && std::any_of(fresh_.begin(), fresh_.end(), [](const Site& site) {
               return site.kind == Probe::Kind::entry ? site.stack_bytes != 0 && !site.moves()
                                                      : site.arguments.find_first_of("([") != std::string::npos;
           });
}

std::string Session::obstacle_to_calls()
{
    if (const std::string obstacle = filters_.obstacle(asks_for_processor()); !obstacle.empty())
        return obstacle;
    if (const std::string setter = options_.calls ? std::string() : filters_.setter(view_.mappings()); !setter.empty())
        return fmt::format("the process may set a seccomp filter, which could kill it for that ({})", setter);
    return {};
}

bool Session::look_for_filters()
{
    if (!environment_.system_calls)
        return false;
    environment_.no_system_calls = obstacle_to_calls();
    environment_.system_calls = environment_.no_system_calls.empty(); // of stubs to come
    if (!environment_.system_calls)
        forbid_calls();
    return !environment_.system_calls && calls_wanted_;
}

// Whether a handler may see the address of a stub.
bool Session::may_see_faults() const
{
    return options_.moves && !options_.moves_faulting;
}

bool Session::look_for_handlers()
{
    const uint8_t handled = may_see_faults() ? handled_faults(view_) & arming_.faults() : 0;
    if (!handled)
        return false;
    const TracerThread tracer;
    arming_.withdraw_faulting(handled);
    return true;
}

// One that a thread keeps standing in is tried again by the next look.
void Session::look_for_handlers_in(std::span<const Fork> forks)
{
    for (const Fork& fork : forks)
        if (const auto handled = uint8_t(handled_faults(ProcessView(fork.pid)) & ~fault_division))
            try {
                const TracerThread tracer;
                forks_given_up_ += arming_.withdraw_faulting_in(*open_forked(fork.pid), handled) != 0;
            } catch (const Unusable&) {
                if (!is_ending(fork.pid))
                    throw;
            }
}

std::vector<FirstWord> Session::words_at_first(Window window) const
{
    std::vector<FirstWord> words = first_words(tables_, window, environment_.clock);
    for (const auto& [map, value] : given_)
        for (const FirstWord& word : words_of_value(tables_, map, value))
            words.push_back(word);
    if (!environment_.system_calls)
        words.push_back({Tables::no_calls, 1});
    if (tables_.stacks) {
        for (const FirstWord& word : words_of_stacks())
            words.push_back(word);
        words.push_back({Tables::stack_at_first, environment_.stack.start});
    }
    return words;
}

// The start last: it is what makes a stub read up to the end.
std::vector<FirstWord> Session::words_of_stacks() const
{
    return {{Tables::thread_stack, uint64_t(int64_t(environment_.thread_stack))},
            {Tables::last_frame, environment_.stack.end ? environment_.stack.end - 16 : 0},
            {Tables::stack_start, environment_.stack.start}};
}

// Where stacks are now, and of what modules are: those that went are remembered with the stacks that were seen so far.
void Session::look_at_stacks()
{
    if (!symbols_)
        return;
    for (const uint64_t stack : interned_stacks(tables_, reader()))
        name_of(stack);
    symbols_->look(view_.mappings());
    if (unwinding_)
        unwinding_->write(target_, tables_, arming_.window());
    if (unwinding_ && options_.kernel)
        options_.kernel->look_at_code(view_, unwinding_->code());
    if (environment_.thread_stack == 0)
        environment_.thread_stack = find_thread_stack(view_);
    if (arming_.window().size != 0)
        for (const FirstWord& each : words_of_stacks())
            target_.put_data(each.offset, each.value);
}

void Session::follow_stack()
{
    if (!symbols_ || arming_.window().size == 0)
        return;
    const uint64_t cut = word(Tables::cut);
    if (cut == std::exchange(cut_, cut))
        return;
    for (const Mapping& mapping : view_.look())
        if (mapping.name == "[stack]" && mapping.end == environment_.stack.end)
            environment_.stack.start = mapping.start;
    if (environment_.thread_stack == 0) // a static program's is found where it has threads
        environment_.thread_stack = find_thread_stack(view_);
    for (const FirstWord& each : words_of_stacks())
        target_.put_data(each.offset, each.value);
}

const std::string& Session::name_of(uint64_t stack)
{
    if (stacks_.size() > stack_slots
        && !stacks_.contains(stack)) // more than there are: the process writes what it likes
        stacks_.clear();
    const auto [found, fresh] = stacks_.try_emplace(stack);
    if (fresh)
        found->second = symbols_->calls(stack_at(tables_, arming_.window(), reader(), stack));
    return found->second;
}

// Stubs that were made to make calls make none any more.
void Session::forbid_calls()
{
    target_.change_data(Tables::no_calls, 0, 1);
}

Code Session::compiled(std::span<const Site> sites, const Arena& arena) const
{
    return compile(script_, tables_, sites, arena, environment_);
}

// Asks about threads only when arming, not for a preview: the questions stop all of them.
Code Session::compiled_to_arm(std::span<const Site> sites, const Arena& arena)
{
    if (!asked_ && environment_.rdfsbase) { // without it stubs have no choice
        environment_.stored_thread_pointers = target_.stores_thread_pointers();
    }
    if (!asked_ && environment_.tid_offset) {
        const Target::Tids found = target_.tids_at(*environment_.tid_offset);
        if (found == Target::Tids::elsewhere || (found == Target::Tids::unknown && !environment_.tid_offset_told))
            environment_.tid_offset.reset();
    }
    asked_ = true;
    if (reads_lasting_ && arming_.window().size != 0)
        lasting_.add(environment_, target_, sites);
    return compiled(sites, arena);
}

namespace {

// Where a stub cannot be, and a uprobe perhaps.
bool kernel_can(State state)
{
    switch (state) {
    case State::no_exit_sites:
    case State::ready:
    case State::no_nop:
    case State::kernel:
    case State::crosses_page:
    case State::too_far:
    case State::shared_nop:
    case State::needs_system_call:
    case State::no_clock:
    case State::too_much_stack:
    case State::too_long:
    case State::cannot_move:
    case State::overlaps:
    case State::not_guarded:
    case State::no_stacks:
    case State::only_in_kernel:
    case State::handles_faults:
    case State::other_architecture: return true;
    case State::armed:
    case State::other_tracer:
    case State::other_run:
    case State::left_over:
    case State::foreign:
    case State::changed:
    case State::damaged:
    case State::not_private:
    case State::busy:
    case State::gone:
    case State::not_under_threads:
    case State::stale_call:
    case State::huge_pages:
    case State::no_argument:
    case State::unreadable_argument:
    case State::no_stack_record:
    case State::no_stack_argument:
    case State::exit_arguments:
    case State::tail_call:
    case State::no_result:
    case State::no_functions:
    case State::no_named_argument:
    case State::no_symbol:
    case State::no_processor:
    case State::by_kernel:
    case State::not_in_kernel:
    case State::no_goroutine:
    case State::not_by_itself: break;
    }
    return false;
}

} // namespace

// Of the sites that come, those that the kernel's engine has are no others' any more.
void Session::give_to_kernel()
{
    std::vector<SiteState> states; // as stubs have them
    if (!options_.all_in_kernel && !fresh_.empty())
        states = preview().states;
    const auto is_given = [&](size_t i) {
        const Site& site = fresh_[i];
        if (options_.all_in_kernel)
            return kernel_can(site.found.state);
        const bool is_left_out = options_.moves && site.left_out(states[i]);
        const bool stays = can_be_armed(states[i]) && (options_.moves || !site.moves());
        return kernel_can(states[i].state) && !stays && !is_left_out;
    };
    std::vector<size_t> given;
    std::vector<Site> sites;
    for (size_t i = 0; i < fresh_.size(); ++i)
        if (is_given(i)) {
            given.push_back(i);
            sites.push_back(fresh_[i]);
        }
    const std::vector<SiteState> found = options_.kernel->attach(view_.pid(), sites, view_.mappings());
    for (size_t k = 0; k < given.size(); ++k) {
        Site& site = fresh_[given[k]];
        site.found = found[k];
        site.patch = site.length = 0;
        site.moved = {};
    }
    options_.kernel->start();
}

size_t Session::sites_for(bpf::Kernel& kernel) const
{
    const std::vector<SiteState> states = kernel.can(view_.pid(), fresh_, view_.mappings());
    return size_t(std::count_if(states.begin(), states.end(),
                                [](const SiteState& each) { return each.state == State::by_kernel; }));
}

Session::Preview Session::preview()
{
    Preview preview;
    lasting_.look(environment_, view_.mappings());
    preview.sites = fresh_;
    preview.states = can_arm(target_, preview.sites);
    preview.stubs.resize(preview.sites.size());
    std::vector<size_t> indices;
    std::vector<uint64_t> addresses;
    for (size_t i = 0; i < preview.sites.size(); ++i)
        if (can_be_armed(preview.states[i])) {
            indices.push_back(i);
            addresses.push_back(preview.sites[i].patch);
        }
    // Groups sites as arming does: one arena reaches all sites of a group.
    std::map<size_t, std::vector<size_t>> groups;
    const std::vector<size_t> group_of = group_by_reach(addresses, own_machine.most_code);
    for (size_t k = 0; k < indices.size(); ++k)
        groups[group_of[k]].push_back(indices[k]);
    for (const auto& [number, members] : groups) {
        std::vector<Site> sites;
        uint64_t base = UINT64_MAX;
        for (const size_t i : members) {
            sites.push_back(preview.sites[i]);
            base = std::min(base, preview.sites[i].patch / smallest_page * smallest_page);
        }
        // Compiled as if for the page of the lowest site; nothing is written there. So distances are realistic.
        const Code code = compiled(sites, {base, base, base, base});
        preview.cost.stubs += whole_pages(code.bytes.size()) + own_machine.page;
        std::vector<uint64_t> borders = code.stubs; // a stub ends where the next begins, or with the code
        borders.push_back(base + code.bytes.size());
        borders.insert(borders.end(), code.bodies.begin(), code.bodies.end());
        borders.push_back(code.bodies_end);
        std::sort(borders.begin(), borders.end());
        const auto stub_at = [&](uint64_t address) {
            const uint64_t end = *std::upper_bound(borders.begin(), borders.end(), address);
            const auto first = code.bytes.begin() + static_cast<ptrdiff_t>(address - base);
            return Preview::Stub{address, {first, first + static_cast<ptrdiff_t>(end - address)}};
        };
        std::transform(code.bodies.begin(), code.bodies.end(), std::back_inserter(preview.bodies), stub_at);
        for (size_t k = 0; k < members.size(); ++k) {
            if (code.refusals[k].state != State::ready) {
                preview.states[members[k]] = code.refusals[k];
                continue;
            }
            preview.stubs[members[k]] = stub_at(code.stubs[k]);
        }
    }
    std::set<uint64_t> pages;
    for (size_t i = 0; i < preview.sites.size(); ++i)
        if (can_be_armed(preview.states[i]))
            pages.insert(preview.sites[i].patch / smallest_page);
    preview.cost.pages = pages.size();
    return preview;
}

void Session::arm()
{
    const TracerThread tracer;
    const size_t known = arming_.sites().size();
    view_.look(); // what changes from now on is seen by the next one
    lasting_.look(environment_, view_.mappings());
    look_at_stacks();
    look_for_filters();
    calls_wanted_ = calls_wanted_ || wants_calls();
    decide_calls(calls_wanted_ || wants_loader_ || wants_executing_); // the stubs there wait by one
    if (wants_loader_ && environment_.system_calls)
        arming_.watch_loader();
    if (wants_executing_ && environment_.system_calls)
        arming_.watch_executing();
    // An argument may be a constant of its file.
    reads_lasting_ =
        reads_lasting_ || (uses(script_, Value::arg) && std::any_of(fresh_.begin(), fresh_.end(), [](const Site& site) {
                               return site.arguments.find("(%rip") != std::string::npos;
                           }));
    if (options_.kernel)
        give_to_kernel();
    try {
        arming_.arm(fresh_);
    } catch (...) {
        if (arming_.sites().size() != known) // it takes all of them, or none
            fresh_.clear();
        throw;
    }
    fresh_.clear();
}

void Session::match_again()
{
    view_.look();
    std::vector<Site> come = matcher_.find_new();
    fresh_.insert(fresh_.end(), std::make_move_iterator(come.begin()), std::make_move_iterator(come.end()));
}

void Session::match_and_arm()
{
    match_again();
    arm();
}

// A slot is found from its thread's number on, up to the first one without an owner. So only one is freed behind which there is one: others
// are where they are looked for. A thread that begins where an ended one was, and is taken for that just now, takes the slot again.
void Session::free_slots()
{
    if (!has_memory() || !environment_.tid_offset)
        return;
    const auto bytes = target_.read_data(Tables::slice + Tables::owners, 8 * most_threads);
    if (bytes.size() != 8 * most_threads)
        return;
    std::vector<uint64_t> owners(most_threads);
    std::memcpy(owners.data(), bytes.data(), bytes.size());
    const auto used = size_t(std::count_if(owners.begin(), owners.end(), [](uint64_t owner) { return owner != 0; }));
    if (used <= most_threads / 2)
        return;
    // The kernel writes 0 over the number that the C library keeps (CLONE_CHILD_CLEARTID), pthread_join() of glibc -1; then the stack may be
    // unmapped.
    const auto has_ended = [this](uint64_t pointer) {
        const auto bytes = target_.read(pointer + static_cast<uint64_t>(int64_t{*environment_.tid_offset}), 4);
        int32_t number = 0;
        if (bytes.size() == sizeof number)
            std::memcpy(&number, bytes.data(), sizeof number);
        return number <= 0;
    };
    for (size_t i = 2 * most_threads; i-- > 0;) {
        uint64_t& owner = owners[i % most_threads];
        if (owner != 0 && owners[(i + 1) % most_threads] == 0 && has_ended(~owner)
            && target_.change_data(Tables::slice + Tables::owners + 8 * (i % most_threads), owner, 0))
            owner = 0;
    }
}

void Session::disarm()
{
    const TracerThread tracer;
    arming_.disarm();
}

void Session::watch_loader()
{
    if (options_.all_in_kernel)
        return;
    if (!environment_.system_calls && !matcher_.means_libraries() && !symbols_)
        return; // no library would change anything: neither has it sites, nor could a filter of its harm a stub
    wants_loader_ = true;
}

bool Session::answer_loader(const std::function<void()>& match)
{
    Target& target = target_; // this session may be gone after match(): the process has executed another program
    const uint32_t question = target.take_question();
    match();
    return target.answer_loader(question);
}

bool Session::holds_modules()
{
    return environment_.system_calls && arming_.hears_loader() && target_.holds_modules();
}

bool Session::held_all_modules()
{
    return environment_.system_calls && arming_.hears_loader() && target_.held_all_modules();
}

ReadData Session::reader()
{
    return [this](size_t offset, size_t size) { return target_.read_data(offset, size); };
}

// The kernel's clock is slowed down and sped up (adjtimex), and the first measurement was short.
void Session::keep_time()
{
    constexpr uint64_t often = 1'000'000'000;
    if (!environment_.clock || arming_.window().size == 0)
        return;
    const Moment now = read_clocks();
    if (now.ns - timed_.ns < often)
        return;
    environment_.clock = corrected(*environment_.clock, timed_, now);
    timed_ = now;
    for (const FirstWord& each : words_of_clock(arming_.window(), *environment_.clock, clocks_))
        target_.put_data(each.offset, each.value);
    ++clocks_;
}

uint64_t Session::word(size_t offset)
{
    return word_at(reader(), offset);
}

Maps Session::read_all()
{
    Maps now = read_tables(script_, tables_, arming_.window(), reader());
    merge(script_, now, ended_);
    now.lost = event_reader_.lost();
    return now;
}

// A process that is seen to have no slice of those listed before it was looked for has ended, or executes another program.
void Session::look_for_forks(bool now)
{
    const Window window = arming_.window();
    if (window.size == 0)
        return;
    using Clock = std::chrono::steady_clock;
    constexpr uint64_t enough = 16;
    const Clock::time_point begin = Clock::now();
    const auto are_some = [&] {
        return forks_ != 0 || word(Tables::slices) != 0 || (may_see_faults() && word(Tables::forked) != 0);
    };
    if (!now && (begin < search_again_ || !are_some()))
        return;
    const std::vector<Slice> slices = slices_of_children(tables_, window, reader());
    Forks::Found found;
    const auto look = [&](const Processes& processes) {
        found = searched_.find(arming_.fronts(), processes, filters_.allowing());
        return !found.ended;
    };
    if (now)
        look_at_all(look);
    else
        look(list_processes());
    forks_ = found.forks.size();
    const int part = word(Tables::free) < enough ? 10 : 50; // of the time
    const Clock::time_point end = Clock::now();
    search_again_ = end + part * (end - begin);
    if (may_see_faults())
        look_for_handlers_in(found.forks);
    if (!found.all)
        return;
    for (const Slice& slice : slices)
        if (slice.state == Tables::slice_used
            && std::none_of(found.forks.begin(), found.forks.end(),
                            [&](const Fork& fork) { return fork.slice == window.address + slice.offset; }))
            keep_ended(slice);
}

void Session::read_events(std::vector<Event>& to, bool last)
{
    fetch_events(last);
    for (Event& event : events_)
        for (size_t i = 0; i < event.values.size(); ++i)
            if (const Expression& e = event.statement->values[i]; e.type.has_name())
                event.values[i] = {0, name_of(e.type, uint64_t(event.values[i].number))};
    to.insert(to.end(), std::make_move_iterator(events_.begin()), std::make_move_iterator(events_.end()));
    events_.clear();
}

void Session::fetch_events(bool last)
{
    event_reader_.read(arming_.window(), reader(), changer(), last, events_);
}

bool Session::is_asked_for_events()
{
    if (arming_.window().size == 0)
        return false;
    const uint64_t asked = word(Tables::asked);
    return asked != std::exchange(events_asked_, asked);
}

void Session::keep_ended(Slice slice)
{
    fetch_events(false);
    Maps ended = read_slice(script_, tables_, arming_.window(), reader(), slice);
    ended.processes = 1;
    merge(script_, ended, ended_);
    drop_beyond(script_, ended, most_ended_keys);
    ended_ = std::move(ended);
    target_.forget_data(contents_of_slice(tables_, arming_.window(), reader(), slice));
    target_.change_data(slice.offset + Tables::state, Tables::slice_used, Tables::slice_free);
    // Children take some meanwhile, and a hostile one could change the word for ever.
    constexpr unsigned most_tries = 100;
    for (unsigned i = 0; i < most_tries; ++i)
        if (const uint64_t free = word(Tables::free); target_.change_data(Tables::free, free, free + 1))
            break;
}

std::vector<std::string> Session::clear_forks(std::span<Session* const> sessions)
{
    std::vector<std::string> troubles;
    if (std::all_of(sessions.begin(), sessions.end(), [](const Session* s) { return s->arming_.fronts().empty(); }))
        return troubles;
    std::set<pid_t> done, first;
    for (const Processes::Living& process : list_processes().living)
        first.insert(process.pid);
    // One may have forked another before its jumps were gone. One without jumps gives no reason to look again: a server that forks
    // without a pause has new ones as long as it has the stubs.
    for (bool more = true; more;) {
        more = false;
        std::set<pid_t> forks;
        look_at_all([&](const Processes& processes) {
            forks.clear();
            bool ended = false;
            for (const Session* session : sessions) {
                const Forks::Found found =
                    session->searched_.find(session->arming_.fronts(), processes, session->filters_.allowing());
                for (const Fork& fork : found.forks)
                    forks.insert(fork.pid);
                ended = ended || found.ended;
            }
            return !ended;
        });
        for (const pid_t pid : forks)
            if (done.insert(pid).second) {
                try {
                    more = clear_forked(*open_forked(pid)) || more;
                } catch (const Unusable& error) {
                    more = more || first.contains(pid); // it may have had jumps, and those that came later did not
                    if (!is_ending(pid))
                        troubles.emplace_back(error.what());
                }
            }
    }
    const Processes now = list_processes();
    for (const Session* const session : sessions)
        session->target_.clear_early_forks(session->searched_.begun_since(now));
    return troubles;
}

Maps Session::read()
{
    keep_time();
    Maps now = read_all();
    if (clears(script_))
        last_ = now;
    for (size_t map = 0; map < cleared_.size(); ++map)
        if (cleared_[map])
            subtract(script_, map, now, *cleared_[map]);
    if (!symbols_)
        return now;
    symbols_->look(view_.look());
    return named(script_, std::move(now),
                 [this](const ValueType& type, uint64_t number) { return name_of(type, number); });
}

std::vector<Piece> Session::contents()
{
    return engine::contents(tables_, arming_.window(), reader());
}

std::string Session::name_of(const ValueType& type, uint64_t number)
{
    return type.kind == ValueKind::stack ? name_of(number) : symbols_->function(number);
}

ChangeData Session::changer()
{
    return [this](size_t offset, uint64_t from, uint64_t to) { return target_.change_data(offset, from, to); };
}

void Session::remove(size_t map, const std::vector<Datum>& keys)
{
    const auto has_keys = [&](const Entry& entry) { return entry.keys == keys; };
    clear_table(script_, tables_, arming_.window(), map, reader(), changer(), &keys);
    std::erase_if(ended_.maps[map], has_keys);
}

void Session::assign(size_t map, int64_t value)
{
    if (arming_.window().size == 0) {
        given_[map] = value; // with the memory
        return;
    }
    for (const FirstWord& each : words_of_value(tables_, map, value))
        target_.put_data(each.offset, each.value);
}

void Session::clear(size_t map, bool as_read)
{
    clear_table(script_, tables_, arming_.window(), map, reader(), changer());
    const MapKind kind = script_.maps[map].kind;
    const bool subtracted = is_subtracted(script_, tables_, map);
    if (!subtracted || kind == MapKind::min || kind == MapKind::max)
        ended_.maps[map].clear();
    if (!subtracted)
        return;
    if (as_read && kind != MapKind::min && kind != MapKind::max)
        cleared_[map] = last_;
    else
        cleared_[map] = read_all();
}

} // namespace fastsdt::engine
