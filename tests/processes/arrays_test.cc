// Arrays of several processes: made of shards, read, given to callbacks, and compared.
#include "arrays.h"

#include <fcntl.h>

#include <set>

#include "compile/host/processes.h"
#include "tessera/first_difference.h"

namespace tessera::processes_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Counts the calls of a transport.
class CountingTransport final : public runtime::Transport {
 public:
  explicit CountingTransport(std::unique_ptr<Transport> real) : real_(std::move(real)) {}
  std::unique_ptr<Transport> Release() { return std::move(real_); }
  int32_t process() const override { return real_->process(); }
  int32_t processes() const override { return real_->processes(); }
  int32_t AddRuns(const runtime::ByteRuns& runs) override { return real_->AddRuns(runs); }
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
  void BeginRun(uint64_t call, std::string_view where, std::string_view inputs) override {
    real_->BeginRun(call, where, inputs);
  }
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

TEST_F(Arrays, ComparisonsOfRunsAreRefused) {
  if (compile::Processes() == 1) return;
  const std::string many = fmt::format("there are {} processes", compile::Processes());
  EXPECT_THAT(ErrorOf([] { first_difference([] {}, [] {}); }), HasSubstr(many));
  EXPECT_THAT(ErrorOf([] { record_run([] {}, "never.run"); }), HasSubstr(many));
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

// ---- reading ------------------------------------------------------------------------------------

TEST_F(SharedArrays, AnArrayThatIsElsewhereIsNotRead) {
  MeshScope scope(TwoAxes());
  const Array x = Counted(12, 6, P("x", "y"));
  std::string all = "processes 0";
  for (int p = 1; p < process_count(); ++p)
    all += fmt::format("{}{}", p + 1 == process_count() ? " and " : ", ", p);
  const std::string error = ErrorOf([&] { x.to_vector<float>(); });
  EXPECT_THAT(error,
              HasSubstr(fmt::format("RuntimeError in to_vector [to_vector.elsewhere]: process {} "
                                    "does not have the whole array: it is on {}\n"
                                    "  array: f32[12@x,6@y]   from arrays.h",
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
    const std::string error = ErrorOf([&] { x.to_vector<float>(); });
    EXPECT_THAT(error, HasSubstr(fmt::format("process {} does not have the whole array: it is on "
                                             "process 0",
                                             process_index())));
    EXPECT_THAT(error, Not(HasSubstr("reshard")));  // it would still be on process 0
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

// The others wait for their turns, so they send nothing.
TEST_F(SharedArrays, AnOrderedCallbackExchangesNothing) {
  MeshScope scope(make_mesh({{"x", kDevices}}));
  const Array x = Counted(kDevices, 1, P("x", None));
  const auto error_of = [&](Callback callback) {
    return ErrorOf([&] {
      jit([&](Array a) {
        debug_callback(callback, {a}, {.ordered = true});
        return a + 1;
      })(x);
    });
  };
  const auto is_refused = HasSubstr("an ordered callback runs on one process after the other");
  EXPECT_THAT(error_of([](Array v) { v.to_vector<float>(); }), is_refused);
  EXPECT_THAT(error_of([](Array v) { gather_to_host(v); }), is_refused);
  EXPECT_THAT(error_of([](Array v) { sum(v); }), is_refused);
  compile::SetReadsGather(true);
  EXPECT_THAT(error_of([](Array v) { v.to_vector<float>(); }), is_refused);
  compile::SetReadsGather(false);
  EXPECT_EQ(error_of([](Array v) { v * 2.0f; }), "no error");
}

// Processes call it as often as they have devices.
TEST_F(Arrays, APureCallbackComputesOnAMesh) {
  const int64_t n = kDevices / 2 + 1;
  MeshScope scope(make_mesh({{"x", n}}));
  const Array two = reshard(array({2.0f}), P(None));
  const auto doubled = [&](Array a) {
    return pure_callback([&](Array v) { return v * (two * two).to_vector<float>()[0]; }, a, a);
  };
  const auto f = jit(shard_map(doubled, {.in_specs = {P("x", None)}, .out_specs = P("x", None)}));
  const std::vector<float> all = gather_to_host(f(Counted(n, 1, P("x", None)))).to_vector<float>();
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], 4 * static_cast<float>(i));
}

// ---- messages -----------------------------------------------------------------------------------

// Parts of 12 KiB, contiguous where they are sent and in rows where they are received.
TEST_F(Arrays, PartsAreAsManyMessagesOnBothSides) {
  MeshScope scope(make_mesh({{"x", kDevices}}));
  const int64_t rows = 5 * kDevices, columns = 48 * kDevices;
  const Array x = Counted(rows, columns, P(None, "x"));
  for (PartitionSpec to : {P(), P("x", None)}) {
    const std::vector<float> moved = gather_to_host(reshard(x, to)).to_vector<float>();
    for (size_t i = 0; i < moved.size(); ++i) ASSERT_EQ(moved[i], static_cast<float>(i)) << i;
  }
}

// The slices of a loop's result are no block of their own.
TEST_F(Arrays, AScanStacksScatteredSums) {
  MeshScope scope(make_mesh({{"x", kDevices}}));
  const int64_t n = 16 * kDevices, steps = 3;
  const auto f = jit(shard_map(
      [&](Array a) {
        const auto step = [](Array carry, Array) {
          return std::pair(carry + 1, psum_scatter(carry, "x", {.tiled = true}));
        };
        return scan(step, a, arange(steps)).second;
      },
      {.in_specs = P(), .out_specs = P(None, "x")}));
  const std::vector<float> sums = gather_to_host(f(ones({n}))).to_vector<float>();
  ASSERT_EQ(sums.size(), static_cast<size_t>(steps * n));
  for (size_t i = 0; i < sums.size(); ++i)
    ASSERT_EQ(sums[i], static_cast<float>(kDevices * (1 + static_cast<int64_t>(i) / n))) << i;
}

TEST_F(SharedArrays, AnArrayDoesNotMoveToOtherDevices) {
  std::vector<int64_t> others(kDevices / 2), reversed(kDevices / 2);
  std::iota(others.begin(), others.end(), kDevices / 2);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const Mesh mesh = make_mesh({{"x", kDevices / 2}}),
             same = make_mesh({{"x", kDevices / 2}}, {.device_ids = reversed}),
             other = make_mesh({{"x", kDevices / 2}}, {.device_ids = others});
  const auto make = [&] {
    MeshScope scope(mesh);
    return Counted(kDevices / 2, 2, P("x", None));
  };
  const Array x = make();
  const auto moved = [&](const Mesh& to) {
    MeshScope scope(to);
    return reshard(x, P("x", None));
  };
  const std::string error = ErrorOf([&] { moved(other); });
  EXPECT_THAT(error, HasSubstr("several processes cannot move an array from the mesh"));
  ExpectSame(error);
  EXPECT_EQ(gather_to_host(moved(same)).to_vector<float>(), Count(kDevices));
}

// Processes with one device of a mesh and with several run the same reductions as one.
TEST_F(Arrays, UnequalSharesOfAMeshReduceTogether) {
  MeshScope scope(make_mesh({{"x", kDevices / 2 + 1}}));
  const Array a = Counted(kDevices / 2 + 1, 3, P("x", None)), b = a * 2.0f;
  const auto f = jit([](Array p, Array q) { return std::pair(sum(p, 0), sum(q, 0)); });
  const auto [first, second] = f(a, b);
  const std::vector<float> p = gather_to_host(first).to_vector<float>(),
                           q = gather_to_host(second).to_vector<float>();
  const int64_t rows = kDevices / 2 + 1;
  for (int64_t c = 0; c < 3; ++c) {
    const auto want = static_cast<float>(rows * c + 3 * rows * (rows - 1) / 2);
    EXPECT_EQ(p[static_cast<size_t>(c)], want);
    EXPECT_EQ(q[static_cast<size_t>(c)], 2 * want);
  }
}

// ---- replicas -----------------------------------------------------------------------------------

TEST_F(SharedArrays, ReplicasThatDifferAreRefusedEverywhere) {
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

// Every process has all shards.
TEST_F(SharedArrays, ShardsOfSeveralProcessesAreCompared) {
  MeshScope scope(TwoAxes());
  const auto make = [](float last) {
    return array_from_callback<float>({6}, P("y"), [&](auto index, std::span<float> data) {
      for (size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<float>(index[0].begin) + static_cast<float>(i);
      if (index[0].begin == 2 && process_index() == process_count() - 1) data[1] = last;
    });
  };
  const std::string error = ErrorOf([&] { sum(make(-1)); });
  EXPECT_THAT(error, HasSubstr(fmt::format("processes 0 and {} made different elements",
                                           process_count() - 1)));
  EXPECT_THAT(error, HasSubstr("process 0: f32[6@y][2:4] = 2, 3   from arrays_test.cc"));
  EXPECT_THAT(error, HasSubstr("f32[6@y][2:4] = 2, -1   from arrays_test.cc"));
  ExpectSame(error);
  const Array good = make(3);
  EXPECT_EQ(sum(good).item<float>(), 15);
  const Counter counter;
  EXPECT_EQ(sum(good * good).item<float>(), 55);  // it is not compared again
  EXPECT_EQ(counter->gathers, 0);
  EXPECT_EQ(sum(array_from_shards(good.addressable_shards(), P("y"))).item<float>(), 15);
  EXPECT_EQ(counter->gathers, 1);
}

TEST_F(SharedArrays, KeysOfDifferentSeedsAreRefused) {
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

// A key that some processes do not have.
TEST_F(SharedArrays, ReusedKeysAreFoundOnAllProcessesAlike) {
  MeshScope scope(make_mesh({{"x", 1}}));
  const KeyReuseCheck check;
  const Array key = reshard(random::key(7), P());
  const std::string error = ErrorOf([&] {
    random::normal(key, {2});
    random::normal(key, {2});
  });
  ExpectSame(error);
}

TEST_F(SharedArrays, ReplicasAreComparedOnce) {
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
  const Array d = array(2.0f);
  for (int i = 0; i < 5; ++i) x = step(x, b, d.astype(f32));  // another array of the same value
  EXPECT_EQ(counter->gathers, 2);
  EXPECT_EQ(counter->received_bytes, 0);
}

}  // namespace
}  // namespace tessera::processes_test

int main(int argc, char** argv) {
  tessera::Processes processes(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
