// Pipelines of data that are refused, one error each.
#include <gmock/gmock.h>
#include <tessera/data.h>
#include <tessera/tessera.h>

#include <filesystem>
#include <fstream>

#include "golden.h"

namespace tessera::data_errors_test {
namespace {

namespace fs = std::filesystem;
using data::Pipeline;
using data::Record;

class DataErrors : public testing::Test {
 protected:
  // Messages have paths: files are in a folder that is the current one for the time of a test.
  DataErrors() : before_(fs::current_path()) {
    const fs::path folder = testing::TempDir() + "/data_errors";
    fs::create_directories(folder);
    fs::current_path(folder);
  }
  ~DataErrors() override {
    fs::current_path(before_);
    ExpectUsable();
  }

 private:
  fs::path before_;
};

void Write(const char* path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
data::DataSource Count(int n) { return data::arrays({arange(n)}); }

TEST_F(DataErrors, Files) {
  const auto idx = [](const char* name, const std::string& bytes) {
    Write("x.idx", bytes);
    ExpectRefused(name, [] { data::idx("x.idx"); });
  };
  ExpectRefused("data_idx_missing", [] { data::idx("none.idx"); });
  idx("data_idx_empty", "");
  idx("data_idx_magic", "PNG and more");
  idx("data_idx_dtype", std::string("\0\0\x07\1\0\0\0\1x", 9));
  idx("data_idx_compressed", std::string("\x1f\x8b\x08\0abc", 7));
  idx("data_idx_header_cut_off", std::string("\0\0\x08\3\0\0\0\1\0\0", 10));
  idx("data_idx_cut_off", std::string("\0\0\x08\1\0\0\0\4abc", 11));
  idx("data_idx_too_long", std::string("\0\0\x08\1\0\0\0\2abc", 11));
  idx("data_idx_sizes_overflow",
      std::string("\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16));
  idx("data_idx_scalar", std::string("\0\0\x08\0a", 5));
  save_npy("scalar.npy", ones({}));
  ExpectRefused("data_npy_scalar", [] { data::npy("scalar.npy"); });
  Write("fortran.npy", std::string("\x93NUMPY\1\0\x3d\0", 10) +
                           "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }  \n" +
                           std::string(5, 'a'));
  ExpectRefused("data_npy_fortran", [] { data::npy("fortran.npy"); });
  Write("x.txt", "ab\nabcd\n");
  ExpectRefused("data_lines_length", [] { data::lines("x.txt", 0); });
  ExpectRefused("data_line_too_long", [] { (void)data::lines("x.txt", 3).read(1); });
}

TEST_F(DataErrors, Sources) {
  ExpectRefused("data_arrays_none", [] { data::arrays({}); });
  ExpectRefused("data_arrays_scalar", [] { data::arrays({ones({})}); });
  ExpectRefused("data_arrays_rows", [] { data::arrays({ones({2}), ones({3})}); });
  ExpectRefused("data_zip_none", [] { data::zip({}); });
  ExpectRefused("data_zip_records", [] { data::zip({Count(2), Count(3)}); });
  ExpectRefused("data_windows_stride", [] { data::windows(Count(2), 1, {.stride = -1}); });
  ExpectRefused("data_read_out_of_range", [] { (void)Count(2).read(2); });
  ExpectRefused("data_field_dtype", [] { (void)Count(2).read(0)[0].data<float>(); });
  ExpectRefused("data_field_shape", [] { data::Field(f32, {-1}); });
}

TEST_F(DataErrors, Steps) {
  const Pipeline p(Count(8));
  ExpectRefused("data_shuffle_key", [&] { (void)p.shuffle(ones({})); });
  ExpectRefused("data_shuffle_keys", [&] { (void)p.shuffle(random::split(random::key(0), 2)); });
  ExpectRefused("data_batch", [&] { (void)p.batch(0); });
  ExpectRefused("data_repeat", [&] { (void)p.repeat(-1); });
  ExpectRefused("data_prefetch", [&] { (void)p.prefetch(-1); });
  ExpectRefused("data_threads", [&] { (void)p.prefetch(1, {.threads = 0}); });
  ExpectRefused("data_no_full_batch", [&] { p.batch(9, {.drop_last = true}).start(); });
  ExpectRefused("data_no_records", [&] { Pipeline(Count(0)).start(); });
  ExpectRefused("data_sharding_without_a_mesh",
                [&] { p.batch(8, {.out_shardings = {P("x")}}).start(); });
  ExpectRefused("data_number_of_shardings", [&] {
    p.batch(8, {.out_shardings = {P(), P()}}).start();
  });
}

TEST_F(DataErrors, Meshes) {
  SetDeviceCount(3);
  const Pipeline p(Count(8));
  {
    MeshScope scope(make_mesh({{"x", 3}}));
    ExpectRefused("data_batch_does_not_divide",
                  [&] { p.batch(4, {.out_shardings = {P("x")}}).start(); });
    ExpectRefused("data_last_batch_does_not_divide",
                  [&] { p.batch(3, {.out_shardings = {P("x")}}).start(); });
    ExpectRefused("data_unknown_axis", [&] { p.batch(3, {.out_shardings = {P("y")}}).start(); });
  }
  {
    MeshScope scope(abstract_mesh({{"x", 2}}));
    ExpectRefused("data_abstract_mesh", [&] { p.start(); });
  }
  SetDeviceCount(1);
}

TEST_F(DataErrors, Maps) {
  const auto ragged = [](Record r) {
    const int32_t n = r[0].data<int32_t>()[0];
    return Record{data::Field(f32, {n < 5 ? 2 : 3})};
  };
  const auto throws = [](Record r) -> Record {
    if (r[0].data<int32_t>()[0] == 3) throw std::runtime_error("the picture is broken");
    return r;
  };
  const auto run = [](data::Batches batches) {
    while (batches.next()) continue;
  };
  ExpectRefused("data_map_ragged", [&] { run(Pipeline(Count(8)).map(ragged).batch(4).start()); });
  ExpectRefused("data_map_throws",
                [&] { run(Pipeline(Count(8)).map(throws).prefetch(3).start()); });
}

TEST_F(DataErrors, Positions) {
  const Pipeline p = Pipeline(Count(8)).shuffle(random::key(0));
  const data::Position at = p.start().position();
  ExpectRefused("data_position_of_other_records",
                [&] { Pipeline(Count(9)).shuffle(random::key(0)).start(at); });
  ExpectRefused("data_position_of_another_key",
                [&] { Pipeline(Count(8)).shuffle(random::key(1)).start(at); });
  data::Position outside = at;
  outside.record = array(int64_t{8});
  ExpectRefused("data_position_outside", [&] { p.start(outside); });
  ExpectRefused("data_position_without_values", [&] { p.start(data::Position{}); });
}

}  // namespace
}  // namespace tessera::data_errors_test
