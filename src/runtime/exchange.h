// Data that crosses devices, on shared memory: copies and reductions of boxes, each element of
// the result written once. Any share of the work can be done by any worker.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plan/plan.h"
#include "runtime/view.h"

namespace tessera::runtime {

// An exchange that moves data, made ready. Bytes, not elements, throughout.
class ReadyExchange {
 public:
  // Throws InternalError for a reduction whose pieces do not cover the result.
  ReadyExchange(const plan::Exchange& exchange, const plan::PlanValue& out);

  // The work is `units` units, in the order of the result's instances. `even`: all instances have
  // as many.
  int64_t units() const { return units_; }
  bool even() const { return even_; }
  double bytes() const { return bytes_; }  // read and written
  double flops() const { return flops_; }

  // Does units [begin, end). `in` says which of the views are the operands; `scratch` is what the
  // kernels of boxes need.
  void Run(const View* views, const int32_t* in, const View& out, int64_t begin, int64_t end,
           std::byte* scratch) const;

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
    const View* views;
    const int32_t* in;
    std::byte* scratch;
    const std::byte* at(const ReadyPiece& piece) const {
      return views[in[piece.operand]].at(piece.source) + piece.in;
    }
  };
  using RowsFn = void (*)(std::byte* dst, const std::byte* src, int64_t rows, int64_t out_stride,
                          int64_t in_stride, int64_t run);

  // One box of the exchange.
  struct ReadyBox {
    int64_t run = 0;        // contiguous in both buffers
    std::vector<Dim> dims;  // around the run, outer first, by falling stride in the result
    int64_t rows = 1;       // product of their extents; 0: nothing to move
    int64_t units = 1;      // of a copy of this box
    RowsFn copy_rows = nullptr;
    plan::Kernel copy;  // in place of it, in so many parts as there are units, if set
    int64_t bytes() const { return rows * run; }
  };

  ReadyBox Normalise(const plan::Box& box) const;
  void AddPieces(const plan::Exchange& exchange);
  void PrepareReduction(const plan::Exchange& exchange);
  void PrepareCopies(int32_t instances);
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

  int64_t item_ = 1;                  // of an element of the result
  int64_t in_item_ = 1;               // of one of the operands
  int64_t out_bytes_ = 0;             // of an instance of the result
  std::vector<ReadyBox> boxes_;       // a reduction has one
  std::vector<ReadyPiece> pieces_;    // in order of instances
  std::vector<int64_t> first_unit_;   // of a copy: per piece
  std::vector<int64_t> first_piece_;  // per instance, and the end
  std::vector<bool> fill_;            // per instance: zeros where no piece writes; empty: none
  plan::CombineFn combine_ = nullptr;
  int64_t unit_ = 0;        // bytes of a unit of a reduction or a dense copy
  int64_t units_each_ = 1;  // per instance of a reduction
  int64_t units_ = 0;
  bool even_ = true;
  bool stream_ = false;
  double bytes_ = 0, flops_ = 0;
};

// Exchanges that run as one: their units, one exchange after the other.
class ReadyExchanges {
 public:
  // `in`, `out`: the views of its values.
  void Add(ReadyExchange exchange, std::vector<int32_t> in, int32_t out);

  int64_t units() const { return units_; }
  // Whether each instance of all results has as many units as the others of its result, so that a
  // share of the units is a share of the instances.
  bool even() const { return parts_.size() == 1 && parts_[0].exchange.even(); }
  size_t count() const { return parts_.size(); }
  double bytes() const { return bytes_; }  // read and written
  double flops() const { return flops_; }

  // Does units [begin, end).
  void Run(const View* views, int64_t begin, int64_t end, std::byte* scratch) const;

 private:
  struct Part {
    ReadyExchange exchange;
    std::vector<int32_t> in;
    int32_t out;
    int64_t first_unit;
  };
  std::vector<Part> parts_;
  int64_t units_ = 0;
  double bytes_ = 0, flops_ = 0;
};

}  // namespace tessera::runtime
