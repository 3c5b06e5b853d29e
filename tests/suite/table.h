// Helpers with which the parts of the sample table are written.
#pragma once
#include <initializer_list>
#include <utility>

#include "elementwise_rows.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "suite/samples.h"

namespace tessera::suite {

using Table = std::vector<Sample>;

inline Sample& Add(Table& table, const ir::OpDef& op, ir::ParamsPtr params,
                   std::vector<SampleOperand> operands) {
  table.push_back({.op = &op, .params = std::move(params), .operands = std::move(operands)});
  return table.back();
}

// Each function adds the rows of its ops.
void AddElementwise(Table& table);   // table_elementwise.cc
void AddMovement(Table& table);      // table_movement.cc: elements move
void AddLookups(Table& table);       // table_lookups.cc: gather, scatter
void AddContractions(Table& table);  // table_contractions.cc: several elements combine
void AddWindows(Table& table);       // table_windows.cc
void AddLinalg(Table& table);        // table_linalg.cc: factorisations of matrices
void AddFourier(Table& table);       // table_fourier.cc
void AddHost(Table& table);          // table_host.cc: host functions
void AddRagged(Table& table);        // table_ragged.cc: groups of rows; roundings
void AddStorage(Table& table);       // table_storage.cc: f8, small integers; after all others
void AddComplex(Table& table);       // table_complex.cc: complex numbers

}  // namespace tessera::suite
