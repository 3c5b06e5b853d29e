// Programs as modules.
#include "stablehlo/write/exporter.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/core/elements.h"
#include "base/error.h"
#include "ir/infer.h"
#include "ir/inline.h"
#include "trace/array.h"

namespace tessera::stablehlo {
namespace {

const absl::flat_hash_map<std::string_view, WriteOp>& Writers() {
  static const auto* table = [] {
    auto* all = new absl::flat_hash_map<std::string_view, WriteOp>;
    for (const auto& writers :
         {ElementwiseWriters(), MovementWriters(), ReductionWriters(), ContractionWriters(),
          LookupWriters(), ControlWriters(), LinalgWriters(), RandomWriters(), ShardingWriters(),
          CollectiveWriters()})
      for (const OpWriter& w : writers) all->emplace(w.name, w.write);
    return all;
  }();
  return *table;
}

bool IsWritten(const ir::OpDef& op) {
  return Writers().contains(op.name) || std::holds_alternative<ir::AsExpansion>(*op.lowering);
}

// Appends "name at file.cc:12" for each op that cannot be written.
void FindUnwritten(const ir::Program& program, std::vector<std::string>& found) {
  for (const ir::Instruction& i : program.instructions) {
    if (!IsWritten(*i.op)) {
      const std::string where = base::Where(i.loc);
      found.push_back(where.empty() ? std::string(i.op->name)
                                    : fmt::format("{} at {}", i.op->name, where));
    }
    for (const ir::RegionPtr& r : i.regions) FindUnwritten(*r, found);
  }
}

bool HasMode(const sharding::MeshDef* mesh, AxisMode mode) { return mesh && mesh->has_mode(mode); }

}  // namespace

OutValues Exporter::Run(const ir::Program& program, const OutValues& arguments) {
  OutValuesById values(program.values.size());
  int manual = 0;
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    values[program.inputs[k]] = arguments[k];
    manual = std::max(manual, ManualAxes(program.type(program.inputs[k])));
  }
  for (ir::ValueId v : program.outputs) manual = std::max(manual, ManualAxes(program.type(v)));
  for (const ir::Capture& c : program.captures)
    values[c.value] = CapturedConstant(c, program.type(c.value));
  Instructions all;
  for (const ir::Instruction& i : program.instructions) all.push_back(&i);
  RunList(program, all, values, manual);
  OutValues outputs;
  for (ir::ValueId v : program.outputs) outputs.push_back(values[v]);
  return outputs;
}

void Exporter::RunOne(const ir::Program& program, const ir::Instruction& instruction,
                      OutValuesById& values) {
  OutValues operands;
  for (ir::ValueId v : instruction.operands) operands.push_back(values[v]);
  writer_.set_loc(instruction.loc);
  const OutValues results = RunInstruction(program, instruction, std::move(operands));
  for (size_t k = 0; k < instruction.results.size(); ++k)
    values[instruction.results[k]] =
        Constrained(program, instruction, instruction.results[k], results[k]);
}

OutValues Exporter::RunInstruction(const ir::Program& program, const ir::Instruction& instruction,
                                   OutValues operands) {
  const auto writer = Writers().find(instruction.op->name);
  if (writer == Writers().end()) return RunExpansion(program, instruction, operands);
  return writer->second({*this, writer_, program, instruction, std::move(operands)});
}

// An op without a writer is made of others.
OutValues Exporter::RunExpansion(const ir::Program& program, const ir::Instruction& instruction,
                                 const OutValues& operands) {
  ir::Program expansion;
  expansion.mesh = program.mesh;
  for (ir::ValueId v : instruction.operands)
    expansion.inputs.push_back(expansion.AddValue(program.type(v), instruction.loc));
  ir::Builder builder(expansion, instruction.loc);
  expansion.outputs = std::get<ir::AsExpansion>(*instruction.op->lowering)
                          .expand(builder, instruction.params.get(), expansion.inputs,
                                  program.type(instruction.results[0]));
  return Run(expansion, operands);
}

