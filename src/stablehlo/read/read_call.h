// One operation that is being read, as the functions of the tables see it.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/core/regions.h"
#include "stablehlo/text/constants.h"
#include "stablehlo/text/tree.h"

namespace tessera::stablehlo {

using api::Arrays;
class Importer;
struct Frame;

// Returns the dtype of an element type, DType{} for those of no number.
DType DTypeOf(std::string_view element);

class ReadCall {
 public:
  ReadCall(Importer& importer, Frame& frame, const Operation& op, const char* name, Loc loc)
      : importer_(importer), frame_(frame), op_(op), call_{name, loc} {}

  Importer& importer() const { return importer_; }
  const Operation& op() const { return op_; }
  api::Call call() const { return call_; }
  Loc loc() const { return call_.loc; }
  Arrays in;
  const Array& In(size_t k) const;
  // Makes later operations read `by` in place of operand k.
  void Replace(size_t k, Array by) const;
  // Fails if the operands have different shapes.
  void CheckOneShape() const;
  // Returns the operation of the text whose result is operand k, null for an argument.
  const Operation* DefinitionOf(size_t k) const;
  // Same, for any value of the function, by its number.
  const Operation* DefinitionOfValue(uint32_t value) const;

  // Attributes. Those without `otherwise` must be there.
  bool Has(std::string_view name) const { return op_.Find(name) != nullptr; }
  int64_t Integer(std::string_view name) const;
  int64_t Integer(std::string_view name, int64_t otherwise) const;
  double Float(std::string_view name) const;
  bool Flag(std::string_view name) const;  // false if it is not there
  std::vector<int64_t> Integers(std::string_view name) const;
  // Returns `count` numbers: `each`, if the attribute is not there.
  std::vector<int64_t> Integers(std::string_view name, size_t count, int64_t each) const;
  // Returns the text of a word, a string or a symbol; "" if the attribute is not there.
  std::string_view Word(std::string_view name) const;
  // Returns the field of an attribute that is a struct; no integers if it is not there.
  std::vector<int64_t> FieldIntegers(std::string_view name, std::string_view field) const;
  int64_t FieldInteger(std::string_view name, std::string_view field, int64_t otherwise) const;

  // Types of results, which must be there.
  base::Shape ResultShape(size_t k = 0) const;
  DType ResultDType(size_t k = 0) const;
  ir::ShapeAndDType Result(size_t k = 0) const { return {ResultShape(k), ResultDType(k)}; }

  // The sharding of the result of Run, for ops that take one.
  void set_out_sharding(std::optional<PartitionSpec> spec) { out_sharding_ = std::move(spec); }
  // Applies an op with no other result than the one that the text states.
  Array Run(const ir::OpDef& op, ir::ParamsPtr params, const Arrays& operands) const;
  // Returns the results of region k for these arguments.
  Arrays RunRegion(size_t k, const Arrays& arguments) const;
  // Returns the only result of a region.
  Array Only(const Arrays& results) const;
  // Returns region k as a function of two trees of scalars: a reducer or a comparator. Their
  // arguments are all left ones, then all right ones; `in_pairs`: a left and a right one in turn.
  using OnTwo = std::function<Arrays(const Arrays&, const Arrays&)>;
  OnTwo RegionOfTwo(size_t k, bool in_pairs) const;

  // Throws a RuntimeError at the operation.
  [[noreturn]] void Fail(std::string reason) const;

 private:
  const Attribute& Get(std::string_view name) const;
  const TextType& ResultType(size_t k) const;

  Importer& importer_;
  Frame& frame_;
  const Operation& op_;
  api::Call call_;
  std::optional<PartitionSpec> out_sharding_;
};

// Returns the bits of the only number of a constant, or of the one that it repeats.
base::ElementBits NumberOf(const ReadCall& c, const Attribute& value, DType dtype);

// Returns the results of an operation.
using ReadOp = Arrays (*)(ReadCall&);

struct OpReader {
  const char* name;  // "stablehlo.add"
  ReadOp read;
};

// The tables, each of one family.
std::vector<OpReader> ElementwiseReaders();
std::vector<OpReader> MovementReaders();
std::vector<OpReader> ContractionReaders();  // products, reductions, windows, sorts
std::vector<OpReader> LookupReaders();
std::vector<OpReader> ControlReaders();
std::vector<OpReader> SpecialReaders();  // chlo
std::vector<OpReader> LinalgReaders();   // Fourier and linear algebra of stablehlo
std::vector<OpReader> RandomReaders();
std::vector<OpReader> ShardingReaders();    // sdy
std::vector<OpReader> CollectiveReaders();  // of devices, in manual computations
// Returns the reader of an operation of chlo whose attributes, if it has any, follow from its
// result's type; null for another name.
ReadOp ReaderOfChlo(std::string_view name);
// Custom calls, by target.
std::vector<OpReader> CustomCallReaders();
std::vector<OpReader> OlderShardingReaders();  // XLA's shardings, from before Shardy

}  // namespace tessera::stablehlo
