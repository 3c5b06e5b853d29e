// Running one op: data placed on devices and read back without any code of the library's moves.
#pragma once
#include <memory>
#include <vector>

#include "compile/host/concrete.h"
#include "ir/program.h"
#include "suite/samples.h"
#include "tessera/tessera.h"
#include "trace/array.h"

namespace tessera::suite {

// One application of an op: operand types, and the out_sharding if one is given.
struct Case {
  const Sample* sample = nullptr;
  const sharding::MeshDef* mesh = nullptr;
  std::vector<const ir::Type*> operands = {};
  const sharding::TensorSharding* out = nullptr;
  const ir::Type* result = nullptr;  // of reshard

  // "add(f32[8@x,4], f32[4]), out_sharding <@mesh, [{"x"}, {}]>"
  std::string name() const;
};

// Returns the case with every operand whole and no mesh.
Case Unsharded(const Sample& sample);

// Returns the case's result types, empty where the typing rule refuses it.
std::vector<const ir::Type*> ResultTypes(const Case& c);

// Returns the program that does just this op; its result types are known.
std::shared_ptr<const ir::Program> ProgramOf(const Case& c,
                                             const std::vector<const ir::Type*>& results);

// Returns an array of that type with these elements; partial values of an unreduced one are made up
// so that they combine to them. On a mesh whose axes are all Auto, it lies as the type says.
Array Place(const ir::HostTensor& data, const ir::Type* type,
            const sharding::MeshDef* mesh = nullptr);
// Returns the elements as the devices hold them. Reports a failure where devices that should hold
// the same bits do not.
ir::HostTensor ReadBack(const Array& array);
std::vector<ir::HostTensor> ReadAll(const std::vector<Array>& arrays);

// Returns the op's results: computed, or traced.
std::vector<Array> Apply(const Case& c, const std::vector<Array>& operands);
// Returns the op's results on devices.
std::vector<ir::HostTensor> RunEager(const Case& c, const std::vector<ir::HostTensor>& data);
std::vector<ir::HostTensor> RunJitted(const Case& c, const std::vector<ir::HostTensor>& data);

}  // namespace tessera::suite
