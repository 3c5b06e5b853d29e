// Windows and convolutions.
#include "ops.h"
#include "tessera/convolution.h"
#include "tessera/windows.h"

namespace tessera::conformance {
namespace {

WindowPadding PaddingOf(const Call& c) {
  const Json& padding = c.attr("padding");
  if (padding.is_string()) return padding.get<std::string>().c_str();
  return padding.get<std::vector<std::pair<int64_t, int64_t>>>();
}

std::vector<int64_t> ListOf(const Call& c, const char* key) {
  return c.has(key) ? c.integers(key) : std::vector<int64_t>();
}

// Returns the letters of dims that are listed by role: the two of `roles`, and then spatial dims.
std::string LettersOf(const Json& dims, const char* roles) {
  const std::string all = std::string(roles) + "DHW";
  std::string letters(dims.size(), ' ');
  for (size_t role = 0; role < dims.size(); ++role)
    letters.at(dims[role].get<size_t>()) = all.at(role);
  return letters;
}

// Three strings of letters, or three lists of dims by role; the default where there are none.
ConvDims DimsOf(const Call& c) {
  if (!c.has("dimension_numbers")) return {};
  const Json& numbers = c.attr("dimension_numbers");
  if (numbers.is_object())
    return {LettersOf(numbers.at("lhs_spec"), "NC"), LettersOf(numbers.at("rhs_spec"), "OI"),
            LettersOf(numbers.at("out_spec"), "NC")};
  const auto letters = c.attr("dimension_numbers").get<std::vector<std::string>>();
  return {letters.at(0), letters.at(1), letters.at(2)};
}

Reduction ReductionOf(const std::string& kind) {
  static const std::map<std::string, Reduction> kinds = {
      {"sum", Reduction::kSum}, {"prod", Reduction::kProd}, {"max", Reduction::kMax},
      {"min", Reduction::kMin}, {"and", Reduction::kAnd},   {"or", Reduction::kOr},
      {"xor", Reduction::kXor}};
  return kinds.at(kind);
}

}  // namespace

void AddWindows(OpTable& table) {
  table["reduce_window"] = [](const Call& c) {
    const WindowOptions options{.strides = ListOf(c, "window_strides"),
                                .padding = PaddingOf(c),
                                .base_dilation = ListOf(c, "base_dilation"),
                                .window_dilation = ListOf(c, "window_dilation")};
    return std::vector{reduce_window(c.operand(0), ReductionOf(c.text("kind", "")),
                                     c.integers("window_dimensions"), options, c.loc())};
  };
  table["conv_general_dilated"] = [](const Call& c) {
    const ConvOptions options{.lhs_dilation = ListOf(c, "lhs_dilation"),
                              .rhs_dilation = ListOf(c, "rhs_dilation"),
                              .dims = DimsOf(c),
                              .feature_group_count = c.integer("feature_group_count", 1),
                              .batch_group_count = c.integer("batch_group_count", 1),
                              .dtype = c.dtype("preferred_element_type"),
                              .out_sharding = c.spec()};
    return std::vector{conv_general_dilated(
        c.operand(0), c.operand(1), c.integers("window_strides"), PaddingOf(c), options, c.loc())};
  };
  table["conv_transpose"] = [](const Call& c) {
    const ConvTransposeOptions options{.rhs_dilation = ListOf(c, "rhs_dilation"),
                                       .dims = DimsOf(c),
                                       .transpose_kernel = c.flag("transpose_kernel")};
    return std::vector{conv_transpose(c.operand(0), c.operand(1), c.integers("strides"),
                                      PaddingOf(c), options, c.loc())};
  };
}

}  // namespace tessera::conformance
