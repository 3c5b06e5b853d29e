// Arrays that cannot be used: donated, never given a value, escaped from their trace; and abstract
// ones, which cannot be read. Every function that takes an array refuses them under its own name
// and at the user's line.
#include <gmock/gmock.h>
#include <tessera/fmt.h>
#include <tessera/tessera.h>

#include <functional>
#include <set>
#include <sstream>

namespace tessera::array_states_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Case {
  std::string name;  // the name of the function in errors
  std::function<void(const Array&)> use;
};
// clang-format off: a line per function.
#define CALL(name, ...)                                               \
  {                                                                   \
#name, [](const Array& x) { name(x __VA_OPT__(, ) __VA_ARGS__); } \
  }
#define BOTH(name)                               \
  {#name, [](const Array& x) { name(x, 2); }}, { \
#name, [](const Array& x) { name(2, x); }    \
  }
#define METHOD(name, ...)                              \
  {                                                    \
#name, [](const Array& x) { x.name(__VA_ARGS__); } \
  }
#define OPERATOR(name, op)                           \
  {#name, [](const Array& x) { (void)(x op 2); }}, { \
#name, [](const Array& x) { (void)(2 op x); }    \
  }
#define ASSIGN(name, op)                           \
  {                                                \
#name, [](const Array& x) { Array y = x; y op 2; } \
  }

