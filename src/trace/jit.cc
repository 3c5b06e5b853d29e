// The cache of a jitted function: one entry per kind of call.
#include "trace/jit.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "base/dtype.h"
#include "base/error.h"
#include "base/fork.h"
#include "ir/same.h"
#include "trace/apply.h"
#include "trace/compilations.h"
#include "trace/function.h"
#include "trace/inline.h"
#include "trace/key_reuse.h"
#include "trace/retrace.h"
#include "trace/scopes.h"
#include "trace/tree.h"
#include "trace/watch.h"

namespace tessera::trace {

namespace {

using detail::FunctionCall;

// Throws ShapeError if jit's .donate names an argument that does not exist, or names one twice.
void CheckDonate(const std::vector<int>& donate, size_t arguments, Loc loc) {
  auto refuse = [loc](std::string reason, std::vector<std::string> notes = {}) {
    base::ThrowShape(
        base::Refusal("jit", 17, base::Where(loc), std::move(reason), std::move(notes)));
  };
  for (size_t i = 0; i < donate.size(); ++i) {
    if (donate[i] < 0 || static_cast<size_t>(donate[i]) >= arguments)
      refuse(
          fmt::format(".donate names argument {}, but the function takes {}", donate[i], arguments),
          {"arguments are counted from 0"});
    if (std::count(donate.begin(), donate.begin() + static_cast<long>(i), donate[i]) > 0)
      refuse(fmt::format(".donate names argument {} twice", donate[i]));
  }
}

// A call's arguments, and everything else that decides how the function is traced.
class CallTree final : public detail::Visitor {
 public:
  CallTree(const FunctionCall& call, const std::vector<int>& donate)
      : loc_(call.loc), donate_(donate) {
    call.arguments.type->visit(call.arguments.tree, *this);
  }

  void Leaf(Array& a) override {
    refs.push_back(Use(a, "jit", loc_));
    donated.push_back(absl::c_count(donate_, static_cast<int>(part_)) > 0);
  }
  void Static(const std::string& text) override { Add('s', text.size()), statics += text; }
  void Static(Scalar v) override {
    switch (v.kind()) {
      case Scalar::kFloat:
        return Add('f', v.as_double());
      case Scalar::kComplex:
        return Add('c', v.as_complex());
      default:
        return Add('i', v.as_int());
    }
  }
  void Present(bool present) override { Add('o', present); }
  void Enter(size_t parts) override {
    if (depth_++ == 0) CheckDonate(donate_, parts, loc_);
    Add('n', static_cast<uint32_t>(parts));
  }
  void Next() override { part_ += depth_ == 1; }
  void Leave() override { --depth_; }

  std::vector<ArrayRef> refs;
  std::vector<bool> donated;  // per array
  std::string statics;        // the bytes of everything that is not an array

