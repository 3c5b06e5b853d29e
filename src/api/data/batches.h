// The steps of a pipeline, and batches that threads make.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/core/operands.h"
#include "api/data/order.h"
#include "api/data/sources.h"

namespace tessera::data {

struct MapStep {
  std::function<Record(Record)> function;
  Loc loc;
};

struct Pipeline::Steps {
  DataSource source;
  std::optional<OrderKey> key = {};
  std::vector<MapStep> maps = {};
  int64_t batch = 1, epochs = 1;
  BatchOptions options = {};
  int prefetch = 0, threads = 1;

  // Returns a record after all maps.
  Record RecordAt(int64_t record) const;
  // Returns the types of the fields after all maps.
  std::vector<FieldType> Fields() const;
  // The batches of an epoch that begins at a record.
  int64_t BatchesFrom(int64_t record) const;
};

// Where a batch begins in the order of the records.
struct BatchPlace {
  int64_t epoch = 0, record = 0;
};

// Makes batches of one pipeline on one mesh.
class BatchMaker {
 public:
  // `begin`: the place of the first batch.
  BatchMaker(const Pipeline::Steps& steps, BatchPlace begin, api::Call call);
  // Makes a batch. Threads call it. `go_on` is asked now and then; returns nothing if it says no.
  std::optional<std::vector<Array>> Make(BatchPlace place,
                                         const std::function<bool()>& go_on) const;
  const Pipeline::Steps& steps() const { return steps_; }

 private:
  struct FieldPlace {
    const ir::Type *type, *placed;
  };
  // The types of the fields of a batch of n records.
  struct Sized {
    int64_t n = 0;
    std::vector<FieldPlace> fields;
  };
  Sized TypesFor(int64_t n) const;
  class Rows;

  const Pipeline::Steps steps_;
  const api::Call call_;
  std::vector<FieldType> fields_;
  std::vector<Sized> sized_;  // of all sizes, as threads have no current mesh
};

}  // namespace tessera::data
