// Runs the suite on 8 simulated devices.
#include <gmock/gmock.h>

#include "tessera/mesh.h"
#include "tessera/processes.h"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  // At least 8, a multiple of the number of processes. Meshes take the first ones.
  const int processes = tessera::process_count();
  tessera::SetDeviceCount((8 + processes - 1) / processes * processes);
  return RUN_ALL_TESTS();
}
