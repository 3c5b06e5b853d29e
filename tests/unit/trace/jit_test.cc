// The calls that the cache of a jitted function treats as the same.
#include "trace/jit.h"

#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::trace {
namespace {

// Calls that sum the arrays of their arguments, through one cache.
class Cache {
 public:
  // Returns whether such a call traces.
  template <class... A>
  bool Traces(A... arguments) {
    bool traced = false;
    std::tuple<A...> tree(std::move(arguments)...);
    auto body = [&](const std::vector<Array>& xs) {
      traced = true;
      Array total = 0.0;
      for (const Array& x : xs) total += sum(x);
      return detail::FunctionResult{{total}, detail::AnyTree::Of(total)};
    };
    ProgramOf(*cache_, {tree, body, Loc::Current()}, donate);
    return traced;
  }
  std::vector<int> donate;

 private:
  std::shared_ptr<JitCache> cache_ = NewJitCache("test");
};

enum class Mode { kTrain, kTest };

TEST(JitCache, TakesValuesOfOneTypeForTheSame) {
  Cache cache;
  EXPECT_TRUE(cache.Traces(ones({2})));
  EXPECT_FALSE(cache.Traces(zeros({2})));
  EXPECT_TRUE(cache.Traces(ones({3}))) << "shape";
  EXPECT_TRUE(cache.Traces(ones({2}, f64))) << "dtype";
  EXPECT_TRUE(cache.Traces(Array(1.0)));
  EXPECT_TRUE(cache.Traces(ones({}))) << "not weak";
}

TEST(JitCache, ComparesWhatIsNoArrayByValue) {
  Cache cache;
  const Array x = ones({2});
  EXPECT_TRUE(cache.Traces(x, 1, 0.5, true, std::string("a"), Mode::kTrain));
  EXPECT_FALSE(cache.Traces(x, 1, 0.5, true, std::string("a"), Mode::kTrain));
  EXPECT_TRUE(cache.Traces(x, 2, 0.5, true, std::string("a"), Mode::kTrain));
  EXPECT_TRUE(cache.Traces(x, 1, 0.25, true, std::string("a"), Mode::kTrain));
  EXPECT_TRUE(cache.Traces(x, 1, 0.5, false, std::string("a"), Mode::kTrain));
  EXPECT_TRUE(cache.Traces(x, 1, 0.5, true, std::string("b"), Mode::kTrain));
  EXPECT_TRUE(cache.Traces(x, 1, 0.5, true, std::string("a"), Mode::kTest));
}

TEST(JitCache, ComparesTreesBySizesAndKeys) {
  Cache cache;
  const Array x = ones({2});
  using Arrays = std::vector<Array>;
  EXPECT_TRUE(cache.Traces(Arrays{x, x}, Arrays{x}));
  EXPECT_TRUE(cache.Traces(Arrays{x}, Arrays{x, x})) << "the same arrays, cut elsewhere";
  EXPECT_TRUE(cache.Traces(std::map<std::string, Array>{{"a", x}}));
  EXPECT_TRUE(cache.Traces(std::map<std::string, Array>{{"b", x}}));
  EXPECT_TRUE(cache.Traces(std::optional<Array>(x)));
  EXPECT_TRUE(cache.Traces(std::optional<Array>()));
  EXPECT_TRUE(cache.Traces(std::string("1;"), std::string("")));
  EXPECT_TRUE(cache.Traces(std::string("1"), std::string(";")));
}

// A generic function has one cache for all types of arguments, and returns its argument.
TEST(JitCache, ComparesTheTypesOfTrees) {
  Cache cache;
  const Array x = ones({2});
  EXPECT_TRUE(cache.Traces(std::pair(x, x)));
  EXPECT_TRUE(cache.Traces(std::tuple(x, x)));
  EXPECT_TRUE(cache.Traces(std::vector<Array>{x, x}));
  EXPECT_TRUE(cache.Traces(std::array<Array, 2>{x, x}));
  EXPECT_TRUE(cache.Traces(x, 1));
  EXPECT_TRUE(cache.Traces(x, 1u));
}

TEST(JitCache, HasScopesAndDonationInItsKey) {
  Cache cache;
  const Array x = ones({2}, f32);
  EXPECT_TRUE(cache.Traces(x));
  {
    MeshScope scope(abstract_mesh({{"x", 2}}));
    EXPECT_TRUE(cache.Traces(x));
  }
  {
    DefaultDtypes scope(i64, f64);
    EXPECT_TRUE(cache.Traces(x));
  }
  {
    StrictTypes scope;
    EXPECT_TRUE(cache.Traces(x));
  }
  cache.donate = {0};
  EXPECT_TRUE(cache.Traces(x));
  EXPECT_FALSE(cache.Traces(x));
}

TEST(JitCache, SaysWhichDonatedArgumentThereIsNot) {
  Cache cache;
  cache.donate = {1};
  EXPECT_THROW(cache.Traces(ones({2})), ShapeError);
  cache.donate = {0, 0};
  EXPECT_THROW(cache.Traces(ones({2})), ShapeError);
}

TEST(JitCache, IsSharedByKey) {
  static const char one = 0, other = 0;
  EXPECT_EQ(SharedJitCache(&one, "f"), SharedJitCache(&one, "g"));
  EXPECT_NE(SharedJitCache(&one, "f"), SharedJitCache(&other, "f"));
}

}  // namespace
}  // namespace tessera::trace
