"""Side-by-side speed measurements: ``python -m benchmarks --help``, or ``make bench``.

workloads.py   what is measured: settings, starting weights and batches, the same for everybody
peers/         one file for each framework: how it does a step of each workload
worker.py      the process that a framework runs in
turns.py       workers taking turns, so that a machine that slows down slows everybody
machine.py     the machine, its BLAS, the memory of a process
report.py      the table, CSV and bar chart
workers.py     from which work on several processes are faster than one
scaling.py     cost and memory against width, depth, block and batch
"""
