// The shardings of values, beside those of Shardy.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tessera/stablehlo.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <map>
#include <set>

#include "cases.h"
#include "ir/program.h"
#include "sharding/text.h"
#include "stablehlo/read/meshes.h"
#include "stablehlo/text/read.h"
#include "text_names.h"

namespace tessera::stablehlo_runner {
namespace {

// The shardings of the values of one name, which is copied for each call of its function.
using Named = std::map<std::string, std::vector<const ir::Type*>>;

void AddNames(const ir::Program& p, const TextNames& names, Named& named) {
  for (const auto& [name, v] : p.names)
    if (name.find(kBarrier) == std::string::npos)
      named[names.NameInCase(name)].push_back(p.place(v) ? p.place(v) : p.type(v));
  for (const ir::Instruction& i : p.instructions)
    for (const ir::RegionPtr& region : i.regions) AddNames(*region, names, named);
}

// Returns Shardy's text of a sharding without the mesh, "" if it is replicated.
std::string DimsText(const ir::Type* place, sharding::TensorSharding s) {
  // Shardy cuts arguments and results at axes that divide, on functions that we inline.
  for (size_t d = 0; d < s.dims.size(); ++d)
    s.dims[d].axes = sharding::PrefixThatDivides(s.dims[d].axes, place->shape()[d]);
  if (!s.mesh || s.dims_empty()) return "";
  for (sharding::DimAxes& d : s.dims) d.open = false, d.priority = -1;
  s.replicated.clear();
  s.varying.clear();
  const std::string text = sharding::Text(s);
  const size_t begin = text.find('[');
  return text.substr(begin, text.size() - begin - 1);
}

std::string DimsText(const ir::Type* place) { return DimsText(place, place->sharding()); }

// Shardy's arguments have whole axes.
sharding::TensorSharding WithoutParts(sharding::TensorSharding s, bool is_argument) {
  for (sharding::DimAxes& d : s.dims)
    d.axes.erase(std::remove_if(d.axes.begin(), d.axes.end(),
                                [&](sharding::AxisPart a) {
                                  return is_argument && !sharding::IsWhole(*s.mesh, a);
                                }),
                 d.axes.end());
  return s;
}

// Marks the values that are computed from constants alone. Shardy copies them for each use, and its
// copies have other names.
void AddConstants(const ir::Program& p, const TextNames& names, std::set<std::string>& constants) {
  ir::ValueSet varies(p.values.size(), false);
  for (ir::ValueId v : p.inputs) varies[v] = true;
  for (const ir::Instruction& i : p.instructions) {
    bool any = !i.regions.empty();
    for (ir::ValueId v : i.operands) any = any || varies[v];
    for (ir::ValueId v : i.results) varies[v] = any;
    for (const ir::RegionPtr& region : i.regions) AddConstants(*region, names, constants);
  }
  for (const auto& [name, v] : p.names)
    if (!varies[v]) constants.insert(names.NameInCase(name));
}

// The values of a text that Shardy's result need not have.
struct Removed {
  // Results of operations that nothing uses.
  std::set<std::string> dead;
  // Repeated scalars, with all that repeat the same scalar in the same shape: equal ones become
  // one.
  std::map<std::string, std::vector<std::string>> repeated;
};

Removed RemovedOf(const TextNames& names) {
  Removed removed;
  std::map<std::string, std::vector<std::string>> alike;
  for (const NamedOperation& o : names.operations) {
    if (!o.is_used) removed.dead.insert(o.results.begin(), o.results.end());
    const stablehlo::Operation& op = *o.operation;
    if (op.name == "stablehlo.broadcast_in_dim" && o.operand_types[0]->dims.empty())
      alike[fmt::format("{}{}{}", o.function, o.operands[0], op.result_types[0]->text)].push_back(
          o.results[0]);
  }
  for (const auto& [scalar, values] : alike)
    for (const std::string& value : values) removed.repeated[value] = values;
  return removed;
}

// The comparison of all values of a case.
class Comparison {
 public:
  Comparison(const stablehlo::Module& module, const Program& program, const Json& functions)
      : meshes_(module, {}), names_(module), removed_(RemovedOf(names_)), functions_(functions) {
    for (const stablehlo::TextMesh& m : module.meshes)
      if (mesh_.empty() && m.mesh.text.find('"') != std::string_view::npos) mesh_ = m.name;
    AddNames(*program.program(), names_, named_);
    const auto& outputs = program.program()->outputs;
    for (size_t r = 0; r < outputs.size(); ++r) {
      const ir::Type* place = program.program()->place(outputs[r]);
      named_[fmt::format("return#{}", r)] = {place ? place : program.program()->type(outputs[r])};
    }
    AddConstants(*program.program(), names_, constants_);
    CompareListed();
    CompareReplicated();
  }

  const std::vector<std::string>& wrong() const { return wrong_; }
  std::string text() const {
    return fmt::format("{} right, {} absent, {} wrong: {}", right_, absent_, wrong_.size(),
                       fmt::join(wrong_, "; "));
  }

