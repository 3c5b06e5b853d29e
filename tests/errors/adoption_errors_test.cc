// Views on memory, DLPack tensors and files of programs that are refused, one error each.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/io/dlpack_structs.h"
#include "base/checksum.h"
#include "golden.h"

namespace tessera::adoption_errors_test {
namespace {

namespace fs = std::filesystem;

class AdoptionErrors : public testing::Test {
 protected:
  // Messages have paths: files are in a folder that is the current one for the time of a test.
  AdoptionErrors() : before_(fs::current_path()) {
    const fs::path folder = testing::TempDir() + "/adoption_errors";
    fs::create_directories(folder);
    fs::current_path(folder);
  }
  ~AdoptionErrors() override {
    fs::current_path(before_);
    ExpectUsable();
  }

 private:
  fs::path before_;
};

TEST_F(AdoptionErrors, Views) {
  const float v[6] = {};
  const float* null = nullptr;
  ExpectRefused("view_null", [&] { array_view(null, {2}); });
  ExpectRefused("view_negative_size", [&] { array_view(v, {-2}); });
  ExpectRefused("view_number_of_strides", [&] { array_view(v, {2, 3}, {.strides = {{1}}}); });
  ExpectRefused("view_stride_too_large", [&] {
    array_view(v, {2, 3}, {.strides = {{int64_t{1} << 62, 1}}});
  });
  ExpectRefused("view_without_a_dtype", [&] { array_view(v, DType{}, {2}); });
  ExpectRefused("view_of_keys", [&] { array_view(v, random::key(0).dtype(), {2}); });
  ExpectRefused("view_sharding_without_a_mesh",
                [&] { array_view(v, {2}, {.out_sharding = P("x")}); });
  EXPECT_EQ(array_view(null, {0}).size(), 0);
}

TEST_F(AdoptionErrors, DLPackTensors) {
  float v[2] = {};
  int64_t shape[] = {2};
  const auto refused = [&](const char* name, auto change) {
    DLManagedTensorVersioned t = {};
    t.version = {1, 0};
    t.dl_tensor = {.data = v,
                   .device = {dlpack::kCpu, 0},
                   .ndim = 1,
                   .dtype = {dlpack::kFloat, 32, 1},
                   .shape = shape,
                   .strides = nullptr,
                   .byte_offset = 0};
    change(t);
    ExpectRefused(name, [&] { from_dlpack(&t); });
  };
  ExpectRefused("dlpack_null", [] { from_dlpack(static_cast<DLManagedTensor*>(nullptr)); });
  refused("dlpack_version", [](auto& t) { t.version = {2, 3}; });
  refused("dlpack_device", [](auto& t) { t.dl_tensor.device.type = 2; });
  refused("dlpack_lanes", [](auto& t) { t.dl_tensor.dtype.lanes = 4; });
  refused("dlpack_dtype", [](auto& t) { t.dl_tensor.dtype = {dlpack::kFloat, 128, 1}; });
  refused("dlpack_packed", [](auto& t) { t.dl_tensor.dtype = {dlpack::kInt, 4, 1}; });
  refused("dlpack_no_shape", [](auto& t) { t.dl_tensor.shape = nullptr; });
  ExpectRefused("dlpack_of_keys", [] { to_dlpack(random::key(0)); });
  ExpectRefused("dlpack_of_an_abstract_array", [] { to_dlpack(abstract_array("f32[2]")); });
}

// ---- files of programs ----

std::string Bytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}
void Write(const std::string& bytes) { std::ofstream("x.program", std::ios::binary) << bytes; }
// Returns the file with a part of its header replaced, and the checksum of the new one.
std::string WithHeader(std::string file, const std::string& old, const std::string& instead) {
  const size_t at = file.find(old);
  EXPECT_NE(at, file.npos) << old;
  file.replace(at, old.size(), instead);
  uint64_t size = 0;
  std::memcpy(&size, file.data() + 16, sizeof size);
  size += instead.size() - old.size();
  const uint64_t sum = base::Checksum(file.data() + 32, size);
  std::memcpy(file.data() + 16, &size, sizeof size);
  std::memcpy(file.data() + 24, &sum, sizeof sum);
  return file;
}

TEST_F(AdoptionErrors, DamagedProgramsAreRefused) {
  const Array table = arange(4.0);
  jit([&](Array x) { return x * table; }).trace(ones({4})).save("x.program");
  const std::string whole = Bytes("x.program");
  const auto changed = [&](size_t at, char c) {
    std::string bytes = whole;
    bytes[at] = c;
    return bytes;
  };
  const std::pair<const char*, std::string> cases[] = {
      {"program_cut_in_its_start", whole.substr(0, 20)},
      {"program_cut_in_its_header", whole.substr(0, 60)},
      {"program_cut_in_its_constants", whole.substr(0, whole.size() - 5)},
      {"program_with_more_bytes", whole + "abc"},
      {"program_of_another_version", changed(8, 9)},
      {"program_header_implausible", changed(23, 1)},
      {"program_header_damaged", changed(40, '?')},
      {"program_constant_damaged", changed(whole.size() - 1, 1)},
      {"program_header_is_no_json", WithHeader(whole, "{", "[")},
      {"program_without_text", WithHeader(whole, "\"text\"", "\"code\"")},
      {"program_text_malformed", WithHeader(whole, "return", "go on ")},
      {"program_constants_missing",
       WithHeader(whole, "\"constants\":[[0,16,", "\"constants\":[],\"x\":[[0,16,")},
      {"program_constant_elsewhere", WithHeader(whole, "[[0,16,", "[[4,20,")},
      {"program_names_missing", WithHeader(whole, "\"result\"", "")},
      {"program_donates_no_argument", WithHeader(whole, "\"donated\":[]", "\"donated\":[7]")},
  };
  for (const auto& [name, bytes] : cases) {
    Write(bytes);
    ExpectRefused(name, [] { Program::Load("x.program"); });
  }
}

TEST_F(AdoptionErrors, ProgramsThatNoFileHolds) {
  const Lowered lowered = jit([](Array x) { return x + 1; }).lower(ones({2}));
  ExpectRefused("program_of_a_device", [&] { lowered.device_program().save("y.program"); });
  const auto calls = jit([](Array x) {
    debug_callback([](const std::vector<Array>&) {}, {x});
    return x;
  });
  ExpectRefused("program_with_a_callback", [&] { calls.trace(ones({2})).save("y.program"); });
  const Array table = ones({2});
  const std::string text = jit([&](Array x) { return x * table; }).trace(ones({2})).text();
  ExpectRefused("program_without_its_captures", [&] { Program::Parse(text).save("y.program"); });
  ExpectRefused("program_to_no_folder",
                [&] { lowered.program().save("no/such/folder/y.program"); });
  EXPECT_FALSE(fs::exists("y.program"));
}

TEST_F(AdoptionErrors, ProgramsNeedTheirDevicesAndArguments) {
  SetDeviceCount(4);
  {
    MeshScope scope(make_mesh({{"x", 4}}));
    jit([](Array x) { return x + 1; }).trace(reshard(ones({8}), P("x"))).save("mesh.program");
  }
  SetDeviceCount(1);
  ExpectRefused("program_of_more_devices", [] { Program::Load("mesh.program"); });
  const auto f = [](std::map<std::string, Array> p, Array x) { return p["w"] * x; };
  const std::map<std::string, Array> p{{"w", ones({2})}};
  jit(f).trace(p, ones({2})).save("f.program");
  const Program program = Program::Load("f.program");
  ExpectRefused("program_number_of_arguments", [&] { program.run({ones({2})}); });
  ExpectRefused("program_argument_of_another_shape", [&] { program.run({ones({3}), ones({2})}); });
  ExpectRefused("program_argument_of_another_dtype", [&] {
    program.run({ones({2}), ones({2}, i32)});
  });
  ExpectRefused("program_arguments_named_otherwise", [&] {
    run_as<Array>(program, std::map<std::string, Array>{{"v", ones({2})}}, ones({2}));
  });
  ExpectRefused("program_results_named_otherwise",
                [&] { run_as<std::pair<Array, Array>>(program, p, ones({2})); });
}

}  // namespace
}  // namespace tessera::adoption_errors_test
