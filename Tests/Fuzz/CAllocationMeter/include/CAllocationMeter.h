#pragma once
#include <stddef.h>

/// Begins a measurement: what is allocated now counts as nothing.
void allocation_meter_start(void);

/// The most bytes that were allocated at a time since the start, beyond those that were allocated then.
size_t allocation_meter_peak(void);

/// All bytes that were allocated since the start, whether or not they were freed again.
size_t allocation_meter_total(void);
