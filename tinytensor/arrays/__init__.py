"""Arrays without gradients: devices, dtypes, conversion, random numbers, memory."""
