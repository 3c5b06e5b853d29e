// Text templates: named blocks with fields to fill in.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace tessera::cli {

// A text of blocks. A line `=== name` begins a block, which ends before the line break in front of
// the next one. `{{field}}` in a block is a field.
class Template {
 public:
  explicit Template(std::string_view text);

  // Returns the block with its fields replaced. Throws std::out_of_range if there is no such block,
  // or if a field has no value.
  std::string Fill(const std::string& block,
                   const std::map<std::string, std::string>& fields = {}) const;

 private:
  std::map<std::string, std::string> blocks_;
};

}  // namespace tessera::cli
