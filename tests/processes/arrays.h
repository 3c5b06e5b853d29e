// Fixture of the tests of arrays of several processes. Every test runs in one process too. Twelve
// devices divide over 1, 2, 3 and 4 processes.
#pragma once
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tessera/processes.h>
#include <tessera/tessera.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "runtime/transport.h"

namespace tessera::processes_test {

inline constexpr int kDevices = 12;

// Returns a path that all processes of this run share, and no other run has. The launcher is the
// parent of all processes.
inline std::string FileName(const std::string& name) {
  return fmt::format("tessera_arrays_{}_{}", getppid(), name);
}
inline std::string Path(const std::string& name) {
  return (std::filesystem::path(testing::TempDir()) / FileName(name)).string();
}

inline std::string Bytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// Waits for all processes.
inline void Meet() {
  if (runtime::Transport* transport = runtime::TheTransport()) transport->Gather("meet");
}

// Returns the message of the error that f throws.
template <class F>
std::string ErrorOf(F f) {
  try {
    f();
  } catch (const InternalError& e) {
    return std::string("a fault of ours: ") + e.what();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// Expects that all processes have the same text.
inline void ExpectSame(const std::string& text) {
  if (!runtime::TheTransport()) return;
  for (const std::string& of_process : runtime::TheTransport()->Gather(text))
    EXPECT_EQ(of_process, text);
}

inline std::vector<float> Count(int64_t n) {
  std::vector<float> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return numbers;
}

// Returns [rows, columns] of the numbers 0, 1, 2, ...
inline Array Counted(int64_t rows, int64_t columns, PartitionSpec spec) {
  return array_from_callback<float>({rows, columns}, std::move(spec),
                                    [&](auto index, std::span<float> data) {
                                      size_t i = 0;
                                      for (int64_t r = index[0].begin; r < index[0].end; ++r)
                                        for (int64_t c = index[1].begin; c < index[1].end; ++c)
                                          data[i++] = static_cast<float>(r * columns + c);
                                    });
}

class Arrays : public testing::Test {
 protected:
  Arrays() { SetDeviceCount(kDevices); }
  ~Arrays() override {
    Meet();
    if (process_index() == 0)
      for (const auto& file : std::filesystem::directory_iterator(testing::TempDir()))
        if (file.path().filename().string().starts_with(FileName("")))
          std::filesystem::remove_all(file.path());
    Meet();
  }
  bool is_alone() const { return process_count() == 1; }
};
// Tests that need several processes; arrays.sh does not run them as one.
class SharedArrays : public Arrays {
 protected:
  SharedArrays() { EXPECT_FALSE(is_alone()); }
};
// Tests that fill the disk TESSERA_SMALL_DISK; arrays.sh runs them if it may mount one.
class ArraysOnASmallDisk : public Arrays {};

inline Mesh TwoAxes() { return make_mesh({{"x", 4}, {"y", 3}}); }

}  // namespace tessera::processes_test
