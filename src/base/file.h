// Open files, reasons why a file cannot be read or written, and atomic replacement of files.
#pragma once
#include <unistd.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace tessera::base {

// Returns "no such file or directory", "permission denied" or "it is a directory"; an empty string
// if the file can be read. Opens nothing, so that a pipe keeps its only reader.
std::string WhyUnreadable(const std::string& path);

// Returns the reason of the last failed system call, in the same form.
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

// A file that gets its name only when it is complete and on disk. Until then it is PATH.tmp, which
// the next writer overwrites if this process is killed. Throws FileError.
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
