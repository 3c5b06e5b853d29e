// The cache of a jitted function: one entry per kind of call.
#include "trace/jit.h"

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "base/error.h"
#include "base/fork.h"
#include "tessera/transforms.h"
#include "trace/array.h"
#include "trace/retrace.h"
#include "trace/scopes.h"

namespace tessera::trace {

namespace {

struct Key {
  absl::InlinedVector<const ir::Type*, 4> types;
  absl::InlinedVector<bool, 8> flags;  // per leaf: donated, shares replicas
  std::string statics;
  const sharding::MeshDef* mesh;
  DType default_int, default_float;
  bool strict;
  size_t compile_key;
  friend bool operator==(const Key&, const Key&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Key& k) {
    return H::combine(std::move(h), k.types, k.flags, k.statics, k.mesh, k.default_int.code(),
                      k.default_float.code(), k.strict, k.compile_key);
  }
};

struct Entry {
  TracedProgram traced;
  Given given;
  size_t number = 0;            // of entries before it
  Executor::Compiled compiled;  // null until first run
};

bool SameButStatics(const Key& a, const Key& b) {
  return a.types == b.types && a.flags == b.flags && a.mesh == b.mesh &&
         a.default_int == b.default_int && a.default_float == b.default_float &&
         a.strict == b.strict && a.compile_key == b.compile_key;
}

}  // namespace

class JitCache {
 public:
  explicit JitCache(std::string n) : name(std::move(n)) {}
  const std::string name;
  absl::flat_hash_map<Key, std::shared_ptr<Entry>> entries;
  bool noted = false;  // that it grows and grows
};

namespace {

// All caches, which one lock guards: it is held to look something up, never while anything is
// traced or compiled, for that may call the user's functions.
struct Caches {
  Caches() { base::HoldOverFork(mutex); }
  std::mutex mutex;
  absl::flat_hash_map<const void*, std::shared_ptr<JitCache>> shared;
};
Caches& TheCaches() {
  static Caches& caches = *new Caches;
  return caches;
}

}  // namespace

std::shared_ptr<JitCache> NewJitCache(std::string name) {
  return std::make_shared<JitCache>(std::move(name));
}

std::shared_ptr<JitCache> SharedJitCache(const void* key, const std::string& name) {
  std::lock_guard lock(TheCaches().mutex);
  std::shared_ptr<JitCache>& cache = TheCaches().shared[key];
  if (!cache) cache = NewJitCache(name);
  return cache;
}

namespace {

Key MakeKey(const FlatArguments& arguments, const std::vector<ArrayRef>& leaves) {
  Key key{{},
          {},
          arguments.statics,
          CurrentMesh(),
          base::DefaultInt(),
          base::DefaultFloat(),
          base::StrictTypesActive(),
          TheExecutor().CompileKey()};
  for (size_t i = 0; i < leaves.size(); ++i) {
    key.types.push_back(leaves[i]->type());
    if (const ir::Type* place = PlaceOf(*leaves[i])) key.types.push_back(place);
    bool concrete = leaves[i]->kind() == ArrayImpl::kConcrete;
    key.flags.push_back(i < arguments.donated.size() && arguments.donated[i]);
    key.flags.push_back(!concrete ||
                        static_cast<const ConcreteArray*>(leaves[i].get())->shares_replicas());
  }
  return key;
}

TracedProgram TraceOnce(const std::vector<ArrayRef>& leaves, const TraceBody& body, Loc loc) {
  NestingScope nesting("jit", loc);
  auto trace = std::make_shared<Trace>(CurrentMesh(), loc);
  struct End {
    Trace& trace;
    ~End() { trace.ended = true; }
  } end{*trace};
  std::vector<Array> tracers;
  for (const ArrayRef& leaf : leaves) {
    ir::ValueId v = trace->program().AddValue(leaf->type(), leaf->loc());
    trace->program().inputs.push_back(v);
    if (const ir::Type* place = PlaceOf(*leaf)) trace->program().SetPlace(v, place);
    tracers.emplace_back(std::make_shared<TracedArray>(leaf->type(), leaf->loc(), trace, v));
  }
  TraceScope scope(trace.get());
  FlatResult result = body.call(tracers);
  for (const Array& leaf : result.leaves)
    trace->program().outputs.push_back(trace->Lift(Use(leaf, "jit", loc), loc));
  if (!trace->program().mesh)
    for (const ir::Value& v : trace->program().values)
      if (v.type->mesh()) trace->program().mesh = v.type->mesh();
  return {std::make_shared<const ir::Program>(std::move(trace->program())),
          std::move(result.skeleton)};
}

std::vector<ArrayRef> UseLeaves(const FlatArguments& arguments, Loc loc) {
  std::vector<ArrayRef> leaves;
  for (const Array& leaf : arguments.leaves) leaves.push_back(Use(leaf, "jit", loc));
  return leaves;
}

// Numbers of new programs after which a note is due.
constexpr size_t kStaticRetraces = 3, kRetraces = 16;

// Returns the note about this new entry, empty unless one is due. Under the lock.
std::string RetraceNote(JitCache& cache, const Key& key, const Entry& fresh, Loc loc) {
  if (cache.noted || !RetraceNotesOn()) return {};
  size_t alike = 0;
  const Entry *last = nullptr, *last_alike = nullptr;
  for (const auto& [other, entry] : cache.entries) {
    if (entry.get() == &fresh) continue;
    if (!last || entry->number > last->number) last = entry.get();
    if (!SameButStatics(other, key)) continue;
    ++alike;
    if (!last_alike || entry->number > last_alike->number) last_alike = entry.get();
  }
  const bool statics = alike >= kStaticRetraces;
  if (!statics && fresh.number < kRetraces) return {};
  cache.noted = true;
  std::string change = ChangeText((statics ? last_alike : last)->given, fresh.given);
  if (change.empty()) change = "the mesh, the dtype scopes or what is donated";
  return fmt::format(
      "tessera: {}: jit({}) has traced {} programs more than one; last changed: {}\n  {}\n"
      "  said once for a function; RetraceNotes(false) silences it\n",
      base::Where(loc), cache.name, fresh.number, change,
      statics ? "a value that is no Array is part of the program: make the parameter an Array, or "
                "pass asarray(value)"
              : "each combination of types is a program of its own: pad the arguments to few");
}

std::shared_ptr<Entry> Find(JitCache& cache, const FlatArguments& arguments,
                            const std::vector<ArrayRef>& leaves, const TraceBody& body, Loc loc) {
  Key key = MakeKey(arguments, leaves);
  {
    std::lock_guard lock(TheCaches().mutex);
    auto it = cache.entries.find(key);
    if (it != cache.entries.end()) return it->second;
  }
  auto entry = std::make_shared<Entry>();
  entry->traced = TraceOnce(leaves, body, loc);
  entry->given.outline = body.outline();
  for (const ArrayRef& leaf : leaves) entry->given.types.push_back(leaf->type());
  std::string note;
  {
    std::lock_guard lock(TheCaches().mutex);
    entry->number = cache.entries.size();
    auto [it, fresh] = cache.entries.try_emplace(std::move(key), entry);
    if (fresh) note = RetraceNote(cache, it->first, *entry, loc);
    entry = it->second;
  }
  if (!note.empty()) std::fputs(note.c_str(), stderr);
  return entry;
}

// Compiles on the first run. What the captures share is known only now.
Executor::Compiled CompiledOf(Entry& entry, const FlatArguments& arguments,
                              const std::vector<ArrayRef>& inputs) {
  {
    std::lock_guard lock(TheCaches().mutex);
    if (entry.compiled) return entry.compiled;
  }
  std::vector<bool> shares, donated = arguments.donated;
  for (const ArrayRef& input : inputs)
    shares.push_back(static_cast<const ConcreteArray*>(input.get())->shares_replicas());
  donated.resize(inputs.size());
  Executor::Compiled compiled =
      TheExecutor().Compile(entry.traced.program, std::move(donated), std::move(shares));
  std::lock_guard lock(TheCaches().mutex);
  if (!entry.compiled) entry.compiled = std::move(compiled);
  return entry.compiled;
}

bool AnyAbstract(const std::vector<ArrayRef>& leaves, const ir::Program& program) {
  if (program.mesh && program.mesh->is_abstract()) return true;
  for (const ArrayRef& leaf : leaves)
    if (leaf->kind() == ArrayImpl::kAbstract) return true;
  return false;
}

bool InsideTrace(const std::vector<ArrayRef>& leaves) {
  if (CurrentTrace()) return true;
  for (const ArrayRef& leaf : leaves)
    if (leaf->kind() == ArrayImpl::kTraced) return true;
  return false;
}

std::vector<ArrayRef> WithCaptures(const std::vector<ArrayRef>& leaves, const ir::Program& program,
                                   Loc loc) {
  std::vector<ArrayRef> inputs = leaves;
  for (const ir::Capture& c : program.captures) {
    inputs.push_back(
        std::const_pointer_cast<ArrayImpl>(std::static_pointer_cast<const ArrayImpl>(c.array)));
    if (const std::optional<Loc>& donated = inputs.back()->donated_at)
      base::ThrowTrace(
          base::Refusal("jit", "captured", base::Where(loc),
                        fmt::format("the function captured {}, which was donated since",
                                    inputs.back()->type()->text()),
                        {"donated at " + base::Where(*donated),
                         "pass it as an argument instead of capturing it"}));
  }
  return inputs;
}

}  // namespace

FlatResult CallJit(JitCache& cache, FlatArguments arguments, const TraceBody& body, Loc loc) {
  std::vector<ArrayRef> leaves = UseLeaves(arguments, loc);
  if (InsideTrace(leaves)) {
    NestingScope nesting("jit", loc);
    return body.call(arguments.leaves);
  }
  std::shared_ptr<Entry> entry = Find(cache, arguments, leaves, body, loc);
  const ir::Program& program = *entry->traced.program;
  FlatResult result{{}, entry->traced.skeleton};
  if (AnyAbstract(leaves, program)) {
    for (ir::ValueId v : program.outputs)
      result.leaves.emplace_back(
          std::make_shared<ArrayImpl>(ArrayImpl::kAbstract, program.type(v), loc));
    return result;
  }
  std::vector<ArrayRef> inputs = WithCaptures(leaves, program, loc);
  Executor::Compiled compiled = CompiledOf(*entry, arguments, inputs);
  for (size_t i = 0; i < leaves.size(); ++i)
    if (arguments.donated[i]) leaves[i]->donated_at = loc;
  arguments.leaves.clear();
  leaves.clear();
  for (ArrayRef& r : TheExecutor().Run(compiled.get(), std::move(inputs), loc))
    result.leaves.emplace_back(std::move(r));
  return result;
}

TracedProgram TraceCall(JitCache& cache, const FlatArguments& arguments, const TraceBody& body,
                        Loc loc) {
  return Find(cache, arguments, UseLeaves(arguments, loc), body, loc)->traced;
}

int64_t Retraces(const JitCache& cache) {
  std::lock_guard lock(TheCaches().mutex);
  return std::max<int64_t>(0, static_cast<int64_t>(cache.entries.size()) - 1);
}

Program TraceJit(JitCache& cache, FlatArguments arguments, const TraceBody& body, Loc loc) {
  return Program(TraceCall(cache, arguments, body, loc).program);
}

}  // namespace tessera::trace
