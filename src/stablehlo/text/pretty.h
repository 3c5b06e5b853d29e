// Reads the pretty forms of operations.
#pragma once
#include "stablehlo/text/attributes.h"
#include "stablehlo/text/parser.h"

namespace tessera::stablehlo {

// Reads an operation in its pretty form after its name.
void ReadPretty(OperationReader& reader, OperationDraft& draft);
// Removes attributes that say no more than their absence: the pretty form has none of them.
void RemoveDefaults(FieldList& attributes);

}  // namespace tessera::stablehlo
