"""`python -m redgreenrefactor` is `rgr`."""

from redgreenrefactor.cli.main import main

if __name__ == "__main__":
    main()
