// Makes and summarizes arrays.
#include "cli/arrays.h"

#include <fmt/format.h>
#include <tessera/ops.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "cli/source.h"

namespace tessera::cli {
namespace {

constexpr size_t kShown = 8;  // elements of a summary

int64_t ElementsOf(const ArrayType& type) {
  int64_t n = 1;
  for (int64_t size : type.shape()) n *= size;
  return n;
}

double FloatAt(int64_t k, size_t input) {
  const double t =
      static_cast<double>(k) * 0.6180339887498949 + static_cast<double>(input) * 0.3819660112501051;
  return t - std::floor(t) - 0.5;
}

template <class E, class F>
Array Made(const ArrayType& type, F at) {
  std::vector<E> elements;
  for (int64_t k = 0; k < ElementsOf(type); ++k) elements.push_back(at(k));
  return array(elements, {.shape = Shape(type.shape())}, kHere).astype(type.dtype(), kHere);
}

std::string TextOf(double v) { return fmt::format("{:.4g}", v); }
std::string TextOf(int64_t v) { return fmt::format("{}", v); }
std::string TextOf(uint64_t v) { return fmt::format("{}", v); }
std::string TextOf(std::complex<double> v) {
  return fmt::format("{:.4g}{:+.4g}j", v.real(), v.imag());
}

template <class E>
std::string FirstOf(const std::vector<E>& elements) {
  std::string text = "  first";
  for (size_t k = 0; k < std::min(kShown, elements.size()); ++k) text += " " + TextOf(elements[k]);
  return text + (elements.size() > kShown ? " ...\n" : "\n");
}

// Returns `  min 0  mean 1.5  max 3`, over numbers that are finite.
template <class E>
std::string RangeOf(const std::vector<E>& elements) {
  double sum = 0;
  size_t finite = 0;
  E least{}, most{};
  for (E v : elements) {
    if (!std::isfinite(static_cast<double>(v))) continue;
    least = finite ? std::min(least, v) : v;
    most = finite ? std::max(most, v) : v;
    sum += static_cast<double>(v);
    ++finite;
  }
  std::string text;
  if (finite > 0)
    text = fmt::format("  min {}  mean {}  max {}\n", TextOf(least),
                       TextOf(sum / static_cast<double>(finite)), TextOf(most));
  if (finite < elements.size())
    text += fmt::format("  {} of {} are not finite\n", elements.size() - finite, elements.size());
  return text;
}

template <class E>
std::string NumbersOf(const std::vector<E>& elements) {
  return elements.size() == 1 ? FirstOf(elements).replace(2, 5, "is")
                              : RangeOf(elements) + FirstOf(elements);
}

std::string ComplexOf(const std::vector<std::complex<double>>& elements) {
  if (elements.size() == 1) return FirstOf(elements).replace(2, 5, "is");
  std::vector<double> magnitudes;
  for (std::complex<double> v : elements) magnitudes.push_back(std::abs(v));
  std::string range = RangeOf(magnitudes);
  if (range.starts_with("  min")) range.insert(2, "magnitude: ");
  return range + FirstOf(elements);
}

}  // namespace

Array Filled(const ArrayType& type, size_t input) {
  const DType t = type.dtype();
  if (t.is_complex())
    return Made<std::complex<double>>(type, [&](int64_t k) {
      return std::complex<double>(FloatAt(2 * k, input), FloatAt(2 * k + 1, input));
    });
  if (t.is_floating()) return Made<double>(type, [&](int64_t k) { return FloatAt(k, input); });
  const auto i = static_cast<int64_t>(input);
  return Made<int64_t>(type,
                       [&](int64_t k) { return t.is_bool() ? k % 3 == 0 : (7 * k + 3 * i) % 8; });
}

std::string NumpyName(DType t) {
  if (t.is_bool()) return "bool";
  if (t.is_key() || t.is_storage() || t == bf16) return "";
  const char* kind = t.is_complex()    ? "complex"
                     : t.is_floating() ? "float"
                     : t.is_unsigned() ? "uint"
                                       : "int";
  return fmt::format("{}{}", kind, 8 * t.size());
}

std::string SummaryOf(const Array& x) {
  const DType t = x.dtype(kHere);
  if (x.size(kHere) == 0 || t.is_key()) return "";
  if (t.is_complex())
    return ComplexOf(x.astype(c128, kHere).to_vector<std::complex<double>>(kHere));
  if (t.is_floating()) return NumbersOf(x.astype(f64, kHere).to_vector<double>(kHere));
  if (t == u64) return NumbersOf(x.to_vector<uint64_t>(kHere));
  return NumbersOf(x.astype(i64, kHere).to_vector<int64_t>(kHere));
}

}  // namespace tessera::cli
