"""`python -m deep_research`."""

from deep_research.cli.main import main

if __name__ == "__main__":
    main()
