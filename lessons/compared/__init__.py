"""What lessons/comparison.py is made of.

bodies.py     the six kinds of layers, with equally many parameters
measure.py    steps, paths, time, memory, and how they grow
copying.py    the copy task
sentences.py  what the measurements say, and whether they do
page.py       the table and the page
plots.py      the three plots
"""
