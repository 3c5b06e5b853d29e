// Safetensors files that are refused, one error each, and trees that do not fit into files.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <filesystem>
#include <fstream>

#include "golden.h"

namespace tessera::file_errors_test {
namespace {

namespace fs = std::filesystem;
using Arrays = std::map<std::string, Array>;

// Messages have paths: files are in a folder that is the current one for the time of a test.
class FileErrors : public testing::Test {
 protected:
  FileErrors() : before_(fs::current_path()) {
    const fs::path folder = testing::TempDir() + "/file_errors";
    fs::create_directories(folder);
    fs::current_path(folder);
  }
  ~FileErrors() override { fs::current_path(before_); }

 private:
  fs::path before_;
};

void Write(const std::string& bytes) { std::ofstream("x.safetensors", std::ios::binary) << bytes; }
// A count of bytes, as it stands in front of a header.
std::string Count(uint64_t n) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(n >> (8 * i) & 0xff);
  return bytes;
}
std::string File(const std::string& header, size_t data) {
  return Count(header.size()) + header + std::string(data, 'x');
}
std::string Entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& bytes) {
  return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":[)" + shape +
         R"(],"data_offsets":[)" + bytes + "]}";
}
std::string One(const std::string& dtype, const std::string& shape, const std::string& bytes,
                size_t data = 16) {
  return File('{' + Entry("x", dtype, shape, bytes) + '}', data);
}

TEST_F(FileErrors, MalformedFilesAreRefused) {
  const std::string a = Entry("a", "F32", "4", "0,16"), b = Entry("b", "F32", "2", "8,16"),
                    apart = Entry("b", "F32", "2", "20,28");
  const std::pair<const char*, std::string> cases[] = {
      {"no_header", "abc"},
      {"header_implausible", Count(uint64_t{1} << 40)},
      {"header_overflows", Count(~uint64_t{0})},
      {"header_cut_off", Count(100) + R"({"x":)"},
      {"not_an_object", File("[1,2,3]", 0)},
      {"not_json", File(R"({"x":{"dtype")", 0)},
      {"json_ends_early", File("{}}", 0)},
      {"name_not_utf8", File('{' + Entry("\xff", "F32", "4", "0,16") + '}', 16)},
      {"number_too_large", One("F32", "1e999", "0,16")},
      {"nested_too_deeply", One("F32", "[[]]", "0,16")},
      {"duplicate_name", File('{' + a + ',' + a + '}', 16)},
      {"duplicate_key", File(R"({"x":{"dtype":"F32","dtype":"F16"}})", 0)},
      {"no_dtype", File(R"({"x":{"shape":[],"data_offsets":[0,4]}})", 4)},
      {"entry_is_a_number", File(R"({"x":3})", 0)},
      {"unknown_key", File(R"({"x":{"dtype":"U8","shape":[],"data_offsets":[0,1],"scale":2}})", 1)},
      {"unknown_dtype", One("F4", "16", "0,16")},
      {"size_negative", One("F32", "-4", "0,16")},
      {"size_fraction", One("F32", "4.0", "0,16")},
      {"size_overflows", One("F32", "18446744073709551616", "0,16")},
      {"sizes_overflow", One("F32", "4294967296,4294967296", "0,16")},
      {"size_too_large", One("F32", "18446744073709551615", "0,16")},
      {"offsets_reversed", One("F32", "4", "16,0")},
      {"offsets_three", One("F32", "4", "0,8,16")},
      {"shape_not_bytes", One("F32", "3", "0,16")},
      {"scalar_not_bytes", One("F64", "", "0,16")},
      {"data_cut_off", One("F32", "4", "0,16", 15)},
      {"data_far_outside", One("U8", "1099511627776", "0,1099511627776")},
      {"trailing_bytes", One("F32", "4", "0,16", 18)},
      {"gap_in_front", One("F32", "2", "8,16")},
      {"gap", File('{' + a + ',' + apart + '}', 28)},
      {"overlap", File('{' + a + ',' + b + '}', 16)},
      {"metadata_no_object", File(R"({"__metadata__":"x"})", 0)},
      {"metadata_no_string", File(R"({"__metadata__":{"x":1}})", 0)}};
  for (const auto& [name, bytes] : cases) {
    SCOPED_TRACE(name);
    Write(bytes);
    ExpectRefused(std::string("safetensors_") + name, [] { load_safetensors("x.safetensors"); });
    EXPECT_THROW(load_safetensors_metadata("x.safetensors"), RuntimeError);
  }
  const std::string good = File('{' + a + "}  \n", 16);
  for (size_t n = 0; n < good.size(); ++n) {
    Write(good.substr(0, n));
    EXPECT_THROW(load_safetensors("x.safetensors"), RuntimeError) << n << " bytes";
  }
  Write(good);
  EXPECT_NO_THROW(load_safetensors("x.safetensors"));
  ExpectUsable();
}