Array One() { return ones({2, 3}); }

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      METHOD(shape),
      METHOD(dtype),
      METHOD(rank),
      METHOD(size),
      METHOD(sharding),
      {"shape", [](const Array& x) { x.shape(0); }},
      {"item", [](const Array& x) { x.item<float>(); }},
      {"to_vector", [](const Array& x) { x.to_vector<float>(); }},
      {"to_vector", [](const Array& x) { x.to_vector<bool>(); }},
      METHOD(addressable_shards),
      METHOD(reshape, {6}),
      METHOD(astype, f64),
      {"transpose", [](const Array& x) { x.T(); }},
      {"index", [](const Array& x) { x[0]; }},
      {"index",
       [](const Array& x) {
         x[{All, Slice(0, 2)}];
       }},
      {"index", [](const Array& x) { x[None]; }},
      CALL(type_of),
      CALL(visualize_sharding),
      CALL(print_shards),
      {"save_npy", [](const Array& x) { save_npy("/nowhere/x.npy", x); }},
      {"save_safetensors", [](const Array& x) { save_safetensors("/nowhere/x", std::vector{x}); }},
      {"named", [](const Array& x) { named(x, "x"); }},
      {"neg", [](const Array& x) { -x; }},
      {"bitwise_not", [](const Array& x) { ~x; }},
      OPERATOR(add, +),
      OPERATOR(sub, -),
      OPERATOR(mul, *),
      OPERATOR(divide, /),
      OPERATOR(remainder, %),
      OPERATOR(eq, ==),
      OPERATOR(ne, !=),
      OPERATOR(lt, <),
      OPERATOR(le, <=),
      OPERATOR(gt, >),
      OPERATOR(ge, >=),
      OPERATOR(bitwise_and, &),
      OPERATOR(bitwise_or, |),
      OPERATOR(bitwise_xor, ^),
      OPERATOR(shift_left, <<),
      OPERATOR(shift_right_arithmetic, >>),
      ASSIGN(add, +=),
      ASSIGN(sub, -=),
      ASSIGN(mul, *=),
      ASSIGN(divide, /=),
      {"full", [](const Array& x) { full({2}, x); }},
      CALL(zeros_like),
      CALL(ones_like),
      CALL(full_like, 2),
      {"linspace", [](const Array& x) { linspace(x, 2, 3); }},
      CALL(abs),
      CALL(neg),
      CALL(sign),
      CALL(ceil),
      CALL(floor),
      CALL(exp),
      CALL(exp2),
      CALL(expm1),
      CALL(log),
      CALL(log2),
      CALL(log10),
      CALL(log1p),
      CALL(sqrt),
      CALL(rsqrt),
      CALL(cbrt),
      CALL(square),
      CALL(reciprocal),
      CALL(sin),
      CALL(cos),
      CALL(tan),
      CALL(asin),
      CALL(acos),
      CALL(atan),
      CALL(sinh),
      CALL(cosh),
      CALL(tanh),
      CALL(asinh),
      CALL(acosh),
      CALL(atanh),
      CALL(erf),
      CALL(erfc),
      CALL(erf_inv),
      CALL(lgamma),
      CALL(digamma),
      CALL(logistic),
      CALL(is_finite),
      CALL(isfinite),
      CALL(isnan),
      CALL(isinf),
      CALL(logical_not),
      CALL(bitwise_not),
      CALL(population_count),
      CALL(clz),
      CALL(relu),
      CALL(silu),
      CALL(softplus),
      CALL(round),
      CALL(gelu),
      CALL(integer_pow, 2),
      CALL(reduce_precision, 5, 2),
      CALL(optimization_barrier),
      CALL(propagation_barrier, propagation::Direction::kBoth),
      CALL(stop_gradient),
      CALL(astype, f64),
      CALL(convert_element_type, f64),
      CALL(bitcast_convert_type, i32),
      BOTH(add),
      BOTH(sub),
      BOTH(mul),
      BOTH(div),
      BOTH(divide),
      BOTH(floor_divide),
      BOTH(rem),
      BOTH(remainder),
      BOTH(pow),
      BOTH(maximum),
      BOTH(minimum),
      BOTH(atan2),
      BOTH(zeta),
      BOTH(igamma),
      BOTH(igammac),
      BOTH(igamma_grad_a),
      BOTH(random_gamma_grad),
      BOTH(expn),
      CALL(betainc, 2, 0.5),
      BOTH(polygamma),
      BOTH(hypot),
      BOTH(nextafter),
      BOTH(eq),
      BOTH(ne),
      BOTH(lt),
      BOTH(le),
      BOTH(gt),
      BOTH(ge),
      BOTH(logical_and),
      BOTH(logical_or),
      BOTH(logical_xor),
      BOTH(bitwise_and),
      BOTH(bitwise_or),
      BOTH(bitwise_xor),
      BOTH(mulhi),
      BOTH(shift_left),
      BOTH(shift_right_arithmetic),
      BOTH(shift_right_logical),
      CALL(where, 1, 2),
      {"where", [](const Array& x) { where(true, x, 2); }},
      {"select_n",
       [](const Array& x) {
         select_n(Array(true), {x, x});
       }},
      {"select_n",
       [](const Array& x) {
         select_n(x, {One(), One()});
       }},
      CALL(clamp, 1, 2),
      {"clamp", [](const Array& x) { clamp(1, x, 2); }},
      CALL(clip, 1, 2),
      CALL(reshape, {6}),
      CALL(transpose),
      CALL(broadcast_in_dim, {2, 3}, {0, 1}),
      CALL(broadcast_to, {4, 2, 3}),
      CALL(expand_dims, 0),
      CALL(squeeze),
      {"concatenate",
       [](const Array& x) {
         concatenate({One(), x});
       }},
      {"stack",
       [](const Array& x) {
         stack({One(), x});
       }},
      CALL(split, 2),
      {"split",
       [](const Array& x) {
         split(x, {1, 1});
       }},
      CALL(slice, {0, 0}, {1, 1}),
      {"dynamic_slice",
       [](const Array& x) {
         dynamic_slice(x, {Array(0), Array(0)}, {1, 1});
       }},
      {"dynamic_slice",
       [](const Array& x) {
         dynamic_slice(One(), {x, Array(0)}, {1, 1});
       }},
      {"dynamic_update_slice",
       [](const Array& x) {
         dynamic_update_slice(One(), x, {Array(0), Array(0)});
       }},
      CALL(pad, {{1, 1}, {1, 1}}),
      {"pad",
       [](const Array& x) {
         pad(One(), {{1, 1}, {1, 1}}, x);
       }},
      CALL(rev, 0),
      CALL(tile, {2, 2}),
      CALL(repeat, 2, 0),
      CALL(roll, 1, 0),
      CALL(take, 0, 0),
      {"take", [](const Array& x) { take(One(), x, 0); }},
      {"take_along_dim",
       [](const Array& x) {
         take_along_dim(x, zeros({2, 2}, i32), 0);
       }},
      {"take_along_dim", [](const Array& x) { take_along_dim(One(), x, 0); }},
      {"at.get",
       [](const Array& x) {
         x.at({zeros({2}, i32), All}).get();
       }},
      {"index", [](const Array& x) { One()[x]; }},
      {"at.get",
       [](const Array& x) {
         One().at({x, All}).get();
       }},
      {"at.add", [](const Array& x) { x.at(0).add(1); }},
      {"at.add", [](const Array& x) { One().at(x).add(1); }},
      {"at.set", [](const Array& x) { One().at(0).set(x); }},
      {"gather",
       [](const Array& x) {
         gather(One(), x, {.collapsed = {0, 1}, .start = {0, 1}}, {1, 1});
       }},
      {"scatter",
       [](const Array& x) {
         scatter(One(), zeros({2}, i32), x, {.inserted = {0, 1}, .start = {0, 1}});
       }},
      CALL(sum),
      CALL(prod),
      CALL(max),
      CALL(min),
      CALL(mean),
      CALL(any),
      CALL(all),
      CALL(logsumexp),
      CALL(var),
      CALL(stddev),
      CALL(argmax, 0),
      CALL(argmin, 0),
      CALL(reduce_sum, 0),
      CALL(reduce_prod, 0),
      CALL(reduce_max, 0),
      CALL(reduce_min, 0),
      CALL(reduce_and, 0),
      CALL(reduce_or, 0),
      CALL(reduce_xor, 0),
      CALL(cumsum, 0),
      CALL(cumprod, 0),
      CALL(cummax, 0),
      CALL(cummin, 0),
      CALL(cumlogsumexp, 0),
      CALL(dot_general, One(), {{1}, {1}}),
      {"matmul",
       [](const Array& x) {
         matmul(x, ones({3, 2}));
       }},
      {"matmul",
       [](const Array& x) {
         matmul(ones({3, 2}), x);
       }},
      {"dot", [](const Array& x) { dot(x, ones({3})); }},
      {"tensordot", [](const Array& x) { tensordot(x, One()); }},
      {"einsum",
       [](const Array& x) {
         einsum("ij,kj", {One(), x});
       }},
      CALL(sort),
      {"sort",
       [](const Array& x) {
         sort({One(), x});
       }},
      CALL(argsort),
      CALL(top_k, 1),
      CALL(one_hot, 3),
      CALL(softmax),
      CALL(log_softmax),
      CALL(layer_norm, 1, 0),
      CALL(reshard, P()),
      CALL(with_sharding_constraint, P()),
      {"jit", [](const Array& x) { jit([](Array a) { return a + 1; })(x); }},
      {"jit", [](const Array& x) { jit([](Array a) { return a + 1; }).lower(x); }},
      {"jit", [](const Array& x) { jit([](Array a) { return a; }, {.in_shardings = P()})(x); }},
      {"auto_axes",
       [](const Array& x) { auto_axes([](Array a) { return a; }, {.out_sharding = P()})(x); }},
      {"explicit_axes",
       [](const Array& x) { explicit_axes([](Array a) { return a; }, {.in_sharding = P()})(x); }},
      {"while_loop",
       [](const Array& x) {
         while_loop([](Array a) { return sum(a) < 1; }, [](Array a) { return a + 1; }, x);
       }},
      {"fori_loop",
       [](const Array& x) {
         fori_loop(
             0, 2, [](Array, Array a) { return a + 1; }, x);
       }},
      {"fori_loop",
       [](const Array& x) {
         fori_loop(
             0, x, [](Array, Array a) { return a + 1; }, One());
       }},
      {"scan",
       [](const Array& x) { scan([](Array c, Array r) { return std::pair(c, r); }, Array(0), x); }},
      {"scan",
       [](const Array& x) {
         scan([&](Array, Array r) { return std::pair(x, r); }, Array(0), One(), {.unroll = 2});
       }},
      {"fori_loop",
       [](const Array& x) {
         fori_loop(0, 4, [&](Array, Array) { return x; }, One(), {.unroll = 2});
       }},
      {"while_loop",
       [](const Array& x) {
         while_loop([](Array a) { return sum(a) < 1; }, [&](Array) { return x; }, One());
       }},
      {"cond",
       [](const Array& x) {
         cond(
             true, [](Array a) { return a; }, [](Array a) { return a; }, x);
       }},
      {"cond",
       [](const Array& x) {
         cond(
             x, [](Array a) { return a; }, [](Array a) { return a; }, One());
       }},
      {"switch_case",
       [](const Array& x) { switch_case(0, std::tuple([](Array a) { return a; }), x); }},
  };
  return cases;
}
// clang-format on

