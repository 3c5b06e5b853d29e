// Lines that must not compile end in `// no`; refused.sh says which compilers it asked. After a
// colon are words of the compiler's message. Each is a function of its own; the lines between them
// must compile.
#include <tessera/tessera.h>

#include <array>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace tessera;

// clang-format off
// NOLINTBEGIN
#define LINE_NAMED(n, ...) void line_##n(Array x, Array y, CustomOp op) { (void)x, (void)y, (void)op; __VA_ARGS__; }
#define LINE_AT(n, ...) LINE_NAMED(n, __VA_ARGS__)
#define LINE(...) LINE_AT(__LINE__, __VA_ARGS__)

// ---- braces meant for the options are not the list before them ----
LINE(sum(x, {.keepdims = true})) // no
LINE(sum(x, All, {.keepdims = true}))
LINE(prod(x, {.keepdims = true})) // no
LINE(max(x, {.keepdims = true})) // no
LINE(min(x, {.keepdims = 1})) // no
LINE(mean(x, {.keepdims = true})) // no
LINE(any(x, {.keepdims = true})) // no
LINE(all(x, {.keepdims = true})) // no
LINE(logsumexp(x, {.keepdims = true})) // no
LINE(var(x, {.ddof = 1})) // no
LINE(var(x, {.keepdims = true})) // no
LINE(var(x, All, {.ddof = 1}))
LINE(stddev(x, {.ddof = 1})) // no
LINE(argmax(x, {.keepdims = true})) // no
LINE(argmin(x, {.keepdims = true})) // no
LINE(argmax(x, 0, {.keepdims = true}))
LINE(reduce_sum(x, {.out_sharding = P()})) // no
LINE(reduce_sum(x, {0}, {.out_sharding = P()}))
LINE(cumsum(x, {.reverse = true})) // no
LINE(cumsum(x, 0, {.reverse = true}))
LINE(softmax(x, {.epsilon = 1})) // no
LINE(layer_norm(x, y, y, {.epsilon = 1})) // no
LINE(layer_norm(x, y, y, -1, {.epsilon = 1}))
LINE(transpose(x, {.dim = 1})) // no
LINE(squeeze(x, {.dim = 1})) // no
LINE(expand_dims(x, {.dim = 1})) // no
LINE(rev(x, {.dim = 1})) // no
LINE(zeros({.n = 3})) // no
LINE(zeros({.dtype = f32})) // no
LINE(zeros({2}, {.dtype = f32}))
LINE(ones({.endpoint = true})) // no
LINE(full({.n = 3}, 1)) // no
LINE(full({2}, {.value = 3})) // no
LINE(full({2}, 3, {.dtype = f32}))
LINE(iota({.n = 3}, 0)) // no
LINE(iota({2}, 0, {.dtype = i64}))
LINE(eye({.columns = 3})) // no
LINE(eye(3, {.columns = 3}))
LINE(linspace(0, 1, {.endpoint = false})) // no
LINE(linspace(0, 1, 5, {.endpoint = false}))
LINE(arange({.dtype = f32})) // no
LINE(arange(3, {.dtype = f32}))
LINE(reshape(x, {.n = 2})) // no
LINE(reshape(x, {.out_sharding = P()})) // no
LINE(x.reshape({.n = 2})) // no
LINE(x.reshape({2, -1}, {.out_sharding = P()}))
LINE(broadcast_to(x, {.n = 2})) // no
LINE(broadcast_in_dim(x, {2}, {.dim = 0})) // no
LINE(broadcast_in_dim(x, {2}, {0}, {.out_sharding = P()}))
LINE(tile(x, {.reps = 2})) // no
LINE(repeat(x, {.n = 2}, 0)) // no
LINE(take(x, y, {.dim = 0})) // no
LINE(one_hot(x, {.dim = 0})) // no
LINE(one_hot(x, 3, {.dim = 0}))
LINE(sort(x, {.descending = true})) // no
LINE(sort(x, -1, {.descending = true}))
LINE(sort({x, y}, {.descending = true})) // no
LINE(sort({x, y}, 0, {.num_keys = 2}))
LINE(argsort(x, {.stable = false})) // no
LINE(tensordot(x, y, {.n = 1})) // no
LINE(tensordot(x, y, {.lhs_contract = {0}, .rhs_contract = {0}}))
LINE(tensordot(x, y, 1, {.dtype = f32}))
LINE(concatenate({.dim = 1})) // no
LINE(stack({.dim = 1})) // no
LINE(split(x, {.dim = 1})) // no
LINE(dynamic_slice(x, {0, 0}, {.n = 1})) // no
LINE(pad(x, {{1, 1}}, {.interior = 1})) // no
LINE(pad(x, {{.low = 1}, {.interior = 1}}, 0.5))
LINE(select_n(x, {.n = 1})) // no
LINE(einsum("a->a", {.dtype = f32})) // no
LINE(einsum("a->a", {x}, {.dtype = f32}))
LINE(sum({.keepdims = true})) // no
LINE(round({.away_from_zero = true})) // no
LINE(round(x, {.away_from_zero = true}))
LINE(op({.out_sharding = P()})) // no
LINE(op({x, y}, {.out_sharding = P()}))
LINE(x[{.begin = 1}]) // no
LINE(make_mesh({.mode = Auto})) // no
LINE(make_mesh({{"x", 2}}, {.mode = Auto}))
LINE(vmap([](Array a, Array b) { return a + b; }, {0, 1})) // no
LINE(vmap([](Array a, Array b) { return a + b; }, {{0, 1}})) // no
LINE(vmap([](Array a, Array b) { return a + b; }, {{None, 1}, 0})) // no
LINE(vmap([](Array a, Array b) { return a + b; }, 0)) // no
LINE(vmap([](Array a, Array b) { return a + b; }, {.in_dims = {0, 1}}))
LINE(auto f = [](Array a) { return a; }; VmapOptions o; vmap(f); vmap(f, {}); vmap(f, {.out_dims = 1}); vmap(f, o))
LINE(shard_map([](Array a) { return a; }, P("x"))) // no
LINE(shard_map([](Array a) { return a; }, P("x"), P("x"))) // no
LINE(shard_map([](Array a) { return a; }, {P("x")}, P("x"))) // no
LINE(auto f = [](Array a) { return a; }; ShardMapOptions o; shard_map(f, {}); shard_map(f, {.out_specs = P()}); shard_map(f, o))
LINE(ptp(x, {.keepdims = true})) // no
LINE(count_nonzero(x, {.keepdims = true})) // no
LINE(average(x, {.weights = y})) // no
LINE(norm(x, {.ord = 2})) // no
LINE(norm(x, {}); average(x, {}); ptp(x, {}); norm(x, All, {.ord = 2}))

