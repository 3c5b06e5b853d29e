// Captures of outside arrays, and refusals of arrays that can no longer be used.
#include "trace/array.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>

#include "base/error.h"
#include "base/fork.h"
#include "trace/scopes.h"
#include "trace/watch.h"

namespace tessera::trace {
// The concrete arrays on meshes. They are linked to each other, as every call makes some.
struct ShardedArrays {
  std::mutex& mutex = base::NewForkMutex();
  ConcreteArray *oldest = nullptr, *newest = nullptr;

  static ShardedArrays& Get() {
    static auto& sharded = *new ShardedArrays;
    return sharded;
  }
  void Add(ConcreteArray& array) {
    const std::lock_guard lock(mutex);
    array.older_ = newest;
    (newest != nullptr ? newest->newer_ : oldest) = &array;
    newest = &array;
  }
  void Remove(const ConcreteArray& array) {
    const std::lock_guard lock(mutex);
    (array.older_ != nullptr ? array.older_->newer_ : oldest) = array.newer_;
    (array.newer_ != nullptr ? array.newer_->older_ : newest) = array.older_;
  }
  // Returns the array that was made next.
  static ConcreteArray* After(const ConcreteArray& array) { return array.newer_; }
};

ArrayImpl::~ArrayImpl() {
  if (watched) Unwatch(this);
}
ConcreteArray::ConcreteArray(const ir::Type* type, const ir::Type* placed, Loc loc)
    : ArrayImpl(kConcrete, type, loc), placed_(placed) {
  if (type->mesh()) ShardedArrays::Get().Add(*this);
}
ConcreteArray::~ConcreteArray() {
  if (type()->mesh()) ShardedArrays::Get().Remove(*this);
}
namespace {

// The kept arrays on meshes, and how often each is kept.
struct KeptArrays {
  struct Entry {
    std::weak_ptr<ArrayImpl> array;
    long times = 0;
  };
  std::mutex& mutex = base::NewForkMutex();
  absl::flat_hash_map<const ArrayImpl*, Entry> entries;
};
KeptArrays& TheKeptArrays() {
  static auto& kept = *new KeptArrays;
  return kept;
}

// The deleter of a KeptArray: lets go of the array.
class Keeper {
 public:
  explicit Keeper(ArrayRef a) : array(std::move(a)) {}
  void operator()(const void*) {
    if (!IsCounted(*array)) return;
    KeptArrays& kept = TheKeptArrays();
    const std::lock_guard lock(kept.mutex);
    const auto at = kept.entries.find(array.get());
    if (--at->second.times == 0) kept.entries.erase(at);
  }
  static bool IsCounted(const ArrayImpl& a) {
    return a.kind() == ArrayImpl::kConcrete && a.type()->mesh();
  }
  ArrayRef array;
};

}  // namespace

KeptArray Keep(const ArrayRef& array) {
  if (Keeper::IsCounted(*array)) {
    KeptArrays& kept = TheKeptArrays();
    const std::lock_guard lock(kept.mutex);
    KeptArrays::Entry& entry = kept.entries[array.get()];
    entry.array = array;
    ++entry.times;
  }
  return {array.get(), Keeper(array)};
}
ArrayRef ArrayOf(const KeptArray& kept) {
  const auto* keeper = std::get_deleter<Keeper>(kept);
  return keeper ? keeper->array : nullptr;
}

LiveArrays LiveShardedArrays() {
  KeptArrays& kept = TheKeptArrays();
  ShardedArrays& sharded = ShardedArrays::Get();
  const std::scoped_lock lock(kept.mutex, sharded.mutex);
  LiveArrays live;
  for (const ConcreteArray* array = sharded.oldest; array != nullptr;
       array = ShardedArrays::After(*array)) {
    const auto at = kept.entries.find(array);
    if (at != kept.entries.end() && at->second.array.use_count() == at->second.times) continue;
    if (live.count++ == 0) live.oldest_made_at = array->loc();
  }
  return live;
}

void ForEachShardedArray(absl::FunctionRef<void(ConcreteArray& array)> f) {
  ShardedArrays& sharded = ShardedArrays::Get();
  const std::lock_guard lock(sharded.mutex);
  for (ConcreteArray* array = sharded.oldest; array != nullptr;
       array = ShardedArrays::After(*array))
    f(*array);
}

namespace {
// Returns a number for a trace or a choice, from 1 on.
uint64_t NextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}
}  // namespace

uint64_t NewChoice() { return NextNumber(); }

