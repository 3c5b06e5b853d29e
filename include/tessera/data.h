// Batches of training data: records of files or arrays, in a random order, changed by functions on
// threads of the host, and laid out over devices.
//
//   using namespace tessera;
//   data::Pipeline train = data::Pipeline(data::zip({data::npy("images.npy"),
//   data::idx("labels")}))
//                              .shuffle(random::key(0))
//                              .map(augment)
//                              .batch(128, {.drop_last = true, .out_shardings = {P("data")}})
//                              .repeat(10)
//                              .prefetch(4, {.threads = 2});
//   data::Batches batches = train.start();
//   while (auto batch = batches.next()) step(params, batch->at(0), batch->at(1));
//
// A *record* is a list of fields: small arrays of the same types in every record. Records are
// numbered; the order of an epoch is a permutation of the numbers that is computed, not stored, so
// that it depends only on the key, the epoch and the number of records: not on the devices, the
// processes, or the threads. Files are read as batches need them: each process reads the records of
// its devices alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/array.h"
#include "tessera/tree.h"

namespace TESSERA_PUBLIC tessera {
namespace data {

// One field of a record: elements in the memory of the host, row-major.
class Field {
 public:
  // Makes zeros. Throws ShapeError for negative sizes.
  explicit Field(DType dtype, Shape shape = {}, Loc loc = Loc::Current());
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }
  // Returns the elements. Throws DTypeError if E is not the element type.
  template <class E>
  std::span<const E> data(Loc loc = Loc::Current()) const {
    Check(dtype_of<E>(), loc);
    return {reinterpret_cast<const E*>(bytes_.data()), bytes_.size() / sizeof(E)};
  }
  template <class E>
  std::span<E> data(Loc loc = Loc::Current()) {
    Check(dtype_of<E>(), loc);
    return {reinterpret_cast<E*>(bytes_.data()), bytes_.size() / sizeof(E)};
  }

