// Options of the array functions of ops.h. Every field has a default: write {.keepdims = true,
// .out_sharding = P()}.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/array.h"

namespace TESSERA_PUBLIC tessera {

struct CreateOptions {
  DType dtype = {};
  std::optional<PartitionSpec> out_sharding = {};
};
struct EyeOptions {
  DType dtype = {};
  std::optional<PartitionSpec> out_sharding = {};
  std::optional<int64_t> columns = {};  // default: the number of rows
  int64_t diagonal = 0;                 // above the main diagonal; negative: below
};
struct LinspaceOptions {
  DType dtype = {};
  std::optional<PartitionSpec> out_sharding = {};
  bool endpoint = true;  // the last number is hi
};
struct ArrayOptions {
  DType dtype = {};
  std::optional<Shape> shape = {};
  std::optional<PartitionSpec> out_sharding = {};
};
struct LogspaceOptions {
  DType dtype = {};
  bool endpoint = true;  // the last number is base^hi
  double base = 10;
  std::optional<PartitionSpec> out_sharding = {};
};
struct MeshgridOptions {
  std::string_view indexing = "xy";  // "xy": the first two arrays vary along dims 1 and 0
  bool sparse = false;               // keep size 1 in the dims an array is repeated along
  std::optional<PartitionSpec> out_sharding = {};  // of every result
};
struct RoundOptions {
  bool away_from_zero = false;  // how ties round; default: to even
  int decimals = 0;             // digits after the decimal point; may be negative
};
struct NanToNumOptions {
  double nan = 0;                     // replacement for NaN
  std::optional<double> posinf = {};  // replacement for inf; default: the dtype's largest number
  std::optional<double> neginf = {};  // replacement for -inf; default: the dtype's lowest number
};
struct CloseOptions {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;  // NaN is close to NaN
};
struct EqualOptions {
  bool equal_nan = false;  // NaN equals NaN
};
struct GeluOptions {
  bool approximate = true;  // use the tanh approximation
};
struct ReduceOptions {
  DType dtype = {};
  bool keepdims = false;
  std::optional<PartitionSpec> out_sharding = {};
  Array where = {};    // the elements that count, as bools that broadcast to x; default: all
  Array initial = {};  // a number with which the elements are combined: of sum, prod, max and min
};
struct LogsumexpOptions {
  DType dtype = {};
  bool keepdims = false;
  std::optional<PartitionSpec> out_sharding = {};
  Array where = {};    // as in ReduceOptions
  Array weights = {};  // factors of the e^x, of any sign, which broadcast with x; default: 1
};
struct VarOptions {
  DType dtype = {};
  bool keepdims = false;
  double ddof = 0;  // divide by n - ddof
  std::optional<PartitionSpec> out_sharding = {};
  Array where = {};  // the elements that count, as bools that broadcast to x; default: all
};
// The order of a norm: a number, which may be infinite; for matrices also "fro" (Frobenius) and
// "nuc" (nuclear: the sum of the singular values).
class NormOrder {
 public:
  template <RealNumber T>
  NormOrder(T p) : number_(static_cast<double>(p)) {}
  NormOrder(const char* name) : name_(name) {}
  const std::optional<double>& number() const { return number_; }
  const std::string& name() const { return name_; }  // empty for a number
  friend bool operator==(const NormOrder&, const NormOrder&) = default;

 private:
  std::optional<double> number_ = {};
  std::string name_ = {};
};
struct NormOptions {
  std::optional<NormOrder> ord = {};  // default: 2 for vectors, Frobenius for matrices
  bool keepdims = false;
  std::optional<PartitionSpec> out_sharding = {};
};
struct AverageOptions {
  Array weights = {};  // shape of x, or of the averaged dims in the order given; default: all 1
  bool keepdims = false;
  std::optional<PartitionSpec> out_sharding = {};
};
// How a quantile between two elements follows from them.
enum class QuantileMethod : uint8_t {
  kLinear,      // on the line between them
  kLower,       // the smaller one
  kHigher,      // the larger one
  kNearest,     // the nearer one; the smaller one if both are as near
  kMidpoint,    // their mean
  kInvertedCdf  // the first element at which the share of the elements, or of weights, reaches q
};
struct QuantileOptions {
  QuantileMethod method = QuantileMethod::kLinear;
  bool keepdims = false;
  std::optional<PartitionSpec> out_sharding = {};
  // Of each element, at least 0: with kInvertedCdf. Of the shape of x, or [n] along the one dim.
  Array weights = {};
};
struct MedianOptions {
  bool keepdims = false;
  std::optional<PartitionSpec> out_sharding = {};
};
struct DiffOptions {
  int64_t n = 1;                    // number of times
  Array prepend = {}, append = {};  // joined to x first; a scalar is one row
};
struct DiagonalOptions {
  int64_t offset = 0;  // above the main diagonal; negative: below
  int dim1 = 0, dim2 = 1;
  std::optional<PartitionSpec> out_sharding = {};
};
struct TraceOptions {
  DType dtype = {};
  int64_t offset = 0;  // above the main diagonal; negative: below
  int dim1 = 0, dim2 = 1;
  std::optional<PartitionSpec> out_sharding = {};
};
struct ArgOptions {
  DType dtype = {};
  bool keepdims = false;
};
struct CumOptions {
  bool reverse = false;
  std::optional<PartitionSpec> out_sharding = {};
};
struct DotOptions {
  DType dtype = {};  // of the result and of the accumulation
  std::optional<PartitionSpec> out_sharding = {};
};
struct DotDims {
  std::vector<int64_t> lhs_contract = {}, rhs_contract = {}, lhs_batch = {}, rhs_batch = {};
};
struct SortOptions {
  bool descending = false;
  bool stable = true;
  int num_keys = 1;                                // sort by the first num_keys operands
  std::optional<PartitionSpec> out_sharding = {};  // of all results; needed if the dim is sharded
};
// The element that `take` gives for an index out of bounds.
enum class TakeMode : uint8_t {
  kFill,  // the fill value
  kClip,  // the nearest element; negative indices give the first
  kWrap,  // the element at the remainder of index and size
};
struct TakeOptions {
  TakeMode mode = TakeMode::kFill;
  std::optional<Scalar> fill_value = {};  // default: see take
  std::optional<PartitionSpec> out_sharding = {};
};
struct OneHotOptions {
  DType dtype = {};
  int dim = -1;  // position of the new dim
  std::optional<PartitionSpec> out_sharding = {};
};
struct LayerNormOptions {
  double epsilon = 1e-5;
};

}  // namespace tessera
