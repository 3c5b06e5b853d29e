// Makes types of dims, and of contiguous bytes.
#include "mpi/datatypes.h"

namespace tessera::mpi {

Datatypes::~Datatypes() {
  for (MPI_Datatype& type : of_runs_) MPI_Type_free(&type);
  for (auto& [bytes, type] : of_bytes_) MPI_Type_free(&type);
}

int32_t Datatypes::Add(const runtime::ByteRuns& runs) {
  const auto [at, is_new] = number_of_.try_emplace(runs, static_cast<int32_t>(of_runs_.size()));
  if (!is_new) return at->second;
  MPI_Datatype type;
  MPI_Type_contiguous(static_cast<int>(runs.run), MPI_BYTE, &type);
  for (size_t d = runs.extents.size(); d-- > 0;) {
    MPI_Datatype rows;
    MPI_Type_create_hvector(static_cast<int>(runs.extents[d]), 1, runs.strides[d], type, &rows);
    MPI_Type_free(&type);
    type = rows;
  }
  MPI_Type_commit(&type);
  of_runs_.push_back(type);
  return at->second;
}

MPI_Datatype Datatypes::OfBytes(int64_t bytes) {
  const auto [at, is_new] = of_bytes_.try_emplace(bytes);
  if (!is_new) return at->second;
  const auto blocks = static_cast<int>(bytes / kMostBytes);
  MPI_Datatype block, parts[2];
  MPI_Type_contiguous(static_cast<int>(kMostBytes), MPI_BYTE, &block);
  MPI_Type_contiguous(blocks, block, &parts[0]);
  MPI_Type_contiguous(static_cast<int>(bytes % kMostBytes), MPI_BYTE, &parts[1]);
  const int counts[] = {1, 1};
  const MPI_Aint begins[] = {0, blocks * kMostBytes};
  MPI_Type_create_struct(2, counts, begins, parts, &at->second);
  MPI_Type_commit(&at->second);
  for (MPI_Datatype* type : {&block, &parts[0], &parts[1]}) MPI_Type_free(type);
  return at->second;
}

}  // namespace tessera::mpi
