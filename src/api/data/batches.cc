// Reads the records of each device's shard into its memory; threads make batches ahead of time.
#include "api/data/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "api/array/from_shards.h"
#include "base/at.h"
#include "base/box_runs.h"
#include "base/error.h"
#include "compile/host/concrete.h"
#include "compile/host/host_array.h"
#include "compile/run/executor.h"
#include "trace/scopes.h"

namespace tessera::data {

using api::Call;

// ---- records ----

namespace {

std::vector<FieldType> TypesOf(const Record& record) {
  std::vector<FieldType> types;
  for (const Field& f : record) types.push_back({f.dtype(), f.shape()});
  return types;
}

// Runs a function of the user. Any exception gets the number of the record.
Record Mapped(const MapStep& step, Record record, int64_t number) {
  const auto fail = [&](const std::string& reason) {
    ErrorDetail detail = base::Refusal(
        "map", "threw", base::Where(step.loc),
        fmt::format("the function threw an exception for record {}: {}", number, reason));
    detail.kind = "RuntimeError";
    std::throw_with_nested(RuntimeError(std::move(detail)));
  };
  try {
    return step.function(std::move(record));
  } catch (const Error& e) {
    fail(e.reason());
  } catch (const std::exception& e) {
    fail(e.what());
  } catch (...) {
    fail("no std::exception");
  }
  return {};
}

}  // namespace

Record Pipeline::Steps::RecordAt(int64_t record) const {
  Record fields = ReadRecord(source.impl(), record);
  for (const MapStep& step : maps) fields = Mapped(step, std::move(fields), record);
  return fields;
}

std::vector<FieldType> Pipeline::Steps::Fields() const {
  return maps.empty() ? source.impl().fields() : TypesOf(RecordAt(0));
}

int64_t Pipeline::Steps::BatchesFrom(int64_t record) const {
  const int64_t left = source.size() - record;
  return options.drop_last ? left / batch : (left + batch - 1) / batch;
}

// ---- one batch ----

// The records of a batch.
class BatchMaker::Rows {
 public:
  Rows(const BatchMaker& maker, BatchPlace place, int64_t n, const std::function<bool()>& go_on)
      : maker_(maker),
        go_on_(go_on),
        first_(place.record),
        order_(maker.steps_.source.size(), maker.steps_.key, place.epoch),
        mapped_(maker.steps_.maps.empty() ? 0 : base::Size(n)) {}

  // Writes the rows [begin, end) of a field, whole, unless go_on() ends it.
  void Write(size_t field, int64_t begin, int64_t end, std::byte* out) {
    const int64_t bytes = maker_.fields_[field].bytes();
    const DataSource::Impl& source = maker_.steps_.source.impl();
    for (int64_t row = begin; row < end && go_on_();) {
      int64_t count = 1;
      if (!mapped_.empty()) {
        if (bytes > 0) std::memcpy(out, MappedAt(row)[field].bytes().data(), base::Size(bytes));
      } else {
        // Records that follow each other are read at once.
        const int64_t record = RecordOf(row);
        while (row + count < end && RecordOf(row + count) == record + count) ++count;
        source.Read(field, record, count, out);
      }
      row += count, out += count * bytes;
    }
  }

 private:
  int64_t RecordOf(int64_t row) const { return order_.At(first_ + row); }
  const Record& MappedAt(int64_t row) {
    std::optional<Record>& record = base::At(mapped_, row);
    if (record) return *record;
    const int64_t number = RecordOf(row);
    record = maker_.steps_.RecordAt(number);
    if (const std::vector<FieldType> types = TypesOf(*record); types != maker_.fields_)
      api::FailShape({"map", maker_.steps_.maps.back().loc}, 1,
                     fmt::format("record {} is {}, but record 0 is {}", number, TextOf(types),
                                 TextOf(maker_.fields_)),
                     {"all records of a batch need the same types: pad them to one shape"});
    return *record;
  }