// A donated array still has its type.
bool NeedsOnlyTheType(const Case& c) {
  static const std::set<std::string> names = {"shape", "dtype", "rank", "size", "type_of"};
  return names.contains(c.name);
}

// Made under the mesh in scope.
Array Donated() {
  Array x = One();
  jit([](Array a) { return a + 1; }, {.donate = {0}})(x);
  return x;
}
Array Escaped() {
  Array kept;
  jit([&](Array a) { return kept = a; }).trace(One());
  return kept;
}

void ExpectOurLine(const Case& c, const Array& x, const char* state, bool refused) {
  SCOPED_TRACE(std::string(state) + " in " + c.name);
  try {
    c.use(x);
    EXPECT_FALSE(refused) << "it was accepted";
  } catch (const Error& e) {
    if (refused) {
      EXPECT_NE(dynamic_cast<const TraceError*>(&e), nullptr) << e.what();
      EXPECT_EQ(e.op(), c.name) << e.what();
    }
    EXPECT_THAT(e.where(), StartsWith("array_states_test.cc:")) << e.what();
  }
}

TEST(ArrayStates, AreRefusedByTheNameAndLineOfTheCall) {
  MeshScope scope(make_mesh({{"x", 1}}));
  for (const Case& c : Cases()) {
    ExpectOurLine(c, Array(), "never given", true);
    ExpectOurLine(c, Donated(), "donated", !NeedsOnlyTheType(c));
    ExpectOurLine(c, Escaped(), "escaped", true);
    ExpectOurLine(c, abstract_array("f32[2,3]"), "abstract", false);
  }
}