 private:
  void Check(DType dtype, Loc loc) const;
  DType dtype_;
  std::vector<int64_t> shape_;
  std::vector<std::byte> bytes_;
};
using Record = std::vector<Field>;

// Numbered records, which threads may read at the same time.
class DataSource {
 public:
  class Impl;
  explicit DataSource(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  int64_t size() const;                                         // number of records
  Record read(int64_t record, Loc loc = Loc::Current()) const;  // throws ShapeError out of range
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// The readers of files throw RuntimeError if the file is missing, cut off or malformed, also if it
// becomes shorter while a pipeline reads it.

// Returns the rows of a .npy file (load_npy): one field, without dim 0 of the file's array.
DataSource npy(const std::string& path, Loc loc = Loc::Current());
// Returns the rows of an idx file, such as MNIST has, in its dtype (u8, i8, i16, i32, f32, f64).
DataSource idx(const std::string& path, Loc loc = Loc::Current());
// Returns the bytes of a file: u8[].
DataSource bytes(const std::string& path, Loc loc = Loc::Current());
struct LinesOptions {
  bool cut = false;  // leave out the end of lines that are longer, instead of an error
};
// Returns the lines of a text file, without line breaks: u8[length], filled with zeros, and the
// number of bytes, i32[]. A longer line is a RuntimeError when it is read.
DataSource lines(const std::string& path, int64_t length, LinesOptions options = {},
                 Loc loc = Loc::Current());
// Returns the rows of arrays, which have the same size of dim 0: one field for each array.
DataSource arrays(const std::vector<Array>& arrays, Loc loc = Loc::Current());
// Returns records with the fields of all sources, which have the same number of records.
DataSource zip(const std::vector<DataSource>& sources, Loc loc = Loc::Current());
struct DataWindowOptions {
  int64_t stride = 0;  // records from one window to the next; 0: the length
};
// Returns windows of successive records, stacked: windows(bytes("text"), 129, {.stride = 128}) has
// fields u8[129].
DataSource windows(const DataSource& source, int64_t length, DataWindowOptions options = {},
                   Loc loc = Loc::Current());

// How far a pipeline is: the next batch begins with this record of this epoch. It is a tree, so it
// is saved and loaded with a model. Another number of devices, processes or threads, and another
// size of batches, go on with the same order.
struct Position {
  Array epoch, record;   // i64[]
  Array records, order;  // i64[]: the number of records, and a hash of the key
};
TESSERA_FIELDS(Position, epoch, record, records, order);

// Batches of a pipeline, in order. Destroying it ends its threads, also in the middle of an epoch.
class Batches {
 public:
  class Impl;
  explicit Batches(std::unique_ptr<Impl> impl);
  Batches(Batches&&) noexcept;
  Batches& operator=(Batches&&) noexcept;
  ~Batches();
  // Returns the next batch, one array for each field, [batch, ...]; nothing after the last epoch.
  // Throws the error of the batch, and throws it again if it is called again.
  std::optional<std::vector<Array>> next(Loc loc = Loc::Current());
  // Returns the position of the batch that `next` would return.
  Position position(Loc loc = Loc::Current()) const;
  int64_t epoch() const;  // of that batch
  double waited() const;  // seconds that `next` has taken in all

  // For loops: for (const std::vector<Array>& batch : batches).
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = std::vector<Array>;
    explicit Iterator(Batches* batches) : batches_(batches) { ++*this; }
    const std::vector<Array>& operator*() const { return *batch_; }
    Iterator& operator++() {
      batch_ = batches_->next(Loc::Unknown());
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !batch_; }

   private:
    Batches* batches_;
    std::optional<std::vector<Array>> batch_;
  };
  Iterator begin() { return Iterator(this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::unique_ptr<Impl> impl_;
};

struct BatchOptions {
  bool drop_last = false;  // leave out the last batch of an epoch if it is smaller
  // Of each field, or one for all fields. None: batches are replicated on the current mesh.
  std::vector<PartitionSpec> out_shardings = {};
};
struct PrefetchOptions {
  int threads = 1;
};

// Describes batches; it reads nothing before `start`. Each function returns a changed pipeline.
class Pipeline {
 public:
  struct Steps;
  explicit Pipeline(DataSource source);
  // Puts the records into another random order in each epoch. Throws DTypeError unless it is a
  // random key, []. It does not use the key up.
  Pipeline shuffle(const Array& key, Loc loc = Loc::Current()) const;
  // Changes each record by a function, which returns records of the same types for all. It runs on
  // the threads of `prefetch`, several at a time, once more for a first record when the pipeline
  // starts, and must not use Arrays. Any exception is nested in a RuntimeError of `next` with the
  // number of the record.
  Pipeline map(std::function<Record(Record)> f, Loc loc = Loc::Current()) const;
  // Stacks n records. The default is 1. Throws ShapeError unless n > 0.
  Pipeline batch(int64_t n, BatchOptions options = {}, Loc loc = Loc::Current()) const;
  // Goes through all records `epochs` times. The default is 1. Throws ShapeError if it is negative.
  Pipeline repeat(int64_t epochs, Loc loc = Loc::Current()) const;
  // Makes up to n batches before they are asked for, each on one of the threads. The default is 0:
  // `next` makes them. Throws ShapeError unless n >= 0 and threads > 0.
  Pipeline prefetch(int n, PrefetchOptions options = {}, Loc loc = Loc::Current()) const;

  int64_t batches_per_epoch() const;
  // Begins to make batches on the current mesh: from the first, or from a position. Throws
  // ShapeError if no batch is full, or records from `map` differ; ShardingError if the shardings do
  // not fit; RuntimeError if the position is of another pipeline.
  Batches start(Loc loc = Loc::Current()) const;
  Batches start(const Position& position, Loc loc = Loc::Current()) const;

 private:
  explicit Pipeline(std::shared_ptr<const Steps> steps) : steps_(std::move(steps)) {}
  std::shared_ptr<const Steps> steps_;
};

}  // namespace data
}  // namespace tessera
