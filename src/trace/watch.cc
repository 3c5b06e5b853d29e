// Records, by captured array, the addresses of variables that may hold it, and reads captured
// numbers.
#include "trace/watch.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/fork.h"
#include "trace/array.h"
#include "trace/retrace.h"

namespace tessera {
namespace trace {
namespace {

struct Variable {
  const void* address;
  std::weak_ptr<Watch> watch;
  bool assigned = false;
};
struct Variables {
  std::mutex& mutex = base::NewForkMutex();
  absl::flat_hash_map<const ArrayImpl*, std::vector<Variable>> of;
};
Variables& TheVariables() {
  static auto& variables = *new Variables;
  return variables;
}

void Tell(Variable& variable, bool assigned) {
  if (variable.assigned == assigned) return;
  variable.assigned = assigned;
  if (const std::shared_ptr<Watch> watch = variable.watch.lock())
    watch->assigned += assigned ? 1 : -1;
}

// Notes that a variable gets or loses an array.
void Tell(const void* address, const ArrayImpl* array, bool assigned) {
  if (!array || !array->watched) return;
  Variables& variables = TheVariables();
  const std::lock_guard lock(variables.mutex);
  for (Variable& v : variables.of[array])
    if (v.address == address) Tell(v, assigned);
}

}  // namespace

std::vector<const void*> WordsOf(detail::FunctionBytes function) {
  constexpr size_t kMost = 256;
  std::vector<const void*> words(std::min(function.size / sizeof(void*), kMost));
  if (!words.empty()) std::memcpy(words.data(), function.begin, words.size() * sizeof(void*));
  std::erase(words, nullptr);
  return words;
}

void Unwatch(const ArrayImpl* array) {
  Variables& variables = TheVariables();
  const std::lock_guard lock(variables.mutex);
  variables.of.erase(array);
}

std::shared_ptr<Watch> WatchCaptures(const ir::Program& program, detail::FunctionBytes function,
                                     const std::vector<SeenWord>& before) {
  const std::vector<const void*> words = WordsOf(function);
  if (words.empty()) return nullptr;
  auto watch = std::make_shared<Watch>();
  watch->numbers = NumbersOf(program, before);
  if (program.captures.empty()) return watch->numbers.empty() ? nullptr : watch;
  Variables& variables = TheVariables();
  const std::lock_guard lock(variables.mutex);
  for (const ir::Capture& c : program.captures) {
    const ArrayRef array = CapturedArray(c);
    std::vector<Variable>& of = variables.of[array.get()];
    std::erase_if(of, [](const Variable& v) { return v.watch.expired(); });
    for (const void* word : words) of.push_back({word, watch});
    array->watched = true;
  }
  return watch;
}

namespace {
// Reading a number costs 2 us: after 64 calls it is read in calls whose number is a power of 2.
std::optional<std::string> ChangedNumberOf(Watch& watch) {
  if (watch.numbers.empty()) return {};
  const uint32_t call = watch.calls.fetch_add(1, std::memory_order_relaxed);
  return call < 64 || (call & (call - 1)) == 0 ? ChangedNumber(watch.numbers) : std::nullopt;
}
}  // namespace

std::string CaptureNote(const std::shared_ptr<Watch>& watch, const std::string& name, Loc loc) {
  if (!watch || !RetraceNotesOn() || watch->said.load(std::memory_order_relaxed)) return {};
  std::string change, mend, effect = "its program has the old value";
  if (watch->assigned.load(std::memory_order_relaxed) != 0) {
    change = "an Array by reference that was assigned since it was traced";
    mend = "make the Array a parameter";
  } else if (const std::optional<std::string> number = ChangedNumberOf(*watch)) {
    change = "a number by reference that changed " + *number + " since it was traced";
    effect = "if its program uses the number, it has the old value";  // an equal one is in it
    mend = "make it a parameter: of type Array if it changes often";
  }
  if (change.empty() || watch->said.exchange(true)) return {};
  return fmt::format(
      "tessera: {}: jit({}) captures {}: {}\n"
      "  {}\n"
      "  said once per program; RetraceNotes(false) silences it\n",
      base::Where(loc), name, change, effect, mend);
}

}  // namespace trace

Array::Array(const Array& other) noexcept = default;
Array::Array(Array&& other) noexcept = default;
Array::~Array() = default;
Array& Array::operator=(const Array& other) & noexcept {
  Array copy(other);
  return *this = std::move(copy);
}
Array& Array::operator=(Array&& other) & noexcept {
  if (impl_ != other.impl_) {
    trace::Tell(this, impl_.get(), /*assigned=*/true);
    trace::Tell(this, other.impl_.get(), /*assigned=*/false);
  }
  impl_ = std::move(other.impl_);
  return *this;
}

}  // namespace tessera