 private:
  template <class T>
  void Add(char kind, T value) {
    statics += kind;
    statics.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  const Loc loc_;
  const std::vector<int>& donate_;
  size_t part_ = 0;  // the current argument
  int depth_ = 0;
};

}  // namespace

// Everything that decides the program of a call.
struct JitKey {
  const detail::TreeType* arguments;
  absl::InlinedVector<const ir::Type*, 4> types;
  absl::InlinedVector<bool, 8> flags;  // per leaf: donated, shares replicas
  std::string statics;
  const sharding::MeshDef* mesh;
  DType default_int, default_float;
  bool strict, checks_keys, checks_indices, makes_checks;
  size_t compile_key;
  friend bool operator==(const JitKey&, const JitKey&) = default;
  template <class H>
  friend H AbslHashValue(H h, const JitKey& k) {
    return H::combine(std::move(h), k.arguments, k.types, k.flags, k.statics, k.mesh,
                      k.default_int.code(), k.default_float.code(), k.strict, k.checks_keys,
                      k.checks_indices, k.makes_checks, k.compile_key);
  }
};

// A traced program, with everything that later calls need.
struct JitEntry {
  std::shared_ptr<const ir::Program> program;
  detail::AnyTree tree;  // of the result
  std::shared_ptr<const void> made;
  Given given;
  size_t number = 0;  // the number of earlier entries
  std::vector<KeyUse> key_uses;
  std::shared_ptr<Watch> watch;  // of arrays that the function captured by reference
  Executor::Compiled compiled;   // null before the first run
  std::vector<bool> for_shares;  // which captures share replicas, in `compiled`
};

namespace {

bool SameButStatics(const JitKey& a, const JitKey& b) {
  return a.arguments == b.arguments && a.types == b.types && a.flags == b.flags &&
         a.mesh == b.mesh && a.default_int == b.default_int && a.default_float == b.default_float &&
         a.strict == b.strict && a.compile_key == b.compile_key;
}

}  // namespace

class JitCache {
 public:
  JitCache(std::string n, Keeps k) : name(std::move(n)), keeps(k), noted(k != Keeps::kPrograms) {}
  const std::string name;
  const Keeps keeps;
  absl::flat_hash_map<JitKey, std::shared_ptr<JitEntry>> entries;
  bool noted;  // whether the retrace note has been printed
};

namespace {

// All caches, guarded by one lock. It is held for lookups, never while tracing or compiling, which
// may call users' functions.
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

std::shared_ptr<JitCache> NewJitCache(std::string name, Keeps keeps) {
  return std::make_shared<JitCache>(std::move(name), keeps);
}

std::shared_ptr<JitCache> SharedJitCache(const void* key, const std::string& name, Keeps keeps) {
  std::lock_guard lock(TheCaches().mutex);
  std::shared_ptr<JitCache>& cache = TheCaches().shared[key];
  if (!cache) cache = NewJitCache(name, keeps);
  return cache;
}

namespace {

bool SharesReplicas(const ArrayRef& concrete) {
  return static_cast<const ConcreteArray*>(concrete.get())->shares_replicas();
}

JitKey MakeKey(const FunctionCall& call, const CallTree& arguments) {
  JitKey key{call.arguments.type,
             {},
             {},
             arguments.statics,
             CurrentMesh(),
             base::DefaultInt(),
             base::DefaultFloat(),
             base::StrictTypesActive(),
             ChecksKeyReuse(),
             ChecksIndices(),
             MakesChecks(),
             TheExecutor().CompileKey()};
  for (size_t i = 0; i < arguments.refs.size(); ++i) {
    const ArrayRef& leaf = arguments.refs[i];
    key.types.push_back(leaf->type());
    if (const ir::Type* place = leaf->place()) key.types.push_back(place);
    key.flags.push_back(arguments.donated[i]);
    key.flags.push_back(leaf->kind() != ArrayImpl::kConcrete || SharesReplicas(leaf));
  }
  return key;
}

// The numbers of new programs at which a note is due.
constexpr size_t kStaticRetraces = 3, kRetraces = 16;

// Returns the note about this new entry, or "" if none is due. Call it under the lock.
std::string RetraceNote(JitCache& cache, const JitKey& key, const JitEntry& fresh, Loc loc) {
  if (cache.noted || !RetraceNotesOn()) return {};
  size_t alike = 0;
  const JitEntry *last = nullptr, *last_alike = nullptr;
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
  if (change.empty()) change = "the mesh, a scope or the donated arguments";
  return fmt::format(
      "tessera: {}: jit({}) has traced {} programs after the first; the last change: {}\n  {}\n"
      "  said once per function; RetraceNotes(false) silences it\n",
      base::Where(loc), cache.name, fresh.number, change,
      statics
          ? "a value that is not an Array is part of the program: make the parameter an Array, or "
            "pass Array(value)"
          : "each combination of types is a program of its own: pad the arguments to a few shapes");
}

// Returns the entry of a call, and traces if there is none. Sets `fresh`, if not null, to whether
// it traced.
std::shared_ptr<JitEntry> Find(JitCache& cache, const FunctionCall& call, const CallTree& arguments,
                               bool* fresh = nullptr) {
  JitKey key = MakeKey(call, arguments);
  std::shared_ptr<JitEntry> last;
  {
    std::lock_guard lock(TheCaches().mutex);
    auto it = cache.entries.find(key);
    if (it != cache.entries.end()) last = it->second;
  }
  if (last && cache.keeps != Keeps::kCompiled) {
    const std::string note = CaptureNote(last->watch, cache.name, call.loc);
    if (!note.empty()) std::fputs(note.c_str(), stderr);
    return last;
  }
  if (fresh) *fresh = true;
  std::vector<Parameter> parameters;
  for (const ArrayRef& leaf : arguments.refs) parameters.push_back(LikeArray(leaf));
  const bool watches = cache.keeps != Keeps::kCompiled;
  const std::vector<SeenWord> seen = watches ? WordsBehind(call.function) : std::vector<SeenWord>();
  TracedFunction traced = TraceFunction(parameters, call.body, "jit", call.loc, /*outer=*/nullptr);
  auto entry = std::make_shared<JitEntry>();
  entry->program = ir::Shared(std::move(traced.program));
  entry->tree = std::move(traced.tree);
  // The cache must not keep returned arrays alive.
  detail::Replace(entry->tree.ref(), std::vector<Array>(entry->program->outputs.size()));
  entry->made = std::move(traced.made);
  entry->key_uses = std::move(traced.key_uses);
  if (watches) entry->watch = WatchCaptures(*entry->program, call.function, seen);
  if (cache.keeps == Keeps::kPrograms) {
    std::vector<const ir::Type*> types;
    for (const Parameter& p : parameters) types.push_back(p.type);
    entry->given = GivenOf(call.arguments, types);
  }
  const bool same = last && ir::SameProgram(*last->program, *entry->program);
  std::string note;
  {
    std::lock_guard lock(TheCaches().mutex);
    if (last) {
      if (same) entry->compiled = last->compiled, entry->for_shares = last->for_shares;
      cache.entries[key] = entry;
      return entry;
    }
    entry->number = cache.entries.size();
    auto [it, added] = cache.entries.try_emplace(std::move(key), entry);
    if (added) note = RetraceNote(cache, it->first, *entry, call.loc);
    entry = it->second;
  }
  if (!note.empty()) std::fputs(note.c_str(), stderr);
  return entry;
}

// Compiles on the first run: only now is it known whether captures share replicas.
Executor::Compiled CompiledOf(JitEntry& entry, Keeps keeps, const std::vector<bool>& donated,
                              const std::vector<ArrayRef>& inputs) {
  std::vector<bool> shares;
  for (size_t i = donated.size(); i < inputs.size(); ++i)
    shares.push_back(SharesReplicas(inputs[i]));
  {
    std::lock_guard lock(TheCaches().mutex);
    if (entry.compiled && entry.for_shares == shares) return entry.compiled;
  }
  Executor::Compiled compiled = keeps == Keeps::kCompiled
                                    ? CompileOnce(entry.program, donated, inputs)
                                    : CompileFor(entry.program, donated, inputs);
  std::lock_guard lock(TheCaches().mutex);
  entry.compiled = std::move(compiled), entry.for_shares = std::move(shares);
  return entry.compiled;
}

}  // namespace

detail::FunctionResult CallJit(JitCache& cache, const FunctionCall& call,
                               const std::vector<int>& donate) {
  CallTree arguments(call, donate);
  if (InsideTrace(arguments.refs)) {
    NestingScope nesting("jit", call.loc);
    return call.body({arguments.refs.begin(), arguments.refs.end()});
  }
  bool fresh = false;
  std::shared_ptr<JitEntry> entry = Find(cache, call, arguments, &fresh);
  UseUpKeys(entry->key_uses, arguments.refs);
  // Captured keys were noted while the function was traced.
  if (!fresh)
    for (const KeyUse& use : entry->key_uses)
      if (use.captured) UseUpKey(ArrayOf(use.captured), use.op.c_str(), use.loc);
  const ir::Program& program = *entry->program;
  detail::FunctionResult result{{}, entry->tree, entry->made};
  if (IsAbstract(arguments.refs, program)) {
    result.arrays = AbstractOutputs(program, call.loc);
    return result;
  }
  std::vector<ArrayRef> inputs = WithCaptures(arguments.refs, program, "jit", call.loc);
  Executor::Compiled compiled = CompiledOf(*entry, cache.keeps, arguments.donated, inputs);
  for (size_t i = 0; i < arguments.refs.size(); ++i)
    if (arguments.donated[i]) arguments.refs[i]->donated_at = call.loc;
  arguments.refs.clear();
  for (ArrayRef& r : TheExecutor().Run(compiled.get(), std::move(inputs), call.loc))
    result.arrays.emplace_back(std::move(r));
  return result;
}

ProgramAndBorder ProgramOf(JitCache& cache, const FunctionCall& call,
                           const std::vector<int>& donate) {
  const UsesNoKeysScope program_alone;
  const CallTree arguments(call, donate);
  const std::shared_ptr<JitEntry> entry = Find(cache, call, arguments);
  return {entry->program,
          {.inputs = TakeArrays(call.arguments, kArguments).names,
           .outputs = TakeArrays(entry->tree.ref(), kResult).names,
           .donated = arguments.donated}};
}

int64_t Retraces(const JitCache& cache) {
  std::lock_guard lock(TheCaches().mutex);
  return std::max<int64_t>(0, static_cast<int64_t>(cache.entries.size()) - 1);
}

}  // namespace tessera::trace