// ---- a scope has a name ----
// Without LINE, as g++ warns at the closing brace.
void scope_1() { MeshScope(make_mesh({{"x", 2}})); } // no
void scope_2() { MeshScope scope(make_mesh({{"x", 2}})); }
void scope_3() { DefaultDtypes(i32, f64); } // no
void scope_4() { DefaultDtypes{i32, f64}; } // no
void scope_5() { StrictTypes(); } // no
void scope_6() { StrictTypes{}; } // no
void scope_7() { NanWatch(); } // no
void scope_8() { CommPolicy(CommLimits{}); } // no
void scope_9() { MachineBalance(3); } // no
void scope_10() { random::KeyReuseCheck(); } // no
void scope_11() { PinShardings(""); } // no
void scope_12() { NanWatch nans; StrictTypes strict; CommPolicy policy({}); MachineBalance balance(3); }

// ---- elements are changed by .at ----
LINE(x[0] = 1.0) // no
LINE(x + y = x) // no
LINE(x[0] += 1.0) // no
LINE(x[0] -= 1.0) // no
LINE(x[0] *= y) // no
LINE(x[0] /= y) // no
LINE(x += 1.0; x -= y; x *= 2; x /= y; std::swap(x, y); std::vector<Array> list(2); list[0] = x; list[1] += y)
LINE(std::tie(x, y) = std::pair(y, x); std::optional<Array> maybe; maybe = x; *maybe = y)
LINE(x = x.at({0}).set(1.0); x = y; x = x + y)

// ---- sizes, dims and indices are integers: no bools, characters or fractions ----
LINE(zeros(true)) // no
LINE(zeros({2, true})) // no
LINE(zeros({'a'})) // no
LINE(zeros(u8'a')) // no
LINE(zeros(2.0)) // no
LINE(zeros({2.5})) // no
LINE(zeros("ab")) // no
LINE(zeros(std::string("ab"))) // no
LINE(zeros(std::vector<bool>{true})) // no
LINE(zeros(std::vector<float>{2})) // no
LINE(zeros(None)) // no
LINE(zeros({2, size_t{3}, short{4}, uint8_t{5}}))
LINE(sum(x, true)) // no
LINE(sum(x, {true})) // no
LINE(sum(x, 'a')) // no
LINE(sum(x, 1.0)) // no
LINE(sum(x, std::vector<bool>{true})) // no
LINE(sum(x, size_t{1}); sum(x, -1L); sum(x, {0, size_t{1}}))
LINE(transpose(x, {true, false})) // no
LINE(x[true]) // no
LINE(x['a']) // no
LINE(x[1.0]) // no
LINE(x[{0, true}]) // no
LINE(Slice(false, 2)) // no
LINE(x[size_t{0}]; x[{Slice(1, -1), All, None, Ellipsis}])
LINE(split(x, true)) // no
LINE(split(x, 2.0)) // no

