"""A graph at three zooms: modules, ops with statistics, and every scalar.

run.py          runs a function or a module, and remembers all numbers on the way
statistics.py   mean, spread and range of a tensor's numbers, from what is known of them
flags.py        what these tell: dead units, vanishing and exploding gradients
inside.py       one module, with what comes in and what goes out
apply.py        one op on known numbers: its result, what it sends back, its local derivative
scalars.py      a picture with a box for every number
"""
