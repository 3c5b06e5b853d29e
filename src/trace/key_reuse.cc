// Keys are compared by value: outside of traces by their words, inside by the computation that
// defines them, so that two equal computations count as one key.
#include "trace/key_reuse.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "tessera/random.h"
#include "trace/scopes.h"

namespace tessera {
namespace trace {
namespace {

[[noreturn]] void RefuseReuse(const std::string& op, Loc loc, std::string reason,
                              std::vector<std::string> notes) {
  base::ThrowTrace(
      base::Refusal(op, "reuse", base::Where(loc), std::move(reason), std::move(notes)));
}
[[noreturn]] void RefuseEveryIteration(const std::string& op, Loc loc) {
  RefuseReuse(op, loc, "each iteration of the loop uses up the same key",
              {"fold the number of the iteration in: random::fold_in(key, i)",
               "or carry the key: auto [next, now] = random::split<2>(key)"});
}

}  // namespace

// A value of keys. Values that are computed alike have one id.
enum class KeyId : int32_t {};

// A thread's record of used keys.
class KeyChecker {
 public:
  void UseUp(const ArrayRef& key, const std::string& op, Loc loc) {
    std::vector<TraceLevel> path = PathOf(*key);
    for (KeyId node : NodesOf(key)) {
      CheckLoops(node, path, op, loc);
      for (const Spent& earlier : nodes_[node].uses)
        if (!Exclude(earlier.path, path))
          RefuseReuse(
              op, loc,
              fmt::format("this key was already used by {} at {}: the numbers would repeat or "
                          "be correlated",
                          earlier.op, base::Where(earlier.loc)),
              {"split it first: auto [a, b] = random::split<2>(key)"});
      nodes_[node].uses.push_back({op, loc, path, key});
    }
  }

  std::vector<KeyUse> UsesOf(Trace& trace) const {
    std::vector<KeyUse> uses;
    const std::vector<ir::ValueId>& inputs = trace.program().inputs;
    for (const Node& node : nodes_)
      for (const Spent& use : node.uses) {
        const auto here = [&](const TraceLevel& p) { return p.id == trace.id(); };
        if (absl::c_none_of(use.path, here)) continue;
        if (node.trace == trace.id()) {
          const auto at = absl::c_find(inputs, node.value);
          if (at != inputs.end())
            uses.push_back({static_cast<size_t>(at - inputs.begin()), nullptr, use.op, use.loc});
        } else if (use.key->kind() == ArrayImpl::kConcrete) {
          uses.push_back({0, Keep(use.key), use.op, use.loc});
        }
      }
    return uses;
  }

 private:
  // A trace around a use.
  struct TraceLevel {
    uint64_t id, choice;
    bool repeats;
  };
  struct Spent {
    std::string op;
    Loc loc;
    std::vector<TraceLevel> path;
    ArrayRef key;  // kept alive, so that no other array gets its address
  };
  // A value of keys. Leaves, which are inputs of a trace or words, are not computed from others.
  struct Node {
    uint64_t trace = 0;  // of an input
    ir::ValueId value = ir::kNoValue;
    std::set<uint64_t> inputs;  // traces on whose inputs it depends
    std::vector<Spent> uses;
  };

  static std::vector<TraceLevel> PathOf(const ArrayImpl& key) {
    const Trace* trace = CurrentTrace();
    if (!trace && key.kind() == ArrayImpl::kTraced)
      trace = static_cast<const TracedArray&>(key).trace.get();
    std::vector<TraceLevel> path;
    for (; trace; trace = trace->outer())
      path.push_back({trace->id(), trace->runs().choice, trace->runs().repeats});
    return path;
  }

  // Whether two uses are in different branches of one choice.
  static bool Exclude(const std::vector<TraceLevel>& a, const std::vector<TraceLevel>& b) {
    for (const TraceLevel& x : a)
      for (const TraceLevel& y : b)
        if (x.choice != 0 && x.choice == y.choice && x.id != y.id) return true;
    return false;
  }

  void CheckLoops(KeyId node, const std::vector<TraceLevel>& path, const std::string& op,
                  Loc loc) const {
    const std::set<uint64_t>& inputs = nodes_[node].inputs;
    for (const TraceLevel& level : path) {
      if (inputs.count(level.id) != 0) return;
      if (level.repeats) RefuseEveryIteration(op, loc);
    }
  }

