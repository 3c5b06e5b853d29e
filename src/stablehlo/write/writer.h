// Writes functions of StableHLO in MLIR's generic form, operation by operation.
#pragma once
#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "ir/op.h"
#include "tessera/dtype.h"
#include "tessera/error.h"

namespace tessera::stablehlo {

// The type of a value that is written. A random key is two numbers, along one more dim, the last.
struct OutType {
  base::Shape shape;
  DType dtype;
  int rank() const { return static_cast<int>(shape.size()); }
  friend bool operator==(const OutType&, const OutType&) = default;
};
using OutTypes = std::vector<OutType>;
OutType OutTypeOf(const base::Shape& shape, DType dtype);
inline OutType OutTypeOf(const ir::Type* type) { return OutTypeOf(type->shape(), type->dtype()); }

// A value that is written: its name with `%`.
struct OutValue {
  std::string name;
  OutType type;
};
using OutValues = std::vector<OutValue>;
OutTypes TypesOf(const OutValues& values);

// Pieces of text.
std::string ElementText(DType dtype);                           // f32, complex<f64>, ui8
std::string TypeText(const OutType& type);                      // tensor<4x8xf32>
std::string IntegersText(const std::vector<int64_t>& numbers);  // array<i64: 1, 2>
std::string NumbersText(const std::vector<int64_t>& numbers);   // [1, 2]
// Returns `dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>` of pairs.
std::string PairsText(const std::vector<int64_t>& first, const std::vector<int64_t>& second);
std::string QuotedText(std::string_view text);  // "a\22b"
// Returns `name = 3 : i64`.
std::string IntegerField(std::string_view name, int64_t value);
// Returns `dense<...> : tensor<...>` of elements as they are in memory.
std::string DenseText(const OutType& type, std::span<const std::byte> data);

class TextWriter {
 public:
  // Operations get this location from now on, with a name that the user gave to a value, or "".
  void set_loc(Loc loc, std::string_view name = "") {
    loc_ = loc;
    value_name_ = name;
  }
  Loc loc() const { return loc_; }
  // Returns ` loc("file.cc":12:1)`, or nothing if the location is not known.
  std::string LocationText() const;

  // Appends an operation. `properties` and `others` are attributes, separated by commas: those of
  // the operation, and those that any operation may have.
  OutValues Add(std::string_view op, const OutValues& operands, const OutTypes& results,
                std::string_view properties = "", const std::vector<std::string>& regions = {},
                std::string_view others = "");
  OutValue One(std::string_view op, const OutValues& operands, OutType result,
               std::string_view properties = "", const std::vector<std::string>& regions = {});
  // Appends an operation in its pretty form, after `%1 = `.
  OutValue Pretty(std::string_view text, OutType result);
  // Writes that the values, which all have one shape, are sharded alike.
  void Group(const OutValues& members);

  // Returns the text of a region.
  using Body = absl::FunctionRef<OutValues(const OutValues&)>;
  std::string Region(const OutTypes& arguments, Body body,
                     std::string_view ends_in = "stablehlo.return");
  // Calls a private function of that name and these arguments, which is written if it is new.
  OutValues Call(std::string_view function, const OutValues& arguments, Body body);
  // Returns the text of a function, and of all private functions that were written so far.
  std::string Function(std::string_view head, const OutValues& arguments, Body body);
  const std::string& functions() const { return functions_; }
  OutValue Argument(OutType type) { return {NewName(), std::move(type)}; }

  // ---- Operations that many others are made of. Operands have one shape. ----
  OutValue Unary(std::string_view op, const OutValue& x) { return One(op, {x}, x.type); }
  OutValue Binary(std::string_view op, const OutValue& a, const OutValue& b) {
    return One(op, {a, b}, a.type);
  }
  OutValue Compare(std::string_view direction, const OutValue& a, const OutValue& b);
  OutValue Select(const OutValue& p, const OutValue& a, const OutValue& b);
  OutValue Convert(const OutValue& x, DType dtype);
  OutValue Reshape(const OutValue& x, base::Shape shape);
  OutValue Transpose(const OutValue& x, const std::vector<int64_t>& permutation);
  // Dim i of x is dim dims[i] of the result.
  OutValue Spread(const OutValue& x, base::Shape shape, const std::vector<int64_t>& dims);
  // Repeats x as NumPy does, dims matched from the last.
  OutValue SpreadTo(const OutValue& x, const base::Shape& shape);
  OutValue Slice(const OutValue& x, const std::vector<int64_t>& starts,
                 const std::vector<int64_t>& limits, const std::vector<int64_t>& strides = {});
  // Returns x[begin:end] along a dim.
  OutValue SliceDim(const OutValue& x, int64_t dim, int64_t begin, int64_t end);
  OutValue Concatenate(const OutValues& parts, int64_t dim);
  OutValue Iota(OutType type, int64_t dim);
  // A number in every element.
  OutValue Constant(const OutType& type, std::span<const std::byte> element);
  OutValue Number(const OutType& type, double number);
  OutValue Whole(const OutType& type, int64_t number);
  OutValue Identity(Reduction reduction, DType dtype);  // a scalar
  // Returns a random key, given its bytes in memory, and a word of keys, the first (0) or the
  // second, in a shape that the keys' shape spreads to.
  OutValue Key(std::span<const std::byte> element);
  OutValue Word(const OutValue& keys, int64_t k, const base::Shape& shape);
  // Applies the operation of a reduction. The larger of two complex numbers is the one with the
  // larger real part, or if these are equal the larger imaginary part, as in JAX; XLA's `maximum`
  // reads real parts only.
  OutValue Combine(std::string_view op, const OutValue& a, const OutValue& b);
  // Reduces dims by an operation of two scalars.
  OutValue Reduce(std::string_view op, const OutValue& x, const OutValue& start,
                  const std::vector<int64_t>& dims);
  // Returns a region that combines two scalars by an operation.
  std::string Combiner(std::string_view op, DType dtype);

 private:
  std::string NewName();

  std::string body_, functions_, value_name_;
  int64_t next_ = 0, groups_ = 0;
  Loc loc_ = Loc::Unknown();
  absl::flat_hash_map<std::string, OutTypes> known_functions_;
};

// Returns the name of the operation of a reduction.
std::string_view ReductionOp(Reduction reduction);

}  // namespace tessera::stablehlo
