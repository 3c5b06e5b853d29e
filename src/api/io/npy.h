// The headers of NumPy's .npy files.
#pragma once
#include "api/io/array_file.h"

namespace tessera::api {

struct NpyHeader {
  DType dtype;
  Endian endian = Endian::kLittle;
  bool fortran = false;
  base::Shape shape;
  int64_t begin = 0;  // the offset in the file of the first element
};
// Reads the header, and checks that the file has all elements.
NpyHeader ReadNpyHeader(const ArrayReader& file, Loc loc);

}  // namespace tessera::api
