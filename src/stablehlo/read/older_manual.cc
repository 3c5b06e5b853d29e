// Finds and runs older manual computations.
#include "stablehlo/read/older_manual.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include "base/at.h"
#include "stablehlo/read/manual.h"
#include "stablehlo/read/older_shardings.h"

namespace tessera::stablehlo {
namespace {

using Values = absl::flat_hash_set<uint32_t>;

// Whether an operation, or one of its regions, uses one of the values.
bool UsesAny(const Operation& op, const Values& values) {
  if (absl::c_any_of(op.operands, [&](uint32_t v) { return values.contains(v); })) return true;
  return absl::c_any_of(op.regions, [&](const TextRegion& region) {
    return absl::c_any_of(region.operations,
                          [&](const Operation& inner) { return UsesAny(inner, values); });
  });
}
void AddResults(const Operation& op, Values& values) {
  for (size_t k = 0; k < op.result_types.size(); ++k)
    values.insert(op.first_result + static_cast<uint32_t>(k));
}

// The operations from the first entry on, by their part in the computation.
struct Parts {
  std::vector<const Operation*> before, entries, body, exits, after;
};
Parts PartsOf(const std::vector<const Operation*>& operations) {
  Parts parts;
  Values inside, results;
  for (const Operation* op : operations) {
    const bool later = UsesAny(*op, results);
    if (!later && TargetOf(*op) == "SPMDFullToShardShape") {
      parts.entries.push_back(op);
      AddResults(*op, inside);
    } else if (!later && UsesAny(*op, inside)) {
      const bool leaves = TargetOf(*op) == "SPMDShardToFullShape";
      (leaves ? parts.exits : parts.body).push_back(op);
      AddResults(*op, leaves ? results : inside);
    } else if (later || op->result_types.empty()) {
      parts.after.push_back(op);
      AddResults(*op, results);
    } else {
      parts.before.push_back(op);
    }
  }
  return parts;
}

class OlderManual {
 public:
  OlderManual(Importer& importer, Frame& frame) : importer_(importer), frame_(frame) {}

  std::vector<const Operation*> Run(const std::vector<const Operation*>& operations) {
    Parts parts = PartsOf(operations);
    for (const auto* borders : {&parts.entries, &parts.exits})
      for (const Operation* op : *borders)
        if (op->operands.size() != 1 || op->result_types.size() != 1)
          importer_.module().Fail(op->place, "it needs one operand and one result");
    for (const Operation* op : parts.before) importer_.Read(frame_, *op);
    ManualComputation computation;
    Arrays arguments;
    for (const Operation* op : parts.entries) {
      computation.ins.push_back(ShardingOfEntry(*op));
      arguments.push_back(frame_.values[op->operands[0]]);
    }
    for (const Operation* op : parts.exits) computation.outs.push_back(ShardingOfExit(*op));
    computation.axes = ManualAxes(*parts.entries[0]);
    const auto body = [&](const Arrays& local) {
      for (size_t k = 0; k < local.size(); ++k)
        frame_.values[parts.entries[k]->first_result] = local[k];
      for (const Operation* op : parts.body) importer_.Read(frame_, *op);
      Arrays results;
      for (const Operation* op : parts.exits) results.push_back(frame_.values[op->operands[0]]);
      return results;
    };
    const Operation& first = *parts.entries[0];
    importer_.meshes().CheckSizes(computation.axes, first.place);
    const api::Call call{"SPMDFullToShardShape", importer_.LocOf(first.location, first.place)};
    const Arrays results = computation.Run(importer_, arguments, body, call);
    for (size_t k = 0; k < results.size(); ++k) {
      const Operation& exit = *parts.exits[k];
      if (!absl::c_equal(api::ShapeOf(results[k]), exit.result_types[0]->dims))
        importer_.module().Fail(
            exit.place, fmt::format("its result is {}, not {}", api::TypeOf(results[k])->text(),
                                    exit.result_types[0]->text));
      frame_.values[exit.first_result] = results[k];
    }
    return parts.after;
  }

 private:
  const sharding::MeshDef& Mesh(const Operation& op) const {
    if (!importer_.mesh()) importer_.module().Fail(op.place, "its shardings have no mesh");
    return *importer_.mesh();
  }
  OlderSharding Parsed(const Operation& op) const {
    const Attribute* s = op.Find("mhlo.sharding");
    auto parsed = ParseOlderSharding(s ? s->text : "", Mesh(op).size());
    if (!parsed) importer_.module().Fail(op.place, "its sharding is not supported");
    return *std::move(parsed);
  }
  sharding::TensorSharding ShardingOfExit(const Operation& op) const {
    return ShardingOfOlder(Mesh(op), Parsed(op), op.result_types[0]->dims.size());
  }
  // An operation @Sharding gives the operand of an entry its sharding.
  sharding::TensorSharding ShardingOfEntry(const Operation& entry) const {
    const Operation* maker = nullptr;
    for (const Operation& op : frame_.function.body.operations)
      if (!op.result_types.empty() && op.first_result == entry.operands[0]) maker = &op;
    const TextType& type = *frame_.function.values[entry.operands[0]].type;
    if (!maker || TargetOf(*maker) != "Sharding")
      return sharding::Replicated(Mesh(entry).WithoutModes(), static_cast<int>(type.dims.size()));
    return ShardingOfOlder(Mesh(entry), Parsed(*maker), type.dims.size());
  }
  std::vector<std::string> ManualAxes(const Operation& entry) const {
    const sharding::MeshDef& mesh = Mesh(entry);
    const OlderSharding older = Parsed(entry);
    std::vector<std::string> names;
    if (older.is_manual || older.manual.empty()) {
      for (const MeshAxis& axis : mesh.axes()) names.push_back(axis.name);
      return names;
    }
    for (sharding::AxisPart a : AxesOfDigits(mesh, older.manual))
      names.push_back(base::At(mesh.axes(), a.axis).name);
    return names;
  }

  Importer& importer_;
  Frame& frame_;
};

}  // namespace

bool BeginsOlderManual(const Operation& op) { return TargetOf(op) == "SPMDFullToShardShape"; }

std::vector<const Operation*> RunOlderManual(Importer& importer, Frame& frame,
                                             const std::vector<const Operation*>& operations) {
  return OlderManual(importer, frame).Run(operations);
}

}  // namespace tessera::stablehlo