// Printing knows no line of the caller's, but it knows where the array was donated; arrays without
// data print their state.
TEST(ArrayStates, PrintAsWhatTheyAre) {
  auto streamed = [](const Array& x) {
    std::ostringstream out;
    out << x;
    return out.str();
  };
  auto formatted = [](const Array& x) { return fmt::format("{}", x); };
  auto text = [](const Array& x) { return to_text(x); };
  struct Printer {
    std::string name;
    std::function<std::string(const Array&)> print;
    bool has_line = true;  // fmt has no line of its caller
  };
  const Printer printers[] = {
      {"operator<<", streamed}, {"operator<<", formatted, false}, {"to_text", text}};
  for (const auto& [name, print, has_line] : printers) {
    try {
      print(Donated());
      FAIL() << name << " printed a donated array";
    } catch (const TraceError& e) {
      EXPECT_EQ(e.op(), name) << e.what();
      EXPECT_THAT(e.what(), HasSubstr("donated at array_states_test.cc:"));
      EXPECT_THAT(e.what(), Not(HasSubstr("print.cc")));
      EXPECT_EQ(!e.where().empty(), has_line) << e.what();
    }
    EXPECT_EQ(print(Array()), "Array()");
    EXPECT_EQ(print(abstract_array("f32[2,3]")), "abstract f32[2,3]");
    EXPECT_THAT(print(Escaped()), StartsWith("traced f32[2,3] from array_states_test.cc:"));
  }
}

}  // namespace
}  // namespace tessera::array_states_test
