// Golden text files, one fact each. UPDATE_GOLDEN=1 rewrites them.
#pragma once
#include <string>

// Fails the test where `text` differs from golden/NAME.txt. Line numbers of test files read `:N`.
void ExpectGolden(const std::string& name, const std::string& text);
