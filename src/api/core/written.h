// Writes calls as C++, so that messages can offer edits that can be pasted.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/convolution.h"
#include "tessera/fft.h"
#include "tessera/linalg.h"
#include "tessera/lookup.h"
#include "tessera/ops.h"
#include "tessera/statistics.h"
#include "tessera/windows.h"

namespace tessera::api {

// Return the code of a value. Options are in braces and list only the fields that differ from their
// defaults; the code is "" if none differs.
template <std::integral T>
std::string Code(T v) {
  if constexpr (std::same_as<T, bool>) return v ? "true" : "false";
  return std::to_string(v);
}
std::string Code(double v);
std::string Code(std::string_view v);
std::string Code(const Scalar& v);
std::string Code(LookupMode v);
std::string Code(TakeMode v);
std::string Code(DType v);
std::string Code(const std::vector<int64_t>& v);
std::string Code(const Shape& v);
std::string Code(const Dims& v);
std::string Code(const std::pair<double, double>& v);
std::string Code(const std::vector<std::pair<double, double>>& v);
std::string Code(const std::vector<Padding>& v);
std::string Code(const DotDims& v);
std::string Code(const OutOptions& v);
std::string Code(const CreateOptions& v);
std::string Code(const EyeOptions& v);
std::string Code(const LinspaceOptions& v);
std::string Code(const LogspaceOptions& v);
std::string Code(const MeshgridOptions& v);
std::string Code(const RoundOptions& v);
std::string Code(const NanToNumOptions& v);
std::string Code(const CloseOptions& v);
std::string Code(const EqualOptions& v);
std::string Code(const GeluOptions& v);
std::string Code(const ReduceOptions& v);
std::string Code(const LogsumexpOptions& v);
std::string Code(const VarOptions& v);
std::string Code(const NormOrder& v);
std::string Code(const NormOptions& v);
std::string Code(const AverageOptions& v);
std::string Code(QuantileMethod v);
std::string Code(const QuantileOptions& v);
std::string Code(const MedianOptions& v);
std::string Code(const DiffOptions& v);
std::string Code(const DiagonalOptions& v);
std::string Code(const TraceOptions& v);
std::string Code(const DotOptions& v);
std::string Code(const SortOptions& v);
std::string Code(fft::Norm v);
std::string Code(const fft::FftOptions& v);
std::string Code(const fft::FftnOptions& v);
std::string Code(const OneHotOptions& v);
std::string Code(const LayerNormOptions& v);
std::string Code(const TakeOptions& v);
std::string Code(const TakeAlongOptions& v);
std::string Code(const AtOptions& v);
std::string Code(ConvolveMode v);
std::string Code(Reduction v);
std::string Code(const WindowPadding& v);
std::string Code(const WindowOptions& v);
std::string Code(const PoolOptions& v);
std::string Code(const AvgPoolOptions& v);
std::string Code(const ConvDims& v);
std::string Code(const ConvOptions& v);
std::string Code(const ConvTransposeOptions& v);
std::string Code(const linalg::CholeskyOptions& v);
std::string Code(const linalg::TriangularSolveOptions& v);
std::string Code(const linalg::LuOptions& v);
std::string Code(const linalg::SolveOptions& v);
std::string Code(const linalg::QrOptions& v);
// Returns the code of an index that has this number of index arrays. They are named `indices`.
std::string Code(const std::vector<Index>& v, size_t arrays);

class Argument;
// A type that holds no operands and is not an Argument.
template <class T>
concept IsValue = !std::same_as<T, Argument> && !std::same_as<T, Operand> &&
                  !std::same_as<T, Array> && !std::same_as<T, std::vector<Array>>;

// An argument of a public function. It refers to the function's parameter, which must outlive it.
class Argument {
 public:
  // An array or a number, or arrays in braces. Messages name an array without a name `operand`, and
  // two of them `lhs` and `rhs`.
  Argument(const Operand& x) : operand_(&x) {}
  Argument(const char* name, const Operand& x) : name_(name), operand_(&x) {}
  Argument(const std::vector<Array>& xs) : name_("operands"), arrays_(&xs) {}
  Argument(const char* name, const std::vector<Array>& xs) : name_(name), arrays_(&xs) {}
  // An array in a field of options, or a list. The code of the options names it.
  template <class T>
  static Argument Field(const char* name, const T& x) {
    Argument a(name, x);
    a.is_field_ = true;
    return a;
  }
  // A value without code, such as a function. The code of the call names it.
  static Argument Value(const char* name) {
    Argument a;
    a.name_ = name;
    return a;
  }
  // A value of another type. If it has a field out_sharding, edits may change that.
  template <class T>
  requires IsValue<std::remove_const_t<T>> Argument(T& value)
      : value_(&value), code_([](const void* v) { return Code(*static_cast<const T*>(v)); }) {
    if constexpr (HasOut<T>() && !std::is_const_v<T>) out_ = &value.out_sharding;
  }

  const char* name() const { return name_; }
  const Operand* operand() const { return operand_; }
  const std::vector<Array>* listed() const { return arrays_; }
  bool is_field() const { return is_field_; }
  std::string code() const { return code_ ? code_(value_) : name_; }
  std::optional<PartitionSpec>* out_sharding() const { return out_; }

 private:
  Argument() = default;
  template <class T>
  static constexpr bool HasOut() {
    return requires(T & v) { v.out_sharding; };
  }
  const char* name_ = "";
  const Operand* operand_ = nullptr;
  const std::vector<Array>* arrays_ = nullptr;
  const void* value_ = nullptr;
  std::string (*code_)(const void*) = nullptr;
  std::optional<PartitionSpec>* out_ = nullptr;
  bool is_field_ = false;
};

}  // namespace tessera::api
