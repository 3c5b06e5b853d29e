// Values by the names of the pretty form, and barriers in a text.
#include "text_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "stablehlo/read/meshes.h"
#include "tessera/stablehlo.h"

namespace tessera::stablehlo_runner {
namespace {

using stablehlo::Module;
using stablehlo::Operation;
using stablehlo::TextFunction;
using stablehlo::TextRegion;
using stablehlo::TextValue;

std::string NameOf(const TextFunction& f, uint32_t value) {
  return fmt::format("%{}", f.values[value].name);
}
// As uses of the value are written.
std::string UseOf(const TextFunction& f, uint32_t value, bool is_of_several) {
  const std::string name = NameOf(f, value);
  return is_of_several ? fmt::format("{}#{}", name, f.values[value].result) : name;
}

// Whether MLIR names the results of an operation by words and not by numbers.
bool HasWords(const Operation& op) {
  return op.name == "stablehlo.constant" || op.name == "chlo.top_k" ||
         op.name == "stablehlo.rng_bit_generator";
}

template <class F>
void ForEachOperation(const TextRegion& region, const F& f) {
  for (const Operation& op : region.operations) {
    f(op);
    for (const TextRegion& inner : op.regions) ForEachOperation(inner, f);
  }
}

bool DoesMore(const Operation& op) {
  return op.result_types.empty() || !op.regions.empty() || op.Find("has_side_effect") ||
         op.name == "call" || op.name == "func.call";
}

// Returns which values of a function are used, in the end by a result.
std::vector<bool> UsedIn(const TextFunction& f) {
  std::vector<const Operation*> all;
  ForEachOperation(f.body, [&](const Operation& op) { all.push_back(&op); });
  std::vector<bool> used(f.values.size(), false);
  for (bool changed = true; std::exchange(changed, false);)
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
      const Operation& op = **it;
      bool needed = DoesMore(op);
      for (size_t k = 0; k < op.result_types.size(); ++k)
        needed = needed || used[op.first_result + k];
      for (uint32_t v : op.operands)
        if (needed && !used[v]) used[v] = changed = true;
    }
  return used;
}

// Numbers the values of a region as MLIR does: first those of all its operations, then, in each of
// their regions, the values inside, from the same number on.
void AddPretty(const TextFunction& f, const TextRegion& region, const std::string& from,
               const std::string& to, int64_t next, std::map<std::string, std::string>& pretty) {
  std::map<const Operation*, std::string> names;
  for (const Operation& op : region.operations) {
    if (op.result_types.empty()) continue;
    const std::string own = NameOf(f, op.first_result);
    names[&op] = HasWords(op) ? own : fmt::format("%{}", next++);
    pretty[from + own] = to + names[&op];
  }
  for (const Operation& op : region.operations)
    for (size_t k = 0; k < op.regions.size() && !op.result_types.empty(); ++k)
      AddPretty(f, op.regions[k], fmt::format("{}{}/{}/", from, NameOf(f, op.first_result), k),
                fmt::format("{}{}/{}/", to, names[&op], k), next, pretty);
}

}  // namespace

TextNames::TextNames(const Module& module) {
  const bool is_generic = module.text().starts_with("\"builtin.module\"");
  for (const TextFunction& f : module.functions) {
    const std::string prefix = f.name == "main" ? "" : fmt::format("@{}/", f.name);
    if (is_generic) {
      for (uint32_t k = 0; k < f.body.arguments; ++k)
        pretty_[prefix + NameOf(f, f.body.first_argument + k)] = fmt::format("{}%arg{}", prefix, k);
      AddPretty(f, f.body, prefix, prefix, 0, pretty_);
    }
    const std::vector<bool> used = UsedIn(f);
    for (const Operation& op : f.body.operations) {
      NamedOperation named;
      named.operation = &op;
      named.function = f.name;
      for (uint32_t v : op.operands) {
        named.operands.push_back(UseOf(f, v, f.values[v].result > 0));
        named.operand_types.push_back(f.values[v].type);
      }
      for (uint32_t k = 0; k < op.result_types.size(); ++k) {
        const uint32_t v = op.first_result + k;
        named.results.push_back(NameInCase(prefix + UseOf(f, v, op.result_types.size() > 1)));
        named.is_used = named.is_used || used[v];
      }
      named.is_used = named.is_used || DoesMore(op);
      operations.push_back(std::move(named));
    }
  }
}

