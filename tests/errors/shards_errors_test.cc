// Arrays made of shards: the callbacks, shards and shardings that are refused.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "golden.h"

namespace tessera::shards_errors_test {
namespace {

struct Refused {
  std::string name;
  std::function<void()> program;
};

void Fill(std::span<const IndexRange>, std::span<float> data) {
  for (float& x : data) x = 1;
}
Array Make(Shape shape, PartitionSpec sharding) {
  return array_from_callback<float>(std::move(shape), std::move(sharding), Fill);
}
// Returns the shards of an array f32[4@x,2] on the mesh x=2, y=2.
std::vector<Shard> Shards() { return Make({4, 2}, P("x", None)).addressable_shards(); }
Shard Replaced(const Shard& shard, float value) {
  return make_shard<float>(shard.device(), shard.index(), std::vector<float>(4, value));
}

TEST(ShardsErrors, AreRefused) {
  SetDeviceCount(4);
  const std::vector<Refused> cases = {
      {"callback_uneven",
       [] {
         Make({4, 3}, P(None, "x"));
       }},
      {"callback_unreduced",
       [] {
         Make({4, 2}, P().unreduced("x"));
       }},
      {"callback_unknown_axis",
       [] {
         Make({4, 2}, P("q"));
       }},
      {"callback_negative_size",
       [] {
         Make({-4, 2}, P("x"));
       }},
      {"callback_throws",
       [] {
         array_from_callback<float>(
             {4}, P("x"), [](auto, auto) { throw std::runtime_error("rows.bin ends early"); });
       }},
      {"callback_in_shard_map",
       [] {
         shard_map([](Array a) { return a + Make({2}, P()); },
                   {.in_specs = {P()}, .out_specs = P()})(zeros({2}));
       }},
      {"callback_explicit_after_auto",
       [] {
         MeshScope scope(make_mesh({{"x", 2, Auto}, {"y", 2}}));
         Make({4}, P({"x", "y"}));
       }},
      {"shards_none", [] { array_from_shards({}, P("x")); }},
      {"shards_missing",
       [] {
         std::vector<Shard> shards = Shards();
         shards.pop_back();
         array_from_shards(shards, P("x", None));
       }},
      {"shards_twice",
       [] {
         std::vector<Shard> shards = Shards();
         shards.push_back(shards[0]);
         array_from_shards(shards, P("x", None));
       }},
      {"shards_no_such_device",
       [] {
         std::vector<Shard> shards = Shards();
         shards.push_back(make_shard<float>(9, {{0, 2}, {0, 2}}, {1, 2, 3, 4}));
         array_from_shards(shards, P("x", None));
       }},
      {"shards_other_dtype",
       [] {
         std::vector<Shard> shards = Shards();
         shards[1] = make_shard<double>(1, {{0, 2}, {0, 2}}, {1, 2, 3, 4});
         array_from_shards(shards, P("x", None));
       }},
      {"shards_other_index", [] { array_from_shards(Shards(), P(None, "x")); }},
      {"shards_differ",
       [] {
         std::vector<Shard> shards = Shards();
         shards[1] = Replaced(shards[1], 2);
         array_from_shards(shards, P("x", None));
       }},
      {"shards_unreduced", [] { array_from_shards(Shards(), P("x", None).unreduced("y")); }},
      {"shard_size",
       [] {
         make_shard<float>(0, {{0, 2}, {0, 2}}, {1, 2, 3});
       }},
  };
  for (const Refused& c : cases) {
    SCOPED_TRACE(c.name);
    MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
    ExpectRefused("from_" + c.name, c.program);
  }
  ExpectRefused("from_callback_without_mesh", [] { Make({4}, P("x")); });
  ExpectUsable();
  SetDeviceCount(1);
}

}  // namespace
}  // namespace tessera::shards_errors_test
