// The names that libtessera.so exports are those of the public headers.
#pragma once

#define TESSERA_PUBLIC [[gnu::visibility("default")]]
