// Programs with loops and branches give the same numbers in the reference interpreter, on one
// device and on meshes of 1 to 8 devices, with and without shared replicas, with one worker
// and several.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cctype>
#include <cstring>
#include <functional>
#include <regex>

#include "ir/interpret.h"
#include "ir/program.h"
#include "runtime/run.h"

namespace tessera::suite::control_test {
namespace {

using Arrays = std::vector<Array>;
using Pair = std::pair<Array, Array>;

// a, b: i32[24,24]; xs: i32[5,24,24].
struct Sample {
  const char* name;
  std::function<Arrays(Array a, Array b, Array xs)> program;
};

bool HasMesh(Array x) { return type_of(x).type()->mesh() != nullptr; }
Array Small(Array x) { return x % 101; }
Array Number(Array x) { return sum(x); }
Array Columns(Array x) {
  if (!HasMesh(x)) return x;
  return reshard(x, x.rank() == 1 ? P("x") : P(None, "x"));
}
Array Whole(Array x) { return HasMesh(x) ? reshard(x, P()) : x; }
// Returns x with the sharding of `like`.
Array Like(Array x, Array like) { return HasMesh(like) ? reshard(x, type_of(like).spec()) : x; }
Array Times(Array a, Array b) {
  if (!HasMesh(a)) return Small(matmul(a, b));
  return Small(matmul(a, b, {.out_sharding = type_of(a).spec()}));
}

const std::vector<Sample>& Samples() {
  static const std::vector<Sample> samples = {
      {"elementwise carry",
       [](Array a, Array b, Array) -> Arrays {
         return {fori_loop(
             0, 7, [&](Array i, Array x) { return Small(x * 3 + b + i); }, a)};
       }},
      {"start is used afterwards",
       [](Array a, Array b, Array) -> Arrays {
         Array start = a + b;
         Array last = fori_loop(
             0, 3, [&](Array, Array x) { return Small(x * x + 1); }, start);
         return {last + start, start};
       }},
      {"product",
       [](Array a, Array b, Array) -> Arrays {
         return {fori_loop(
             0, 4, [&](Array, Array x) { return Times(x, b); }, a)};
       }},
      {"product, odd trips",
       [](Array a, Array b, Array) -> Arrays {
         Array x = fori_loop(
             0, 3, [&](Array, Array x) { return Times(x, b); }, a);
         return {x, Small(x + 1)};
       }},
      {"carries change places",
       [](Array a, Array b, Array) -> Arrays {
         auto [x, y] = fori_loop(
             0, 5, [](Array i, Pair s) { return Pair(s.second, Small(s.first + s.second * i)); },
             Pair(a, Like(b, a)));
         return {x, y};
       }},
      {"carries only change places",
       [](Array a, Array b, Array) -> Arrays {
         auto [x, y] = fori_loop(
             0, 5, [](Array, Pair s) { return Pair(s.second, s.first); }, Pair(a, Like(b, a)));
         return {x, y};
       }},
      {"one value twice",
       [](Array a, Array b, Array) -> Arrays {
         auto [x, y] = fori_loop(
             0, 3,
             [](Array, Pair s) {
               Array n = Small(s.first + s.second);
               return Pair(n, n);
             },
             Pair(a, Like(b, a)));
         return {x, y};
       }},
      {"carry is handed on",
       [](Array a, Array b, Array) -> Arrays {
         auto [x, y] = fori_loop(
             0, 3, [](Array, Pair s) { return Pair(Small(s.first + s.second), s.second); },
             Pair(a, Like(b, a)));
         return {x, y};
       }},
      {"carry becomes a constant",
       [](Array a, Array b, Array) -> Arrays {
         auto [x, y] = fori_loop(
             0, 3, [&](Array, Pair s) { return Pair(Like(b, a), s.first + zeros_like(s.second)); },
             Pair(a, zeros_like(a)));
         return {x, y,
                 fori_loop(
                     0, 2, [](Array, Array c) { return zeros_like(c); }, a)};
       }},
      {"predicate of a sum",
       [](Array a, Array b, Array) -> Arrays {
         return {while_loop([](Array x) { return Number(x) < 60000; },
                            [&](Array x) { return x + b + 1; }, a)};
       }},
      {"no iteration",
       [](Array a, Array b, Array) -> Arrays {
         Array w = while_loop([](Array x) { return Number(x) < -1; },
                              [&](Array x) { return Times(x, b); }, a);
         return {w, fori_loop(
                        3, 3, [&](Array, Array x) { return Times(x, b); }, a)};
       }},
      {"unknown trips of products",
       [](Array a, Array b, Array) -> Arrays {
         auto [n, x] =
             while_loop([](Pair s) { return s.first < 5; },
                        [&](Pair s) { return Pair(s.first + 1, Times(s.second, b)); }, Pair(0, a));
         return {x, n};
       }},
      {"stacks",
       [](Array a, Array, Array xs) -> Arrays {
         auto [c, y] = scan(
             [](Array c, Array x) {
               Array n = Small(c + x);
               return std::pair(n, Pair(n, x));
             },
             a, Like(xs, xs));
         return {c, y.first, y.second};
       }},
      {"stacks in reverse",
       [](Array a, Array b, Array xs) -> Arrays {
         auto [c, y] =
             scan([&](Array c, Array x) { return std::pair(Times(c, b), Small(c * 2 + x)); }, a, xs,
                  {.reverse = true});
         return {c, y};
       }},
      {"stacks of little",
       [](Array a, Array, Array xs) -> Arrays {
         auto [c, y] =
             scan([](Array c, Array x) { return std::pair(c + Number(x), Pair(c, sum(x, 0))); },
                  Number(a), xs);
         return {c, y.first, y.second};
       }},
      {"stacks of constants",
       [](Array a, Array b, Array xs) -> Arrays {
         auto [c, y] =
             scan([&](Array c, Array x) { return std::pair(Small(c + x), Pair(b, zeros_like(x))); },
                  a, xs);
         return {c, y.first, y.second};
       }},
      {"scan in scan",
       [](Array a, Array b, Array xs) -> Arrays {
         auto [c, y] = scan(
             [&](Array c, Array x) {
               auto [d, z] =
                   scan([&](Array d, Array v) { return std::pair(Small(d + v), Small(d * v)); },
                        Columns(sum(c, 0)), Columns(x));
               return std::pair(Times(c, b), Pair(d, z));
             },
             a, xs);
         return {c, y.first, y.second};
       }},
      {"stacks are carried",
       [](Array a, Array b, Array) -> Arrays {
         auto step = [](Array c, Array row) { return std::pair(Small(c + row), Small(c * 2)); };
         Array x = fori_loop(
             0, 3, [&](Array, Array rows) { return scan(step, sum(rows, 0), rows).second; },
             Columns(a));
         auto [y, z] = fori_loop(
             0, 2,
             [&](Array i, Pair s) {
               auto [c, ys] = scan(step, s.second, s.first, {.reverse = true});
               return Pair(cond(
                               i < 1, [&] { return ys; }, [&] { return s.first; }),
                           c);
             },
             Pair(x, Columns(sum(b, 0))));
         return {x, y, z};
       }},
      {"loop in loop",
       [](Array a, Array b, Array) -> Arrays {
         return {fori_loop(
             0, 3,
             [&](Array i, Array x) {
               Array y = fori_loop(
                   0, i + 1, [&](Array, Array v) { return Times(v, b); }, x);
               return while_loop([&](Array v) { return Number(v) < 30000; },
                                 [](Array v) { return v + 3; }, Small(y + x));
             },
             a)};
       }},
      {"branches in a loop",
       [](Array a, Array b, Array xs) -> Arrays {
         auto [c, y] = scan(
             [&](Array c, Array x) {
               Array n = cond(
                   Number(x) % 2 == 0, [&](Array v) { return Times(v, b); },
                   [](Array v) { return v; }, c);
               Array m = switch_case(Number(c) % 4,
                                     std::tuple([](Array v, Array) { return v; },
                                                [](Array v, Array w) { return Small(v + w); },
                                                [&](Array v, Array) { return Times(v, b); }),
                                     n, Like(x, n));
               return std::pair(m, n);
             },
             a, xs);
         return {c, y};
       }},
      {"loop in a branch",
       [](Array a, Array b, Array) -> Arrays {
         auto powers = [&](Array v) {
           return fori_loop(
               0, 3, [&](Array, Array x) { return Times(x, b); }, v);
         };
         auto same = [](Array v) { return v; };
         Array p = Number(a) % 2 == 0;
         return {cond(p, powers, same, a), cond(p, same, powers, a)};
       }},
      {"branch returns outer values",
       [](Array a, Array b, Array) -> Arrays {
         Array c = Like(b, a);
         return {cond(
                     Number(a) > 0, [&]() { return std::pair(a, c); },
                     [&]() { return std::pair(c, zeros_like(a)); })
                     .first};
       }},
      {"moves in a loop",
       [](Array a, Array, Array) -> Arrays {
         return {fori_loop(
             0, 3, [&](Array, Array x) { return Like(Small(transpose(x) * 2), x); }, a)};
       }},
      {"loop after loop",
       [](Array a, Array b, Array) -> Arrays {
         Array x = fori_loop(
             0, 3, [&](Array, Array v) { return Times(v, b); }, a);
         Array y = fori_loop(
             0, 2, [&](Array, Array v) { return Times(v, b); }, x);
         Array z = fori_loop(
             0, 2, [&](Array, Array v) { return Small(v + x); }, y);
         return {x, y, z};
       }},
      {"rows by number",
       [](Array a, Array b, Array) -> Arrays {
         return {fori_loop(
             0, 5, [&](Array i, Array x) { return Small(x + take(Whole(b), i, 0)); }, a)};
       }},
  };
  return samples;
}

struct Inputs {
  Array a, b, xs;
};

Inputs Make(const PartitionSpec* a, const PartitionSpec* b) {
  auto fill = [](Shape shape, int64_t n, int by, const PartitionSpec* spec) {
    Array x = Small(arange(n) * by).astype(i32).reshape(shape);
    return spec ? reshard(x, *spec) : x;
  };
  if (!a)
    return {fill({24, 24}, 576, 7, nullptr), fill({24, 24}, 576, 5, nullptr),
            fill({5, 24, 24}, 2880, 3, nullptr)};
  std::vector<DimSharding> dims{None};
  for (const DimSharding& d : a->dims()) dims.push_back(d);
  PartitionSpec xs(dims);
  return {fill({24, 24}, 576, 7, a), fill({24, 24}, 576, 5, b), fill({5, 24, 24}, 2880, 3, &xs)};
}

using Numbers = std::vector<std::vector<int>>;

Numbers Read(const Arrays& arrays) {
  Numbers out;
  for (const Array& x : arrays) out.push_back(x.to_vector<int>());
  return out;
}

Numbers Interpreted(const Sample& sample, const Inputs& in) {
  Program program = jit(sample.program).trace(in.a, in.b, in.xs);
  std::vector<ir::HostTensor> tensors;
  for (const Array& x : {in.a, in.b, in.xs}) {
    tensors.emplace_back(i32, x.shape());
    std::vector<int> data = x.to_vector<int>();
    std::memcpy(tensors.back().data.data(), data.data(), data.size() * sizeof(int));
  }
  Numbers out;
  for (const ir::HostTensor& t : ir::Interpret(*program.program(), tensors)) {
    out.emplace_back();
    for (int64_t i = 0; i < t.size(); ++i) out.back().push_back(static_cast<int>(t.Int(i)));
  }
  return out;
}

class Control : public testing::TestWithParam<Sample> {};

TEST_P(Control, AgreesWithTheInterpreter) {
  Inputs in = Make(nullptr, nullptr);
  Numbers wanted = Interpreted(GetParam(), in);
  EXPECT_EQ(Read(jit(GetParam().program)(in.a, in.b, in.xs)), wanted) << "jitted";
  EXPECT_EQ(Read(GetParam().program(in.a, in.b, in.xs)), wanted) << "eager";
}

std::string WithoutLines(const std::string& text) {
  return std::regex_replace(text, std::regex(" *//.*"), "");
}

void ExpectParsesBack(const Program& program) {
  EXPECT_EQ(WithoutLines(Program::Parse(program.text()).text()), WithoutLines(program.text()));
}

TEST_P(Control, TextParsesBack) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  PartitionSpec rows = P("x", None), whole = P();
  Inputs in = Make(&rows, &whole);
  ExpectParsesBack(jit(GetParam().program).trace(in.a, in.b, in.xs));
  ExpectParsesBack(jit(GetParam().program).lower(in.a, in.b, in.xs).device_program());
}

// Runs one placement of the inputs on the current mesh in every way.
void Check(const Sample& sample, const Inputs& in, const Numbers& wanted) {
  for (bool share : {true, false}) {
    ReplicaSharing(share);
    for (int workers : {1, 2, 3}) {
      runtime::SetWorkerCount(workers);
      runtime::ForceParallel(workers > 1);
      SCOPED_TRACE(testing::Message() << workers << " workers, sharing " << share);
      EXPECT_EQ(Read(jit(sample.program)(in.a, in.b, in.xs)), wanted);
    }
    runtime::SetWorkerCount(0);
    runtime::ForceParallel(false);
  }
  ReplicaSharing(true);
}

TEST_P(Control, AgreesOnMeshes) {
  Inputs alone = Make(nullptr, nullptr);
  Numbers wanted = Read(jit(GetParam().program)(alone.a, alone.b, alone.xs));
  std::vector<PartitionSpec> specs = {P(), P("x", None), P(None, "x"), P("x", "y"),
                                      P({"y", "x"}, None)};
  const std::vector<std::vector<MeshAxis>> meshes = {{{"x", 1}, {"y", 1}}, {{"x", 2}, {"y", 1}},
                                                     {{"x", 3}, {"y", 1}}, {{"x", 2}, {"y", 2}},
                                                     {{"x", 2}, {"y", 3}}, {{"x", 4}, {"y", 2}}};
  for (const auto& axes : meshes) {
    MeshScope scope(make_mesh(axes));
    int ran = 0;
    for (const PartitionSpec& a : specs) {
      for (const PartitionSpec& b : {specs[0], a}) {
        if (HasFailure()) return;
        SCOPED_TRACE(testing::Message() << current_mesh().text() << " a " << a << " b " << b);
        Inputs in = Make(&a, &b);
        try {
          jit(GetParam().program).trace(in.a, in.b, in.xs);
        } catch (const Error&) {
          continue;  // the program of another placement
        }
        ++ran;
        Check(GetParam(), in, wanted);
      }
    }
    EXPECT_GE(ran, 5);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Control, testing::ValuesIn(Samples()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace tessera::suite::control_test
