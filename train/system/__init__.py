"""What the machine gives: files, signals, processor cores, memory, the terminal."""
