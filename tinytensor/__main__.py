"""``python -m tinytensor`` is the command line."""

from tinytensor.train.cli import main

if __name__ == "__main__":
    main()
