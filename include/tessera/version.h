// The version of the library. This is the only place: CMakeLists.txt reads these three lines.
#pragma once

#define TESSERA_VERSION_MAJOR 0
#define TESSERA_VERSION_MINOR 1
#define TESSERA_VERSION_PATCH 0

#define TESSERA_DETAIL_TEXT_OF(x) #x
#define TESSERA_DETAIL_JOIN(major, minor, patch) \
  TESSERA_DETAIL_TEXT_OF(major) "." TESSERA_DETAIL_TEXT_OF(minor) "." TESSERA_DETAIL_TEXT_OF(patch)
// "0.1.0"
#define TESSERA_VERSION \
  TESSERA_DETAIL_JOIN(TESSERA_VERSION_MAJOR, TESSERA_VERSION_MINOR, TESSERA_VERSION_PATCH)
