// Open files, why files cannot be read or written, and files that are replaced at once.
#pragma once
#include <unistd.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace tessera::base {

// Returns "no such file or directory", "permission denied", "it is a directory"; empty if the file
// can be read. Opens nothing, so that a pipe keeps its one reader.
std::string WhyUnreadable(const std::string& path);

// Returns what the last failed call of the system says, as above.
std::string ErrnoText();

struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An open file.
struct Descriptor {
  Descriptor() = default;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
  Descriptor(const Descriptor&) = delete;
  int value = -1;
};

// A file that takes its name when it is complete and on disk. Before, it is PATH.tmp, which the
// next writer overwrites if this one is killed. Throws FileError.
class NewFile {
 public:
  explicit NewFile(const std::string& path);  // waits for another writer of this file
  ~NewFile();
  NewFile(const NewFile&) = delete;
  void Write(const void* data, size_t bytes);
  void Commit();

 private:
  void OpenTemporary();
  std::string path_, temporary_;
  int file_ = -1;
};

}  // namespace tessera::base
