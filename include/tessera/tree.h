// Trees: values made of arrays. Transformed functions take and return trees: Array, numbers, enums
// and std::string (static), None, std::vector, std::array, std::tuple, std::pair, std::map,
// std::optional, and structs that list their fields:
//
//   struct Params { Array w, b; };
//   TESSERA_FIELDS(Params, w, b);
#pragma once
#include <array>
#include <concepts>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/array.h"

namespace TESSERA_PUBLIC tessera {

namespace detail {
// References to the fields of a struct, and their names.
template <class Refs>
struct NamedFields {
  Refs fields;
  std::array<std::string_view, std::tuple_size_v<Refs>> names;
};
}  // namespace detail

// Returns the fields of a struct, by reference, for tree_fields: Fields("w", p.w, "b", p.b).
// std::tie(p.w, p.b) also works; it gives no names.
template <class... Args>
auto Fields(Args&&... args) {
  auto all = std::tie(args...);
  return [&]<size_t... i>(std::index_sequence<i...>) {
    auto fields = std::tie(std::get<2 * i + 1>(all)...);
    return detail::NamedFields<decltype(fields)>{fields, {std::get<2 * i>(all)...}};
  }
  (std::make_index_sequence<sizeof...(Args) / 2>());
}

// Makes Struct a tree with these fields, at most 64. It lists every field once and follows the
// struct, in the struct's namespace; a struct in a function cannot be a tree. A derived struct has
// a list of its own, with the fields of its base.
//
// A struct that keeps fields out of the tree has a function instead, in the same place:
//
//   inline auto tree_fields(Cached& c) { return tessera::Fields("w", c.w, "b", c.b); }
//
// Transforms do not see the other fields: a program has their values from the call that was traced.
#define TESSERA_FIELDS(Struct, ...)                                                                \
  static_assert(::tessera::detail::CountFields(#__VA_ARGS__) <= 64,                                \
                "TESSERA_FIELDS takes at most 64 fields: put some into a struct of their own");    \
  inline void visit_tree_fields(::tessera::detail::Exactly<Struct> s,                              \
                                ::tessera::detail::Visitor& v) {                                   \
    static constexpr auto kNames =                                                                 \
        ::tessera::detail::SplitNames<::tessera::detail::CountFields(#__VA_ARGS__)>(#__VA_ARGS__); \
    static_assert(::tessera::detail::AreDistinct(kNames), "TESSERA_FIELDS lists a field twice");   \
    ::tessera::detail::VisitFields(s.tree, v,                                                      \
                                   kNames.data() __VA_OPT__(, TESSERA_EACH(Struct, __VA_ARGS__))); \
  }                                                                                                \
  static_assert(::tessera::detail::ListsFields<Struct>,                                            \
                "TESSERA_FIELDS must be in the namespace of the struct")
// Expands to &S::a, &S::b, ... Each scan of the list takes one field off it; there are 256 scans.
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

namespace detail {

// Returns the number of names: 2 for "w, b".
constexpr int CountFields(const char* names) {
  int count = *names != 0;
  for (; *names != 0; ++names) count += *names == ',';
  return count;
}

// Returns the names: {"w", "b"} for "w, b".
template <size_t n>
constexpr std::array<std::string_view, n> SplitNames(std::string_view text) {
  std::array<std::string_view, n> names;
  for (std::string_view& name : names) {
    text.remove_prefix(text.find_first_not_of(", \n"));
    name = text.substr(0, text.find_first_of(", \n"));
    text.remove_prefix(name.size());
  }
  return names;
}

template <size_t n>
constexpr bool AreDistinct(const std::array<std::string_view, n>& names) {
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < i; ++j)
      if (names[i] == names[j]) return false;
  return true;
}

class Visitor;

// A reference to a T that does not convert to one to a base of T.
template <class T>
struct Exactly {
  T& tree;
};
// Converts to a reference to T, and to a reference to a base of T.
template <class T>
struct ToItself {
  template <std::same_as<T> U>
  operator U&() const;
};
template <class T>
struct ToBase {
  template <class U>
  requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>) operator U&() const;
};

// A struct that lists its fields: by TESSERA_FIELDS, or by a function tree_fields of its own, not
// of a base.
template <class T>
concept ListsFields = requires(Exactly<T> t, Visitor& v) {
  visit_tree_fields(t, v);
};
template <class T>
concept HasFunction = requires(T& t) {
  tree_fields(t);
};
template <class T>
concept Struct = ListsFields<T> ||
    (HasFunction<T> && (HasFunction<ToItself<T>> || !HasFunction<ToBase<T>>));

template <class T>
inline constexpr bool kTuple = false;
template <class... T>
inline constexpr bool kTuple<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool kTuple<std::pair<A, B>> = true;
template <class T>
inline constexpr bool kVector = false;
template <class T>
inline constexpr bool kVector<std::vector<T>> = !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool kSequence = kVector<T>;
template <class T, size_t n>
inline constexpr bool kSequence<std::array<T, n>> = true;
template <class T>
inline constexpr bool kMap = false;
template <class K, class V>
inline constexpr bool kMap<std::map<K, V>> = true;
template <class T>
inline constexpr bool kOptional = false;
template <class T>
inline constexpr bool kOptional<std::optional<T>> = true;

// Whether a type is a tree. A struct is one if it lists its fields.
template <class T>
inline constexpr bool kTree =
    std::is_same_v<T, Array> || std::is_same_v<T, NoneType> || std::is_same_v<T, std::string> ||
    Number<T> || std::is_enum_v<T> || Struct<T>;
template <class T>
inline constexpr bool kTree<T&> = kTree<T>;  // a field of a struct
// A tuple of references, as std::tie makes it, is none: results would go to the caller's variables.
template <class... T>
inline constexpr bool kTree<std::tuple<T...>> = ((kTree<T> && !std::is_reference_v<T>)&&...);
template <class A, class B>
inline constexpr bool kTree<std::pair<A, B>> =
    kTree<A>&& kTree<B> && !std::is_reference_v<A> && !std::is_reference_v<B>;
template <class T>
inline constexpr bool kTree<std::vector<T>> = kVector<std::vector<T>>&& kTree<T>;
template <class T, size_t n>
inline constexpr bool kTree<std::array<T, n>> = kTree<T>;
template <class K, class V>
inline constexpr bool kTree<std::map<K, V>> = kTree<K>&& kTree<V>;
template <class T>
inline constexpr bool kTree<std::optional<T>> = kTree<T>;

template <class T>
constexpr void CheckTree() {
  static_assert(
      kTree<T>,
      "not a tree: give the struct TESSERA_FIELDS(Struct, field, ...); a base's list does "
      "not count. For std::tie(x, y) write std::tuple(x, y)");
}

// Visits a tree. Static is called for the leaves that select the traced program together with the
// types of the arrays. Enter gets the number of parts of a node. Next is called after each part.
// Field is called before each field of a struct. Before each value of a map, its key is visited as
// a tree of static leaves between Key(true) and Key(false).
class Visitor {
 public:
  virtual void Leaf(Array& a) = 0;
  virtual void Static(const std::string&) {}
  virtual void Static(Scalar) {}
  virtual void Present(bool) {}  // whether an optional has a value
  virtual void Enter(size_t) {}
  virtual void Field(std::string_view) {}
  virtual void Key(bool /*begins*/) {}
  virtual void Next() {}
  virtual void Leave() {}

 protected:
  ~Visitor() = default;
};

template <class T>
void Visit(T& t, Visitor& v);

// ---- whether a list of fields is complete -------------------------------------------------------

// Values that convert to any type, and to a base of S.
struct ToAny {
  template <class T>
  operator T() const;
};
template <class Member>
using ToAnyFor = ToAny;
template <class S>
struct ToValueOfBase {
  template <class T>
  requires(std::is_base_of_v<T, S> && !std::is_same_v<T, S>) operator T() const;
};
// Whether S is an aggregate whose first bases and fields can be given these values.
template <class S, class... Value>
concept AggregateOf = std::is_aggregate_v<S> && requires {
  S{Value()...};
};

// The bytes of fields, and the most that padding may add, in a struct of this alignment.
struct Bytes {
  size_t fields = 0, padding = 0;
  template <class S, class T>
  constexpr void Add(T S::*, size_t alignment) {
    fields += sizeof(T);
    if (sizeof(T) % alignment != 0) padding += alignment - 1;
    // A struct may be moved by an empty base that it has in common with the struct around it.
    constexpr bool kMoves = std::is_class_v<T> && !std::is_same_v<T, Array> &&
                            !std::is_same_v<T, std::string> && !kMap<T> && !kVector<T>;
    if (kMoves) padding += alignment;
  }
};

// Whether the members are all fields of S, its bases' included. The fields of an aggregate without
// bases are counted. For other structs, bytes that padding does not explain are a missing field;
// structs with virtual functions pass.
template <class S>
constexpr bool AreAllFields() {
  return std::is_empty_v<S>;
}
template <class S, class First, class... Rest>
constexpr bool AreAllFields() {
  if constexpr (AggregateOf<S, ToAnyFor<First>, ToAnyFor<Rest>...> &&
                !AggregateOf<S, ToValueOfBase<S>, ToAnyFor<Rest>...>) {
    return !AggregateOf<S, ToAnyFor<First>, ToAnyFor<Rest>..., ToAny>;
  } else {
    Bytes bytes;
    bytes.Add(First(), alignof(S));
    (bytes.Add(Rest(), alignof(S)), ...);
    return std::is_polymorphic_v<S> || sizeof(S) <= bytes.fields + bytes.padding;
  }
}

template <class S, class... Members>
void VisitFields(S& s, Visitor& v, const std::string_view* names, Members... members) {
  static_assert(AreAllFields<S, Members...>(),
                "TESSERA_FIELDS leaves out a field of the struct: list all fields, or write a "
                "function tree_fields for some of them (tree.h)");
  v.Enter(sizeof...(Members));
  ((v.Field(*names++), Visit(s.*members, v), v.Next()), ...);
  v.Leave();
}

template <class T>
void Visit(T& t, Visitor& v);

template <class T>
void VisitTuple(T& t, Visitor& v) {
  const auto each = [&v](auto& part) {
    Visit(part, v);
    v.Next();
  };
  v.Enter(std::tuple_size_v<T>);
  std::apply([&](auto&... part) { (each(part), ...); }, t);
  v.Leave();
}

template <class T>
void Visit(T& t, Visitor& v) {
  CheckTree<T>();
  auto each = [&v](auto& part) {
    Visit(part, v);
    v.Next();
  };
  if constexpr (std::is_same_v<T, Array>) {
    v.Leaf(t);
  } else if constexpr (std::is_same_v<T, std::string>) {
    v.Static(t);
  } else if constexpr (std::is_enum_v<T>) {
    v.Static(Scalar(static_cast<long long>(t)));
  } else if constexpr (Number<T>) {
    v.Static(Scalar(t));
  } else if constexpr (kOptional<T>) {
    v.Present(t.has_value());
    if (t) Visit(*t, v);
  } else if constexpr (kSequence<T>) {
    v.Enter(t.size());
    for (auto& part : t) each(part);
    v.Leave();
  } else if constexpr (kMap<T>) {
    v.Enter(t.size());
    for (auto& [key, value] : t) {
      auto k = key;
      v.Key(true);
      Visit(k, v);
      v.Key(false);
      each(value);
    }
    v.Leave();
  } else if constexpr (kTuple<T>) {
    VisitTuple(t, v);
  } else if constexpr (ListsFields<T>) {
    visit_tree_fields(Exactly<T>{t}, v);
  } else if constexpr (Struct<T>) {
    auto given = tree_fields(t);
    if constexpr (requires { given.names; }) {
      v.Enter(given.names.size());
      std::apply([&, name = given.names.begin()](
                     auto&... field) mutable { ((v.Field(*name++), each(field)), ...); },
                 given.fields);
      v.Leave();
    } else {
      VisitTuple(given, v);  // std::tie(...): its fields are numbered
    }
  }
}
template <class T>
void VisitErased(void* tree, Visitor& v) {
  Visit(*static_cast<T*>(tree), v);
}

template <class T>
void DestroyErased(void* tree) {
  delete static_cast<T*>(tree);
}

// The operations on trees of one C++ type. Its address identifies the type.
struct TreeType {
  void (*visit)(void* tree, Visitor& v);
  void (*destroy)(void* tree);  // a tree made by `new`
};
template <class T>
inline constexpr TreeType kTreeType{&VisitErased<T>, &DestroyErased<T>};

// A reference to a tree of any type.
struct TreeRef {
  template <class T>
  TreeRef(T& t) requires(!std::is_same_v<T, TreeRef>) : type(&kTreeType<T>), tree(&t) {
    CheckTree<T>();
  }
  TreeRef(const TreeType* its_type, void* t) : type(its_type), tree(t) {}
  const TreeType* type;
  void* tree;
};

// The path to an array in a tree: the index of the part at each level.
using Path = std::vector<size_t>;

// The structure of a tree, with paths.
struct Outline {
  std::vector<Path> arrays;
  std::vector<std::pair<Path, size_t>> nodes;         // with their number of parts
  std::vector<std::pair<Path, std::string>> statics;  // with their values
};

Outline OutlineOf(TreeRef tree);
// Returns the name of each array: fields, keys and numbers joined by dots: "layers.0.w".
std::vector<std::string> NamesOf(TreeRef tree);
std::vector<Array> LeavesOf(TreeRef tree);
// Replaces the arrays of the tree by these; extra leaves are ignored.
void Replace(TreeRef tree, const std::vector<Array>& leaves);
template <class T>
T Rebuilt(T tree, const std::vector<Array>& leaves) {
  Replace(tree, leaves);
  return tree;
}

// The user's function of a tree_map, which outlives this, and the line of the call.
struct MapFunction {
  const void* function;
  Array (*call)(const void* function, const std::string& name, const Array* arrays);
  Loc loc;
  const char* map;  // "tree_map"
};
// A MapFunction of n arrays, one of each tree; if `named`, the name comes first. It is constructed
// where the function is passed, to record the line: no Loc parameter can follow a pack of trees.
template <size_t n, bool named>
struct MapOf : MapFunction {
  template <class F>
  MapOf(F&& f, Loc line = Loc::Current())
      : MapFunction{reinterpret_cast<const void*>(std::addressof(f)),
                    &Call<std::remove_reference_t<F>>, line,
                    named ? "tree_map_with_path" : "tree_map"} {}

 private:
  template <class F>
  static Array Call(const void* function, const std::string& name, const Array* arrays) {
    F& f = *reinterpret_cast<F*>(const_cast<void*>(function));
    return [&]<size_t... k>(std::index_sequence<k...>)->Array {
      if constexpr (named) {
        static_assert(std::is_invocable_v<F&, const std::string&, decltype(arrays[k])...>,
                      "the function takes a path, a string, and one Array of each tree");
        return f(name, arrays[k]...);
      } else {
        static_assert(std::is_invocable_v<F&, decltype(arrays[k])...>,
                      "the function takes one Array of each tree");
        return f(arrays[k]...);
      }
    }
    (std::make_index_sequence<n>());
  }
};
// Replaces each array of the first tree by f of the arrays at the same path in all trees.
void MapTrees(std::initializer_list<TreeRef> trees, const MapFunction& f);
// Replaces all arrays of the tree by the leaves, in order.
void Unflatten(TreeRef tree, const std::vector<Array>& leaves, Loc loc);

}  // namespace detail

// A type that transformed functions take and return.
template <class T>
concept Tree = detail::kTree<T>;

// Returns the arrays of a tree, in order.
template <class T>
std::vector<Array> tree_leaves(T tree) {
  return detail::LeavesOf(tree);
}

// Returns the name of each array, in order: fields, keys and numbers joined by dots: "layers.0.w".
template <class T>
std::vector<std::string> tree_names(T tree) {
  return detail::NamesOf(tree);
}

// Returns `like` with its arrays replaced by these, in order. Throws TraceError unless the numbers
// of arrays are equal.
template <class T>
T tree_unflatten(T like, const std::vector<Array>& leaves, Loc loc = Loc::Current()) {
  detail::Unflatten(like, leaves, loc);
  return like;
}

// Returns `first` with each array replaced by f of the arrays at the same path in all trees. Other
// leaves are copied from the first tree. Throws TraceError unless the arrays of all trees have the
// same names (tree_names).
template <class T, class... More>
T tree_map(std::type_identity_t<detail::MapOf<1 + sizeof...(More), false>> f, T first,
           More... more) {
  detail::MapTrees({first, more...}, f);
  return first;
}
// Same, for a function that also gets the array's name: f("layers.0.w", a, b).
template <class T, class... More>
T tree_map_with_path(std::type_identity_t<detail::MapOf<1 + sizeof...(More), true>> f, T first,
                     More... more) {
  detail::MapTrees({first, more...}, f);
  return first;
}

// Returns f(... f(f(initial, a), b) ..., z) for the arrays a, b, ..., z of a tree, in order.
template <class F, class T, class A>
auto tree_reduce(F f, T tree, A initial) {
  std::decay_t<std::invoke_result_t<F&, A, Array>> reduced(std::move(initial));
  for (const Array& a : tree_leaves(std::move(tree))) reduced = f(std::move(reduced), a);
  return reduced;
}

}  // namespace tessera