  KeyId Intern(std::string text, Node node) {
    const auto [it, fresh] = ids_.try_emplace(std::move(text), nodes_.next_id());
    if (fresh) nodes_.Add(std::move(node));
    return it->second;
  }

  std::vector<KeyId> NodesOf(const ArrayRef& key) {
    if (key->kind() == ArrayImpl::kTraced) {
      const auto& traced = static_cast<const TracedArray&>(*key);
      return {NodeOf(*traced.trace, traced.value)};
    }
    std::vector<KeyId> nodes;
    if (key->kind() == ArrayImpl::kConcrete)
      for (uint64_t words : TheExecutor().KeysOf(*key))
        nodes.push_back(Intern(fmt::format("words {}", words), {}));
    return nodes;
  }

  KeyId NodeOf(Trace& trace, ir::ValueId v) {
    const auto known = known_.find({trace.id(), v});
    if (known != known_.end()) return known->second;
    return known_[{trace.id(), v}] = MakeNode(trace, v);
  }

  KeyId MakeNode(Trace& trace, ir::ValueId v) {
    const ir::Program& program = trace.program();
    for (const ir::Capture& c : program.captures) {
      if (c.value != v) continue;
      const std::vector<KeyId> nodes = NodesOf(CapturedArray(c));
      if (nodes.size() == 1) return nodes[0];
    }
    for (size_t k = program.instructions.size(); k-- > 0;) {
      const ir::Instruction& i = program.instructions[k];
      const auto at = absl::c_find(i.results, v);
      if (at == i.results.end()) continue;
      if (!i.regions.empty() || i.op->opaque) break;
      std::string text = fmt::format("{} {} {} {}", i.op->name, i.params ? i.params->text() : "",
                                     program.type(v)->text(), at - i.results.begin());
      Node node;
      for (ir::ValueId operand : i.operands) {
        const KeyId of = NodeOf(trace, operand);
        text += fmt::format(" %{}", base::Number(of));
        const std::set<uint64_t>& inputs = nodes_[of].inputs;
        node.inputs.insert(inputs.begin(), inputs.end());
      }
      return Intern(std::move(text), std::move(node));
    }
    return Intern(fmt::format("input {} of {}", base::Number(v), trace.id()),
                  {trace.id(), v, {trace.id()}, {}});
  }

  base::IdVector<KeyId, Node> nodes_;
  std::map<std::string, KeyId> ids_;
  std::map<std::pair<uint64_t, ir::ValueId>, KeyId> known_;
};

namespace {
thread_local KeyChecker* checker = nullptr;
}

bool ChecksKeyReuse() { return checker != nullptr; }

UsesNoKeysScope::UsesNoKeysScope() : old_(std::exchange(checker, nullptr)) {}
UsesNoKeysScope::~UsesNoKeysScope() { checker = old_; }

void UseUpKey(const ArrayRef& key, const char* op, Loc loc) {
  if (checker) checker->UseUp(key, op, loc);
}

void UseUpKeys(const std::vector<KeyUse>& uses, const std::vector<ArrayRef>& arguments) {
  if (!checker) return;
  for (const KeyUse& use : uses)
    if (!use.captured && use.input < arguments.size())
      checker->UseUp(arguments[use.input], use.op, use.loc);
}

std::vector<KeyUse> KeyUsesOf(Trace& trace) {
  return checker ? checker->UsesOf(trace) : std::vector<KeyUse>{};
}

void CheckCarriedKeys(const std::vector<KeyUse>& uses, const ir::Program& body) {
  for (const KeyUse& use : uses) {
    if (use.captured || use.input >= body.outputs.size() || use.input >= body.inputs.size())
      continue;
    if (body.outputs[use.input] == body.inputs[use.input]) RefuseEveryIteration(use.op, use.loc);
  }
}

}  // namespace trace

KeyReuseCheck::KeyReuseCheck() : own_(trace::checker ? nullptr : new trace::KeyChecker) {
  if (own_) trace::checker = own_;
}
KeyReuseCheck::~KeyReuseCheck() {
  if (!own_) return;
  trace::checker = nullptr;
  delete own_;
}

}  // namespace tessera
