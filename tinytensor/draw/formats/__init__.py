"""The picture as text for other programs.

outline.py  what stands in which frame, and the lines of text in each box
mermaid.py  Mermaid, which GitHub and many editors draw in Markdown
d2.py       D2
"""