TEST_F(FileErrors, FilesThatCannotBeOpenedAreRefused) {
  const Arrays one{{"x", ones({2})}};
  ExpectRefused("safetensors_missing", [] { load_safetensors("none.safetensors"); });
  ExpectRefused("safetensors_read_folder", [] { load_safetensors("/"); });
  ExpectRefused("safetensors_read_device", [] { load_safetensors("/dev/null"); });
  ExpectRefused("safetensors_write_folder", [&] { save_safetensors("/", one); });
  ExpectRefused("safetensors_write_device", [&] { save_safetensors("/dev/null", one); });
  ExpectRefused("safetensors_write_nowhere", [&] { save_safetensors("nowhere/x", one); });
}

struct Weights {
  Array w, b;
};
TESSERA_FIELDS(Weights, w, b);

TEST_F(FileErrors, TreesThatDoNotFitAreRefused) {
  save_safetensors("x.safetensors", Arrays{{"w", ones({2, 3})}, {"b", ones({3}, f16)}});
  const auto like = [](auto tree) { load_safetensors_like("x.safetensors", tree); };
  const Array w = zeros({2, 3}), b = zeros({3}, f16);
  like(Weights{w, b});
  ExpectRefused("safetensors_like_missing", [&] { like(Arrays{{"w", w}, {"b", b}, {"c", b}}); });
  ExpectRefused("safetensors_like_unexpected", [&] { like(Arrays{{"b", b}}); });
  ExpectRefused("safetensors_like_other_names", [&] { like(std::vector(8, w)); });
  // A tree whose names have another part in front is not told to drop the arrays.
  save_safetensors(
      "state.safetensors",
      Arrays{{"loss_scale.adam.mu.w", w}, {"loss_scale.adam.nu.w", w}, {"loss_scale.scale", b}});
  const Arrays state{{"adam.mu.w", w}, {"adam.nu.w", w}};
  ExpectRefused("safetensors_like_prefix_in_file",
                [&] { load_safetensors_like("state.safetensors", state); });
  save_safetensors("state.safetensors", state);
  ExpectRefused("safetensors_like_prefix_in_tree", [&] {
    load_safetensors_like("state.safetensors",
                          Arrays{{"sharded.adam.mu.w", w}, {"sharded.adam.nu.w", w}});
  });
  // Of the names in the file only "layers.1.b" is wanted: its part is not offered as a whole.
  Arrays many;
  for (const char* name : {"head.b", "head.w", "layers.0.b", "layers.0.w", "layers.1.b",
                           "layers.1.v", "layers.1.w", "layers.10.w", "scale"})
    many[name] = b;
  save_safetensors("many.safetensors", many);
  const Arrays one{{"layers.1.b", b}};
  ExpectRefused("safetensors_like_many_names",
                [&] { load_safetensors_like("many.safetensors", one); });
  EXPECT_EQ(load_safetensors_like("many.safetensors", one,
                                  {.ignore = {"head.*", "layers.0.*", "layers.1.v", "layers.1.w",
                                              "layers.10.w", "scale"}})
                .size(),
            1u);
  // One name in all layers.
  Arrays layers, without;
  for (int k = 0; k < 20; ++k) {
    const std::string layer = "layers." + std::to_string(k);
    layers[layer + ".w"] = without[layer + ".w"] = layers[layer + ".lora.a"] = b;
  }
  save_safetensors("layers.safetensors", layers);
  ExpectRefused("safetensors_like_all_layers",
                [&] { load_safetensors_like("layers.safetensors", without); });
  EXPECT_EQ(
      load_safetensors_like("layers.safetensors", without, {.ignore = {"layers.*.lora.a"}}).size(),
      20u);
  ExpectRefused("safetensors_like_shape", [&] { like(Weights{zeros({3, 2}), b}); });
  ExpectRefused("safetensors_like_dtype", [&] { like(Weights{w, zeros({3})}); });
  ExpectRefused("safetensors_like_ignored", [&] {
    load_safetensors_like("x.safetensors", Arrays{{"w", w}, {"b", b}}, {.ignore = {"b*"}});
  });
  ExpectRefused("safetensors_like_cast_shape", [&] {
    load_safetensors_like("x.safetensors", Weights{zeros({3, 2}, f16), b}, {.cast = true});
  });
  ExpectRefused("safetensors_like_traced", [&] {
    jit([&](Array x) {
      like(Weights{x, x});
      return x;
    })(w);
  });
  ExpectRefused("safetensors_one_array", [&] { save_safetensors("y.safetensors", w); });
  ExpectRefused("safetensors_same_names", [&] {
    save_safetensors("y.safetensors",
                     std::map<std::string, Arrays>{{"a", {{"b.c", w}}}, {"a.b", {{"c", w}}}});
  });
  ExpectRefused("safetensors_named_metadata", [&] {
    save_safetensors("y.safetensors", Arrays{{"__metadata__", w}});
  });
  ExpectRefused("safetensors_bad_utf8", [&] {
    save_safetensors("y.safetensors", Arrays{{"\xff", w}});
  });
  EXPECT_FALSE(fs::exists("y.safetensors") || fs::exists("y.safetensors.tmp"));
  ExpectUsable();
}

}  // namespace
}  // namespace tessera::file_errors_test
