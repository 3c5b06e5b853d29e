// Writes programs as StableHLO: every op by a function of a table.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "ir/program.h"
#include "stablehlo/write/manual.h"
#include "stablehlo/write/writer.h"

namespace tessera::stablehlo {

class Exporter;

// One instruction that is written, as the functions of the tables see it.
struct WriteCall {
  Exporter& exporter;
  TextWriter& w;
  const ir::Program& program;
  const ir::Instruction& instruction;
  OutValues in;

  template <class T>
  const T& params() const {
    return ir::As<T>(instruction.params.get());
  }
  std::string_view name() const { return instruction.op->name; }
  const ir::Type* type_in(size_t k) const { return program.type(instruction.operands[k]); }
  const ir::Type* type_out(size_t k = 0) const { return program.type(instruction.results[k]); }
  OutType out(size_t k = 0) const { return OutTypeOf(type_out(k)); }
  // Returns operand k in the dtype in which the op computes, and a result in the dtype that it has.
  OutValue computed(size_t k) const { return w.Convert(in[k], base::ComputedIn(in[k].type.dtype)); }
  OutValue stored(const OutValue& x, size_t k = 0) const { return w.Convert(x, out(k).dtype); }
  // Whether operand k is of keys: its values have one more dim.
  bool is_key(size_t k) const { return type_in(k)->dtype().is_key(); }
};

// Returns the results of an instruction.
using WriteOp = OutValues (*)(const WriteCall&);

struct OpWriter {
  std::string_view name;  // of the op
  WriteOp write;
};

// The tables, each of one family.
std::vector<OpWriter> ElementwiseWriters();
std::vector<OpWriter> MovementWriters();
std::vector<OpWriter> ReductionWriters();    // over dims, windows and runs
std::vector<OpWriter> ContractionWriters();  // products
std::vector<OpWriter> LookupWriters();
std::vector<OpWriter> ControlWriters();
std::vector<OpWriter> LinalgWriters();
std::vector<OpWriter> RandomWriters();
std::vector<OpWriter> SpecialWriters();
std::vector<OpWriter> ShardingWriters();
std::vector<OpWriter> CollectiveWriters();

// Returns the text of a sharding, with one more dim for the numbers of keys, and with open dims if
// propagation may extend it.
std::string ShardingText(sharding::TensorSharding sharding, bool is_key, bool is_open);
// Returns a value with a constraint.
OutValue WithSharding(TextWriter& w, const OutValue& x, const std::string& sharding);

// Returns an array of each device without its unreduced axes: the sum, or another reduction. And
// its inverse: the first device has all of the sum.
OutValue SummedOver(TextWriter& w, const OutValue& x, const sharding::TensorSharding& s);
OutValue OnFirst(TextWriter& w, const OutValue& x, const sharding::TensorSharding& s);

using OutValuesById = base::IdVector<ir::ValueId, OutValue>;
// Arrays that the devices have of their own, stacked along a leading dim.
using OwnArrays = absl::flat_hash_map<ir::ValueId, OutValue>;

class Exporter {
 public:
  // Returns the text of the module.
  std::string Write(const ir::Program& program, Loc loc);
  // Writes a program inside the function that is being written. Returns its outputs.
  OutValues Run(const ir::Program& program, const OutValues& arguments);
  // Writes instructions. `outside`: the number of Manual axes where they are; those on more become
  // manual computations.
  void RunList(const ir::Program& program, const Instructions& all, OutValuesById& values,
               int outside);

 private:
  void RunOne(const ir::Program& program, const ir::Instruction& instruction,
              OutValuesById& values);
  OutValue Constrained(const ir::Program& program, const ir::Instruction& instruction,
                       ir::ValueId v, const OutValue& written);
  OutValue CapturedConstant(const ir::Capture& capture, const ir::Type* type);
  std::string ArgumentText(const ir::Program& program, ir::ValueId v, const OutValue& argument);

  TextWriter writer_;
};

}  // namespace tessera::stablehlo
