#pragma once
#include <stddef.h>

/// Starts a measurement. The memory that is allocated now does not count.
void allocation_meter_start(void);

/// Returns the maximum of allocated bytes since the start, without the bytes that were allocated at the start.
size_t allocation_meter_peak(void);

/// Returns the total of bytes that were allocated since the start, including freed ones.
size_t allocation_meter_total(void);
