// Trees: values made of arrays. A function that is transformed takes and returns trees: Array,
// numbers, enums and std::string (static), None, std::vector, std::array, std::tuple, std::pair,
// std::map, std::optional, and structs that name their fields:
//
//   struct Params { Array w, b; };
//   TESSERA_FIELDS(Params, w, b);
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/array.h"

namespace tessera {

// Returns the fields of a struct, by reference, for tree_fields: Fields("w", p.w, "b", p.b).
namespace tree {
template <class... Refs, class Name, class Ref, class... Rest>
auto AddFields(std::tuple<Refs&...> refs, Name&&, Ref& ref, Rest&&... rest) {
  auto more = std::tuple_cat(refs, std::tuple<Ref&>(ref));
  if constexpr (sizeof...(Rest) == 0)
    return more;
  else
    return AddFields(more, std::forward<Rest>(rest)...);
}
}  // namespace tree
template <class... Args>
auto Fields(Args&&... args) {
  return tree::AddFields(std::tuple<>(), std::forward<Args>(args)...);
}

// Takes up to 64 fields.
#define TESSERA_FIELDS(Struct, ...)                                                             \
  static_assert(::tessera::tree::CountFields(#__VA_ARGS__) <= 64,                               \
                "TESSERA_FIELDS takes at most 64 fields: put some into a struct of their own"); \
  inline auto tree_fields(Struct& s) {                                                          \
    return ::tessera::tree::TieFields(s __VA_OPT__(, TESSERA_EACH(Struct, __VA_ARGS__)));       \
  }                                                                                             \
  static_assert(true, "")
// &S::a, &S::b, ... Each scan of the list takes one field off it; there are 256 scans.
#define TESSERA_EACH(S, ...) TESSERA_SCAN(TESSERA_FIRST(S, __VA_ARGS__))
#define TESSERA_FIRST(S, f, ...) &S::f __VA_OPT__(, TESSERA_AGAIN TESSERA_NOW(S, __VA_ARGS__))
#define TESSERA_AGAIN() TESSERA_FIRST
#define TESSERA_NOW ()
#define TESSERA_SCAN(...) \
  TESSERA_SCAN64(TESSERA_SCAN64(TESSERA_SCAN64(TESSERA_SCAN64(__VA_ARGS__))))
#define TESSERA_SCAN64(...) \
  TESSERA_SCAN16(TESSERA_SCAN16(TESSERA_SCAN16(TESSERA_SCAN16(__VA_ARGS__))))
#define TESSERA_SCAN16(...) TESSERA_SCAN4(TESSERA_SCAN4(TESSERA_SCAN4(TESSERA_SCAN4(__VA_ARGS__))))
#define TESSERA_SCAN4(...) TESSERA_SCAN1(TESSERA_SCAN1(TESSERA_SCAN1(TESSERA_SCAN1(__VA_ARGS__))))
#define TESSERA_SCAN1(...) __VA_ARGS__

namespace tree {

// Of "w, b": 2.
constexpr int CountFields(const char* names) {
  int count = *names != 0;
  for (; *names != 0; ++names) count += *names == ',';
  return count;
}

template <class S, class... Members>
auto TieFields(S& s, Members... members) {
  return std::tie(s.*members...);
}

template <class T>
concept Static = Number<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;
template <class T>
concept Struct = requires(T& t) {
  tree_fields(t);
};

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};
template <class T>
struct IsSequence : std::false_type {};
template <class T>
struct IsSequence<std::vector<T>> : std::true_type {};
template <class T, size_t n>
struct IsSequence<std::array<T, n>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class K, class V>
struct IsMap<std::map<K, V>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// Calls v.Leaf(Array&) for each array, v.Static(text) for everything else that decides how the
// function is traced: static values, sizes, keys.
template <class T, class V>
void Visit(T& t, V& v) {
  if constexpr (std::is_same_v<T, Array>) {
    v.Leaf(t);
  } else if constexpr (std::is_same_v<T, NoneType>) {
  } else if constexpr (std::is_same_v<T, std::string>) {
    v.Static(std::to_string(t.size()) + ":" + t);
  } else if constexpr (std::is_enum_v<T>) {
    v.Static(std::to_string(static_cast<long long>(t)));
  } else if constexpr (std::is_floating_point_v<T>) {
    char bits[sizeof(T)];
    __builtin_memcpy(bits, &t, sizeof(T));
    v.Static(std::string(bits, sizeof(T)));
  } else if constexpr (std::is_arithmetic_v<T>) {
    v.Static(std::to_string(t));
  } else if constexpr (IsSequence<T>::value) {
    v.Static("n" + std::to_string(t.size()));
    for (auto& e : t) Visit(e, v);
  } else if constexpr (IsMap<T>::value) {
    v.Static("m" + std::to_string(t.size()));
    for (auto& [key, value] : t) {
      auto k = key;
      Visit(k, v);
      Visit(value, v);
    }
  } else if constexpr (IsOptional<T>::value) {
    v.Static(t ? "some" : "none");
    if (t) Visit(*t, v);
  } else if constexpr (IsTuple<T>::value) {
    std::apply([&](auto&... e) { (Visit(e, v), ...); }, t);
  } else {
    static_assert(Struct<T>, "not a tree: give the struct TESSERA_FIELDS(Struct, field, ...)");
    auto fields = tree_fields(t);
    std::apply([&](auto&... e) { (Visit(e, v), ...); }, fields);
  }
}

struct Collect {
  std::vector<Array>& leaves;
  std::string* statics;
  void Leaf(Array& a) { leaves.push_back(a); }
  void Static(const std::string& text) {
    if (statics) (*statics += text) += ';';
  }
};
struct Replace {
  const std::vector<Array>& leaves;
  size_t next = 0;
  void Leaf(Array& a) { a = leaves[next++]; }
  void Static(const std::string&) {}
};

// Where an array is in a tree: the number of the child at each level.
using Path = std::vector<size_t>;

// What is where in a tree.
struct Outline {
  std::vector<Path> arrays;
  std::vector<std::pair<Path, size_t>> nodes;         // and how many parts each has
  std::vector<std::pair<Path, std::string>> statics;  // and their values
};
std::string Text(Scalar v);

// Appends what is below `at`.
template <class T>
void AddOutline(T& t, const Path& at, Outline& out) {
  Path child = at;
  child.push_back(0);
  auto each = [&](auto& e) {
    AddOutline(e, child, out);
    ++child.back();
  };
  if constexpr (std::is_same_v<T, Array>) {
    out.arrays.push_back(at);
  } else if constexpr (std::is_same_v<T, NoneType>) {
  } else if constexpr (std::is_same_v<T, std::string>) {
    out.statics.emplace_back(at, '"' + t + '"');
  } else if constexpr (std::is_enum_v<T>) {
    out.statics.emplace_back(at, Text(Scalar(static_cast<long long>(t))));
  } else if constexpr (Number<T>) {
    out.statics.emplace_back(at, Text(Scalar(t)));
  } else if constexpr (IsOptional<T>::value) {
    out.statics.emplace_back(at, t ? "a value" : "nothing");
    if (t) AddOutline(*t, at, out);
  } else {
    if constexpr (IsSequence<T>::value) {
      for (auto& e : t) each(e);
    } else if constexpr (IsMap<T>::value) {
      for (auto& [key, value] : t) each(value);
    } else if constexpr (IsTuple<T>::value) {
      std::apply([&](auto&... e) { (each(e), ...); }, t);
    } else {
      auto fields = tree_fields(t);
      std::apply([&](auto&... e) { (each(e), ...); }, fields);
    }
    out.nodes.emplace_back(at, child.back());
  }
}

template <class T>
Outline OutlineOf(T& t) {
  Outline out;
  AddOutline(t, {}, out);
  return out;
}

}  // namespace tree

// Returns the arrays of a tree, in order.
template <class T>
std::vector<Array> tree_leaves(T tree) {
  std::vector<Array> leaves;
  tree::Collect collect{leaves, nullptr};
  tree::Visit(tree, collect);
  return leaves;
}

// Returns `first` with each array replaced by f of the arrays at its place in all the trees.
template <class F, class T, class... More>
T tree_map(F f, T first, More... more) {
  std::vector<std::vector<Array>> columns{tree_leaves(first), tree_leaves(more)...};
  std::vector<Array> mapped;
  for (size_t i = 0; i < columns[0].size(); ++i) {
    [&]<size_t... k>(std::index_sequence<k...>) { mapped.push_back(f(columns[k].at(i)...)); }
    (std::make_index_sequence<1 + sizeof...(More)>());
  }
  tree::Replace replace{mapped};
  tree::Visit(first, replace);
  return first;
}

}  // namespace tessera
