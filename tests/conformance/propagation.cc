// Compares propagated shardings and op rules with those recorded, value by value.
#include "propagation.h"

#include <fmt/format.h>

#include "call.h"
#include "propagation/border.h"
#include "propagation/propagate.h"
#include "propagation_graph.h"
#include "sharding/text.h"

namespace tessera::conformance {
namespace {

using propagation::ValueId;
using propagation::engine::AtBorder;
using propagation::engine::Closed;
using propagation::engine::SubAxes;
using sharding::TensorSharding;

// Compares expected and actual results, case by case.
class Comparison {
 public:
  Comparison(const Case& c, const CaseGraph& built, const propagation::engine::EngineResult& result)
      : case_(c), built_(built), result_(result) {}

  std::optional<Outcome> Run() {
    if (auto o = CompareOpen()) return o;
    if (auto o = CompareReturns()) return o;
    if (auto o = CompareClosed()) return o;
    if (auto o = CompareSplits()) return o;
    return CompareShardMaps();
  }

 private:
  const base::Shape& shape(ValueId v) const { return result_.graph.values[v].shape; }

  // A value without a sharding is open everywhere.
  TensorSharding Open(const TensorSharding* s, ValueId v) const {
    if (s) return *s;
    TensorSharding open = sharding::Replicated(built_.mesh, static_cast<int>(shape(v).size()));
    for (sharding::DimAxes& d : open.dims) d.open = true;
    return open;
  }

  std::optional<TensorSharding> Parse(const Json& text) const {
    if (!text.is_string()) return std::nullopt;
    return sharding::ParseSharding(text.get<std::string>(), built_.mesh, Loc::Unknown());
  }

  static std::optional<Outcome> Differ(const std::string& what, const TensorSharding& expected,
                                       const TensorSharding& came) {
    if (Text(expected) == Text(came)) return {};
    return Failed(Kind::kDifferent, what + ": " + Text(expected), Text(came));
  }

  // The values that stand for a name: the value itself unless all uses of it got copies.
  std::vector<ValueId> Holders(ValueId v) const {
    std::vector<ValueId> holders;
    for (const propagation::engine::EngineResult::ConstantCopy& copy : result_.copies)
      if (copy.original == v) holders.push_back(copy.copy);
    bool used = holders.empty();
    for (const propagation::engine::Op& op : result_.graph.ops)
      for (ValueId operand : op.operands) used = used || operand == v;
    if (used) holders.push_back(v);
    return holders;
  }

  std::optional<Outcome> CompareOpen() {
    Json expected = case_.expect.value("open_shardings", Json::object());
    Json splits = case_.expect.value("splits", Json::object());
    for (const auto& [name, closed] : case_.expect.at("shardings").items()) {
      auto known = built_.values.find(name);
      // Of values with copies the table has the end only.
      if (known == built_.values.end() || splits.contains(name)) continue;
      auto want = Parse(expected.value(name, Json()));
      auto callee = built_.callee_results.find(name);
      ValueId recorded = callee == built_.callee_results.end() ? known->second : callee->second;
      for (ValueId v : Holders(recorded))
        if (auto o = Differ("open " + name, Open(want ? &*want : nullptr, v),
                            Open(result_.sharding(v), v)))
          return o;
    }
    return {};
  }

  std::optional<Outcome> CompareReturns() {
    Json open = case_.expect.value("open_return_shardings", Json::array());
    Json closed = case_.expect.at("return_shardings");
    for (size_t i = 0; i < built_.returned.size(); ++i) {
      ValueId v = built_.returned[i];
      auto want = i < open.size() ? Parse(open[i]) : std::nullopt;
      const TensorSharding* given = result_.returns[i] ? &*result_.returns[i] : nullptr;
      TensorSharding came = Open(given, v);
      std::string name = fmt::format("return {}", i);
      if (auto o = Differ("open " + name, Open(want ? &*want : nullptr, v), came)) return o;
      if (auto o =
              Differ(name, *Parse(closed.at(i)), Closed(AtBorder(came, shape(v), SubAxes::kCut))))
        return o;
    }
    return {};
  }

  std::optional<Outcome> CompareClosed() {
    for (const auto& [name, text] : case_.expect.at("shardings").items()) {
      auto known = built_.values.find(name);
      if (known == built_.values.end())
        return Failed(Kind::kDifferent, "a value " + name, "none of that name");
      bool arg = std::find(built_.args.begin(), built_.args.end(), name) != built_.args.end();
      for (ValueId v : Holders(known->second)) {
        TensorSharding came = Open(result_.sharding(v), v);
        if (arg) came = AtBorder(came, shape(v), SubAxes::kCut);
        if (auto o = Differ(name, *Parse(text), Closed(came))) return o;
      }
    }
    return {};
  }

