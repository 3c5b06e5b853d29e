// Pipelines of data: the order of records, which bytes are read, positions, threads and errors.
#include <gmock/gmock.h>
#include <tessera/data.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <thread>

#include "api/data/order.h"

namespace tessera::data_test {
namespace {

using data::Batches;
using data::Pipeline;
using data::Record;
using testing::ElementsAre;
using Numbers = std::vector<int32_t>;

std::string Path(const std::string& name) { return testing::TempDir() + "/" + name; }
std::string Write(const std::string& name, const std::string& bytes) {
  std::ofstream(Path(name), std::ios::binary) << bytes;
  return Path(name);
}
data::DataSource Count(int n) { return data::arrays({arange(n)}); }

// Returns the elements of field 0 of all batches.
Numbers All(Batches batches) {
  Numbers all;
  for (const std::vector<Array>& batch : batches) {
    const Numbers some = gather_to_host(batch[0]).to_vector<int32_t>();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// ---- sources ----

TEST(DataSources, NpyRowsAreRecords) {
  save_npy(Path("rows.npy"), arange(12.0).reshape({3, 2, 2}));
  const data::DataSource source = data::npy(Path("rows.npy"));
  ASSERT_EQ(source.size(), 3);
  const Record record = source.read(1);
  EXPECT_THAT(record[0].shape(), ElementsAre(2, 2));
  EXPECT_THAT(record[0].data<float>(), ElementsAre(4, 5, 6, 7));
}

TEST(DataSources, IdxIsBigEndian) {
  const std::string path =
      Write("x.idx", std::string("\0\0\x0b\2\0\0\0\2\0\0\0\1\1\2\xff\xfe", 16));
  const data::DataSource source = data::idx(path);
  ASSERT_EQ(source.size(), 2);
  EXPECT_THAT(source.read(0)[0].data<int16_t>(), ElementsAre(258));
  EXPECT_THAT(source.read(1)[0].data<int16_t>(), ElementsAre(-2));
}

TEST(DataSources, LinesHaveTheirLengths) {
  const data::DataSource source = data::lines(Write("x.txt", "ab\n\r\n\nabc"), 3);
  ASSERT_EQ(source.size(), 4);
  EXPECT_THAT(source.read(0)[0].data<uint8_t>(), ElementsAre('a', 'b', 0));
  Numbers sizes;
  for (int i = 0; i < 4; ++i) sizes.push_back(source.read(i)[1].data<int32_t>()[0]);
  EXPECT_THAT(sizes, ElementsAre(2, 0, 0, 3));
  EXPECT_EQ(data::lines(Path("x.txt"), 2, {.cut = true}).read(3)[1].data<int32_t>()[0], 2);
  EXPECT_EQ(data::lines(Write("empty.txt", ""), 3).size(), 0);
}

TEST(DataSources, WindowsOverlapByTheirStride) {
  const data::DataSource text = data::bytes(Write("text", "abcdefg"));
  const data::DataSource each = data::windows(text, 3, {.stride = 2});
  ASSERT_EQ(each.size(), 3);
  EXPECT_THAT(each.read(2)[0].data<uint8_t>(), ElementsAre('e', 'f', 'g'));
  EXPECT_EQ(data::windows(text, 3).size(), 2);
  EXPECT_EQ(data::windows(text, 8).size(), 0);
}

TEST(DataSources, ZipJoinsFields) {
  const data::DataSource source = data::zip({Count(3), data::arrays({ones({3, 2}), zeros({3})})});
  const Record record = source.read(2);
  ASSERT_EQ(record.size(), 3u);
  EXPECT_EQ(record[0].data<int32_t>()[0], 2);
  EXPECT_THAT(record[1].data<float>(), ElementsAre(1, 1));
}

// ---- order ----

TEST(DataOrder, IsAPermutationForEveryNumberOfRecords) {
  for (int64_t n : {1, 2, 3, 4, 5, 7, 16, 17, 100, 1023, 1024, 1025}) {
    const data::Order order(n, data::OrderKey{1, 2}, 0);
    std::set<int64_t> seen;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t record = order.At(i);
      EXPECT_TRUE(0 <= record && record < n);
      seen.insert(record);
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), n);
  }
}

// Each of the 24 orders of four records comes about equally often.
TEST(DataOrder, IsUniformOverEpochs) {
  constexpr int kEpochs = 24000;
  std::map<std::vector<int64_t>, int> count;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const data::Order order(4, data::OrderKey{3, 4}, epoch);
    ++count[{order.At(0), order.At(1), order.At(2), order.At(3)}];
  }
  ASSERT_EQ(count.size(), 24u);
  double chi = 0;
  for (const auto& [order, n] : count) chi += (n - 1000.0) * (n - 1000.0) / 1000.0;
  EXPECT_LT(chi, 49.7);  // 23 degrees of freedom: exceeded once in a thousand
}

// Neighbours of the order are independent: their distances have the mean of a random permutation.
TEST(DataOrder, SpreadsNeighbours) {
  constexpr int64_t kRecords = 60000;
  const data::Order order(kRecords, data::OrderKey{5, 6}, 1);
  double sum = 0;
  for (int64_t i = 1; i < kRecords; ++i)
    sum += static_cast<double>(std::abs(order.At(i) - order.At(i - 1)));
  EXPECT_NEAR(sum / kRecords, kRecords / 3.0, kRecords / 100.0);
}

TEST(DataPipeline, EpochsHaveOtherOrdersOfAllRecords) {
  const Pipeline p = Pipeline(Count(10)).shuffle(random::key(0)).batch(5).repeat(2);
  const Numbers all = All(p.start());
  ASSERT_EQ(all.size(), 20u);
  Numbers first(all.begin(), all.begin() + 10), second(all.begin() + 10, all.end());
  EXPECT_NE(first, second);
  EXPECT_EQ(All(p.start()), all);
  EXPECT_NE(All(Pipeline(Count(10)).shuffle(random::key(1)).batch(5).repeat(2).start()), all);
  for (Numbers* epoch : {&first, &second}) {
    std::sort(epoch->begin(), epoch->end());
    EXPECT_THAT(*epoch, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  }
}

TEST(DataPipeline, TheLastBatchIsSmallerOrDropped) {
  std::vector<int64_t> sizes;
  Batches batches = Pipeline(Count(7)).batch(3).start();
  for (const auto& batch : batches) sizes.push_back(batch[0].shape(0));
  EXPECT_THAT(sizes, ElementsAre(3, 3, 1));
  EXPECT_THAT(All(Pipeline(Count(7)).batch(3, {.drop_last = true}).start()),
              ElementsAre(0, 1, 2, 3, 4, 5));
}

// ---- the same order everywhere ----

TEST(DataPipeline, DevicesAndThreadsDoNotChangeTheOrder) {
  SetDeviceCount(8);
  const Pipeline p = Pipeline(Count(48)).shuffle(random::key(3)).repeat(2);
  const Numbers want = All(p.batch(8).start());
  for (int devices : {1, 2, 8})
    for (int threads : {0, 1, 3}) {
      MeshScope scope(make_mesh({{"x", devices}}));
      Pipeline cut = p.batch(8, {.out_shardings = {P("x")}});
      if (threads > 0) cut = cut.prefetch(5, {.threads = threads});
      EXPECT_EQ(All(cut.start()), want) << devices << " devices, " << threads << " threads";
    }
}

TEST(DataPipeline, ShardsOfEveryDimHaveTheirElements) {
  SetDeviceCount(4);
  const Array whole = arange(6 * 4 * 2).reshape({6, 4, 2});
  const Pipeline p = Pipeline(data::arrays({whole, arange(6)}));
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  for (bool mapped : {false, true}) {
    Pipeline q = p.batch(2, {.out_shardings = {P("x", None, "y"), P("x")}});
    if (mapped) q = q.map([](Record r) { return r; });
    Batches batches = q.start();
    for (int first = 0; first < 6; first += 2) {
      const std::vector<Array> batch = *batches.next();
      EXPECT_EQ(type_of(batch[0]).text(), "i32[2@x,4,2@y]");
      EXPECT_EQ(batch[0].to_vector<int32_t>(),
                (whole[{Slice(first, first + 2)}]).to_vector<int32_t>());
      EXPECT_THAT(batch[1].to_vector<int32_t>(), ElementsAre(first, first + 1));
    }
    EXPECT_FALSE(batches.next());
  }
}

TEST(DataPipeline, PositionsResumeOnOtherDevicesWithOtherBatches) {
  SetDeviceCount(4);
  const Pipeline p = Pipeline(Count(24)).shuffle(random::key(7)).repeat(3);
  const Numbers all = All(p.batch(4).start());
  const std::string path = Path("position.safetensors");
  {
    MeshScope scope(make_mesh({{"x", 4}}));
    Batches batches = p.batch(4, {.out_shardings = {P("x")}}).prefetch(3).start();
    for (int i = 0; i < 7; ++i) batches.next();  // 28 records
    EXPECT_EQ(batches.epoch(), 1);
    save_safetensors(path, batches.position());
  }
  const data::Position blank = Pipeline(Count(24)).start().position();
  const Numbers rest(all.begin() + 28, all.end());
  {
    MeshScope scope(make_mesh({{"x", 2}}));
    const data::Position at = load_safetensors_like(path, blank);
    Pipeline other = p.batch(2, {.out_shardings = {P("x")}}).prefetch(2, {.threads = 2});
    EXPECT_EQ(All(other.start(at)), rest);
  }
  const data::Position at = load_safetensors_like(path, blank);
  EXPECT_EQ(All(p.batch(5).start(at)), rest);
  // The position after the last batch begins the epoch that would follow.
  Batches batches = p.batch(24).start();
  while (batches.next()) continue;
  EXPECT_FALSE(p.batch(24).start(batches.position()).next());
  EXPECT_TRUE(p.batch(24).repeat(4).start(batches.position()).next());
}

// ---- map ----

TEST(DataPipeline, MapsRunOnThreadsInOrder) {
  const auto twice = [](Record r) {
    std::this_thread::sleep_for(std::chrono::microseconds(r[0].data<int32_t>()[0] % 3 * 200));
    r[0].data<int32_t>()[0] *= 2;
    data::Field more(f32, {2});
    more.data<float>()[1] = static_cast<float>(r[0].data<int32_t>()[0]);
    r.push_back(std::move(more));
    return r;
  };
  Batches batches =
      Pipeline(Count(20)).map(twice).map(twice).batch(5).prefetch(4, {.threads = 3}).start();
  int i = 0;
  for (const std::vector<Array>& batch : batches) {
    ASSERT_EQ(batch.size(), 3u);
    for (int32_t n : batch[0].to_vector<int32_t>()) EXPECT_EQ(n, 4 * i++);
    EXPECT_EQ(type_of(batch[2]).text(), "f32[5,2]");
  }
  EXPECT_EQ(i, 20);
}

TEST(DataPipeline, AnExceptionOfAMapComesWithItsBatchAndStays) {
  const auto fails = [](Record r) -> Record {
    if (r[0].data<int32_t>()[0] == 13) throw std::invalid_argument("unlucky");
    return r;
  };
  for (int prefetch : {0, 4}) {
    Batches batches =
        Pipeline(Count(20)).map(fails).batch(5).prefetch(prefetch, {.threads = 2}).start();
    EXPECT_TRUE(batches.next());
    EXPECT_TRUE(batches.next());
    for (int again = 0; again < 2; ++again) {
      try {
        batches.next();
        FAIL() << "the exception was lost";
      } catch (const RuntimeError& e) {
        EXPECT_THAT(e.reason(), testing::HasSubstr("record 13: unlucky"));
        EXPECT_THROW(std::rethrow_if_nested(e), std::invalid_argument);
      }
    }
    EXPECT_EQ(batches.position().record.item<int64_t>(), 10);
  }
}

// ---- threads and files ----

TEST(DataPipeline, EndsInTheMiddleOfAnEpoch) {
  std::atomic<int> calls = 0;
  const auto slow = [&](Record r) {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return r;
  };
  const Pipeline p = Pipeline(Count(1 << 20)).map(slow).batch(4).prefetch(8, {.threads = 4});
  for (int taken : {0, 1, 3}) {
    Batches batches = p.start();
    for (int i = 0; i < taken; ++i) batches.next();
  }
  EXPECT_LT(calls, 1000);
}

TEST(DataPipeline, AheadIsBounded) {
  std::atomic<int> calls = 0;
  const auto count = [&](Record r) {
    ++calls;
    return r;
  };
  Batches batches = Pipeline(Count(1000)).map(count).batch(1).prefetch(3, {.threads = 2}).start();
  batches.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(calls, 1 + 1 + 3);  // for the types, the one that was taken, and three ahead
}

TEST(DataPipeline, AFileThatShrinksIsAnError) {
  for (int prefetch : {0, 2}) {
    save_npy(Path("shrinks.npy"), arange(100000.0));
    Batches batches =
        Pipeline(data::npy(Path("shrinks.npy"))).batch(1000).prefetch(prefetch).start();
    EXPECT_TRUE(batches.next());
    std::filesystem::resize_file(Path("shrinks.npy"), 50000);
    try {
      while (batches.next()) continue;
      ADD_FAILURE() << "the missing bytes were made up";
    } catch (const RuntimeError& e) {
      EXPECT_THAT(e.reason(), testing::HasSubstr("became shorter"));
    }
  }
}

TEST(DataPipeline, BytesOfFilesThatAreBoolsAreZeroOrOne) {
  save_npy(Path("bools.npy"), array({true, false}));
  std::fstream file(Path("bools.npy"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-2, std::ios::end);
  file.put(7);
  file.close();
  Batches batches = Pipeline(data::npy(Path("bools.npy"))).batch(2).start();
  EXPECT_EQ(batches.next()->at(0).astype(i32).to_vector<int32_t>(), Numbers({1, 0}));
}

}  // namespace
}  // namespace tessera::data_test
