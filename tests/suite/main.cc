// Runs the suite on 8 simulated devices.
#include <gmock/gmock.h>

#include "tessera/mesh.h"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  tessera::SetDeviceCount(8);
  return RUN_ALL_TESTS();
}