// ---- any list of integers is a shape, and dims ----
LINE(zeros(std::vector<int>{1}); zeros(std::vector<int64_t>{}); zeros(std::vector<size_t>{2}))
LINE(zeros(std::array<short, 2>{}); zeros(std::set<int>{1}); zeros(x.shape()))
LINE(int sizes[] = {1, 2}; zeros(sizes); zeros(std::span<const int>(sizes)); sum(x, sizes))
LINE(auto sizes = {1, 2}; zeros(sizes); sum(x, sizes))
LINE(sum(x, std::vector<int>{0}); sum(x, std::array<long, 1>{}); sum(x, std::vector<unsigned>{0}))
LINE(split(x, std::vector<int>{1, 2}); split(x, {3}); split(x, 3); split(x, 3u, 1); split(x, {}))
LINE(ArrayOptions o{.shape = Shape{2, 3}}; (void)o)

// ---- the message names the right form ----
LINE(if (x) return) // no: cond
LINE(while (x) return) // no: while_loop
LINE(x ? 1 : 2) // no: where
LINE(!x) // no: logical_not
LINE(x && y) // no: logical_and
LINE(x || y) // no: logical_or
LINE(max(x, 0.0)) // no: maximum(x, y)
LINE(max(x, 0.5f)) // no: maximum(x, y)
LINE(max(x, y)) // no: maximum(x, y)
LINE(min(x, 1.0)) // no: minimum(x, y)
LINE(min(x, y)) // no: minimum(x, y)
LINE(int n = 0; max(x, 0); max(x, n); min(x, -1, {.keepdims = true}); max(x, {0}); max(x, {}); max(x))
LINE(zeros(3, 4)) // no: zeros({3, 4})
LINE(zeros(3, 4, 5)) // no: zeros({3, 4})
LINE(ones(3, 4)) // no: ones({3, 4})
LINE(full(3, 4, 0.5)) // no: full({3, 4}, value)
LINE(x.reshape(4, 8)) // no: x.reshape({4, 8})
LINE(reshape(x, 4, 8)) // no: reshape(x, {4, 8})
LINE(broadcast_to(x, 4, 8)) // no: broadcast_to(x, {4, 8})
LINE(transpose(x, 1, 0)) // no: transpose(x, {1, 0})
LINE(tile(x, 2, 3)) // no: tile(x, {2, 3})
LINE(array("1 2 3")) // no: array({1, 2, 3})
LINE(array(std::string("1 2 3"))) // no: array({1, 2, 3})
LINE(ones({3}, P("x")); zeros(3, P()); full({3}, 1, P("x")); full(3, 1, f32); full(2, 3))
LINE(reshard(x, {"x", None}); reshard(x, {}); reshard(x, {"x", "y"}); reshard(x, {P("x")}))
LINE(with_sharding_constraint(x, {None, "x"}); with_sharding_constraint(x, {{"x", "y"}, Open()}))

// ---- `{}` is the options by default ----
LINE(ones({2}, {}); zeros(3, {}); ones({}, {}); full({2}, 1, {}); iota(2, 0, {}); eye(2, {}))
LINE(ones({2}, f32); zeros(2, f64); zeros({}, bool_))
LINE(ones_like(x, {}); zeros_like(x, {}); full_like(x, 1, {}); linspace(0, 1, 2, {}))
LINE(arange(3, {}); arange(0, 3, {}); arange(0, 3, 1, {}); array({1, 2}, {}); array(1, {}); array({}))
LINE(sum(x, {}, {}); var(x, {}, {}); argmax(x, 0, {}); cumsum(x, 0, {}); reduce_sum(x, {}, {}))
LINE(add(x, y, {}); where(x, x, y, {}); reshape(x, {}, {}); x.reshape({2}, {}); round(x, {}); gelu(x, {}))
LINE(matmul(x, y, {}); dot(x, y, {}); dot_general(x, y, {}, {}); tensordot(x, y, {}, {}); tensordot(x, y, {}))
LINE(sort(x, 0, {}); sort({x, y}, 0, {}); argsort(x, 0, {}); one_hot(x, 2, {}); layer_norm(x, x, x, 0, {}))
LINE(reshard(x, {}); with_sharding_constraint(x, {}); P({}, {}); take(x, y, 0, {}); repeat(x, 2, 0, {}))
LINE(make_mesh({{"x", 2}}, {}); abstract_mesh({}, {}); to_text(x, {}); visualize_sharding(x, {}))
LINE(op({x}, {}); jit([](Array a) { return a; }, {}); load_npy("x", {}); einsum("a->a", {x}, {}))
LINE(save_safetensors("x", std::vector{x}, {}); load_safetensors_like("x", std::vector{x}))
// NOLINTEND
