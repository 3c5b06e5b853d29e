// Ids as types of their own, and vectors indexed by them. An id is an `enum class FooId : int32_t
// {}`: it does not convert to a number or to another id.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::base {

template <class Id>
concept IsId = std::is_enum_v<Id> || std::same_as<Id, std::int32_t>;

// Returns the number of an id, to print it or to index a container that is not an IdVector.
template <IsId Id>
constexpr std::int32_t Number(Id id) {
  return static_cast<std::int32_t>(id);
}

// The ids [first, last), in order: `for (ValueId v : values.ids())`.
template <IsId Id>
class IdRange {
 public:
  class Iterator {
   public:
    using value_type = Id;
    using difference_type = std::ptrdiff_t;
    constexpr explicit Iterator(std::int32_t i) : i_(i) {}
    constexpr Id operator*() const { return Id{i_}; }
    constexpr Iterator& operator++() {
      ++i_;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    std::int32_t i_;
  };
  constexpr explicit IdRange(std::size_t n) : last_(static_cast<std::int32_t>(n)) {}
  constexpr IdRange(Id first, Id last) : first_(Number(first)), last_(Number(last)) {}
  constexpr Iterator begin() const { return Iterator(first_); }
  constexpr Iterator end() const { return Iterator(last_); }
  constexpr std::size_t size() const { return static_cast<std::size_t>(last_ - first_); }
  constexpr Id front() const { return Id{first_}; }
  constexpr Id back() const { return Id{last_ - 1}; }

 private:
  std::int32_t first_ = 0, last_ = 0;
};

// The ids of a range from the last to the first: `for (ValueId v : Reversed(values.ids()))`.
template <IsId Id>
class Reversed {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(std::int32_t end) : end_(end) {}
    constexpr Id operator*() const { return Id{end_ - 1}; }
    constexpr Iterator& operator++() {
      --end_;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    std::int32_t end_;
  };
  constexpr explicit Reversed(IdRange<Id> ids)
      : first_(Number(ids.front())), last_(first_ + static_cast<std::int32_t>(ids.size())) {}
  constexpr Iterator begin() const { return Iterator(last_); }
  constexpr Iterator end() const { return Iterator(first_); }

 private:
  std::int32_t first_, last_;
};

// A vector whose index is an `Id`. Debug builds (_GLIBCXX_ASSERTIONS) stop if an id is negative.
template <IsId Id, class T>
class IdVector {
 public:
  using value_type = T;
  using reference = typename std::vector<T>::reference;
  using const_reference = typename std::vector<T>::const_reference;

  IdVector() = default;
  explicit IdVector(std::size_t n) : items_(n) {}
  IdVector(std::size_t n, const T& value) : items_(n, value) {}
  IdVector(std::initializer_list<T> items) : items_(items) {}
  explicit IdVector(std::vector<T> items) : items_(std::move(items)) {}

  reference operator[](Id id) { return items_[Index(id)]; }
  const_reference operator[](Id id) const { return items_[Index(id)]; }
  bool Has(Id id) const { return Number(id) >= 0 && Index(id) < items_.size(); }

  // Appends an item and returns its id.
  Id Add(T item) {
    items_.push_back(std::move(item));
    return Id{static_cast<std::int32_t>(items_.size()) - 1};
  }
  // Returns the id of the item that is added next.
  Id next_id() const { return Id{static_cast<std::int32_t>(items_.size())}; }
  IdRange<Id> ids() const { return IdRange<Id>(items_.size()); }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void clear() { items_.clear(); }
  void reserve(std::size_t n) { items_.reserve(n); }
  std::size_t capacity() const { return items_.capacity(); }
  void resize(std::size_t n) { items_.resize(n); }
  void resize(std::size_t n, const T& value) { items_.resize(n, value); }
  void assign(std::size_t n, const T& value) { items_.assign(n, value); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  reference back() { return items_.back(); }
  const_reference back() const { return items_.back(); }
  // The items by position, for functions that take no ids.
  const std::vector<T>& items() const { return items_; }

  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  static std::size_t Index(Id id) { return static_cast<std::size_t>(Number(id)); }
  std::vector<T> items_;
};

}  // namespace tessera::base
