"""Programs that measure attnscope; the README quotes what they print. `python -m benchmarks` runs all."""