// Returns the value with the sharding that is known of it: of its type, on Explicit axes, and of
// its place, if propagation has found it.
OutValue Exporter::Constrained(const ir::Program& program, const ir::Instruction& instruction,
                               ir::ValueId v, const OutValue& written) {
  const ir::Type *type = program.type(v), *place = program.place(v);
  const bool is_key = type->dtype().is_key();
  if (place) return WithSharding(writer_, written, ShardingText(place->sharding(), is_key, false));
  if (!HasMode(type->mesh(), AxisMode::Explicit)) return written;
  const bool is_trivial =
      type->sharding().trivial() && absl::c_all_of(instruction.operands, [&](ir::ValueId operand) {
        return program.type(operand)->sharding().trivial();
      });
  if (is_trivial) return written;
  return WithSharding(
      writer_, written,
      ShardingText(type->sharding(), is_key, HasMode(type->mesh(), AxisMode::Auto)));
}

OutValue Exporter::CapturedConstant(const ir::Capture& capture, const ir::Type* type) {
  if (!capture.array)
    base::ThrowRuntime(base::Refusal("export_stablehlo", "capture", base::Where(writer_.loc()),
                                     "the program uses an array that its text does not hold"));
  const api::Call call{"export_stablehlo", writer_.loc()};
  const Array array(trace::CapturedArray(capture));
  const auto whole = api::Whole(array, call);
  const auto size = static_cast<size_t>(type->elements() * type->dtype().size());
  std::vector<std::byte> data(whole->buffers.base, whole->buffers.base + size);
  if (type->dtype().is_key())  // the high word of a key comes first
    for (size_t k = 0; k < size; k += 8)
      std::swap_ranges(data.begin() + static_cast<long>(k), data.begin() + static_cast<long>(k) + 4,
                       data.begin() + static_cast<long>(k) + 4);
  const OutType out = OutTypeOf(type);
  return writer_.One("stablehlo.constant", {}, out, "value = " + DenseText(out, data));
}

std::string Exporter::Write(const ir::Program& given, Loc loc) {
  const auto program = ir::InlineCallsAlone(std::make_shared<const ir::Program>(given));
  std::vector<std::string> unwritten;
  FindUnwritten(*program, unwritten);
  if (!unwritten.empty())
    base::ThrowRuntime(base::Refusal("export_stablehlo", "operations", base::Where(loc),
                                     "StableHLO cannot say: " + absl::StrJoin(unwritten, ", ")));
  std::string head, results;
  OutValues arguments;
  for (ir::ValueId v : program->inputs) {
    const ir::Type *type = program->type(v), *place = program->place(v);
    arguments.push_back(writer_.Argument(OutTypeOf(type)));
    std::string attribute;
    if (place || !type->sharding().trivial())
      attribute =
          fmt::format(" {{sdy.sharding = #sdy.sharding{}}}",
                      ShardingText((place ? place : type)->sharding(), type->dtype().is_key(),
                                   !place && HasMode(type->mesh(), AxisMode::Auto)));
    head += fmt::format("{}{}: {}{}", head.empty() ? "" : ", ", arguments.back().name,
                        TypeText(arguments.back().type), attribute);
  }
  for (ir::ValueId v : program->outputs)
    results += (results.empty() ? "" : ", ") + TypeText(OutTypeOf(program->type(v)));
  const std::string main =
      writer_.Function(fmt::format("func.func public @main({}) -> ({})", head, results), arguments,
                       [&](const OutValues& in) { return Run(*program, in); });
  std::string out = "module @program {\n";
  if (program->mesh && program->mesh->rank() > 0)
    out += fmt::format("sdy.mesh @mesh = {}\n", program->mesh->text());
  return out + main + writer_.functions() + "}\n";
}

}  // namespace tessera::stablehlo
