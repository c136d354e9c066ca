"""A recording as a picture inside a notebook: one piece of HTML that holds all it needs.

attnscope.show(recording)                              # all heads, as many as have room
attnscope.show(recording, site=2, head=1)              # one head, and more of it where texts are long
attnscope.show(recording, theme="dark", height=900).save("romeo.html")
"""

from __future__ import annotations

from attnscope.notebook.showing import Showing, show

__all__ = ["Showing", "show"]
