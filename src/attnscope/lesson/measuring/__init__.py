"""What attention costs on this machine: each way at each length in a process of its own."""
