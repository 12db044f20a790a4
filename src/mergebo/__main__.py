"""Entry point of `python -m mergebo`."""

from mergebo.cli import main

if __name__ == "__main__":
    main()
