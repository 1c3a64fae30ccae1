"""`python -m doorman`."""

from doorman.cli.main import main

if __name__ == "__main__":
    main(prog_name="doorman")
