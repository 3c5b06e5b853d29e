// Compares integers, bools and floats with those expected, within the bounds of the dtype.
#include "compare.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tessera::conformance {
namespace {

struct Bounds {
  double relative, absolute;
  bool exact = false;
};

Bounds DefaultBounds(DType dtype) {
  switch (dtype.code()) {
    case DType::kF16:
      return {4 * std::ldexp(1, -10), 4 * std::ldexp(1, -24)};  // in subnormals too 4 last places
    case DType::kBF16:
      return {4 * std::ldexp(1, -7), 4 * std::ldexp(1, -133)};
    case DType::kF32:
    case DType::kC64:
      return {1e-5, 1e-6};
    default:
      return {1e-12, 1e-12};
  }
}

bool Close(double came, double wanted, double size, const Bounds& bounds) {
  if (std::isnan(wanted) || std::isnan(came)) return std::isnan(wanted) && std::isnan(came);
  if (bounds.exact) return std::memcmp(&came, &wanted, sizeof(double)) == 0;
  if (std::isinf(wanted) || std::isinf(came)) return came == wanted;
  return std::abs(came - wanted) <= bounds.absolute + bounds.relative * size;
}

std::string Print(double v) {
  return Json(v).dump() == "null" ? std::to_string(v) : Json(v).dump();
}

// Collects the elements that differ; shows the first of them.
class Differences {
 public:
  explicit Differences(size_t size) : size_(size) {}
  void Add(size_t i, const std::string& came, const std::string& wanted) {
    if (count_++ == 0) first_ = "[" + std::to_string(i) + "] is " + came + " and not " + wanted;
  }
  std::optional<std::string> Result() const {
    if (count_ == 0) return std::nullopt;
    return first_ + " (" + std::to_string(count_) + " of " + std::to_string(size_) + " differ)";
  }

 private:
  size_t size_, count_ = 0;
  std::string first_;
};

template <class E>
std::optional<std::string> CompareIntegers(const Array& array, const Json& wanted) {
  std::vector<E> came = array.to_vector<E>();
  Differences differences(came.size());
  for (size_t i = 0; i < came.size(); ++i) {
    E w = wanted[i].is_boolean() ? static_cast<E>(wanted[i].get<bool>()) : wanted[i].get<E>();
    if (came[i] != w) differences.Add(i, std::to_string(came[i]), std::to_string(w));
  }
  return differences.Result();
}

std::optional<std::string> CompareBools(const Array& array, const Json& wanted) {
  std::vector<bool> came = array.to_vector<bool>();
  Differences differences(came.size());
  for (size_t i = 0; i < came.size(); ++i) {
    if (came[i] != (Number(wanted[i]) != 0))
      differences.Add(i, came[i] ? "1" : "0", wanted[i].dump());
  }
  return differences.Result();
}

std::optional<std::string> CompareFloats(const Array& array, const Json& wanted,
                                         std::optional<double> tolerance) {
  Bounds bounds = DefaultBounds(array.dtype());
  if (tolerance) bounds = {*tolerance, *tolerance, *tolerance == 0};
  std::vector<double> came = array.to_vector<double>();
  Differences differences(came.size());
  for (size_t i = 0; i < came.size(); ++i) {
    if (wanted[i].is_null()) continue;
    double w = Number(wanted[i]);
    if (!Close(came[i], w, std::abs(w), bounds)) differences.Add(i, Print(came[i]), Print(w));
  }
  return differences.Result();
}

std::string Print(std::complex<double> z) {
  return "(" + Print(z.real()) + ", " + Print(z.imag()) + ")";
}

std::optional<std::string> CompareComplex(const Array& array, const Json& wanted,
                                          std::optional<double> tolerance) {
  Bounds bounds = DefaultBounds(array.dtype());
  if (tolerance) bounds = {*tolerance, *tolerance, *tolerance == 0};
  const auto came = array.to_vector<std::complex<double>>();
  Differences differences(came.size());
  for (size_t i = 0; i < came.size(); ++i) {
    if (wanted[i].is_null()) continue;
    const std::complex<double> w = ComplexNumber(wanted[i]);
    const bool finite = std::isfinite(std::abs(w));
    const auto close = [&](double a, double b) {
      return Close(a, b, finite ? std::abs(w) : std::abs(b), bounds);
    };
    if (!close(came[i].real(), w.real()) || !close(came[i].imag(), w.imag()))
      differences.Add(i, Print(came[i]), Print(w));
  }
  return differences.Result();
}

}  // namespace

std::complex<double> ComplexNumber(const Json& json) {
  if (!json.is_array()) return Number(json);
  return {Number(json.at(0)), Number(json.at(1))};
}

double Number(const Json& json) {
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (!json.is_string()) return json.get<double>();
  const double inf = std::numeric_limits<double>::infinity();
  std::string text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "-inf" ? -inf : inf;
}

std::optional<std::string> CompareData(const Array& array, const Json& wanted,
                                       std::optional<double> tolerance) {
  if (static_cast<size_t>(array.size()) != wanted.size()) {
    return std::to_string(array.size()) + " elements and not " + std::to_string(wanted.size());
  }
  DType dtype = array.dtype();
  if (dtype.is_bool()) return CompareBools(array, wanted);
  if (dtype == u64) return CompareIntegers<uint64_t>(array, wanted);
  if (dtype.is_integer()) return CompareIntegers<int64_t>(array, wanted);
  if (dtype.is_complex()) return CompareComplex(array, wanted, tolerance);
  return CompareFloats(array, wanted, tolerance);
}

}  // namespace tessera::conformance
