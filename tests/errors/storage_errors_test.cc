// Errors of f8 and of integers of 2 and 4 bits.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "cases.h"

namespace tessera::storage_errors_test {
namespace {

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"promotes_with_no_float", [] { ones({2}, f8_e4m3fn) + ones({2}); }},
      {"promotes_with_no_other_f8", [] { ones({2}, f8_e4m3fn) * ones({2}, f8_e5m2); }},
      {"small_integer_with_i8", [] { ones({2}, i4) + ones({2}, i8); }},
      {"small_integer_with_a_fraction", [] { ones({2}, i4) + 1.5; }},
      {"f8_with_a_complex_number", [] { ones({2}, f8_e5m2) * std::complex<float>(0, 1); }},
      {"promote_types", [] { promote_types(i4, u4); }},
      {"number_too_large_for_i4", [] { ones({2}, i4) + 8; }},
      {"number_too_large_for_f8", [] { full({2}, 1e6, {.dtype = f8_e5m2}); }},
      {"nextafter", [] { nextafter(ones({2}, f8_e4m3), ones({2}, f8_e4m3)); }},
      {"read_as_i2", [] { ones({2}, i4).to_vector<Int2>(); }},
      {"npy", [] { save_npy("/nowhere/x.npy", ones({2}, f8_e4m3fn)); }},
      {"npy_of_i4", [] { save_npy("/nowhere/x.npy", ones({2}, i4)); }},
      {"safetensors",
       [] {
         const std::map<std::string, Array> x{{"x", ones({2}, u4)}};
         save_safetensors("/nowhere/x.safetensors", x);
       }},
      {"product_of_two_formats", [] { dot(ones({2}, f8_e4m3), ones({2}, f8_e5m2)); }},
      {"bitcast", [] { bitcast_convert_type(ones({2}, u8), u4); }},
      {"default_dtypes", [] { DefaultDtypes scope(i4, f32); }},
      {"eigh",
       [] {
         linalg::eigh(ones({2, 2}, f8_e4m3));
       }},
  };
  return cases;
}

TEST(StorageErrors, AreAsShown) {
  for (const RefusedCase& c : Cases()) {
    ExpectRefused(std::string("storage_") + c.name, c.program);
    ExpectUsable();
  }
}

}  // namespace
}  // namespace tessera::storage_errors_test
