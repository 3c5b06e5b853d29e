// Traced functions: their captures, how deep they nest, and closing of regions.
#include "trace/function.h"

#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "ir/program.h"
#include "ir/program_text.h"
#include "trace/scopes.h"

namespace tessera::trace {
namespace {

using detail::FunctionResult;

const ir::Type* F32(const base::Shape& shape) {
  return ir::Type::Get(shape, f32, sharding::Replicated(nullptr, static_cast<int>(shape.size())));
}

TracedFunction Traced(const std::vector<const ir::Type*>& types, const detail::Body& f,
                      Trace* outer = nullptr) {
  std::vector<Parameter> parameters;
  for (const ir::Type* type : types) parameters.push_back({type, Loc::Current()});
  return TraceFunction(parameters, f, "test", Loc::Current(), outer);
}

TEST(Function, IsRecordedOnItsParameters) {
  auto f = [](const std::vector<Array>& xs) { return FunctionResult{{xs[0] + xs[1], xs[0]}, {}}; };
  const TracedFunction traced = Traced({F32({2}), F32({2})}, f);
  EXPECT_THAT(ir::Text(traced.program),
              testing::ContainsRegex("func @main\\(%0: f32.2., %1: f32.2.\\) .*\n"
                                     "  %2: f32.2. = add %0, %1 .*\n"
                                     "  return %2, %0\n"));
  EXPECT_EQ(CurrentTrace(), nullptr);
}

TEST(Function, CapturesAnArrayOnce) {
  const Array c = ones({2});
  auto f = [&](const std::vector<Array>& xs) { return FunctionResult{{xs[0] + c, xs[0] * c}, {}}; };
  const TracedFunction traced = Traced({F32({2})}, f);
  ASSERT_EQ(traced.program.captures.size(), 1u);
  EXPECT_EQ(traced.program.captures[0].array.get(), c.impl().get());
}

TEST(Function, OfARegionCapturesTheValuesAround) {
  TracedFunction inner;
  auto outside = [&](const std::vector<Array>& xs) {
    auto inside = [&](const std::vector<Array>& ys) { return FunctionResult{{xs[0] * ys[0]}, {}}; };
    inner = Traced({F32({})}, inside, CurrentTrace());
    EXPECT_THROW(Traced({F32({})}, inside), TraceError) << "of no region";
    return FunctionResult{xs, {}};
  };
  const TracedFunction outer = Traced({F32({3})}, outside);
  EXPECT_EQ(inner.program.captures.size(), 1u);
  EXPECT_EQ(outer.program.captures.size(), 0u);
}

TEST(Function, HandsOutNoTracersThatMayBeUsed) {
  Array escaped;
  Traced({F32({2})}, [&](const std::vector<Array>& xs) {
    escaped = xs[0];
    return FunctionResult{xs, {}};
  });
  EXPECT_THROW(escaped + 1, TraceError);
}

TEST(Function, EndsItsTraceWhenItThrows) {
  auto f = [](const std::vector<Array>&) -> FunctionResult { throw std::runtime_error("mine"); };
  EXPECT_THROW(Traced({F32({2})}, f), std::runtime_error);
  EXPECT_EQ(CurrentTrace(), nullptr);
}

TEST(Function, NestsTo64) {
  int depth = 0;
  std::function<FunctionResult(const std::vector<Array>&)> f = [&](const std::vector<Array>& xs) {
    ++depth;
    Traced({F32({})}, f, CurrentTrace());
    return FunctionResult{xs, {}};
  };
  EXPECT_THROW(Traced({F32({})}, f), TraceError);
  EXPECT_EQ(depth, 64);
}

TEST(Regions, TakeWhatAnyOfThemCapturesInOneOrder) {
  const Array a = ones({2}), b = zeros({2});
  std::vector<TracedFunction> regions;
  regions.push_back(Traced({F32({2})}, [&](const std::vector<Array>& xs) {
    return FunctionResult{{xs[0] + a}, {}};
  }));
  regions.push_back(Traced({F32({2})}, [&](const std::vector<Array>& xs) {
    return FunctionResult{{xs[0] * b + a}, {}};
  }));
  const std::vector<ArrayRef> constants = CloseRegions(regions);
  ASSERT_EQ(constants.size(), 2u);
  EXPECT_EQ(constants[0], a.impl());
  EXPECT_EQ(constants[1], b.impl());
  for (const TracedFunction& region : regions) {
    EXPECT_EQ(region.program.inputs.size(), 3u);
    EXPECT_TRUE(region.program.captures.empty());
  }
}

}  // namespace
}  // namespace tessera::trace
