# Read by ctest: its tests verify programs after each pass (src/spmd/pipeline.h).
set(ENV{TESSERA_VERIFY} 1)