std::string TextNames::NameInCase(const std::string& name) const {
  const size_t number = name.find_last_of('#');
  const auto found = pretty_.find(name.substr(0, number));
  if (found == pretty_.end()) return name;
  return number == std::string::npos ? found->second : found->second + name.substr(number);
}

namespace {

// Writes the lines of a text again, with others before them.
class Rewriter {
 public:
  Rewriter(const Module& module, std::set<std::string> without_rule)
      : module_(module), without_rule_(std::move(without_rule)), meshes_(module, {}) {}

  std::string Run() {
    for (const TextFunction& f : module_.functions) {
      const std::set<uint32_t> closed = ClosedArguments(f);
      ForEachOperation(f.body, [&](const Operation& op) {
        std::set<uint32_t> stopped(op.operands.begin(), op.operands.end());
        if (!without_rule_.contains(std::string(op.name)))
          std::erase_if(stopped, [&](uint32_t v) { return !closed.contains(v); });
        for (uint32_t v : stopped) Stop(f, op, v);
      });
    }
    return Text();
  }

 private:
  // Returns the arguments that are replicated, with closed dims.
  std::set<uint32_t> ClosedArguments(const TextFunction& f) const {
    std::set<uint32_t> closed;
    for (uint32_t k = 0; f.name == "main" && k < f.argument_attributes.size(); ++k) {
      const stablehlo::Attribute* given = f.argument_attributes[k].Find("sdy.sharding");
      if (!given) continue;
      const sharding::TensorSharding s = meshes_.ShardingOf(*given);
      const auto open = [](const sharding::DimAxes& d) { return d.open || !d.axes.empty(); };
      if (std::ranges::none_of(s.dims, open)) closed.insert(f.body.first_argument + k);
    }
    return closed;
  }

  // Puts a barrier between a value and an operation that uses it, on a line of its own.
  void Stop(const TextFunction& f, const Operation& op, uint32_t v) {
    const std::string_view text = module_.text();
    const size_t begin = text.rfind('\n', op.place) + 1, end = text.find('\n', op.place);
    const auto is_name = [&](size_t k) {
      return k < text.size() && (std::isalnum(static_cast<unsigned char>(text[k])) != 0 ||
                                 text[k] == '_' || text[k] == '#');
    };
    const std::string stopped = fmt::format("{}{}", kBarrier, ++barriers_);
    for (std::string use : {UseOf(f, v, false), UseOf(f, v, true)})
      for (size_t at = text.find(use, op.place); at < end; at = text.find(use, at + 1)) {
        if (is_name(at + use.size())) continue;
        edits_[at] = {stopped, use.size()};
        edits_[begin].barriers[stopped] =
            fmt::format("{} = sdy.propagation_barrier {} allowed_direction=NONE : {}\n", stopped,
                        use, f.values[v].type->text);
      }
  }

  std::string Text() const {
    std::string out;
    size_t from = 0;
    for (const auto& [at, edit] : edits_) {
      out += module_.text().substr(from, at - from);
      for (const auto& [name, line] : edit.barriers) out += line;
      out += edit.name;
      from = at + edit.removed;
    }
    return out.append(module_.text().substr(from));
  }

  // At a place of the text: lines before it, or a name instead of one of that size.
  struct Edit {
    std::string name;
    size_t removed = 0;
    std::map<std::string, std::string> barriers = {};
  };
  const Module& module_;
  const std::set<std::string> without_rule_;
  const stablehlo::TextMeshes meshes_;
  std::map<size_t, Edit> edits_;
  int barriers_ = 0;
};

}  // namespace

std::string WithLimitsOfShardy(const Module& module, std::set<std::string> without_rule) {
  return Rewriter(module, std::move(without_rule)).Run();
}

}  // namespace tessera::stablehlo_runner
