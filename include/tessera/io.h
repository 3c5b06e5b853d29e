// Reading and writing arrays: NumPy's .npy and safetensors files.
//
// Each process reads only the shards of its devices. Files are written to PATH.tmp, which replaces
// PATH atomically when it is complete and on disk. If there are several processes, all of them save
// together, each the shards of its devices.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tessera/array.h"
#include "tessera/tree.h"

namespace TESSERA_PUBLIC tessera {

// Returns the array of a NumPy .npy file (versions 1 to 3, C or Fortran order, any byte order).
// Throws RuntimeError if the file is missing, truncated, malformed or of another dtype.
Array load_npy(const std::string& path, OutOptions options = {}, Loc loc = Loc::Current());
// Writes the array. bf16, which NumPy lacks, is written as two-byte voids, and f8_e5m2 as "f1", as
// ml_dtypes does. Throws RuntimeError if the file cannot be written, and DTypeError for random keys
// and for the other storage dtypes, for which NumPy has no names.
void save_npy(const std::string& path, const Array& x, Loc loc = Loc::Current());

// Safetensors files store named arrays. The arrays of a tree are named by fields, keys and numbers
// joined by dots: "layers.0.w". Leaves of a tree that are not arrays are not stored.

struct SafetensorsOptions {
  std::map<std::string, std::string> metadata;  // stored in the file with the arrays
};
// Allowed differences between a file and the tree it is loaded into. A `*` in a name matches any
// text: {"head.*"}.
struct LoadLikeOptions {
  std::vector<std::string> ignore = {};  // arrays of the file to ignore
  std::vector<std::string> keep = {};    // arrays of the tree to keep if the file lacks them
  bool cast = false;                     // convert elements of another dtype, as astype does
};

namespace detail {
void SaveSafetensors(const std::string& path, TreeRef tree, const SafetensorsOptions& options,
                     Loc loc);
void LoadSafetensorsLike(const std::string& path, TreeRef like, const LoadLikeOptions& options,
                         Loc loc);
void MakeAbstract(TreeRef tree, Loc loc);
}  // namespace detail

// Writes the arrays of a tree. Throws RuntimeError.
template <Tree T>
void save_safetensors(const std::string& path, T tree, SafetensorsOptions options = {},
                      Loc loc = Loc::Current()) {
  detail::SaveSafetensors(path, tree, options, loc);
}
// Returns all arrays of a file by name, replicated on the current mesh. Throws RuntimeError if the
// file is missing or malformed, or has a dtype that Tessera lacks.
std::map<std::string, Array> load_safetensors(const std::string& path, Loc loc = Loc::Current());
// Returns the tree with each array replaced by an abstract array of the same type and layout, also
// over Auto axes, without data.
// For load_safetensors_like, jit(f).lower and other functions that only read types.
template <Tree T>
T abstract_like(T tree, Loc loc = Loc::Current()) {
  detail::MakeAbstract(tree, loc);
  return tree;
}
// Returns `like` with its arrays, which may be abstract, replaced by those of a file, in the types
// and shardings of `like`. Throws RuntimeError as load_safetensors does, and if names, shapes or
// dtypes differ and the options do not allow it.
template <Tree T>
T load_safetensors_like(const std::string& path, T like, LoadLikeOptions options = {},
                        Loc loc = Loc::Current()) {
  detail::LoadSafetensorsLike(path, like, options, loc);
  return like;
}
// Returns the metadata of a file (SafetensorsOptions). Throws RuntimeError as
// load_safetensors does.
std::map<std::string, std::string> load_safetensors_metadata(const std::string& path,
                                                             Loc loc = Loc::Current());

}  // namespace tessera
