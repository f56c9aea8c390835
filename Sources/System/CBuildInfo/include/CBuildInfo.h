#pragma once

/// The commit that the programs were built from, if the build names it (Packaging/release).
const char *_Nonnull build_commit(void);
/// The version of Swift that they were built with.
const char *_Nonnull build_swift(void);
