// Programs as modules.
#include "stablehlo/write/exporter.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/core/elements.h"
#include "base/error.h"
#include "ir/inline.h"
#include "ir/uses.h"
#include "trace/array.h"

namespace tessera::stablehlo {
namespace {

const absl::flat_hash_map<std::string_view, WriteOp>& Writers() {
  static const auto* table = [] {
    auto* all = new absl::flat_hash_map<std::string_view, WriteOp>;
    for (const auto& writers :
         {ElementwiseWriters(), MovementWriters(), ReductionWriters(), ContractionWriters(),
          LookupWriters(), ControlWriters(), LinalgWriters(), RandomWriters(), SpecialWriters(),
          ShardingWriters(), CollectiveWriters()})
      for (const OpWriter& w : writers) all->emplace(w.name, w.write);
    return all;
  }();
  return *table;
}

// Appends "name at file.cc:12" for each op that cannot be written.
void FindUnwritten(const ir::Program& program, std::vector<std::string>& found) {
  for (const ir::Instruction& i : program.instructions) {
    if (!Writers().contains(i.op->name)) {
      const std::string where = base::Where(i.loc);
      found.push_back(where.empty() ? std::string(i.op->name)
                                    : fmt::format("{} at {}", i.op->name, where));
    }
    for (const ir::RegionPtr& r : i.regions) FindUnwritten(*r, found);
  }
}

bool HasMode(const sharding::MeshDef* mesh, AxisMode mode) { return mesh && mesh->has_mode(mode); }

// Returns the attribute of an argument or a result whose type StableHLO cannot say: a weak one, or
// one with unreduced or reduced axes. "" for others.
std::string TypeNote(const ir::Type* type) {
  if (!type->weak() && type->sharding().no_sets()) return "";
  const std::string text = (type->weak() ? "weak " : "") + type->text();
  return fmt::format("mhlo.frontend_attributes = {{tessera.type = {}}}", QuotedText(text));
}

// Returns the attributes of the module: the mode of each axis.
std::string ModesText(const sharding::MeshDef& mesh) {
  std::vector<std::string> modes;
  for (const MeshAxis& a : mesh.axes())
    modes.push_back(fmt::format("{}={}", a.name,
                                a.mode == AxisMode::Auto       ? "Auto"
                                : a.mode == AxisMode::Explicit ? "Explicit"
                                                               : "Manual"));
  return fmt::format(" attributes {{mhlo.frontend_attributes = {{tessera.modes = {}}}}}",
                     QuotedText(absl::StrJoin(modes, ", ")));
}

// Returns the name that the user gave to a value; "" if there is none.
std::string_view NameOf(const ir::Program& program, ir::ValueId v) {
  const auto named = absl::c_find_if(program.names, [&](const auto& n) { return n.second == v; });
  return named == program.names.end() ? std::string_view() : named->first;
}

}  // namespace

// Returns `%0: tensor<8xf32> {...} loc(...)`.
std::string Exporter::ArgumentText(const ir::Program& program, ir::ValueId v,
                                   const OutValue& argument) {
  const ir::Type *type = program.type(v), *place = program.place(v);
  std::vector<std::string> attributes;
  if (place || !type->sharding().dims_empty())
    attributes.push_back("sdy.sharding = #sdy.sharding" +
                         ShardingText((place ? place : type)->sharding(), type->dtype().is_key(),
                                      !place && HasMode(type->mesh(), AxisMode::Auto)));
  if (const std::string note = TypeNote(type); !note.empty()) attributes.push_back(note);
  writer_.set_loc(program.values[v].loc, NameOf(program, v));
  return fmt::format(
      "{}: {}{}{}", argument.name, TypeText(argument.type),
      attributes.empty() ? "" : fmt::format(" {{{}}}", absl::StrJoin(attributes, ", ")),
      writer_.LocationText());
}

OutValues Exporter::Run(const ir::Program& program, const OutValues& arguments) {
  OutValuesById values(program.values.size());
  int manual = 0;
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    values[program.inputs[k]] = arguments[k];
    manual = std::max(manual, ManualAxes(program.type(program.inputs[k])));
  }
  for (ir::ValueId v : program.outputs) manual = std::max(manual, ManualAxes(program.type(v)));
  size_t next = program.inputs.size();
  for (const ir::Capture& c : program.captures)
    values[c.value] = c.array ? CapturedConstant(c, program.type(c.value)) : arguments.at(next++);
  // Reductions of an imported program have no use for their initial values.
  const ir::ValueSet used = ir::UsedValues(program);
  Instructions all;
  for (const ir::Instruction& i : program.instructions)
    if (!std::holds_alternative<ir::AsConstant>(*i.op->lowering) || used[i.results[0]])
      all.push_back(&i);
  RunList(program, all, values, manual);
  OutValues outputs;
  for (ir::ValueId v : program.outputs) outputs.push_back(values[v]);
  return outputs;
}

void Exporter::RunOne(const ir::Program& program, const ir::Instruction& instruction,
                      OutValuesById& values) {
  OutValues operands;
  for (ir::ValueId v : instruction.operands) operands.push_back(values[v]);
  writer_.set_loc(instruction.loc, instruction.results.empty()
                                       ? std::string_view()
                                       : NameOf(program, instruction.results[0]));
  const WriteOp write = Writers().at(instruction.op->name);
  const OutValues results = write({*this, writer_, program, instruction, std::move(operands)});
  for (size_t k = 0; k < instruction.results.size(); ++k)
    values[instruction.results[k]] =
        Constrained(program, instruction, instruction.results[k], results[k]);
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
  std::vector<ir::ValueId> inputs = program->inputs;
  for (const ir::Capture& c : program->captures)
    if (!c.array) inputs.push_back(c.value);  // parsed text does not hold it
  for (ir::ValueId v : inputs) {
    arguments.push_back(writer_.Argument(OutTypeOf(program->type(v))));
    head += (head.empty() ? "" : ", ") + ArgumentText(*program, v, arguments.back());
  }
  for (ir::ValueId v : program->outputs) {
    const std::string note = TypeNote(program->type(v));
    results +=
        fmt::format("{}{}{}", results.empty() ? "" : ", ", TypeText(OutTypeOf(program->type(v))),
                    note.empty() ? "" : fmt::format(" {{{}}}", note));
  }
  const std::string main =
      writer_.Function(fmt::format("func.func public @main({}) -> ({})", head, results), arguments,
                       [&](const OutValues& in) { return Run(*program, in); });
  const bool has_mesh = program->mesh && program->mesh->rank() > 0;
  std::string out =
      fmt::format("module @program{} {{\n", has_mesh ? ModesText(*program->mesh) : "");
  if (has_mesh) out += fmt::format("sdy.mesh @mesh = {}\n", program->mesh->text());
  return out + main + writer_.functions() + "}\n";
}

}  // namespace tessera::stablehlo
