"""`python -m mergebo` is `mergebo`."""

from mergebo.cli import main

if __name__ == "__main__":
    main()