Trace::Trace(const sharding::MeshDef* mesh, Loc loc, std::shared_ptr<Trace> outer, RegionRuns runs)
    : builder_(program_, loc),
      loc_(loc),
      outer_(std::move(outer)),
      mesh_(mesh),
      runs_(std::move(runs)),
      id_(NextNumber()) {
  program_.mesh = mesh;
}

bool Trace::IsInside(const Trace* trace) const {
  const Trace* at = this;
  while (at && at != trace) at = at->outer_.get();
  return at != nullptr;
}

namespace {
[[noreturn]] void RefuseUse(const char* op, const char* check, Loc loc, std::string reason,
                            std::vector<std::string> notes) {
  base::ThrowTrace(base::Refusal(op, check, base::Where(loc), std::move(reason), std::move(notes)));
}
}  // namespace

void Trace::FailThread(const char* op, const ArrayImpl& array, Loc use) const {
  RefuseUse(op, "thread", use,
            fmt::format("the traced value {} is used on another thread than the one that traces it",
                        array.type()->text()),
            {"made at " + base::Where(array.loc()) + ", traced from " + base::Where(loc_),
             "compute with traced values on their thread alone; vmap and scan replace such loops"});
}

ir::ValueId Trace::Lift(const ArrayRef& array, Loc use) {
  CheckThread("trace", *array, use);
  if (array->kind() == ArrayImpl::kTraced) {
    auto* traced = static_cast<const TracedArray*>(array.get());
    if (traced->trace.get() == this) return traced->value;
    if (!IsInside(traced->trace.get()))
      RefuseUse("trace", "foreign", use, "a value of another trace is used in this one",
                {"made at " + base::Where(array->loc()) + ": pass it as an argument"});
  }
  auto [it, fresh] = captured_.try_emplace(array.get(), ir::kNoValue);
  if (fresh) {
    it->second = program_.AddValue(array->type(), array->loc());
    if (const ir::Type* place = array->place()) program_.SetPlace(it->second, place);
    program_.captures.push_back({it->second, Keep(array)});
  }
  return it->second;
}

namespace {
// Returns "argument 0.w, f32[4]," or "f32[4]" for an array without a name.
std::string Described(const ArrayImpl& impl, const std::string& name) {
  return name.empty() ? impl.type()->text() : fmt::format("{}, {},", name, impl.type()->text());
}

// Returns the implementation of an array, which may be donated.
const ArrayRef& GivenArray(const Array& array, const char* op, Loc loc,
                           absl::FunctionRef<std::string()> name) {
  const ArrayRef& impl = array.impl();
  if (!impl) {
    const std::string known = name();
    RefuseUse(op, "empty", loc, (known.empty() ? "this Array" : known) + " was never given a value",
              {"assign one before using it"});
  }
  if (impl->kind() == ArrayImpl::kTraced) {
    auto* traced = static_cast<const TracedArray*>(impl.get());
    if (traced->trace->ended()) {
      const std::string value = "the traced value " + impl->type()->text(), known = name();
      RefuseUse(op, "escaped", loc,
                (known.empty() ? value : fmt::format("{}, {},", known, value)) +
                    " is used after its trace ended",
                {"made at " + base::Where(impl->loc()) + ", traced from " +
                     base::Where(traced->trace->loc()),
                 "return it from the traced function instead"});
    }
    traced->trace->CheckThread(op, *impl, loc);
  }
  return impl;
}

std::string NoName() { return {}; }
}  // namespace

const ArrayRef& Use(const Array& array, const char* op, Loc loc) {
  return Use(array, op, loc, NoName);
}
const ArrayRef& Use(const Array& array, const char* op, Loc loc,
                    absl::FunctionRef<std::string()> name) {
  const ArrayRef& impl = GivenArray(array, op, loc, name);
  if (impl->donated_at)
    RefuseUse(
        op, "donated", loc, Described(*impl, name()) + " was donated and its buffers are gone",
        {"donated at " + base::Where(*impl->donated_at), "use the result of that call instead"});
  if (impl->lost_parts)
    base::ThrowRuntime(
        {.kind = {},
         .op = op,
         .label = std::string(op) + ".lost",
         .where = base::Where(loc),
         .reason = "parts of the array are on other processes, and the Processes scope has ended",
         .operands = {{"array", impl->type()->text(), base::Where(impl->loc())}},
         .notes = {"read it, or call gather_to_host(x), before the scope ends"},
         .fixes = {}});
  return impl;
}
const ir::Type* UseType(const Array& array, const char* op, Loc loc) {
  return GivenArray(array, op, loc, NoName)->type();
}

namespace {
constinit GetExecutor get_executor = nullptr;
}  // namespace
void InstallExecutor(GetExecutor get) { get_executor = get; }
Executor& TheExecutor() { return get_executor(); }

}  // namespace tessera::trace
