// Every op has a public function of its name, or says why it has none.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "ops/ops.h"
#include "unit/base/sources.h"

namespace tessera::suite {
namespace {

// What is declared or called in the public headers as `name(`, but not as a member.
const std::set<std::string>& PublicNames() {
  static const auto* names = [] {
    auto* found = new std::set<std::string>;
    static const std::regex name(R"((?:^|[\s>&*])(\w+)\()");
    for (const auto& header : Sources("include/tessera"))
      for (const std::string& line : Lines(header)) {
        const std::string code = line.substr(0, line.find("//"));
        for (std::sregex_iterator m(code.begin(), code.end(), name), end; m != end; ++m)
          found->insert((*m)[1]);
      }
    return found;
  }();
  return *names;
}

struct Unnamed {
  const char* why;
  std::set<std::string_view> ops;
};
const Unnamed kUnnamed[] = {
    {"a public function of another name makes it",
     {"round_away", "random_fold_in", "random_bits64", "random_bits32", "constant",
      "ordered_callback", "gather_shards", "exchange_shards", "sharding_constraint"}},
    {"the border of shard_map", {"full_to_shard", "shard_to_full"}},
    {"only transforms create it", {"custom_linear", "slice_shard"}},
    {"the library moves by it what the user did not ask to move", {"implied_reshard"}},
    {"only device programs have it",
     {"pad_to_shards", "trim", "halo_exchange", "all_slice", "collective_permute", "all_reduce",
      "reduce_scatter", "replicated_to_unreduced", "sharded_to_unreduced", "seen_as",
      "copy_to_each", "mask_padding"}},
};

TEST(PublicFunctions, EveryOpHasOneOrSaysWhyNot) {
  ops::Install();
  for (const ir::OpDef* op : ir::AllOps()) {
    const char* why = nullptr;
    for (const Unnamed& row : kUnnamed)
      if (row.ops.contains(op->name)) why = row.why;
    const bool has = PublicNames().contains(std::string(op->name));
    EXPECT_TRUE(has || why) << op->name << " has no public function";
    EXPECT_FALSE(has && why) << op->name << " has a public function, but is listed as: " << why;
  }
}

TEST(PublicFunctions, OpsWithoutOneExist) {
  ops::Install();
  for (const Unnamed& row : kUnnamed)
    for (std::string_view op : row.ops) EXPECT_NE(ir::FindOp(op), nullptr) << op;
}

}  // namespace
}  // namespace tessera::suite
