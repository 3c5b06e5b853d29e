// Locations of StableHLO text: the user's program that an operation comes from.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::stablehlo {

using LocationNumber = uint32_t;
inline constexpr LocationNumber kNoLocation = ~LocationNumber{0};

// A range of a file: `"model.py":12:4 to 13:20`. Lines and columns count from 1; 0 if not given.
struct FileRange {
  std::string_view file;
  uint32_t line = 0, column = 0, end_line = 0, end_column = 0;
};

struct Location {
  enum class Kind : uint8_t {
    kUndefined,  // an alias that was used and is not defined yet
    kUnknown,
    kFile,      // range
    kName,      // range.file is the name; first: the location inside, or kNoLocation
    kCallSite,  // first: the callee, second: its caller
    kFused      // `second` locations, Locations::fused[first ...]; range.file is the metadata
  };
  Kind kind = Kind::kUndefined;
  LocationNumber first = kNoLocation, second = kNoLocation;
  FileRange range;
};

struct UserLine {
  FileRange range;
  bool is_of_user = false;  // not of an installed package
};

class Locations {
 public:
  std::vector<Location> all;
  std::vector<LocationNumber> fused;

  // Returns the innermost line of a file that is not of JAX or another installed package; if all
  // are, the innermost line. Its file is empty if the location has none.
  UserLine LineOf(LocationNumber number) const;
  // Returns JAX's name stack, such as "jit(f)/layer/dot_general"; "" if there is none.
  std::string_view NameStack(LocationNumber number) const;
  // Returns the locations directly inside, the innermost call first.
  std::vector<LocationNumber> Inside(LocationNumber number) const;
  // Returns a location that contains itself, kNoLocation if none does.
  LocationNumber FindCycle() const;

 private:
  // Returns the locations in `number`, the innermost first; at most some hundreds.
  std::vector<LocationNumber> Parts(LocationNumber number) const;
};

}  // namespace tessera::stablehlo