  // Returns the sharding of each use of a value, in the order of the ops that use it.
  std::vector<std::string> UsesBy(ValueId original, const std::string& user) const {
    std::vector<std::string> uses;
    std::vector<ValueId> holders = Holders(original);
    for (const propagation::engine::Op& op : result_.graph.ops) {
      auto named = built_.users.find(op.origin);
      if (named == built_.users.end() || named->second != user) continue;
      for (ValueId operand : op.operands)
        if (std::find(holders.begin(), holders.end(), operand) != holders.end())
          uses.push_back(Text(Closed(Open(result_.sharding(operand), operand))));
    }
    return uses;
  }

  std::optional<Outcome> CompareSplits() {
    const Json splits = case_.expect.value("splits", Json::object());
    for (const auto& [name, users] : splits.items())
      for (const auto& [user, text] : users.items()) {
        std::vector<std::string> want, came = UsesBy(built_.values.at(name), user);
        if (text.is_string())
          want.assign(came.empty() ? 1 : came.size(), Text(*Parse(text)));
        else
          for (const Json& one : text) want.push_back(Text(*Parse(one)));
        if (want != came)
          return Failed(Kind::kDifferent,
                        fmt::format("copies of {} for {}: {}", name, user, Json(want).dump()),
                        Json(came).dump());
      }
    return {};
  }

  // Returns the outer sharding of a shard_map operand: the spec's manual axes, then the argument's.
  TensorSharding Outside(const CaseGraph::Inward& in) const {
    TensorSharding s = *built_.graph.edges[in.edge].outer;
    TensorSharding inside = Open(result_.sharding(in.argument), in.argument);
    for (size_t d = 0; d < s.dims.size(); ++d)
      for (sharding::AxisPart a : inside.dims[d].axes) s.dims[d].axes.push_back(a);
    return Closed(s);
  }

  std::optional<Outcome> CompareShardMaps() {
    const Json taken = case_.expect.value("in_shardings", Json::object());
    for (const auto& [name, texts] : taken.items())
      for (size_t i = 0; i < texts.size(); ++i)
        if (auto o = Differ(fmt::format("operand {} of {}", i, name), *Parse(texts[i]),
                            Outside(built_.shard_maps.at(name).at(i))))
          return o;
    return {};
  }

  const Case& case_;
  const CaseGraph& built_;
  const propagation::engine::EngineResult& result_;
};

Outcome Propagated(const Case& c, Rules rules) {
  CaseGraph built = BuildGraph(c, rules);
  propagation::engine::EngineResult result = propagation::engine::Propagate(built.graph);
  auto different = Comparison(c, built, result).Run();
  return different ? *different : Outcome{};
}

// Returns how the rule of the first instruction that differs does; allowed differences last.
Outcome CompareRules(const Case& c, const RuleDifferences& differences) {
  Outcome outcome;
  for (const RuleOfInstruction& rule : BuildGraph(c, Rules::kOurs).rules) {
    std::string ours = Text(Completed(rule.ours));
    if (ours == rule.recorded) continue;
    std::string wanted = rule.recorded.empty() ? "no rule" : rule.recorded;
    outcome =
        Failed(Kind::kDifferent, fmt::format("{} = {}: {}", rule.name, rule.op, wanted), ours);
    outcome.family = differences.Find(rule.op, rule.recorded, rule.ours);
    outcome.passed = !outcome.family.empty();
    if (!outcome.passed) return outcome;
  }
  return outcome;
}

template <class F>
Outcome Guarded(F run) {
  try {
    return run();
  } catch (const Unsupported& e) {
    return Skipped(e.what());
  } catch (const Error& e) {
    return Failed(Kind::kRefuses, "no error", e.what());
  }
}

}  // namespace

Outcome RunPropagation(const Case& c) {
  return Guarded([&] { return Propagated(c, Rules::kRecorded); });
}

Outcome RunFrontend(const Case& c) {
  return Guarded([&] {
    CaseGraph built = FrontendGraph(c);
    propagation::engine::EngineResult result = propagation::engine::Propagate(built.graph);
    // Values of inner functions have no names here.
    Case known = c;
    for (const char* key : {"shardings", "splits"}) {
      const Json all = c.expect.value(key, Json::object());
      for (const auto& [name, text] : all.items())
        if (!built.values.count(name)) known.expect[key].erase(name);
    }
    auto different = Comparison(known, built, result).Run();
    return different ? *different : Outcome{};
  });
}

Outcome RunRules(const Case& c, const RuleDifferences& differences) {
  return Guarded([&] {
    Outcome rules = CompareRules(c, differences);
    if (!rules.passed) return rules;
    Outcome propagated = Propagated(c, Rules::kOurs);
    return propagated.passed ? rules : propagated;
  });
}

}  // namespace tessera::conformance
