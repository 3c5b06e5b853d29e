// XXH64: values of the reference implementation.
#include "base/checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::base {
namespace {

uint64_t Of(const std::string& text) { return Checksum(text.data(), text.size()); }

TEST(Checksum, IsXxh64) {
  EXPECT_EQ(Of(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(Of("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(Of("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(Of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
}

TEST(Checksum, DependsOnEachByte) {
  std::string text(100, 'x');
  const uint64_t whole = Of(text);
  for (char& c : text) {
    c = 'y';
    EXPECT_NE(Of(text), whole);
    c = 'x';
  }
}

}  // namespace
}  // namespace tessera::base
