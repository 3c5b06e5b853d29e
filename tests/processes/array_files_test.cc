// Files that several processes read and write.
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>

#include "arrays.h"
#include "runtime/buffers.h"

namespace tessera::processes_test {
namespace {

using testing::HasSubstr;

TEST_F(Arrays, NpyFilesAreTheSameWhateverTheSharding) {
  MeshScope scope(TwoAxes());
  save_npy(Path("whole.npy"), array(Count(72), {.shape = Shape{12, 6}}));
  const std::string whole = Bytes(Path("whole.npy"));
  EXPECT_EQ(whole.size(), 128u + 72 * 4);
  for (const PartitionSpec& spec :
       {P("x", "y"), P("x", None), P(None, "y"), P(None, None), P({"y", "x"}, None)}) {
    SCOPED_TRACE(spec.text());
    save_npy(Path("parts.npy"), Counted(12, 6, spec));
    EXPECT_EQ(Bytes(Path("parts.npy")), whole);
    const Array x = load_npy(Path("whole.npy"), {.out_sharding = spec});
    EXPECT_EQ(x.sharding().spec(), Counted(12, 6, spec).sharding().spec());
    EXPECT_EQ(gather_to_host(x).to_vector<float>(), Count(72));
    Meet();
  }
  EXPECT_FALSE(std::filesystem::exists(Path("parts.npy.tmp")));
}

TEST_F(Arrays, AnUnreducedArrayIsSavedAsItsSum) {
  MeshScope scope(TwoAxes());
  const Array x = reshard(Counted(12, 6, P("x", None)), P("x", None).unreduced("y"));
  EXPECT_EQ(type_of(x).text(), "f32[12@x,6]{U:y}");
  save_npy(Path("sum.npy"), x);
  EXPECT_EQ(load_npy(Path("sum.npy")).to_vector<float>(), Count(72));
  const Array y = load_npy(Path("sum.npy"), {.out_sharding = P("x", None).unreduced("y")});
  EXPECT_EQ(gather_to_host(y).to_vector<float>(), Count(72));
}

TEST_F(Arrays, FortranOrderIsReadByParts) {
  MeshScope scope(TwoAxes());
  if (process_index() == 0) {
    std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (6, 12), }";
    header.resize(117, ' ');
    std::string file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n";
    const std::vector<float> numbers = Count(72);
    file.append(reinterpret_cast<const char*>(numbers.data()), 72 * 4);
    std::ofstream(Path("f.npy"), std::ios::binary) << file;
  }
  Meet();
  const Array x = load_npy(Path("f.npy"), {.out_sharding = P("y", "x")});
  EXPECT_EQ(type_of(x).text(), "f32[6@y,12@x]");
  EXPECT_EQ(gather_to_host(transpose(x)).to_vector<float>(), Count(72));
}

// Returns the bytes that this process has read by system calls.
int64_t ReadBytes() {
  std::ifstream io("/proc/self/io");
  std::string name;
  int64_t bytes = 0;
  io >> name >> bytes;
  return bytes;
}

TEST_F(Arrays, EachProcessReadsItsPartOfAFile) {
  MeshScope scope(make_mesh({{"x", kDevices}}));
  constexpr int64_t kRows = 1536, kColumns = 1024, kFile = kRows * kColumns * 4;
  const Array x = Counted(kRows, kColumns, P("x", None));
  save_npy(Path("big.npy"), x);
  save_safetensors(Path("big.safetensors"), std::map<std::string, Array>{{"x", x}});
  const auto reads = [&](auto load) {
    const int64_t before = ReadBytes();
    const Array y = load();
    const int64_t bytes = ReadBytes() - before, share = kFile / process_count();
    EXPECT_GE(bytes, share);
    EXPECT_LE(bytes, share + share / 10);
    EXPECT_TRUE(all(x == y).template item<bool>());
  };
  reads([&] { return load_npy(Path("big.npy"), {.out_sharding = P("x", None)}); });
  reads([&] {
    return load_safetensors_like(Path("big.safetensors"), std::map<std::string, Array>{{"x", x}})
        .at("x");
  });
}

struct Weights {
  Array w, b, step;
  std::vector<Array> more;
};
TESSERA_FIELDS(Weights, w, b, step, more);

TEST_F(Arrays, SafetensorsAreTheSameWhateverTheSharding) {
  MeshScope scope(TwoAxes());
  const auto tree = [](PartitionSpec spec) {
    return Weights{.w = Counted(12, 6, spec),
                   .b = Counted(12, 6, spec).astype(f16),
                   .step = array(7),
                   .more = {zeros({0, 3}), astype(Counted(12, 12, spec), i8)}};
  };
  const SafetensorsOptions options{.metadata = {{"run", "1"}}};
  save_safetensors(Path("whole"), tree(P(None, None)), options);
  for (const PartitionSpec& spec : {P("x", "y"), P("x", None), P(None, "y")}) {
    SCOPED_TRACE(spec.text());
    save_safetensors(Path("parts"), tree(spec), options);
    EXPECT_EQ(Bytes(Path("parts")), Bytes(Path("whole")));
    const Weights read = load_safetensors_like(Path("whole"), tree(spec));
    EXPECT_EQ(type_of(read.w).text(), type_of(tree(spec).w).text());
    EXPECT_EQ(gather_to_host(read.w).to_vector<float>(), Count(72));
    EXPECT_EQ(read.step.item<int>(), 7);
    EXPECT_TRUE(all(read.more[1] == tree(spec).more[1]).item<bool>());
    Meet();
  }
}

TEST_F(Arrays, AnArrayOfOneProcessIsSavedByAll) {
  MeshScope scope(make_mesh({{"x", 1}}));
  save_npy(Path("one.npy"), Counted(4, 4, P("x", None)));
  EXPECT_EQ(load_npy(Path("one.npy"), {.out_sharding = P("x")}).shape(),
            (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(Bytes(Path("one.npy")).size(), 128u + 64);
}

TEST_F(Arrays, AFailureOnOneProcessLeavesTheOldFile) {
  MeshScope scope(make_mesh({{"x", kDevices}}));
  const Array x = Counted(1200, 8, P("x", None));
  save_npy(Path("old.npy"), x);
  const std::string old = Bytes(Path("old.npy"));
  Meet();
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const int last = process_count() - 1;
  if (process_index() == last) {
    const rlimit most{1000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &most);
  }
  const std::string error = ErrorOf([&] { save_npy(Path("old.npy"), x * 2); });
  const std::string second = ErrorOf([&] {
    save_safetensors(Path("old.npy"), std::map<std::string, Array>{{"x", x * 2}});
  });
  setrlimit(RLIMIT_FSIZE, &before);
  const std::string where = is_alone() ? "" : fmt::format(" (on process {})", last);
  EXPECT_THAT(error, HasSubstr("the file cannot be written: file too large" + where));
  EXPECT_THAT(second, HasSubstr("the file cannot be written: file too large" + where));
  ExpectSame(error);
  EXPECT_EQ(Bytes(Path("old.npy")), old);
  EXPECT_FALSE(std::filesystem::exists(Path("old.npy.tmp")));
  Meet();
  save_npy(Path("old.npy"), x * 2);
  EXPECT_EQ(sum(load_npy(Path("old.npy"))).item<float>(), sum(x * 2).item<float>());
}

TEST_F(ArraysOnASmallDisk, AFullDiskLeavesTheOldFile) {
  const char* disk = std::getenv("TESSERA_SMALL_DISK");  // of 256 KiB
  ASSERT_TRUE(disk);
  MeshScope scope(make_mesh({{"x", kDevices}}));
  const std::string path = std::string(disk) + "/x.npy";
  save_npy(path, Counted(1200, 8, P("x", None)));
  const std::string old = Bytes(path);
  const std::string error = ErrorOf([&] { save_npy(path, Counted(12000, 8, P("x", None))); });
  EXPECT_THAT(error, HasSubstr("the file cannot be written: no space left on device"));
  ExpectSame(error);
  EXPECT_EQ(Bytes(path), old);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST_F(Arrays, FilesThatCannotBeMadeAreErrorsEverywhere) {
  MeshScope scope(TwoAxes());
  const Array x = Counted(12, 6, P("x", None));
  for (const char* path : {"/nowhere/x.npy", "/"}) {
    const std::string error = ErrorOf([&] { save_npy(path, x); });
    EXPECT_THAT(error, HasSubstr("the file cannot be written: "));
    ExpectSame(error);
  }
}

TEST_F(SharedArrays, ProcessesSaveTheSameFile) {
  MeshScope scope(TwoAxes());
  const Array x = Counted(12, 6, P("x", None));
  const std::string path = Path(process_index() == 0 ? "a.npy" : "b.npy");
  const std::string error = ErrorOf([&] { save_npy(path, x); });
  EXPECT_THAT(error, HasSubstr("each process is calling save_npy, but they differ"));
  EXPECT_THAT(error, HasSubstr("process 0: " + Path("a.npy") + "   from array_files_test.cc"));
  EXPECT_THAT(error, HasSubstr("process 1: " + Path("b.npy") + "   from array_files_test.cc"));
  ExpectSame(error);
  EXPECT_FALSE(std::filesystem::exists(Path("a.npy")));
  const std::string metadata = ErrorOf([&] {
    save_safetensors(Path("c"), std::map<std::string, Array>{{"x", x}},
                     {.metadata = {{"process", std::to_string(process_index())}}});
  });
  EXPECT_THAT(metadata, HasSubstr("\"process\":\"1\""));
  ExpectSame(metadata);
}

TEST_F(Arrays, EachProcessHoldsItsPart) {
  MeshScope scope(make_mesh({{"x", kDevices}}));
  constexpr int64_t kRows = 1200, kColumns = 1024, kBytes = kRows * kColumns * 4;
  const int64_t share = kBytes / process_count();
  const auto holds = [&](auto make) {
    const int64_t before = runtime::LiveBytes();
    const Array x = make();
    EXPECT_EQ(x.addressable_shards().size(), local_devices().size());
    EXPECT_LE(runtime::LiveBytes() - before, share + share / 8);
  };
  const OutOptions out{.out_sharding = P("x", None)};
  const Array x = zeros({kRows, kColumns}, {.out_sharding = P("x", None)});
  save_npy(Path("held.npy"), x);
  holds([&] { return zeros({kRows, kColumns}, {.out_sharding = P("x", None)}); });
  holds([&] { return zeros_like(x); });
  holds([&] { return Counted(kRows, kColumns, P("x", None)); });
  holds([&] { return array_from_shards(x.addressable_shards(), P("x", None)); });
  holds([&] { return load_npy(Path("held.npy"), out); });
  holds([&] {
    return array(Count(kRows * kColumns),
                 {.shape = Shape{kRows, kColumns}, .out_sharding = P("x", None)});
  });
}

}  // namespace
}  // namespace tessera::processes_test