  const BatchMaker& maker_;
  const std::function<bool()>& go_on_;
  const int64_t first_;
  const Order order_;
  std::vector<std::optional<Record>> mapped_;
};

BatchMaker::BatchMaker(const Pipeline::Steps& steps, BatchPlace begin, Call call)
    : steps_(steps), call_(call), fields_(steps.Fields()) {
  sized_.push_back(TypesFor(steps_.batch));
  if (steps_.options.drop_last) return;
  for (int64_t records : {steps_.source.size(), steps_.source.size() - begin.record})
    if (records % steps_.batch > 0) sized_.push_back(TypesFor(records % steps_.batch));
}

BatchMaker::Sized BatchMaker::TypesFor(int64_t n) const {
  Sized sized{.n = n, .fields = {}};
  const std::vector<PartitionSpec>& specs = steps_.options.out_shardings;
  if (specs.size() > 1 && specs.size() != fields_.size())
    api::FailSharding(call_, 15,
                      fmt::format(".out_shardings has {}, but records have {}",
                                  base::CountText(specs.size(), "spec"),
                                  base::CountText(fields_.size(), "field")));
  for (size_t f = 0; f < fields_.size(); ++f) {
    base::Shape shape = fields_[f].shape;
    shape.insert(shape.begin(), n);
    if (!specs.empty()) {
      const auto [type, placed] =
          api::TypeFor(shape, fields_[f].dtype, specs[specs.size() == 1 ? 0 : f], call_);
      sized.fields.push_back({type, placed});
      continue;
    }
    api::CheckShape(shape, call_);
    const ir::Type* type = ir::Type::Get(shape, fields_[f].dtype, trace::CurrentMesh());
    sized.fields.push_back({type, compile::WithoutModes(type)});
  }
  return sized;
}

std::optional<std::vector<Array>> BatchMaker::Make(BatchPlace place,
                                                   const std::function<bool()>& go_on) const {
  const int64_t n = std::min(steps_.batch, steps_.source.size() - place.record);
  const Sized& sized = *std::ranges::find(sized_, n, &Sized::n);
  Rows rows(*this, place, n, go_on);
  std::vector<Array> batch;
  for (size_t f = 0; f < fields_.size(); ++f) {
    const auto [type, placed] = sized.fields[f];
    const auto fill = [&, placed = placed](int64_t position, std::byte* out) {
      const std::vector<IndexRange> part = compile::RangesOf(*placed, position);
      base::Shape first, box;
      for (const IndexRange& r : part) first.push_back(r.begin), box.push_back(r.end - r.begin);
      const base::Shape row(box.begin() + 1, box.end());
      if (base::Elements(box) == 0) return;
      if (row == fields_[f].shape) return rows.Write(f, first[0], first[0] + box[0], out);
      // The device has a part of each row.
      std::vector<std::byte> whole(base::Size(fields_[f].bytes()));
      for (int64_t r = first[0]; r < first[0] + box[0]; ++r) {
        rows.Write(f, r, r + 1, whole.data());
        base::BoxRuns runs(fields_[f].shape, fields_[f].dtype.size(),
                           {first.begin() + 1, first.end()}, row);
        do {
          std::memcpy(out, whole.data() + runs.begin(), base::Size(runs.bytes()));
          out += runs.bytes();
        } while (runs.Next());
      }
    };
    batch.emplace_back(compile::NewFilled(type, placed, call_.loc, fill));
    if (!go_on()) return std::nullopt;
  }
  return batch;
}

// ---- all batches ----

// Batches have numbers from the position on. Threads claim one after the other, and go at most
// `prefetch` ahead of the next one that is handed out.
class Batches::Impl {
 public:
  Impl(const Pipeline::Steps& steps, BatchPlace begin, Call call)
      : maker_(steps, begin, call), begin_(begin), in_first_(steps.BatchesFrom(begin.record)) {
    for (int t = 0; t < std::min(steps.prefetch, steps.threads); ++t)
      threads_.emplace_back([this] { Work(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  Impl(const Impl&) = delete;

  std::optional<std::vector<Array>> Next() {
    if (!PlaceOf(next_)) return std::nullopt;
    const auto start = std::chrono::steady_clock::now();
    Made made = threads_.empty() ? MakeNow(next_) : Taken();
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (made.error) std::rethrow_exception(made.error);
    return std::move(made.batch);
  }

  BatchPlace Place() const {
    // After the last batch: the begin of the epoch that would follow.
    return PlaceOf(next_).value_or(BatchPlace{maker_.steps().epochs, 0});
  }
  double waited() const { return waited_; }
  const Pipeline::Steps& steps() const { return maker_.steps(); }

 private:
  struct Made {
    std::optional<std::vector<Array>> batch;
    std::exception_ptr error;
  };

  // Returns where a batch begins; nothing after the last one.
  std::optional<BatchPlace> PlaceOf(int64_t number) const {
    BatchPlace place = begin_;
    if (number < in_first_) {
      place.record += number * maker_.steps().batch;
    } else {
      const int64_t each = maker_.steps().BatchesFrom(0), after = number - in_first_;
      place = {begin_.epoch + 1 + after / each, after % each * maker_.steps().batch};
    }
    if (place.epoch >= maker_.steps().epochs) return std::nullopt;
    return place;
  }

  Made MakeNow(int64_t number) {
    Made made;
    try {
      made.batch = maker_.Make(*PlaceOf(number), [this] { return !stop_; });
      ++next_;
    } catch (...) {
      made.error = std::current_exception();
    }
    return made;
  }

  // Takes the next batch from the threads. An error stays, to be thrown again.
  Made Taken() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return made_.contains(next_); });
    if (made_[next_].error) return made_[next_];
    Made made = std::move(made_[next_]);
    made_.erase(next_++);
    lock.unlock();
    changed_.notify_all();
    return made;
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || claimed_ < next_ + maker_.steps().prefetch; });
      const std::optional<BatchPlace> place = PlaceOf(claimed_);
      if (stop_ || !place) return;
      const int64_t number = claimed_++;
      lock.unlock();
      Made made;
      try {
        made.batch = maker_.Make(*place, [this] { return !stop_; });
      } catch (...) {
        made.error = std::current_exception();
      }
      lock.lock();
      made_[number] = std::move(made);
      changed_.notify_all();
    }
  }

  const BatchMaker maker_;
  const BatchPlace begin_;
  const int64_t in_first_;  // batches of the first epoch
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t next_ = 0, claimed_ = 0;
  std::map<int64_t, Made> made_;
  std::atomic<bool> stop_ = false;
  double waited_ = 0;
};

