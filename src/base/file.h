// Open files, reasons why a file cannot be read or written, and atomic replacement of files.
#pragma once
#include <unistd.h>

#include <cstddef>
#include <cstdint>
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
  // kOwner makes the file, after it has waited for another owner of it. kHelper writes to the file
  // that another process owns and has not committed.
  enum class Role : uint8_t { kOwner, kHelper };
  explicit NewFile(const std::string& path, Role role = Role::kOwner);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  // Writes at an offset from the start of the file.
  void WriteAt(int64_t at, const void* data, size_t bytes);
  // Waits until the bytes that this process wrote are on disk.
  void Sync();
  // Gives the file its name. Only the owner calls it.
  void Commit();

 private:
  void Make();
  void OpenTemporary();
  const Role role_;
  std::string path_, temporary_;
  int file_ = -1;
};

}  // namespace tessera::base
