// Runs one op. Data is placed on devices and read back without the library's own moves.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "compile/host/concrete.h"
#include "ir/program.h"
#include "suite/samples.h"
#include "tessera/tessera.h"
#include "trace/array.h"

namespace tessera::suite {

// One application of an op: operand types, and the out_sharding if there is one.
struct Case {
  const Sample* sample = nullptr;
  const sharding::MeshDef* mesh = nullptr;
  std::vector<const ir::Type*> operands = {};
  const sharding::TensorSharding* out = nullptr;
  const ir::Type* result = nullptr;  // for reshard

  // "add(f32[8@x,4], f32[4]), out_sharding <@mesh, [{"x"}, {}]>"
  std::string name() const;
};

// Returns the case with whole operands and no mesh.
Case Unsharded(const Sample& sample);

// Returns the case's result types. Empty if the typing rule refuses it.
std::vector<const ir::Type*> ResultTypes(const Case& c);

// The ops whose dims have a rule.
std::vector<const ir::OpDef*> OpsWithRules();

// Calls f for layouts of all operands over a mesh with Auto axes, at most `most` of them, evenly
// spread, until a test fails. Sizes need not divide.
void ForEachAutoPlacement(const Sample& sample, const sharding::MeshDef* mesh, int64_t most,
                          const std::function<void(const Case&)>& f);

// Returns the program of this op alone, given its result types.
std::shared_ptr<const ir::Program> ProgramOf(const Case& c,
                                             const std::vector<const ir::Type*>& results);

// Returns an array of the type with these elements. Partial values of an unreduced array are made
// up such that they combine to the elements. On a mesh with only Auto axes, the type is the layout.
Array Place(const ir::HostTensor& data, const ir::Type* type,
            const sharding::MeshDef* mesh = nullptr);
// Returns the elements as the devices hold them. Reports a failure if devices that should
// hold the same bits do not.
ir::HostTensor ReadBack(const Array& array);
std::vector<ir::HostTensor> ReadAll(const std::vector<Array>& arrays);

// Returns the op's results, computed or traced.
std::vector<Array> Apply(const Case& c, const std::vector<Array>& operands);
// Runs the op on devices and returns its results.
std::vector<ir::HostTensor> RunEager(const Case& c, const std::vector<ir::HostTensor>& data);
std::vector<ir::HostTensor> RunJitted(const Case& c, const std::vector<ir::HostTensor>& data);

}  // namespace tessera::suite
