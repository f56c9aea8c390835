#include "CBuildInfo.h"

#ifndef BUILD_COMMIT
#define BUILD_COMMIT "unknown"
#endif
#ifndef BUILD_SWIFT
#define BUILD_SWIFT "unknown"
#endif

const char *build_commit(void) { return BUILD_COMMIT; }
const char *build_swift(void) { return BUILD_SWIFT; }
