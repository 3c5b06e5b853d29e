// Arrays and files of several processes. Every test runs in one process too. Twelve devices divide
// over 1, 2, 3 and 4 processes.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <tessera/processes.h>
#include <tessera/tessera.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

#include "runtime/buffers.h"
#include "runtime/transport.h"

namespace tessera::processes_test {
namespace {

using testing::HasSubstr;

constexpr int kDevices = 12;

// Returns a path that all processes of this run share, and no other run has. The launcher is the
// parent of all processes.
std::string Path(const std::string& name) {
  return fmt::format("{}/tessera_arrays_{}_{}", testing::TempDir(), getppid(), name);
}

std::string Bytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// Waits for all processes.
void Meet() {
  if (runtime::Transport* transport = runtime::TheTransport()) transport->Gather("meet");
}

// Returns the message of the error that f throws.
template <class F>
std::string ErrorOf(F f) {
  try {
    f();
  } catch (const InternalError& e) {
    return std::string("a fault of ours: ") + e.what();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// Expects that all processes have the same text.
void ExpectSame(const std::string& text) {
  if (!runtime::TheTransport()) return;
  for (const std::string& of_process : runtime::TheTransport()->Gather(text))
    EXPECT_EQ(of_process, text);
}

std::vector<float> Count(int64_t n) {
  std::vector<float> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return numbers;
}

// Returns [rows, columns] of the numbers 0, 1, 2, ...
Array Counted(int64_t rows, int64_t columns, PartitionSpec spec) {
  return array_from_callback<float>({rows, columns}, std::move(spec),
                                    [&](auto index, std::span<float> data) {
                                      size_t i = 0;
                                      for (int64_t r = index[0].begin; r < index[0].end; ++r)
                                        for (int64_t c = index[1].begin; c < index[1].end; ++c)
                                          data[i++] = static_cast<float>(r * columns + c);
                                    });
}

// Counts the calls of a transport.
class CountingTransport final : public runtime::Transport {
 public:
  explicit CountingTransport(std::unique_ptr<Transport> real) : real_(std::move(real)) {}
  std::unique_ptr<Transport> Release() { return std::move(real_); }
  int32_t process() const override { return real_->process(); }
  int32_t processes() const override { return real_->processes(); }
  int32_t AddRuns(const runtime::Runs& runs) override { return real_->AddRuns(runs); }
  int32_t AddGroup(const std::vector<int32_t>& processes) override {
    return real_->AddGroup(processes);
  }
  int32_t AddCombine(plan::CombineFn combine, int64_t item) override {
    return real_->AddCombine(combine, item);
  }
  Ticket Start(const runtime::Shipment& shipment) override {
    for (const runtime::Parcel& p : shipment.receives) received_bytes += p.bytes;
    return real_->Start(shipment);
  }
  void Poll() override { real_->Poll(); }
  void Finish(Ticket ticket) override { real_->Finish(ticket); }
  void BeginRun() override { real_->BeginRun(); }
  void FailRun(const std::string& message) override { real_->FailRun(message); }
  std::vector<uint64_t> GatherNumbers(uint64_t mine) override { return real_->GatherNumbers(mine); }
  std::vector<std::string> GatherTexts(std::string_view mine) override {
    ++gathers;
    return real_->GatherTexts(mine);
  }
  void Abort(int status) override { real_->Abort(status); }
  int64_t gathers = 0, received_bytes = 0;

 private:
  std::unique_ptr<Transport> real_;
};

// Scope: counts the calls of this process's transport.
class Counter {
 public:
  Counter() {
    if (!runtime::TheTransport()) return;
    auto counting = std::make_unique<CountingTransport>(runtime::SetTransport(nullptr));
    counting_ = counting.get();
    runtime::SetTransport(std::move(counting));
  }
  ~Counter() {
    if (!runtime::TheTransport()) return;
    const auto counting = runtime::SetTransport(nullptr);
    runtime::SetTransport(counting_->Release());
  }
  const CountingTransport* operator->() const { return counting_; }

 private:
  CountingTransport none_{nullptr};  // of one process: nothing is counted
  CountingTransport* counting_ = &none_;
};

class Arrays : public testing::Test {
 protected:
  Arrays() { SetDeviceCount(kDevices); }
  ~Arrays() override {
    Meet();
    if (process_index() == 0)
      for (const auto& file : std::filesystem::directory_iterator(testing::TempDir()))
        if (file.path().string().starts_with(Path(""))) std::filesystem::remove(file.path());
    Meet();
  }
  bool is_alone() const { return process_count() == 1; }
};

Mesh TwoAxes() { return make_mesh({{"x", 4}, {"y", 3}}); }

// ---- from callbacks -----------------------------------------------------------------------------

TEST_F(Arrays, ACallbackFillsEachShardHereOnce) {
  MeshScope scope(TwoAxes());
  for (const PartitionSpec& spec : {P("x", "y"), P("x", None), P(None, "y"), P(), P({"y", "x"})}) {
    SCOPED_TRACE(spec.text());
    std::set<std::pair<int64_t, int64_t>> shards;
    int calls = 0;
    const Array x = array_from_callback<int32_t>(
        {12, 6}, spec, [&](std::span<const IndexRange> index, std::span<int32_t> data) {
          ++calls;
          shards.insert({index[0].begin, index[1].begin});
          size_t i = 0;
          for (int64_t r = index[0].begin; r < index[0].end; ++r)
            for (int64_t c = index[1].begin; c < index[1].end; ++c)
              data[i++] = static_cast<int32_t>(r * 6 + c);
          EXPECT_EQ(i, data.size());
        });
    EXPECT_EQ(calls, static_cast<int>(shards.size()));
    std::set<std::pair<int64_t, int64_t>> here;
    for (const Shard& s : x.addressable_shards())
      here.insert({s.index()[0].begin, s.index()[1].begin});
    EXPECT_EQ(shards, here);
    EXPECT_EQ(x.addressable_shards().size(), local_devices().size());
    EXPECT_EQ(gather_to_host(x).to_vector<int>(), arange(72).to_vector<int>());
    EXPECT_EQ(gather_to_host(x * 2).to_vector<int>(), (arange(72) * 2).to_vector<int>());
  }
}

TEST_F(Arrays, ACallbackMakesArraysOverAutoAxes) {
  MeshScope scope(make_mesh({{"x", 4, Auto}, {"y", 3}}));
  const Array x = Counted(12, 8, P("y", "x"));
  EXPECT_EQ(type_of(x).text(), "f32[12@y,8]");
  EXPECT_EQ(gather_to_host(x).to_vector<float>(), Count(96));
  EXPECT_EQ(x.sharding().spec(), P("y", "x"));
  const Array y = Counted(12, 6, P({"y", "x"}));
  EXPECT_EQ(type_of(y).text(), "f32[12@y,6]");
  EXPECT_EQ(gather_to_host(jit([](Array a) { return a + 1; })(y)).to_vector<float>()[71], 72);
  EXPECT_THAT(ErrorOf([] {
                Counted(12, 6, P({"x", "y"}));
              }),
              HasSubstr("in each dim, Explicit axes come before Auto axes"));
}

TEST_F(Arrays, WhatACallbackLeavesIsZero) {
  MeshScope scope(TwoAxes());
  const Array x = array_from_callback<double>({12}, P({"x", "y"}), [](auto, auto) {});
  EXPECT_EQ(gather_to_host(x).to_vector<double>(), std::vector<double>(12));
}

TEST_F(Arrays, CallbacksAreRefused) {
  const auto make = [](PartitionSpec spec) {
    return ErrorOf([&] { array_from_callback<float>({10, 6}, spec, [](auto, auto) {}); });
  };
  EXPECT_THAT(make(P("x")), HasSubstr("needs a mesh, but none is in scope"));
  MeshScope scope(TwoAxes());
  EXPECT_THAT(make(P("x")), HasSubstr("dim 0 of size 10 cannot be divided evenly into 4 shards"));
  EXPECT_THAT(make(P("q")), HasSubstr("\"q\""));
  EXPECT_THAT(make(P(None, "y").unreduced("x")),
              HasSubstr("an array made of shards cannot be unreduced or reduced"));
  const std::string thrown = ErrorOf([] {
    array_from_callback<float>({12}, P(), [](auto, auto) { throw std::runtime_error("no disk"); });
  });
  EXPECT_THAT(thrown, HasSubstr("the callback threw an exception: no disk"));
  ExpectSame(thrown);
  EXPECT_THAT(ErrorOf([] {
                shard_map([](Array a) { return a + Counted(12, 6, P()); },
                          {.in_specs = {P()}, .out_specs = P()})(zeros({12, 6}));
              }),
              HasSubstr("inside of shard_map each device has its own array"));
}

TEST_F(Arrays, ACallbackIsNotCalledUnderAnAbstractMesh) {
  MeshScope scope(abstract_mesh({{"x", 4}}));
  const Array x = array_from_callback<float>({8}, P("x"), [](auto, auto) { FAIL(); });
  EXPECT_EQ(type_of(x).text(), "f32[8@x]");
  EXPECT_TRUE(x.is_abstract());
}

// ---- from shards --------------------------------------------------------------------------------

TEST_F(Arrays, ShardsComeBack) {
  MeshScope scope(TwoAxes());
  for (const PartitionSpec& spec : {P("x", "y"), P("x", None), P(None, "y"), P(None, None)}) {
    SCOPED_TRACE(spec.text());
    const Array x = Counted(12, 6, spec);
    const Array y = array_from_shards(x.addressable_shards(), spec);
    EXPECT_EQ(type_of(y).text(), type_of(x).text());
    EXPECT_EQ(gather_to_host(y).to_vector<float>(), Count(72));
  }
}

TEST_F(Arrays, ShardsOfTheHostBecomeAnArray) {
  MeshScope scope(make_mesh({{"x", kDevices}}));
  std::vector<Shard> shards;
  for (int64_t d : local_devices())
    shards.push_back(make_shard<int32_t>(d, {{2 * d, 2 * d + 2}}, {int32_t(d), -int32_t(d)}));
  const Array x = array_from_shards(shards, P("x"));
  EXPECT_EQ(type_of(x).text(), "i32[24@x]");
  const std::vector<int> all = gather_to_host(x).to_vector<int>();
  for (int d = 0; d < kDevices; ++d) {
    EXPECT_EQ(all[static_cast<size_t>(2 * d)], d);
    EXPECT_EQ(all[static_cast<size_t>(2 * d + 1)], -d);
  }
}

TEST_F(Arrays, ShardsAreRefused) {
  MeshScope scope(TwoAxes());
  const Array x = Counted(12, 6, P("x", None));
  const std::vector<Shard> shards = x.addressable_shards();
  const auto make = [](const std::vector<Shard>& of, PartitionSpec spec) {
    return ErrorOf([&] { array_from_shards(of, spec); });
  };
  const int64_t mine = local_devices()[0];
  std::vector<Shard> some(shards.begin() + 1, shards.end());
  EXPECT_THAT(make(some, P("x", None)),
              HasSubstr(fmt::format("the shard of device {} is missing", mine)));
  std::vector<Shard> twice = shards;
  twice.push_back(shards[0]);
  EXPECT_THAT(make(twice, P("x", None)),
              HasSubstr(fmt::format("the shard of device {} is given twice", mine)));
  EXPECT_THAT(make({}, P("x", None)), HasSubstr("no shard is given"));
  std::vector<Shard> far = shards;
  far.push_back(make_shard<float>(99, {{0, 3}, {0, 6}}, std::vector<float>(18)));
  EXPECT_THAT(make(far, P("x", None)), HasSubstr("device 99 is not in the mesh"));
  if (!is_alone()) {
    const int64_t other = (mine + kDevices / process_count()) % kDevices;
    far.back() = make_shard<float>(other, {{0, 3}, {0, 6}}, std::vector<float>(18));
    EXPECT_THAT(make(far, P("x", None)),
                HasSubstr(fmt::format("device {} is on process {}, not on process {}", other,
                                      (process_index() + 1) % process_count(), process_index())));
  }
  std::vector<Shard> replicas = Counted(12, 6, P(None, None)).addressable_shards();
  const int64_t device = replicas.back().device();
  replicas.back() = make_shard<float>(device, {{0, 12}, {0, 6}}, std::vector<float>(72, -1));
  EXPECT_THAT(make(replicas, P(None, None)), HasSubstr("differ, but both have the elements"));
  replicas.back() = make_shard<int32_t>(device, {{0, 12}, {0, 6}}, std::vector<int32_t>(72));
  EXPECT_THAT(make(replicas, P(None, None)), HasSubstr("has elements i32, not f32"));
  EXPECT_THAT(ErrorOf([] {
                make_shard<float>(0, {{0, 3}}, {1, 2});
              }),
              HasSubstr("2 elements do not fill [0:3]"));
}

TEST_F(Arrays, AProcessWithoutADeviceGivesNoShard) {
  MeshScope scope(make_mesh({{"x", 2}}));
  std::vector<Shard> shards;
  for (int64_t d : local_devices())
    if (d < 2) shards.push_back(make_shard<float>(d, {{d, d + 1}}, {float(d)}));
  const Array x = array_from_shards(shards, P("x"), {.shape = Shape{2}, .dtype = f32});
  EXPECT_EQ(gather_to_host(x).to_vector<float>(), Count(2));
}

// ---- files --------------------------------------------------------------------------------------

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

TEST_F(Arrays, AFullDiskLeavesTheOldFile) {
  const char* disk = std::getenv("TESSERA_SMALL_DISK");  // of 256 KiB
  if (!disk) GTEST_SKIP() << "there is no small disk";
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

TEST_F(Arrays, ProcessesSaveTheSameFile) {
  if (is_alone()) GTEST_SKIP();
  MeshScope scope(TwoAxes());
  const Array x = Counted(12, 6, P("x", None));
  const std::string path = Path(process_index() == 0 ? "a.npy" : "b.npy");
  const std::string error = ErrorOf([&] { save_npy(path, x); });
  EXPECT_THAT(error, HasSubstr("save_npy.processes]: the processes do not make the same call"));
  EXPECT_THAT(error, HasSubstr("process 0: save_npy " + Path("a.npy")));
  EXPECT_THAT(error, HasSubstr("process 1: save_npy " + Path("b.npy")));
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

// ---- reading ------------------------------------------------------------------------------------

TEST_F(Arrays, AnArrayThatIsElsewhereIsNotRead) {
  if (is_alone()) GTEST_SKIP();
  MeshScope scope(TwoAxes());
  const Array x = Counted(12, 6, P("x", "y"));
  std::string all = "processes 0";
  for (int p = 1; p < process_count(); ++p)
    all += fmt::format("{}{}", p + 1 == process_count() ? " and " : ", ", p);
  const std::string error = ErrorOf([&] { x.to_vector<float>(); });
  EXPECT_THAT(error,
              HasSubstr(fmt::format("RuntimeError in to_vector [to_vector.elsewhere]: process {} "
                                    "does not have the whole array: it is on {}\n"
                                    "  array: f32[12@x,6@y]   from arrays_test.cc",
                                    process_index(), all)));
  EXPECT_THAT(error, HasSubstr("gather_to_host(x) returns all of it; every process calls it"));
  EXPECT_THAT(error, HasSubstr("reshard(x, P())"));
  EXPECT_THAT(ErrorOf([&] { std::ostringstream() << x; }), HasSubstr(".elsewhere]"));
}

TEST_F(Arrays, AReplicatedArrayIsReadAnywhere) {
  MeshScope scope(TwoAxes());
  const Array x = Counted(12, 6, P("x", "y"));
  EXPECT_EQ(sum(x).item<float>(), 71 * 36);
  EXPECT_EQ(reshard(x, P()).to_vector<float>(), Count(72));
  std::ostringstream text;
  text << reshard(x, P(None, None))[0];
  EXPECT_EQ(text.str(), "f32[6]\n[0, 1, 2, 3, 4, 5]");
}

// Every process has one device of each row of the mesh.
TEST_F(Arrays, ShardsThatAreAllHereAreRead) {
  std::vector<int64_t> ids;
  const int64_t each = kDevices / process_count();
  for (int64_t d = 0; d < each; ++d)
    for (int64_t p = 0; p < process_count(); ++p) ids.push_back(p * each + d);
  MeshScope scope(make_mesh({{"here", each}, {"process", process_count()}}, {.device_ids = ids}));
  EXPECT_EQ(Counted(12, 6, P("here", None)).to_vector<float>(), Count(72));
  EXPECT_EQ(Counted(12, 12, P(None, "here")).to_vector<float>(), Count(144));
}

TEST_F(Arrays, AnArrayOfAnotherProcessIsNotRead) {
  MeshScope scope(make_mesh({{"x", 1}}));
  const Array x = Counted(2, 2, P("x", None));
  if (process_index() == 0) {
    EXPECT_EQ(x.to_vector<float>(), Count(4));
    EXPECT_EQ(x.addressable_shards().size(), 1u);
  } else {
    EXPECT_THAT(
        ErrorOf([&] { x.to_vector<float>(); }),
        HasSubstr(fmt::format("process {} does not have the whole array: it is on process 0",
                              process_index())));
    EXPECT_TRUE(x.addressable_shards().empty());
  }
  EXPECT_EQ(gather_to_host(x).to_vector<float>(), Count(4));
}

TEST_F(Arrays, ShardsHereArePrinted) {
  MeshScope scope(make_mesh({{"x", kDevices}}));
  const Array x = Counted(24, 1, P("x", None));
  std::string wanted;
  for (int64_t d : local_devices())
    wanted += fmt::format("device {} [{}:{}, 0:1]\n", d, 2 * d, 2 * d + 2);
  testing::internal::CaptureStdout();
  print_shards(x);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), wanted);
  testing::internal::CaptureStdout();
  jit([](Array a) {
    print_shards(a);
    return a + 1;
  })(x);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), wanted);
  EXPECT_FALSE(visualize_sharding(x).empty());
}

// ---- callbacks ----------------------------------------------------------------------------------

TEST_F(Arrays, OrderedCallbacksGoFromProcessToProcess) {
  const std::string path = Path("log");
  const auto log = [&](const std::string& line) {
    const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
    EXPECT_EQ(write(file, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    close(file);
  };
  MeshScope scope(make_mesh({{"x", kDevices}}));
  const Array x = Counted(kDevices, 1, P("x", None));
  const auto f = jit(shard_map(
      [&](Array a) {
        debug_callback(
            [&](Array v) { log(fmt::format("a{} ", v.addressable_shards()[0].data<float>()[0])); },
            {a}, {.ordered = true});
        debug_callback(
            [&](Array v) { log(fmt::format("b{} ", v.addressable_shards()[0].data<float>()[0])); },
            {a}, {.ordered = true});
        return a + 1;
      },
      {.in_specs = {P("x", None)}, .out_specs = P("x", None)}));
  std::string wanted;
  for (int run = 0; run < 3; ++run) {
    f(x);
    for (const char* name : {"a", "b"})
      for (int d = 0; d < kDevices; ++d) wanted += fmt::format("{}{} ", name, d);
  }
  Meet();
  EXPECT_EQ(Bytes(path), wanted);
}

TEST_F(Arrays, ACallbackGetsTheShardsHere) {
  MeshScope scope(make_mesh({{"x", kDevices}}));
  const Array x = Counted(kDevices, 1, P("x", None));
  std::vector<int64_t> devices;
  jit([&](Array a) {
    debug_callback(
        [&](Array v) {
          for (const Shard& s : v.addressable_shards()) devices.push_back(s.device());
          sum(array({1, 2}) + 1);  // arrays compute in a callback
        },
        {a}, {.ordered = true});
    return a + 1;
  })(x);
  EXPECT_EQ(devices, local_devices());
}

TEST_F(Arrays, AnExceptionInAnOrderedCallbackHoldsNobodyUp) {
  MeshScope scope(make_mesh({{"x", kDevices}}));
  const auto f = jit([&](Array a) {
    debug_callback(
        [](Array) {
          if (process_index() == 0) throw std::runtime_error("on one process");
        },
        {a}, {.ordered = true});
    return sum(a);  // the others wait here for process 0
  });
  const std::string error = ErrorOf([&] { f(Counted(kDevices, 1, P("x", None))); });
  EXPECT_THAT(error, HasSubstr("on one process"));
}

// ---- replicas -----------------------------------------------------------------------------------

TEST_F(Arrays, ReplicasThatDifferAreRefusedEverywhere) {
  if (is_alone()) GTEST_SKIP();
  MeshScope scope(TwoAxes());
  const Array x = Counted(12, 6, P("x", "y"));
  const auto scaled = jit([](Array a, Array s) { return a * s; });
  const std::string error = ErrorOf([&] { scaled(x, array(float(10 + process_index()))); });
  EXPECT_THAT(error,
              HasSubstr("RuntimeError in run [run.replicas]: processes 0 and 1 made different "
                        "elements of an array that they use together"));
  EXPECT_THAT(error, HasSubstr("process 0: f32[] = 10   from arrays_test.cc"));
  EXPECT_THAT(error, HasSubstr("process 1: f32[] = 11   from arrays_test.cc"));
  ExpectSame(error);
  // of the last process alone, and one of several
  const Array same = array({1.0f, 2.0f, 3.0f}),
              other = array({1, process_index() == process_count() - 1 ? 5 : 2});
  const std::string second = ErrorOf([&] { same.reshape({3, 1}) + other; });
  EXPECT_THAT(second, HasSubstr(fmt::format("processes 0 and {}", process_count() - 1)));
  EXPECT_THAT(second, HasSubstr("i32[2] = 1, 5"));
  ExpectSame(second);
  EXPECT_EQ(sum(scaled(x, array(2.0f))).item<float>(), 71 * 36 * 2);
}

TEST_F(Arrays, KeysOfDifferentSeedsAreRefused) {
  if (is_alone()) GTEST_SKIP();
  const Array key = random::key(process_index());  // on no mesh
  MeshScope scope(TwoAxes());
  const std::string error = ErrorOf([&] {
    random::normal(key, {12, 6}, {.out_sharding = P("x", "y")});
  });
  EXPECT_THAT(error, HasSubstr("[run.replicas]"));
  ExpectSame(error);
  const std::string second = ErrorOf([&] {
    random::normal(random::key(process_index()), {12, 6});
  });
  EXPECT_THAT(second, HasSubstr("processes 0 and 1"));
  ExpectSame(second);
}

TEST_F(Arrays, ReplicasAreComparedOnce) {
  if (is_alone()) GTEST_SKIP();
  MeshScope scope(TwoAxes());
  const auto step = jit([](Array a, Array b, Array c) { return a * b + c; });
  const Array b = array(Count(6)), c = array(1.0f);
  Array x = Counted(12, 6, P("x", "y"));
  x = step(x, b, c);
  const Counter counter;
  for (int i = 0; i < 5; ++i) x = step(x, b, c);
  EXPECT_EQ(counter->gathers, 0);
  x = step(x, array(Count(6)), array(1.0f));
  EXPECT_EQ(counter->gathers, 1);
  EXPECT_EQ(counter->received_bytes, 0);
}

}  // namespace
}  // namespace tessera::processes_test

int main(int argc, char** argv) {
  tessera::Processes processes(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
