"""How attnscope looks wherever Python writes or draws: its numbers, and the common look of its figures."""
