// Arrays in files.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tessera/array.h"
#include "tessera/tree.h"

namespace TESSERA_PUBLIC tessera {

// Returns the array of a NumPy .npy file (versions 1 to 3, C or Fortran order, little endian).
// Throws RuntimeError if the file is missing, truncated, malformed or of another dtype.
Array load_npy(const std::string& path, OutOptions options = {}, Loc loc = Loc::Current());
// Writes the whole array; bf16, which NumPy lacks, as two-byte voids. Throws RuntimeError.
void save_npy(const std::string& path, const Array& x, Loc loc = Loc::Current());

// Safetensors files: named arrays, as many libraries share them. The arrays of a tree are named by
// fields, keys and numbers, joined by dots: "layers.0.w". What else a tree has is not in the file.

struct SafetensorsOptions {
  std::map<std::string, std::string> metadata;  // stands in the file beside the arrays
};
// Differences that are allowed between a file and the tree it is loaded into. A `*` in a name
// stands for any text: {"head.*"}.
struct LoadLikeOptions {
  std::vector<std::string> ignore = {};  // arrays of the file that are treated as if not there
  std::vector<std::string> keep = {};    // arrays of the tree that stay if the file lacks them
  bool cast = false;                     // elements of another dtype are converted, as by astype
};

namespace detail {
void SaveSafetensors(const std::string& path, TreeRef tree, const SafetensorsOptions& options,
                     Loc loc);
void LoadSafetensorsLike(const std::string& path, TreeRef like, const LoadLikeOptions& options,
                         Loc loc);
void MakeAbstract(TreeRef tree, Loc loc);
}  // namespace detail

// Writes the arrays of a tree. A file of this name is replaced at once, when the new one is
// complete and on disk; until then that is PATH.tmp. Throws RuntimeError.
template <Tree T>
void save_safetensors(const std::string& path, T tree, SafetensorsOptions options = {},
                      Loc loc = Loc::Current()) {
  detail::SaveSafetensors(path, tree, options, loc);
}
// Returns all arrays of a file by name, each whole on every device of the current mesh. Throws
// RuntimeError if the file is missing or malformed, or has elements of a dtype that Tessera lacks.
std::map<std::string, Array> load_safetensors(const std::string& path, Loc loc = Loc::Current());
// Returns the tree with abstract arrays in place of its own: their types, without data. For
// load_safetensors_like, jit(f).lower and other functions that read types alone.
template <Tree T>
T abstract_like(T tree, Loc loc = Loc::Current()) {
  detail::MakeAbstract(tree, loc);
  return tree;
}
// Returns `like` with the arrays of a file in place of its own, which may be abstract: the same
// types and layouts. Each device reads its part alone. Throws RuntimeError as load_safetensors, and
// if names, shapes or dtypes differ and the options do not allow it.
template <Tree T>
T load_safetensors_like(const std::string& path, T like, LoadLikeOptions options = {},
                        Loc loc = Loc::Current()) {
  detail::LoadSafetensorsLike(path, like, options, loc);
  return like;
}
// Returns the metadata of a file (SafetensorsOptions). Throws RuntimeError as load_safetensors.
std::map<std::string, std::string> load_safetensors_metadata(const std::string& path,
                                                             Loc loc = Loc::Current());

}  // namespace tessera