 private:
  const Json* Listed(const std::string& name) const {
    const bool of_main = name[0] != '@';
    const std::string function = of_main ? "main" : name.substr(1, name.find('/') - 1);
    if (!functions_.contains(function)) return nullptr;
    const auto found = functions_[function].find(of_main ? name : name.substr(name.find('/') + 1));
    return found == functions_[function].end() ? nullptr : &*found;
  }

  void CompareListed() {
    for (const auto& [function, values] : functions_.items())
      for (const auto& [value, wanted] : values.items()) {
        if (function != "main" && value.starts_with("return#")) continue;
        const auto found = named_.find((function == "main" ? "" : "@" + function + "/") + value);
        if (found == named_.end()) {
          ++absent_;
          continue;
        }
        for (const ir::Type* place : found->second) CompareOne(found->first, place, wanted);
      }
  }

  void CompareOne(const std::string& name, const ir::Type* place, const Json& wanted) {
    // A constant that the importer does not need, such as the iota of an argmax.
    if (constants_.contains(name) && DimsText(place).empty())
      ++absent_;
    else if (HasOneOf(place, wanted, name.starts_with("return#")))
      ++right_;
    else
      wrong_.push_back(fmt::format("{} is {}, not {}", name, DimsText(place), wanted.dump()));
  }

  // Whether a value has one of the shardings that Shardy gives it.
  bool HasOneOf(const ir::Type* place, const Json& wanted, bool is_result) const {
    const std::string made = DimsText(place);
    const auto is = [&](const std::string& dims) {
      if (dims.empty()) return made.empty();
      const bool of_other_mesh = dims[0] == '<';
      const std::string text = of_other_mesh ? dims : fmt::format("<@{}, {}>", mesh_, dims);
      stablehlo::Attribute attribute;
      attribute.text = text;
      const sharding::TensorSharding s = meshes_.ShardingOf(attribute);
      // docs/differences.md#programs-of-jax: results are not over parts of axes.
      return made == DimsText(place, WithoutParts(s, of_other_mesh && is_result));
    };
    if (wanted.is_string()) return is(wanted.get<std::string>());
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](const Json& one) { return is(one.get<std::string>()); });
  }

  // Fully replicated values are left out, and values that Shardy removes.
  void CompareReplicated() {
    for (const auto& [name, places] : named_) {
      if (name[0] != '%' && name[0] != '@') continue;  // of an argument, besides its own
      const std::string value = name[0] == '@' ? name.substr(name.find('/') + 1) : name;
      if (name[0] == '@' && !functions_.contains(name.substr(1, name.find('/') - 1))) continue;
      if (Listed(name) || constants_.contains(name) || removed_.dead.contains(name)) continue;
      // Arguments of regions have the sharding of the operand or result.
      if (value.find("/%iterArg") != std::string::npos || value.find("/%arg") != std::string::npos)
        continue;
      for (const ir::Type* place : places) {
        const auto s = WithoutParts(place->sharding(), value.starts_with("%arg"));
        if (DimsText(place, s).empty()) continue;
        if (IsMerged(name, place))
          ++absent_;
        else
          wrong_.push_back(fmt::format("{} is {}, not replicated", name, DimsText(place)));
      }
    }
  }

  // Whether a value is a repeated scalar, and Shardy lists an equal one.
  bool IsMerged(const std::string& name, const ir::Type* place) const {
    const auto found = removed_.repeated.find(name);
    if (found == removed_.repeated.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](const std::string& other) {
      const Json* wanted = Listed(other);
      return wanted && HasOneOf(place, *wanted, false);
    });
  }

  const stablehlo::TextMeshes meshes_;
  const TextNames names_;
  const Removed removed_;
  const Json& functions_;
  std::string mesh_;  // the name of the first one that has axes
  Named named_;
  std::set<std::string> constants_;
  std::vector<std::string> wrong_;
  size_t right_ = 0, absent_ = 0;
};

}  // namespace

void RunShardings(const fs::path& path, const Json& c) {
  if (!c.contains("propagated")) throw Skipped{};
  const Json& functions = c["propagated"]["shardings"];
  const std::string file = TextOf(path).string();
  const stablehlo::Module module = stablehlo::ReadModuleFile(file);
  const Comparison plain(module, load_stablehlo(file).propagated(), functions);
  if (plain.wrong().empty()) return;
  // The differences that are argued, and no others, go away where Shardy's limits hold here, too.
  const std::string limited = WithLimitsOfShardy(
      module, Differences()["operations_without_rule"].get<std::set<std::string>>());
  const Comparison same(module, import_stablehlo(limited).propagated(), functions);
  if (!same.wrong().empty()) throw Failure{same.text()};
  fmt::print("{}: {} values differ as docs/differences.md argues\n", path.stem().string(),
             plain.wrong().size());
}

}  // namespace tessera::stablehlo_runner