Batches::Batches(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Batches::Batches(Batches&&) noexcept = default;
Batches& Batches::operator=(Batches&&) noexcept = default;
Batches::~Batches() = default;

std::optional<std::vector<Array>> Batches::next(Loc) { return impl_->Next(); }
int64_t Batches::epoch() const { return impl_->Place().epoch; }
double Batches::waited() const { return impl_->waited(); }

Position Batches::position(Loc loc) const {
  const auto number = [&](int64_t n) {
    return array(std::vector<int64_t>{n}, {.shape = Shape()}, loc);
  };
  const Pipeline::Steps& steps = impl_->steps();
  const BatchPlace place = impl_->Place();
  return {number(place.epoch), number(place.record), number(steps.source.size()),
          number(HashOf(steps.key))};
}

// ---- pipelines ----

namespace {

std::shared_ptr<Pipeline::Steps> Copy(const std::shared_ptr<const Pipeline::Steps>& steps) {
  return std::make_shared<Pipeline::Steps>(*steps);
}

[[noreturn]] void FailNumber(Call call, const char* name, int64_t least, int64_t given) {
  api::FailShape(call, 1, fmt::format("{} must be at least {}, not {}", name, least, given));
}

BatchPlace PlaceOf(const Position& position, const Pipeline::Steps& steps, Call call) {
  const auto number = [&](const Array& x) { return x.item<int64_t>(call.loc); };
  const auto refuse = [&](std::string reason) {
    base::ThrowRuntime(
        base::Refusal(call.name, "position", base::Where(call.loc), std::move(reason)));
  };
  const int64_t records = number(position.records);
  if (records != steps.source.size())
    refuse(fmt::format("the position is among {} records, but the pipeline has {}", records,
                       steps.source.size()));
  if (number(position.order) != HashOf(steps.key))
    refuse("the position is of an order with another key");
  const BatchPlace place{number(position.epoch), number(position.record)};
  if (place.epoch < 0 || place.record < 0 || place.record >= records)
    refuse(fmt::format("there is no record {} of epoch {}", place.record, place.epoch));
  return place;
}

}  // namespace

Pipeline::Pipeline(DataSource source)
    : steps_(std::make_shared<const Steps>(Steps{.source = std::move(source)})) {}

Pipeline Pipeline::shuffle(const Array& key, Loc loc) const {
  const Call call{"shuffle", loc};
  if (!trace::UseType(key, call.name, loc)->dtype().is_key() || key.rank(loc) != 0)
    api::FailDType(call, 17,
                   fmt::format("the key is {}, not a random key, []", api::TypeOf(key)->text()),
                   {"make one with random::key(0)"});
  const trace::ArrayRef& x = trace::Use(key, call.name, loc);
  std::vector<uint64_t> words;
  if (x->kind() == trace::ArrayImpl::kConcrete) words = trace::TheExecutor().KeysOf(*x);
  if (words.size() != 1)
    api::FailTrace(call, 1, "the key has no value here: pipelines are made outside of jit");
  const auto steps = Copy(steps_);
  steps->key = {static_cast<uint32_t>(words[0]), static_cast<uint32_t>(words[0] >> 32)};
  return Pipeline(steps);
}

Pipeline Pipeline::map(std::function<Record(Record)> f, Loc loc) const {
  const auto steps = Copy(steps_);
  steps->maps.push_back({std::move(f), loc});
  return Pipeline(steps);
}

Pipeline Pipeline::batch(int64_t n, BatchOptions options, Loc loc) const {
  if (n < 1) FailNumber({"batch", loc}, "n", 1, n);
  const auto steps = Copy(steps_);
  steps->batch = n, steps->options = std::move(options);
  return Pipeline(steps);
}

Pipeline Pipeline::repeat(int64_t epochs, Loc loc) const {
  if (epochs < 0) FailNumber({"repeat", loc}, "epochs", 0, epochs);
  const auto steps = Copy(steps_);
  steps->epochs = epochs;
  return Pipeline(steps);
}

Pipeline Pipeline::prefetch(int n, PrefetchOptions options, Loc loc) const {
  if (n < 0) FailNumber({"prefetch", loc}, "n", 0, n);
  if (options.threads < 1) FailNumber({"prefetch", loc}, ".threads", 1, options.threads);
  const auto steps = Copy(steps_);
  steps->prefetch = n, steps->threads = options.threads;
  return Pipeline(steps);
}

int64_t Pipeline::batches_per_epoch() const { return steps_->BatchesFrom(0); }

namespace {

Batches Started(const Pipeline::Steps& steps, BatchPlace begin, Call call) {
  compile::Install();
  if (steps.BatchesFrom(0) == 0)
    api::FailShape(
        call, 1,
        fmt::format("{} do not fill a batch of {}",
                    base::CountText(base::Size(steps.source.size()), "record"), steps.batch));
  if (trace::CurrentMesh() && trace::CurrentMesh()->is_abstract())
    api::FailTrace(call, 2, "the mesh is abstract: batches need devices");
  return Batches(std::make_unique<Batches::Impl>(steps, begin, call));
}

}  // namespace

Batches Pipeline::start(Loc loc) const { return Started(*steps_, {}, {"start", loc}); }
Batches Pipeline::start(const Position& position, Loc loc) const {
  const Call call{"start", loc};
  return Started(*steps_, PlaceOf(position, *steps_, call), call);
}

}  // namespace tessera::data
