// Arrays over memory that others have, without copies: of pointers, spans, containers, mdspans,
// Eigen's matrices and Kokkos' views; and DLPack, by which NumPy, PyTorch and JAX share arrays.
//
//   Eigen::MatrixXf m = ...;
//   Array x = array_view(m);                           // f32[rows,cols]
//   Array y = array_view(std::move(v));                // of a std::vector, which the array keeps
//   Array z = array_view(p, {8, 4}, {.owner = kept});  // of a pointer
//
// Nothing writes to the memory, also if the array is donated, and no one else may write to it while
// the array or a result that shares it is in use. The memory is used as it is if its elements are
// row-major without gaps, and each is aligned to its size; if not, they are copied once. Over a
// mesh the array is replicated, and all devices share the memory. A layout that `out_sharding` asks
// for has shards, which are copies.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/array.h"

// These are structs of DLPack's header dlpack/dlpack.h.
struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace TESSERA_PUBLIC tessera {

struct ViewOptions {
  // From one element to the next along each dim, in elements; may be negative or 0. Default:
  // row-major.
  std::optional<std::vector<int64_t>> strides = {};
  // Kept until no array uses the memory. Without an owner the caller keeps it for as long.
  std::shared_ptr<const void> owner = {};
  std::optional<PartitionSpec> out_sharding = {};
};
struct ViewLikeOptions {
  std::shared_ptr<const void> owner = {};  // as in ViewOptions
  std::optional<PartitionSpec> out_sharding = {};
};

namespace detail {

// Memory of the host. `data` is the element of index 0 in every dim.
struct HostView {
  const void* data = nullptr;
  DType dtype = {};
  std::vector<int64_t> shape = {};
  std::optional<std::vector<int64_t>> strides = {};  // in elements
};
Array ArrayView(const HostView& view, ViewOptions options, Loc loc);

template <class E>
concept Element = requires {
  dtype_of<std::remove_cv_t<E>>();
};
template <class P>
concept ElementPointer = std::is_pointer_v<P> && Element<std::remove_pointer_t<P>>;
template <class M>
concept EigenLike = requires(const M& m) {
  { m.rows() } -> std::convertible_to<int64_t>;
  { m.cols() } -> std::convertible_to<int64_t>;
  { m.rowStride() } -> std::convertible_to<int64_t>;
  { m.colStride() } -> std::convertible_to<int64_t>;
  { m.data() } -> ElementPointer;
};
template <class M>
concept HasExtents = requires(const M& m) {
  { m.extent(0) } -> std::convertible_to<int64_t>;
  { m.stride(0) } -> std::convertible_to<int64_t>;
};
template <class M>
concept MdspanLike = HasExtents<M> && requires(const M& m) {
  { M::rank() } -> std::convertible_to<int64_t>;
  { m.data_handle() } -> ElementPointer;
};
template <class M>
concept KokkosLike = HasExtents<M> && requires(const M& m) {
  {static_cast<int64_t>(M::rank)};
  { m.data() } -> ElementPointer;
};
template <class R>
concept ContiguousRange = std::ranges::contiguous_range<const R&> &&
    std::ranges::sized_range<const R&> && Element<std::ranges::range_value_t<const R&>>;
template <class V>
concept Viewable = EigenLike<V> || MdspanLike<V> || KokkosLike<V> || ContiguousRange<V>;

template <class E>
HostView OfPointer(const E* data) {
  return {.data = data, .dtype = dtype_of<std::remove_cv_t<E>>()};
}
template <class M>
HostView WithExtents(HostView view, const M& m, int64_t rank) {
  view.strides.emplace();
  for (int64_t d = 0; d < rank; ++d) {
    view.shape.push_back(static_cast<int64_t>(m.extent(static_cast<size_t>(d))));
    view.strides->push_back(static_cast<int64_t>(m.stride(static_cast<size_t>(d))));
  }
  return view;
}
template <class V>
HostView ViewOf(const V& v) {
  if constexpr (EigenLike<V>) {
    HostView view = OfPointer(v.data());
    view.shape = {static_cast<int64_t>(v.rows()), static_cast<int64_t>(v.cols())};
    view.strides = {static_cast<int64_t>(v.rowStride()), static_cast<int64_t>(v.colStride())};
    if constexpr (requires { requires(V::ColsAtCompileTime == 1); })
      view.shape.pop_back(), view.strides->pop_back();
    return view;
  } else if constexpr (MdspanLike<V>) {
    return WithExtents(OfPointer(v.data_handle()), v, static_cast<int64_t>(V::rank()));
  } else if constexpr (KokkosLike<V>) {
    return WithExtents(OfPointer(v.data()), v, static_cast<int64_t>(V::rank));
  } else {
    HostView view = OfPointer(std::ranges::data(v));
    view.shape = {static_cast<int64_t>(std::ranges::size(v))};
    return view;
  }
}

}  // namespace detail

// Returns an array [shape] over the elements at a pointer, and after it as the strides say. Throws
// ShapeError for negative sizes and strides that are not one per dim, RuntimeError for a null
// pointer to elements.
template <detail::Element E>
Array array_view(const E* data, Shape shape, ViewOptions options = {}, Loc loc = Loc::Current()) {
  detail::HostView view = detail::OfPointer(data);
  view.shape = shape.dims(), view.strides = options.strides;
  return detail::ArrayView(view, std::move(options), loc);
}
// Same, for elements of a dtype that is known only when the program runs.
Array array_view(const void* data, DType dtype, Shape shape, ViewOptions options = {},
                 Loc loc = Loc::Current());
// Returns an array over a span or another contiguous range, [n]; over an Eigen matrix, [rows,
// cols], or a column vector, [rows]; over an mdspan or Kokkos view, or a class with such functions
// (`extent`, `stride`, and `data_handle` or `data`).
template <detail::Viewable V>
Array array_view(const V& values, ViewLikeOptions options = {}, Loc loc = Loc::Current()) {
  return detail::ArrayView(
      detail::ViewOf(values),
      {.owner = std::move(options.owner), .out_sharding = std::move(options.out_sharding)}, loc);
}
// Same, for a container that is moved into the array.
template <detail::Viewable V>
requires(!std::is_reference_v<V> && !std::is_const_v<V> && !std::ranges::borrowed_range<V> &&
         !detail::MdspanLike<V>) Array
    array_view(V&& values, OutOptions options = {}, Loc loc = Loc::Current()) {
  const auto kept = std::make_shared<const V>(std::move(values));
  return detail::ArrayView(detail::ViewOf(*kept),
                           {.owner = kept, .out_sharding = std::move(options.out_sharding)}, loc);
}

// Returns an array over a DLPack tensor in the memory of the host, and calls the tensor's deleter
// when no array uses it. If it throws, the caller keeps the tensor. Throws DTypeError for elements
// that no dtype has; RuntimeError for another device, another major version of DLPack, several
// lanes, and elements of less than a byte that are packed.
Array from_dlpack(DLManagedTensorVersioned* tensor, OutOptions options = {},
                  Loc loc = Loc::Current());
// Same, for a tensor of DLPack before version 1.0.
Array from_dlpack(DLManagedTensor* tensor, OutOptions options = {}, Loc loc = Loc::Current());

// Returns a DLPack tensor (version 1.1) that shares the memory of the array, is marked as
// read-only, and keeps the memory until its deleter is called. An array of several shards is
// gathered into a copy. Throws TraceError for an array without values, DTypeError for random keys.
DLManagedTensorVersioned* to_dlpack(const Array& x, Loc loc = Loc::Current());
// Same, for a reader of DLPack before version 1.0, which has no mark: it must not write.
DLManagedTensor* to_dlpack_unversioned(const Array& x, Loc loc = Loc::Current());

}  // namespace tessera
