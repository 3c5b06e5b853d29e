// Sample table: gather and scatter. Summed updates are whole numbers, so that their order does
// not matter.
#include "suite/table.h"

namespace tessera::suite {
namespace {

using namespace ops;
using base::Shape;

// Shapes and dims of a lookup, for gather and scatter.
struct Lookup {
  Shape operand, indices, slices;
  std::vector<int64_t> windows, dropped, starts;
  PairedDims batch = {};
  bool truth = false;
};

const std::vector<Lookup>& Lookups() {
  static const std::vector<Lookup> rows = {
      // Rows, columns, elements.
      {{24, 8}, {12, 1}, {12, 8}, {1}, {0}, {0}, {}, false},
      {{4, 4}, {4, 1}, {4, 4}, {1}, {0}, {0}, {}, true},
      {{8, 24}, {12, 1}, {8, 12}, {0}, {1}, {1}, {}, false},
      {{4, 4}, {4, 1}, {4, 4}, {0}, {1}, {1}, {}, true},
      {{12, 8}, {24, 2}, {24}, {}, {0, 1}, {1, 0}, {}, false},
      {{4, 8}, {4, 2}, {4}, {}, {0, 1}, {0, 1}, {}, true},
      {{24}, {4, 6, 1}, {4, 6}, {}, {0}, {0}, {}, false},
      // One slice, no slice, and slices of nothing.
      {{24, 8}, {1}, {8}, {0}, {0}, {0}, {}, false},
      {{24, 8}, {0, 1}, {0, 8}, {1}, {0}, {0}, {}, false},
      {{24, 0}, {6, 1}, {6, 0}, {1}, {0}, {0}, {}, false},
      {{7, 8}, {12, 0}, {12, 7, 8}, {1, 2}, {}, {}, {}, false},
      {{1, 12}, {8, 1}, {8, 12}, {1}, {0}, {0}, {}, false},
      {{}, {6, 0}, {6}, {}, {}, {}, {}, false},
      // Dims that do not divide.
      {{7, 24}, {3, 8, 1}, {3, 8, 24}, {2}, {0}, {0}, {}, false},
      {{25, 6}, {13, 1}, {13, 6}, {1}, {0}, {0}, {}, false},
      // Longer slices, some of them along dims that are not looked up.
      {{24, 8}, {12, 1}, {12, 3, 8}, {1, 2}, {}, {0}, {}, false},
      {{24, 8}, {12, 1}, {5, 12, 4}, {0, 2}, {}, {0}, {}, false},
      {{24, 8}, {4, 3, 2}, {2, 4, 3, 3}, {0, 3}, {}, {1, 0}, {}, false},
      {{8, 4}, {4, 1}, {4, 2, 4}, {1, 2}, {}, {0}, {}, true},
      {{8, 4}, {2, 1}, {2, 1, 4}, {1, 2}, {}, {0}, {}, false},
      {{8, 4}, {2, 1}, {2, 8, 4}, {1, 2}, {}, {0}, {}, false},
      // Batch dims.
      {{8, 24, 3}, {8, 6, 1}, {8, 6, 3}, {2}, {1}, {1}, {{0}, {0}}, false},
      {{4, 8}, {4, 2, 1}, {4, 2}, {}, {1}, {1}, {{0}, {0}}, true},
      {{12, 6, 8}, {8, 5, 12, 1}, {8, 5, 12}, {}, {1}, {1}, {{2, 0}, {0, 2}}, false},
      {{6, 4, 8, 5}, {4, 6, 1}, {4, 3, 6, 5}, {1, 3}, {}, {2}, {{0, 1}, {1, 0}}, false},
  };
  return rows;
}

Sample& AddGather(Table& table, const Lookup& row, LookupMode mode, DType dtype, DType index) {
  GatherParams p;
  p.windows = row.windows;
  p.dropped = row.dropped;
  p.starts = row.starts;
  p.batch = row.batch;
  p.mode = mode;
  p.fill = {dtype, 1};
  Sample& s = Add(table, kGather, ir::MakeParams(p),
                  {{row.operand, dtype, kWild}, {row.indices, index, Whole(-3, 26)}});
  s.wanted = {row.slices, dtype};
  return s;
}

Sample& AddScatter(Table& table, const OpDef& op, const Lookup& row, LookupMode mode, DType dtype,
                   DType index) {
  ScatterParams p;
  p.windows = row.windows;
  p.dropped = row.dropped;
  p.starts = row.starts;
  p.batch = row.batch;
  p.mode = mode;
  Fill fill = kWild;
  if (&op == &kScatterAdd) fill = Whole(-9, 9);
  if (&op == &kScatterMul) fill = Whole(-1, 2);
  return Add(
      table, op, ir::MakeParams(p),
      {{row.operand, dtype, fill}, {row.indices, index, Whole(-3, 26)}, {row.slices, dtype, fill}});
}

constexpr const OpDef* kScatters[] = {&kScatter, &kScatterAdd, &kScatterMul, &kScatterMin,
                                      &kScatterMax};

}  // namespace

void AddLookups(Table& table) {
  for (const Lookup& row : Lookups()) {
    for (LookupMode mode : {LookupMode::kFill, LookupMode::kClip})
      // A dim along which longer slices extend must be whole, whatever the result's layout.
      AddGather(table, row, mode, f32, i32).truth =
          row.truth && mode == LookupMode::kFill && !row.dropped.empty();
    AddScatter(table, kScatter, row, LookupMode::kDrop, f32, i32).truth = row.truth;
    AddScatter(table, kScatterAdd, row, LookupMode::kDrop, f32, i32).truth = row.truth;
    AddScatter(table, kScatterMax, row, LookupMode::kClip, f32, i32);
  }
  const Lookup &rows = Lookups()[0], &elements = Lookups()[6];
  for (DType dtype : kEvery) {
    AddGather(table, rows, LookupMode::kFill, dtype, u8);
    for (const OpDef* op : kScatters) {
      AddScatter(table, *op, rows, LookupMode::kDrop, dtype, i64);
      AddScatter(table, *op, elements, LookupMode::kClip, dtype, i8);
    }
  }
  for (DType dtype : {c64, c128}) {
    AddGather(table, rows, LookupMode::kFill, dtype, i32);
    for (const OpDef* op : kScatters) {
      Sample& s = AddScatter(table, *op, elements, LookupMode::kDrop, dtype, i32);
      // Whether a complex NaN is the largest depends on the order of the updates.
      for (SampleOperand& o : s.operands) o.fill.wild = o.fill.wild && op == &kScatter;
    }
  }
  AddGather(table, rows, LookupMode::kFill, key_dtype, i32);
  AddScatter(table, kScatter, rows, LookupMode::kDrop, key_dtype, i32);
  for (DType index : kIntegers) {
    AddGather(table, elements, LookupMode::kClip, f64, index);
    AddScatter(table, kScatterMul, elements, LookupMode::kDrop, i32, index);
  }
  Lookup small{{4}, {4, 1}, {4}, {}, {0}, {0}, {}, true};
  AddGather(table, small, LookupMode::kPromise, i32, u32).truth = true;
  for (const OpDef* op : kScatters)
    AddScatter(table, *op, small, LookupMode::kPromise, i32, u32).truth = true;
}

}  // namespace tessera::suite
