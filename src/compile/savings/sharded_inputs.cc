// Inputs that are sharded over more axes.
#include "compile/savings/sharded_inputs.h"

#include <absl/algorithm/container.h>

#include <utility>

#include "base/at.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ir/type.h"
#include "ops/params.h"
#include "sharding/axes.h"
#include "sharding/mesh.h"

namespace tessera::compile {
namespace {

const ir::Type* Sharded(const ir::Type* type, const sharding::MeshDef* mesh,
                        const ShardedInput& input) {
  sharding::TensorSharding s = type->sharding();
  s.mesh = mesh;
  s.dims.resize(type->shape().size());
  s.dims[base::Size(input.dim)].axes.push_back(sharding::WholeAxis(*mesh, input.axis));
  return type->WithSharding(std::move(s));
}

// Gives an input another type. Its readers read a reshard to the old one.
void ReshardInput(ir::Program& program, const ShardedInput& input) {
  const ir::ValueId v = program.inputs[input.input];
  const ir::Type *old = program.type(v), *sharded = Sharded(old, program.mesh, input);
  const Loc loc = program.values[v].loc;
  const ir::ValueId whole = program.AddValue(old, loc);
  program.values[v].type = sharded;
  const auto reader = absl::c_find_if(program.instructions, [&](const ir::Instruction& i) {
    return absl::c_linear_search(i.operands, v);
  });
  for (ir::Instruction& i : program.instructions) absl::c_replace(i.operands, v, whole);
  absl::c_replace(program.outputs, v, whole);
  program.instructions.insert(reader, ir::Instruction{.op = &ops::kReshard,
                                                      .params = nullptr,
                                                      .operands = {v},
                                                      .results = {whole},
                                                      .loc = loc});
  for (const size_t k : input.results) {
    const ir::ValueId result = program.AddValue(sharded, loc);
    program.instructions.push_back(ir::Instruction{.op = &ops::kReshard,
                                                   .params = nullptr,
                                                   .operands = {program.outputs[k]},
                                                   .results = {result},
                                                   .loc = loc});
    program.outputs[k] = result;
  }
}

}  // namespace

std::shared_ptr<const ir::Program> WithSharded(const ir::Program& program,
                                               const std::vector<ShardedInput>& inputs) {
  ir::Program out = program;
  for (const ShardedInput& input : inputs) {
    const ir::ValueId v = out.inputs[input.input];
    if (out.mesh->axes()[base::Size(input.axis)].mode == AxisMode::Auto) {
      const ir::Type* place = out.place(v) ? out.place(v) : out.type(v);
      out.SetPlace(v, Sharded(place, out.mesh->WithoutModes(), input));
    } else {
      ReshardInput(out, input);
    }
  }
  return ir::Shared(std::move(out));
}

}  // namespace tessera::compile
