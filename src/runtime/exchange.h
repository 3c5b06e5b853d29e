// Data that crosses devices, in shared memory: copies and reductions of boxes. Each element of the
// result is written once. Any worker can do any share of the work.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plan/plan.h"
#include "runtime/small_reductions.h"
#include "runtime/view.h"

namespace tessera::runtime {

// An exchange that moves data, prepared to run. All sizes are in bytes.
class ReadyExchange {
 public:
  // Throws InternalError if the pieces of a reduction do not cover the result.
  ReadyExchange(const plan::Exchange& exchange, const plan::PlanValue& out);

  // The work is `units` units, in the order of the result's instances. `even`: every instance has
  // the same number of units.
  int64_t units() const { return units_; }
  bool even() const { return even_; }
  double bytes() const { return bytes_; }  // read and written
  double flops() const { return flops_; }

  // Does units [begin, end). `in` lists the views of the operands; `scratch` is for the kernels
  // of boxes.
  void Run(Views views, const ViewId* in, const View& out, int64_t begin, int64_t end,
           std::byte* scratch) const;

  // Whether each unit combines a few dense buffers into a whole instance of the result.
  bool IsSmallReduction() const;
  // Adds all units of a small reduction.
  void AddTo(SmallReductions& small, const std::vector<ViewId>& in, ViewId out) const;

 private:
  struct Dim {
    int64_t extent, in, out;  // strides
  };
  struct ReadyPiece {
    int32_t instance, source;
    int32_t box, operand;
    int64_t in, out;  // offsets
  };
  struct ReadyOperands {
    Views views;
    const ViewId* in;
    std::byte* scratch;
    const std::byte* at(const ReadyPiece& piece) const {
      return views[in[piece.operand]].at(piece.source) + piece.in;
    }
  };
  using RowsFn = void (*)(std::byte* dst, const std::byte* src, int64_t rows, int64_t out_stride,
                          int64_t in_stride, int64_t run);

  // One box of the exchange.
  struct ReadyBox {
    int64_t run = 0;  // bytes contiguous in both buffers
    // dims around the run, outer first, with decreasing strides in the result
    std::vector<Dim> dims;
    int64_t rows = 1;   // product of the dims' extents; 0: nothing to move
    int64_t units = 1;  // units of a copy of this box
    RowsFn copy_rows = nullptr;
    plan::Kernel copy;  // If set, copies the box instead, in as many parts as there are units.
    int64_t bytes() const { return rows * run; }
  };

  ReadyBox Normalise(const plan::Box& box) const;
  void AddPieces(const plan::Exchange& exchange);
  void PrepareReduction(const plan::Exchange& exchange);
  // `receives`: boxes of other processes cover the rest of the result.
  void PrepareCopies(int32_t instances, bool receives);
  void ChooseRows(ReadyBox& box) const;

  void RunCopies(const ReadyOperands& in, const View& out, int64_t begin, int64_t end) const;
  void RunFilled(const ReadyOperands& in, const View& out, int64_t begin, int64_t end) const;
  void RunReduction(const ReadyOperands& in, const View& out, int64_t begin, int64_t end) const;

  void CopyPiece(const ReadyPiece& piece, const ReadyOperands& in, const View& out, int64_t begin,
                 int64_t end) const;
  static void CopyParts(const ReadyBox& box, std::byte* dst, const std::byte* src, int64_t begin,
                        int64_t end, std::byte* scratch);
  static void CopyRows(const ReadyBox& box, std::byte* dst, const std::byte* src, int64_t begin,
                       int64_t end, int64_t shift);
  void ReduceRows(const std::byte* const* src, int k, std::byte* dst, int64_t begin,
                  int64_t end) const;
  void ReducePacked(const std::byte* const* src, int k, std::byte* dst, int64_t begin,
                    int64_t end) const;

  int64_t item_ = 1;                  // bytes of an element of the result
  int64_t in_item_ = 1;               // bytes of an element of an operand
  int64_t out_bytes_ = 0;             // bytes of an instance of the result
  std::vector<ReadyBox> boxes_;       // a reduction has one box
  std::vector<ReadyPiece> pieces_;    // in the order of the instances
  std::vector<int64_t> first_unit_;   // per piece: its first unit, if it is a copy
  std::vector<int64_t> first_piece_;  // per instance: its first piece; then the end
  std::vector<bool> fill_;            // per instance: whether zeros are written first; empty: never
  plan::CombineFn combine_ = nullptr;
  int64_t unit_ = 0;        // bytes of a unit of a reduction or a dense copy
  int64_t units_each_ = 1;  // units per instance of a reduction
  int64_t units_ = 0;
  bool even_ = true;
  bool stream_ = false;
  double bytes_ = 0, flops_ = 0;
};

// Exchanges that run as one: the units of each, one exchange after the other.
class ReadyExchanges {
 public:
  // `in` and `out` are the views of the exchange's values.
  void Add(ReadyExchange exchange, std::vector<ViewId> in, ViewId out);

  int64_t units() const { return units_; }
  // Whether each instance has the same number of units, so that a share of the units is a share of
  // the instances.
  bool even() const { return parts_.size() == 1 && parts_[0].exchange.even(); }
  size_t count() const { return parts_.size(); }
  double bytes() const { return bytes_; }  // read and written
  double flops() const { return flops_; }

  // Does units [begin, end).
  void Run(Views views, int64_t begin, int64_t end, std::byte* scratch) const;

 private:
  struct Part {
    ReadyExchange exchange;
    std::vector<ViewId> in;
    ViewId out;
    int64_t first_unit;
    int64_t first_small;  // its first reduction in small_; -1: it has none there
  };
  std::vector<Part> parts_;
  SmallReductions small_;
  int64_t units_ = 0;
  double bytes_ = 0, flops_ = 0;
};

}  // namespace tessera::runtime
